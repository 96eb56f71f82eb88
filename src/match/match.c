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

/* --- sent targets --- */

/*
 * The format of sent targets.
 *
 *	numbers of targets and aliases
 *	struct sent_target, name, symbol, path, arguments	for each target
 *	struct sent_alias, name				for each alias
 *
 * Texts have no NUL. Both processes run on one machine, so structures are sent as they are.
 */

#define NONE UINT32_MAX /* of a length: there is no text, or the path is that of the one before */

struct sent_head {
	uint32_t n_targets, n_aliases;
};

struct sent_target {
	uint64_t vaddr, offset, semaphore, place;
	uint32_t n_name, n_symbol, n_path, n_arguments;
	uint8_t kind, obstacle, flags, zero[5];
};

enum { SENT_DISTANT = 1, SENT_JUMP = 2, SENT_32_BIT = 4 };

struct sent_alias {
	uint32_t target, n_name;
};

static uint32_t length_or_none(const char *text)
{
	return text ? (uint32_t)strlen(text) : NONE;
}

static void put_sent_bytes(struct strbuf *to, const void *from, size_t n)
{
	strbuf_put(to, from, n);
}

static void put_sent_text(struct strbuf *to, const char *text, uint32_t n)
{
	if (n != NONE)
		put_sent_bytes(to, text, n);
}

static void put_sent_target(struct strbuf *to, const struct target *t, const char *former_path)
{
	const struct sent_target sent = {
		.vaddr = t->vaddr,
		.offset = t->offset,
		.semaphore = t->semaphore,
		.place = t->place,
		.n_name = length_or_none(t->name),
		.n_symbol = length_or_none(t->symbol),
		.n_path = t->path == former_path ? NONE : length_or_none(t->path),
		.n_arguments = length_or_none(t->arguments),
		.kind = (uint8_t)t->kind,
		.obstacle = (uint8_t)t->obstacle,
		.flags = (uint8_t)((t->is_distant ? SENT_DISTANT : 0) |
				   (t->is_jump ? SENT_JUMP : 0) | (t->is_32_bit ? SENT_32_BIT : 0)),
	};

	put_sent_bytes(to, &sent, sizeof(sent));
	put_sent_text(to, t->name, sent.n_name);
	put_sent_text(to, t->symbol, sent.n_symbol);
	put_sent_text(to, t->path, sent.n_path);
	put_sent_text(to, t->arguments, sent.n_arguments);
}

void sent_put(const struct target_list *list, size_t first, size_t first_alias, struct strbuf *to)
{
	const struct sent_head head = { (uint32_t)(list->n - first),
					(uint32_t)(list->n_aliases - first_alias) };
	const char *path = NULL;

	put_sent_bytes(to, &head, sizeof(head));
	for (size_t i = first; i < list->n; i++) {
		put_sent_target(to, &list->targets[i], path);
		path = list->targets[i].path;
	}
	for (size_t i = first_alias; i < list->n_aliases; i++) {
		const struct target_alias *a = &list->aliases[i];
		const struct sent_alias sent = { a->target, length_or_none(a->name) };

		put_sent_bytes(to, &sent, sizeof(sent));
		put_sent_text(to, a->name, sent.n_name);
	}
}

struct taking {
	const char *at;
	size_t left;
	struct target_list *out;
	const char *path; /* of the last target; NULL: there is none */
};

static bool parse_sent_bytes(struct taking *from, void *to, size_t n)
{
	if (from->left < n)
		return false;
	memcpy(to, from->at, n);
	from->at += n;
	from->left -= n;
	return true;
}

static bool parse_sent_text(struct taking *from, uint32_t n, const char **ret)
{
	if (from->left < n || memchr(from->at, '\0', n))
		return false;
	*ret = strtab_add_n(from->out->strings, from->at, n);
	from->at += n;
	from->left -= n;
	return true;
}

static bool is_in_file(uint8_t kind)
{
	return kind == TARGET_USER_FUNCTION || kind == TARGET_USER_RETURN || kind == TARGET_USDT;
}

static bool parse_sent_target(struct taking *from)
{
	struct sent_target sent;

	if (!parse_sent_bytes(from, &sent, sizeof(sent)) || !is_in_file(sent.kind) ||
	    sent.flags > (SENT_DISTANT | SENT_JUMP | SENT_32_BIT) ||
	    sent.obstacle > OBSTACLE_OVERWRITES ||
	    (sent.kind != TARGET_USDT && sent.n_symbol == NONE))
		return false;

	struct target t = {
		.kind = (enum target_kind)sent.kind,
		.vaddr = sent.vaddr,
		.offset = sent.offset,
		.semaphore = sent.semaphore,
		.place = sent.place,
		.obstacle = (enum target_obstacle)sent.obstacle,
		.is_distant = sent.flags & SENT_DISTANT,
		.is_jump = sent.flags & SENT_JUMP,
		.is_32_bit = sent.flags & SENT_32_BIT,
	};

	if (!parse_sent_text(from, sent.n_name, &t.name) ||
	    (sent.n_symbol != NONE && !parse_sent_text(from, sent.n_symbol, &t.symbol)) ||
	    (sent.n_path != NONE && !parse_sent_text(from, sent.n_path, &from->path)) ||
	    !from->path ||
	    (sent.n_arguments != NONE && !parse_sent_text(from, sent.n_arguments, &t.arguments)))
		return false;
	t.path = from->path;
	array_push(from->out->targets, from->out->n, from->out->capacity, t);
	return true;
}

static bool parse_sent_alias(struct taking *from)
{
	struct target_list *out = from->out;
	struct target_alias alias = {};
	struct sent_alias sent;

	if (!parse_sent_bytes(from, &sent, sizeof(sent)) || sent.target >= out->n ||
	    !parse_sent_text(from, sent.n_name, &alias.name))
		return false;
	alias.target = sent.target;
	array_push(out->aliases, out->n_aliases, out->aliases_capacity, alias);
	return true;
}

static bool parse_sent_list(struct taking *from, size_t most)
{
	struct sent_head head;

	if (!parse_sent_bytes(from, &head, sizeof(head)) || head.n_targets > most)
		return false;
	for (uint32_t i = 0; i < head.n_targets; i++)
		if (!parse_sent_target(from))
			return false;
	for (uint32_t i = 0; i < head.n_aliases; i++)
		if (!parse_sent_alias(from))
			return false;
	return from->left == 0;
}

bool sent_take(const char *bytes, size_t n, size_t most, struct target_list *out)
{
	const size_t n_targets = out->n, n_aliases = out->n_aliases;
	struct taking from = { .at = bytes, .left = n, .out = out };

	if (!out->strings)
		out->strings = strtab_new();
	if (parse_sent_list(&from, most > out->n ? most - out->n : 0))
		return true;
	out->n = n_targets;
	out->n_aliases = n_aliases;
	return false;
}
