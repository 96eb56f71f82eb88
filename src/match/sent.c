// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The format of sent targets.
 *
 *	numbers of targets and aliases
 *	struct sent_target, name, symbol, path, arguments	for each target
 *	struct sent_alias, name				for each alias
 *
 * Texts have no NUL. Both processes run on one machine, so structures are sent as they are.
 */
#include "match/sent.h"

#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/strtab.h"

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
