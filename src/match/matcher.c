// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The process sends messages, each behind a struct head with its code:
 *
 *	FILE_BEGINS	"/usr/lib/libc.so.6"	it is going to read this
 *	0		targets			the result
 *	-ENOENT, ...	"no function ..."	the result is this error
 *
 * Whoever takes the process over can send anything, so the main process checks it all. Both run on
 * one machine, so structures are sent as they are.
 */
#include "match/matcher.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/descriptors.h"
#include "base/memory.h"
#include "base/strtab.h"
#include "files/sandbox.h"

/* A large library takes a second, a hostile one all the time that it gets. */
#define MOST_CPU_S 30
#define MOST_STILL 50 /* looks at the process */

#define MOST_ERRNO 4095 /* the kernel's own limit */
#define MOST_BYTES (256U << 20)
#define FILE_BEGINS 1

struct head {
	int32_t code;
	uint32_t n_bytes;
};

/* --- targets as bytes --- */

/* Three texts follow: name, path, and a function's symbol or a probe's arguments. */
struct sent_target {
	uint64_t vaddr, offset, semaphore, place;
	uint8_t kind, obstacle, is_jump, is_32_bit, zero[4];
};

static void put_sent_text(struct strbuf *to, const char *text)
{
	strbuf_put(to, text, strlen(text) + 1);
}

void sent_put(const struct target_list *list, size_t first, struct strbuf *to)
{
	for (size_t i = first; i < list->n; i++) {
		const struct target *t = &list->targets[i];
		const struct sent_target sent = {
			.vaddr = t->vaddr,
			.offset = t->offset,
			.semaphore = t->semaphore,
			.place = t->place,
			.kind = (uint8_t)t->kind,
			.obstacle = (uint8_t)t->obstacle,
			.is_jump = t->is_jump,
			.is_32_bit = t->is_32_bit,
		};

		strbuf_put(to, (const char *)&sent, sizeof(sent));
		put_sent_text(to, t->name);
		put_sent_text(to, t->path);
		put_sent_text(to, t->kind == TARGET_USDT ? t->arguments : t->symbol);
	}
}

struct taking {
	const char *at;
	size_t left;
	struct target_list *out;
};

static bool take_sent_bytes(struct taking *from, void *to, size_t n)
{
	if (from->left < n)
		return false;
	memcpy(to, from->at, n);
	from->at += n;
	from->left -= n;
	return true;
}

static bool take_sent_text(struct taking *from, const char **ret)
{
	const char *end = memchr(from->at, '\0', from->left);

	if (!end)
		return false;
	*ret = strtab_add(from->out->strings, from->at);
	from->left -= (size_t)(end + 1 - from->at);
	from->at = end + 1;
	return true;
}

static bool take_sent_target(struct taking *from)
{
	struct target t = {};
	struct sent_target sent;

	if (!take_sent_bytes(from, &sent, sizeof(sent)) || sent.obstacle > OBSTACLE_OVERWRITES ||
	    (sent.kind != TARGET_USER_FUNCTION && sent.kind != TARGET_USER_RETURN &&
	     sent.kind != TARGET_USDT))
		return false;
	t = (struct target){
		.kind = (enum target_kind)sent.kind,
		.vaddr = sent.vaddr,
		.offset = sent.offset,
		.semaphore = sent.semaphore,
		.place = sent.place,
		.obstacle = (enum target_obstacle)sent.obstacle,
		.is_jump = sent.is_jump,
		.is_32_bit = sent.is_32_bit,
	};
	if (!take_sent_text(from, &t.name) || !take_sent_text(from, &t.path) ||
	    !take_sent_text(from, t.kind == TARGET_USDT ? &t.arguments : &t.symbol))
		return false;
	array_push(from->out->targets, from->out->n, from->out->capacity, t);
	return true;
}

bool sent_take(const char *bytes, size_t n, size_t most, struct target_list *out)
{
	const size_t n_targets = out->n;
	struct taking from = { .at = bytes, .left = n, .out = out };
	bool is_sound = true;

	if (!out->strings)
		out->strings = strtab_new();
	while (is_sound && from.left)
		is_sound = out->n < most && take_sent_target(&from);
	if (!is_sound)
		out->n = n_targets;
	return is_sound;
}

/* --- in the process --- */

struct work {
	const struct probe_spec *specs;
	size_t n;
	struct match_scope scope;
	struct target_list *out;
	int channel;
};

static void send_message(int channel, int code, const char *bytes, size_t n)
{
	const struct head head = { code, n <= MOST_BYTES ? (uint32_t)n : UINT32_MAX };

	if (aside_write(channel, &head, sizeof(head)))
		(void)aside_write(channel, bytes, n);
}

static void send_file_name(void *context, const char *name)
{
	const struct work *w = context;

	send_message(w->channel, FILE_BEGINS, name, strlen(name));
}

static void match_in_process(void *argument, int channel)
{
	struct work *w = argument;
	const size_t n_targets = w->out->n;
	cleanup_strbuf struct strbuf bytes = {};
	int kept[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, channel };
	struct error e = {};
	int err;

	descriptors_close_but(kept, ARRAY_SIZE(kept));
	w->channel = channel;
	(void)setrlimit(RLIMIT_CPU, &(struct rlimit){ MOST_CPU_S, MOST_CPU_S });
	err = sandbox_enter(SANDBOX_MATCHER, &e);
	for (size_t i = 0; i < w->n && !err; i++)
		err = match_targets(&w->specs[i], NULL, &w->scope, w->out, &e);
	if (err)
		strbuf_puts(&bytes, e.text);
	else
		sent_put(w->out, n_targets, &bytes);
	send_message(channel, err, bytes.text, bytes.n);
}

/* --- the main process --- */

/*
 * Read messages up to the result, whose bytes have a NUL behind them. *@file is the one that the
 * process reads now. The caller frees both.
 */
static int read_result(struct aside *aside, struct head *head, char **file, char **ret)
{
	for (;;) {
		cleanup_free char *bytes = NULL;
		int err = aside_read(aside, head, sizeof(*head));

		if (!err && head->n_bytes > MOST_BYTES)
			err = -E2BIG;
		if (err)
			return err;
		bytes = xcalloc(head->n_bytes + 1, 1);
		err = aside_read(aside, bytes, head->n_bytes);
		if (err)
			return err;
		if (head->code != FILE_BEGINS) {
			*ret = TAKE(bytes);
			return 0;
		}
		free(*file);
		*file = TAKE(bytes);
	}
}

int match_in_files(const struct probe_spec *specs, size_t n, const struct match_scope *scope,
		   struct target_list *out, struct error *e)
{
	struct work w = { .specs = specs, .n = n, .scope = *scope, .out = out };
	cleanup(aside_end) struct aside aside = ASIDE_NONE;
	cleanup_free char *file = xstrdup(specs[0].library);
	cleanup_free char *bytes = NULL;
	struct head head;
	int err;

	w.scope.on_file = send_file_name;
	w.scope.context = &w;
	err = aside_start(&aside, MOST_STILL, match_in_process, &w, e);
	if (err)
		return err;
	err = read_result(&aside, &head, &file, &bytes);
	if (err == -E2BIG)
		return error_set(e, err, "%s: the names of its matches are too long", file);
	if (err)
		return aside_explain(err, file, e);
	if (head.code < 0 && head.code >= -MOST_ERRNO)
		return error_set(e, head.code, "%s", bytes);
	if (head.code || !sent_take(bytes, head.n_bytes, scope->limit, out))
		return error_set(e, -EBADMSG, "the matcher process sent an invalid answer");
	return 0;
}
