// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/table_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "base/cleanup.h"

static int create_slab(const struct bpf_map *like, const char *name)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(like));

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(__u32), TABLE_CHUNK_BYTES,
			      bpf_map__max_entries(like), &opts);
}

/*
 * The outer map needs an inner map as a model. libbpf would make one of 4 MiB and close it, so we
 * give it the first slab. Runs without tables have a small one.
 */
void table_maps_give_inner(struct table_maps *t)
{
	cleanup_close int fd = create_slab(t->slab0, "slab0");

	if (fd < 0 || bpf_map__reuse_fd(t->slab0, fd))
		return;
	(void)bpf_map__set_inner_map_fd(t->slabs, bpf_map__fd(t->slab0));
}

static int map_slab(struct table_maps *t, int fd, struct error *e)
{
	void *at = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return error_errno(e, "map memory for unwind tables");
	t->at[t->n_slabs++] = at;
	return 0;
}

int table_maps_open(struct table_maps *t, struct error *e)
{
	return map_slab(t, bpf_map__fd(t->slab0), e);
}

void table_maps_fini(struct table_maps *t)
{
	for (uint32_t i = 0; i < t->n_slabs; i++)
		(void)munmap(t->at[i], SLAB_BYTES);
}

int table_maps_add_slab(struct table_maps *t, struct error *e)
{
	const __u32 number = t->n_slabs;
	int err;

	if (number == MOST_SLABS)
		return error_set(e, -E2BIG, "unwind-table memory is full (%u slabs)", number);

	cleanup_close int fd = create_slab(t->slab0, "slab");

	if (fd < 0)
		return error_errno(e, "get memory for unwind tables");
	err = map_slab(t, fd, e);
	if (!err && bpf_map_update_elem(bpf_map__fd(t->slabs), &number, &fd, BPF_ANY))
		err = error_errno(e, "add memory for unwind tables");
	return err;
}

size_t table_maps_spaces(const struct table_maps *t, uint32_t *tgids, struct unwind_space *to,
			 size_t most)
{
	const int fd = bpf_map__fd(t->spaces);
	__u32 key, next, *last = NULL;
	size_t n = 0;

	while (n < most && bpf_map_get_next_key(fd, last, &next) == 0) {
		key = next;
		last = &key;
		if (bpf_map_lookup_elem(fd, &key, &to[n]))
			continue;
		if (tgids)
			tgids[n] = key;
		n++;
	}
	return n;
}

/* Set an entry, or delete it if @value is NULL. Deleting a missing entry is no error. */
static int set_entry(const struct bpf_map *map, const void *key, const void *value)
{
	const int fd = bpf_map__fd(map);

	if (value)
		return bpf_map_update_elem(fd, key, value, BPF_ANY);
	return bpf_map_delete_elem(fd, key) && errno != ENOENT ? -1 : 0;
}

int table_maps_set_space(const struct table_maps *t, uint32_t tgid,
			 const struct unwind_space *space, struct error *e)
{
	if (set_entry(t->spaces, &tgid, space))
		return error_errno(e, "publish the mappings of process %u", tgid);
	return 0;
}

bool table_maps_replace_space(const struct table_maps *t, uint32_t tgid,
			      const struct unwind_space *space)
{
	return bpf_map_update_elem(bpf_map__fd(t->spaces), &tgid, space, BPF_EXIST) == 0;
}

int table_maps_set_file(const struct table_maps *t, const struct unwind_file_key *key,
			const struct unwind_file *file, struct error *e)
{
	if (t->has_files && set_entry(t->files, key, file))
		return error_errno(e, "publish the unwind table of a file");
	return 0;
}
