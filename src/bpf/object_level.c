/* The second level of the maps for rows and stacks: larger, and made while the first fills. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/object_internal.h"

int object_counts_fd(const struct object *o, unsigned generation, unsigned level)
{
	const struct level_map *more = &o->level[generation ? LEVEL_COUNTS1 : LEVEL_COUNTS0];

	return level ? __atomic_load_n(&more->fd, __ATOMIC_ACQUIRE) : bpf_map__fd(more->like);
}

int object_stacks_fd(const struct object *o, unsigned level)
{
	const struct level_map *more = &o->level[LEVEL_STACKS];

	if (level == SPARE_LEVEL)
		return bpf_map__fd(o->skeleton->maps.spare);
	return level ? __atomic_load_n(&more->fd, __ATOMIC_ACQUIRE) : bpf_map__fd(more->like);
}

void object_init_level(struct object *o)
{
	const struct stackcount_bpf *s = o->skeleton;

	o->level[LEVEL_STACKS] =
		(struct level_map){ s->maps.stacks, s->maps.more_stacks, .fd = -1 };
	o->level[LEVEL_COUNTS0] =
		(struct level_map){ s->maps.counts0, s->maps.more_counts, .at = 0, .fd = -1 };
	o->level[LEVEL_COUNTS1] =
		(struct level_map){ s->maps.counts1, s->maps.more_counts, .at = 1, .fd = -1 };
}

/*
 * One at a time: while it lays out a map's buckets, 3 ms, the kernel gives the CPU to nobody else,
 * and the machine may have no more than two.
 */
static int create_map(const char *name, const struct bpf_map *like, uint32_t n)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(like));
	int fd;

	(void)pthread_mutex_lock(&one_at_a_time);
	fd = bpf_map_create(bpf_map__type(like), name, bpf_map__key_size(like),
			    bpf_map__value_size(like), n, &opts);
	(void)pthread_mutex_unlock(&one_at_a_time);
	return fd;
}

/*
 * The outer map accepts only maps with the flags of the inner map that it was made with. We make
 * the inner map as well: since libbpf 1.4, bpf_map__set_map_flags() on libbpf's own one is a
 * SIGSEGV. Where this fails, loading the programs fails next, and libbpf has words for that.
 */
int object_load_level(struct object *o)
{
	int inner[LEVEL_OUTERS];

	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		inner[i] = create_map("inner", o->level[i].like, 1);
		if (inner[i] >= 0)
			(void)bpf_map__set_inner_map_fd(o->level[i].outer, inner[i]);
	}

	object_make_slab0(o);

	const int err = stackcount_bpf__load(o->skeleton);

	for (size_t i = 0; i < ARRAY_SIZE(inner); i++)
		cleanup_close_fd(&inner[i]);
	return err;
}

/* User space knows of a map before the programs do: what they put into it is read. */
static void *add_map(void *argument)
{
	struct level_map *m = argument;
	const int fd = create_map("more", m->like, m->n);

	__atomic_store_n(&m->fd, fd < 0 ? -1 : fd, __ATOMIC_RELEASE);
	if (fd < 0 || bpf_map_update_elem(bpf_map__fd(m->outer), &m->at, &fd, BPF_ANY))
		log_debug("no second level of the map %s: %s", bpf_map__name(m->like),
			  strerror(errno));
	return NULL;
}

/*
 * Side by side, where threads can be had: each such update waits for RCU behind it, for longer than
 * what the first level has room for.
 */
static void begin_map(struct level_map *m)
{
	if (pthread_create(&m->thread, NULL, add_map, m) == 0)
		return;
	m->thread = 0;
	(void)add_map(m);
}

void object_begin_level(struct object *o)
{
	if (o->has_begun_level)
		return;
	o->has_begun_level = true;
	for (size_t i = 0; i < ARRAY_SIZE(o->level); i++)
		if (o->level[i].n)
			begin_map(&o->level[i]);
}

void object_add_level(struct object *o)
{
	object_begin_level(o);
	for (size_t i = 0; i < ARRAY_SIZE(o->level); i++)
		if (o->level[i].thread)
			(void)pthread_join(o->level[i].thread, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(o->level); i++)
		o->level[i].thread = 0;
}

void object_close_level(struct object *o)
{
	if (o->has_begun_level)
		object_add_level(o);
	for (size_t i = 0; o->skeleton && i < ARRAY_SIZE(o->level); i++)
		cleanup_close_fd(&o->level[i].fd);
}

void object_describe_level(const struct object *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->level); i++)
		if (__atomic_load_n(&o->level[i].fd, __ATOMIC_ACQUIRE) >= 0)
			log_debug("map %s, second level: %u entries",
				  bpf_map__name(o->level[i].like), o->level[i].n);
}
