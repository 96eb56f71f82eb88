/* What user stacks are walked by, told to the programs (bpf/tables.h). */
#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "bpf/object_internal.h"

void *object_slab(const struct object *o, uint32_t number)
{
	return number < o->n_slabs ? o->slabs[number].at : NULL;
}

static int create_slab(const struct bpf_map *like, const char *name)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(like));

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(__u32), TABLE_CHUNK_BYTES,
			      bpf_map__max_entries(like), &opts);
}

/*
 * The outer map wants an inner map to be made like. libbpf would make one of 4 MiB and close it:
 * we give it the first slab. Where this fails, loading fails next, with libbpf's words.
 */
void object_make_slab0(const struct object *o)
{
	const struct stackcount_bpf *s = o->skeleton;
	cleanup_close int fd = create_slab(s->maps.slab0, "slab0");

	if (fd >= 0 && bpf_map__reuse_fd(s->maps.slab0, fd) == 0)
		(void)bpf_map__set_inner_map_fd(s->maps.slabs, bpf_map__fd(s->maps.slab0));
}

int object_add_slab(struct object *o, struct error *e)
{
	const struct stackcount_bpf *s = o->skeleton;
	const __u32 number = o->n_slabs;

	if (number == MOST_SLABS)
		return error_set(e, -E2BIG, "no more memory for unwinding");

	cleanup_close int fd = create_slab(s->maps.slab0, "slab");

	if (fd < 0)
		return error_errno(e, "get memory for unwinding");

	void *at = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return error_errno(e, "map memory for unwinding");
	o->slabs[number] = (struct mapped){ at, SLAB_BYTES };
	o->n_slabs++;
	if (bpf_map_update_elem(bpf_map__fd(s->maps.slabs), &number, &fd, BPF_ANY))
		return error_errno(e, "add memory for unwinding");
	return 0;
}

size_t object_spaces(const struct object *o, struct unwind_space *to, size_t most)
{
	const int fd = bpf_map__fd(o->skeleton->maps.spaces);
	__u32 key, next, *last = NULL;
	size_t n = 0;

	while (n < most && bpf_map_get_next_key(fd, last, &next) == 0) {
		if (bpf_map_lookup_elem(fd, &next, &to[n]) == 0)
			n++;
		key = next;
		last = &key;
	}
	return n;
}

/* NULL: it goes, if it was there. */
static int set_entry(const struct bpf_map *map, const void *key, const void *value)
{
	const int fd = bpf_map__fd(map);

	if (value)
		return bpf_map_update_elem(fd, key, value, BPF_ANY);
	return bpf_map_delete_elem(fd, key) && errno != ENOENT ? -1 : 0;
}

int object_set_space(const struct object *o, uint32_t tgid, const struct unwind_space *space,
		     struct error *e)
{
	if (set_entry(o->skeleton->maps.spaces, &tgid, space))
		return error_errno(e, "tell what process %u has mapped", tgid);
	return 0;
}

bool object_replace_space(const struct object *o, uint32_t tgid, const struct unwind_space *space)
{
	return bpf_map_update_elem(bpf_map__fd(o->skeleton->maps.spaces), &tgid, space,
				   BPF_EXIST) == 0;
}

int object_set_file(const struct object *o, const struct unwind_file_key *key,
		    const struct unwind_file *file, struct error *e)
{
	if (o->skeleton->rodata->config.asks_kernel &&
	    set_entry(o->skeleton->maps.files, key, file))
		return error_errno(e, "tell what a file's code is walked by");
	return 0;
}
