// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/match.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "match/private.h"

void target_list_fini(struct target_list *list)
{
	free(list->targets);
	free(list->aliases);
	strtab_free(list->strings);
	*list = (struct target_list){};
}

/* --- places --- */

enum place_kind {
	PLACE_NAME = 1,
	PLACE_NAMED_ADDR,
	PLACE_ADDR,
	PLACE_TRACEPOINT,
	PLACE_PERF_EVENT,
	PLACE_FILE
};

static uint64_t mix_place(enum place_kind kind, uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(a + kind) ^ b);
}

static bool is_kernel_kind(const struct target *t)
{
	return t->kind == TARGET_KERNEL_FUNCTION || t->kind == TARGET_KERNEL_RETURN;
}

/* The name of a kernel function as a place. A function's returns are another place. */
static uint64_t place_of_name(enum place_kind kind, const struct target *t)
{
	return mix_place(kind, hash_bytes(t->symbol, strlen(t->symbol)), t->kind);
}

uint64_t place_of_kernel_function(const struct target *t)
{
	return t->addr ? mix_place(PLACE_ADDR, t->addr, t->kind) : place_of_name(PLACE_NAME, t);
}

uint64_t place_of_tracepoint(const char *category, const char *event)
{
	return mix_place(PLACE_TRACEPOINT, hash_bytes(category, strlen(category)),
			 hash_bytes(event, strlen(event)));
}

uint64_t place_of_perf_event(const struct target *event)
{
	const uint64_t codes[] = {
		event->perf_type,    event->perf_config,  event->perf_config1,
		event->perf_config2, event->exclude_user, event->exclude_kernel
	};

	return mix_place(PLACE_PERF_EVENT, hash_bytes((const char *)codes, sizeof(codes)), 0);
}

/*
 * Is this part of a path safe from others than root? In a folder with the sticky bit (/tmp), others
 * cannot replace root's files. Links occur only in paths of processes (/proc/7/root,
 * /proc/7/map_files/400000-401000), and these lead to anything.
 */
static bool is_part_roots_alone(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0 || st.st_uid != 0 || S_ISLNK(st.st_mode))
		return false;
	return !(st.st_mode & (S_IWGRP | S_IWOTH)) || (S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX);
}

bool is_roots_alone(const char *path)
{
	cleanup_free char *at = xstrdup(path);

	if (path[0] != '/' || !is_part_roots_alone("/"))
		return false;
	for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (!is_part_roots_alone(at))
			return false;
		*slash = '/';
	}
	return is_part_roots_alone(path);
}

/*
 * Is the file on one of these file systems? Their pages come from the kernel alone. Layers of
 * overlayfs may lie anywhere, so it is left out.
 */
static bool is_on_local_file_system(const char *path)
{
	static const unsigned magics[] = {
		0x0000EF53, /* ext2 to ext4 */
		0x58465342, /* XFS */
		0x9123683E, /* btrfs */
		0x01021994, /* tmpfs */
		0x858458F6, /* ramfs */
		0xF2F52010, /* F2FS */
		0xCA451A4E, /* bcachefs */
		0x2FC12FC1, /* ZFS */
		0x73717368, /* squashfs */
		0xE0F5E1E2, /* EROFS */
		0x00009660, /* ISO 9660 */
		0x00004D44, /* FAT */
	};
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if ((unsigned)fs.f_type == magics[i])
			return true;
	return false;
}

void file_place_of(const char *path, struct file_place *ret)
{
	struct stat st;

	*ret = (struct file_place){
		.path = path, .is_distant = !is_on_local_file_system(path) || !is_roots_alone(path)
	};
	if (stat(path, &st) == 0) {
		ret->dev = st.st_dev;
		ret->ino = st.st_ino;
	}
}

uint64_t place_in_file(const struct file_place *file, enum target_kind kind, uint64_t offset)
{
	uint64_t f = hash_mix(file->dev) ^ file->ino;

	if (!file->dev && !file->ino && file->path)
		f = hash_bytes(file->path, strlen(file->path));
	return mix_place(PLACE_FILE + kind, f, offset);
}

static uint64_t place_of_target(const struct target *t)
{
	switch (t->kind) {
	case TARGET_KERNEL_FUNCTION:
	case TARGET_KERNEL_RETURN:
		return place_of_kernel_function(t);
	case TARGET_TRACEPOINT:
		return place_of_tracepoint(t->category, t->event);
	default:
		return t->place;
	}
}

/* Note the place of @t, which is target number @i. */
static void note_place_of_target(struct matching *m, const struct target *t, uint64_t place,
				 size_t i)
{
	u64_map_put(&m->seen, place, (uint32_t)i, NULL);
	if (is_kernel_kind(t) && t->addr)
		u64_map_put(&m->seen, place_of_name(PLACE_NAMED_ADDR, t), (uint32_t)i, NULL);
}

static void note_all_places(struct matching *m)
{
	for (size_t i = 0; i < m->out->n; i++)
		note_place_of_target(m, &m->out->targets[i], place_of_target(&m->out->targets[i]),
				     i);
}

void matching_renumber(struct matching *m)
{
	u64_map_clear(&m->seen);
	note_all_places(m);
}

/* The number of the target that is listed at @place, or by a name that includes @place. */
static const uint32_t *find_listed(const struct matching *m, const struct target *t, uint64_t place)
{
	const uint32_t *at = u64_map_get(&m->seen, place);

	if (!at && is_kernel_kind(t))
		at = u64_map_get(&m->seen,
				 place_of_name(t->addr ? PLACE_NAME : PLACE_NAMED_ADDR, t));
	return at;
}

void matching_add_alias(struct matching *m, const struct target *listed, const char *name)
{
	struct target_list *list = m->out;

	if (strcmp(listed->name, name) == 0)
		return;

	const struct target_alias alias = {
		.target = (uint32_t)(listed - list->targets),
		.name = strtab_add_or_null(list->strings, name),
	};

	array_push(list->aliases, list->n_aliases, list->aliases_capacity, alias);
}

int matching_add(struct matching *m, const struct target *t, uint64_t place, struct target **ret,
		 struct error *e)
{
	struct target_list *list = m->out;
	const uint32_t *listed = find_listed(m, t, place);
	size_t i = listed ? *listed : list->n;

	if (!listed) {
		if (list->n >= m->scope->limit || list->n >= UINT32_MAX)
			return error_set(e, -E2BIG, "'%s' %s more than %zu places", m->spec->text,
					 m->n_before ? "and the patterns before it match"
						     : "matches",
					 m->scope->limit);

		struct target copy = *t;

		copy.name = strtab_add_or_null(list->strings, t->name);
		copy.symbol = strtab_add_or_null(list->strings, t->symbol);
		copy.module = strtab_add_or_null(list->strings, t->module);
		copy.category = strtab_add_or_null(list->strings, t->category);
		copy.event = strtab_add_or_null(list->strings, t->event);
		copy.path = strtab_add_or_null(list->strings, t->path);
		copy.arguments = strtab_add_or_null(list->strings, t->arguments);
		copy.place = place;
		array_push(list->targets, list->n, list->capacity, copy);
		note_place_of_target(m, &copy, place, i);
	} else {
		matching_add_alias(m, &list->targets[i], t->name);
	}
	if (ret)
		*ret = &list->targets[i];
	return 0;
}

/* --- the call --- */

int match_targets(const struct probe_spec *spec, struct host *host, const struct match_scope *scope,
		  struct target_list *out, struct error *e)
{
	static int (*const by_kind[])(struct matching * m, struct error * e) = {
		[PROBE_KERNEL_FUNCTION] = match_kernel, [PROBE_USER_FUNCTION] = match_user,
		[PROBE_TRACEPOINT] = match_tracepoints, [PROBE_USDT] = match_user,
		[PROBE_PERF_EVENT] = match_perf_events,
	};
	struct matching m = {
		.spec = spec,
		.host = host,
		.scope = scope,
		.out = out,
		.n_before = out->n,
	};
	const size_t n_aliases_before = out->n_aliases;

	if (!out->strings)
		out->strings = strtab_new();
	note_all_places(&m);

	const int err = by_kind[spec->kind](&m, e);

	u64_map_fini(&m.seen);
	if (err) {
		out->n = m.n_before;
		out->n_aliases = n_aliases_before;
	}
	return err;
}
