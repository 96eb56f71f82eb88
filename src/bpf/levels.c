// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/levels.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"

struct level_map level_map_of(const struct bpf_map *like, struct bpf_map *outer, uint32_t at)
{
	return (struct level_map){
		.like = like, .outer = outer, .at = at, .inner_fd = -1, .fd = -1
	};
}

int level_map_fd(const struct level_map *m, unsigned level)
{
	return level ? __atomic_load_n(&m->fd, __ATOMIC_ACQUIRE) : bpf_map__fd(m->like);
}

/*
 * Make one map at a time. Laying out a map's buckets takes 3 ms, in which the kernel gives the CPU
 * to nobody else. The machine may have only two CPUs.
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
 * The outer map accepts only maps with the flags of its first inner map. We make that one, too:
 * since libbpf 1.4, bpf_map__set_map_flags() on libbpf's own inner map is a SIGSEGV. If this fails,
 * loading fails next, and libbpf reports the reason.
 */
void levels_give_inner(struct levels *l)
{
	for (size_t i = 0; i < ARRAY_SIZE(l->maps); i++) {
		struct level_map *m = &l->maps[i];

		if (m->at) /* its outer map has got one */
			continue;
		m->inner_fd = create_map("inner", m->like, 1);
		if (m->inner_fd >= 0)
			(void)bpf_map__set_inner_map_fd(m->outer, m->inner_fd);
	}
}

void levels_take_inner(struct levels *l)
{
	for (size_t i = 0; i < ARRAY_SIZE(l->maps); i++)
		cleanup_close_fd(&l->maps[i].inner_fd);
}

/* User space learns of a map before the programs do, so it reads all that they put into it. */
static void *make_second_level(void *argument)
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
 * In a thread, if one can start: each update then waits for RCU, for longer than the first level
 * has room.
 */
static void begin_second_level(struct level_map *m)
{
	if (pthread_create(&m->thread, NULL, make_second_level, m) == 0)
		return;
	m->thread = 0;
	(void)make_second_level(m);
}

void levels_begin(struct levels *l)
{
	if (l->has_begun)
		return;
	l->has_begun = true;
	for (size_t i = 0; i < ARRAY_SIZE(l->maps); i++)
		if (l->maps[i].n)
			begin_second_level(&l->maps[i]);
}

void levels_wait(struct levels *l)
{
	levels_begin(l);
	for (size_t i = 0; i < ARRAY_SIZE(l->maps); i++) {
		if (l->maps[i].thread)
			(void)pthread_join(l->maps[i].thread, NULL);
		l->maps[i].thread = 0;
	}
}

void levels_fini(struct levels *l)
{
	if (l->has_begun)
		levels_wait(l);
	for (size_t i = 0; i < ARRAY_SIZE(l->maps); i++)
		if (l->maps[i].like)
			cleanup_close_fd(&l->maps[i].fd);
}

void levels_describe(const struct levels *l)
{
	for (size_t i = 0; i < ARRAY_SIZE(l->maps); i++)
		if (level_map_fd(&l->maps[i], 1) >= 0)
			log_debug("map %s, second level: %u entries",
				  bpf_map__name(l->maps[i].like), l->maps[i].n);
}
