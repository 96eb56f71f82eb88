// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The process sends:
 *
 *	FILE	n	"/usr/lib/libc.so.6"		it is going to read this
 *	RESULT	n	struct result, targets
 *
 * Whoever takes the process over can send anything, so the main process checks it all.
 */
#include "match/matcher.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/aside.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "elf/image.h"
#include "helper/sandbox.h"

/* A large library takes a second, a hostile one all the time that it gets. */
static const struct aside_bounds bounds = { .cpu_ns = 30 * NS_PER_S, .looks = 50 };

#define MOST_ERRNO 4095 /* the kernel's own limit */
#define MOST_FILE_BYTES 8192
#define MOST_RESULT_BYTES (256U << 20)

enum { FILE_BEGINS, RESULT };

struct head {
	uint32_t what, n_bytes;
};

/* If @err is 0, targets follow (match/target.h). */
struct result {
	int32_t err;
	char text[sizeof(((struct error *)0)->text)];
};

/* -- In the process. -- */

struct work {
	const struct probe_spec *specs;
	size_t n;
	struct match_scope scope;
	struct target_list *out;
	int channel;
};

static void send_message(int channel, uint32_t what, const void *bytes, size_t n)
{
	const struct head head = { what, n <= MOST_RESULT_BYTES ? (uint32_t)n : UINT32_MAX };

	if (aside_write(channel, &head, sizeof(head)))
		(void)aside_write(channel, bytes, n);
}

static void send_file_name(void *context, const char *name)
{
	const struct work *w = context;

	send_message(w->channel, FILE_BEGINS, name, strnlen(name, MOST_FILE_BYTES));
}

static void match_in_process(void *argument, int channel)
{
	struct work *w = argument;
	const size_t n_targets = w->out->n, n_aliases = w->out->n_aliases;
	cleanup_strbuf struct strbuf bytes = {};
	struct result result = {};
	struct error e = {};
	uint32_t layers;

	aside_close_others(&channel);
	guard_begin();
	w->channel = channel;
	result.err = sandbox_enter(SANDBOX_MATCHER, &layers, &e);
	for (size_t i = 0; i < w->n && !result.err; i++)
		result.err = match_targets(&w->specs[i], NULL, &w->scope, w->out, &e);
	if (result.err)
		(void)snprintf(result.text, sizeof(result.text), "%s", e.text);
	strbuf_put(&bytes, (const char *)&result, sizeof(result));
	if (!result.err)
		sent_put(w->out, n_targets, n_aliases, &bytes);
	send_message(channel, RESULT, bytes.text, bytes.n);
}

/* -- The main process. -- */

static int read_file_name(struct aside *a, size_t n, char **file)
{
	cleanup_free char *name = xcalloc(n + 1, 1);
	const int err = n > MOST_FILE_BYTES ? -EPIPE : aside_read(a, name, n);

	if (err)
		return err;
	cleanup_free_p(file);
	*file = TAKE(name);
	aside_begin(a);
	return 0;
}

/* Read messages up to the result, which the caller frees. */
static int read_matched(struct aside *a, char **file, char **ret, size_t *ret_n)
{
	struct head head;

	for (;;) {
		int err = aside_read(a, &head, sizeof(head));

		if (!err && head.what == FILE_BEGINS) {
			err = read_file_name(a, head.n_bytes, file);
			if (!err)
				continue;
		}
		if (err)
			return err;
		if (head.what != RESULT || head.n_bytes > MOST_RESULT_BYTES)
			return -E2BIG;
		*ret_n = head.n_bytes;
		*ret = xcalloc(*ret_n + 1, 1);
		return aside_read(a, *ret, *ret_n);
	}
}

static int refuse_answer(struct error *e)
{
	return error_set(e, -EBADMSG, "the matcher process sent an invalid answer");
}

static int parse_result(const char *bytes, size_t n, size_t limit, struct target_list *out,
			struct error *e)
{
	struct result result;

	if (!bytes || n < sizeof(result)) /* the static analyser sees a NULL in some of its runs */
		return refuse_answer(e);
	memcpy(&result, bytes, sizeof(result));
	result.text[sizeof(result.text) - 1] = '\0';
	if (result.err < 0 && result.err >= -MOST_ERRNO)
		return error_set(e, result.err, "%s", result.text);
	if (result.err || !sent_take(bytes + sizeof(result), n - sizeof(result), limit, out))
		return refuse_answer(e);
	return 0;
}

int matcher_begin(struct matcher *m, const struct probe_spec *specs, size_t n,
		  const struct match_scope *scope, struct target_list *out, struct error *e)
{
	struct work w = { .specs = specs, .n = n, .scope = *scope, .out = out };

	w.scope.on_file = send_file_name;
	w.scope.context = &w;
	*m = MATCHER_NONE;
	m->file = xstrdup(specs[0].library);
	return aside_start(&m->aside, &bounds, match_in_process, &w, e);
}

int matcher_finish(struct matcher *m, size_t limit, struct target_list *out, struct error *e)
{
	cleanup_free char *result = NULL;
	size_t n_bytes = 0;
	const int err = read_matched(&m->aside, &m->file, &result, &n_bytes);

	if (err == -E2BIG)
		return error_set(e, err, "%s: the names of its matches are too long", m->file);
	if (err)
		return aside_explain(&m->aside, err, m->file, e);
	return parse_result(result, n_bytes, limit, out, e);
}

void matcher_end(struct matcher *m)
{
	aside_end(&m->aside);
	cleanup_free_p(&m->file);
}
