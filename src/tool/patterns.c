// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/patterns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kernel/kernel_types.h"
#include "match/expression.h"
#include "match/spec.h"
#include "report/escape.h"
#include "report/render.h"
#include "tool/matcher.h"
#include "tool/pairs.h"

#define MOST_TARGETS 200000

/* No function has a name of digits alone, or with a slash. A look at the file may hang. */
static int check_slip(const struct options *opt, const char *text, struct error *e)
{
	const bool is_number = text[strspn(text, "0123456789")] == '\0';
	const bool is_path = !strchr(text, ':') && (strchr(text, '/') || renderer_of_file(text));

	if (is_number)
		return error_set(e, -EINVAL, "'%s' is no event (%s)", text,
				 opt->pids.n ? "several PIDs are separated by commas: -p 1,2"
				 : opt->tool == TOOL_FUNCCOUNT ? "-d ends the run after a time"
							       : "-D ends the run after a time");
	if (!opt->regexp && is_path)
		return error_set(e, -EINVAL,
				 "'%s' is no event: stackcount --read FILE shows a saved run, and "
				 "FILE:FUNCTION is an event of a program",
				 text);
	return 0;
}

/* A user function has no kernel stack: with -K there would be nothing to show. */
int patterns_check(const struct options *opt, struct error *e)
{
	bool has_kernel_stack = false, has_perf_event = false;
	struct expression sum;

	if (opt->sum && expression_parse(opt->sum, &sum, e))
		return e->code;
	if (pairs_check(opt, e))
		return e->code;

	for (size_t i = 0; i < opt->n_patterns; i++) {
		cleanup(probe_spec_fini) struct probe_spec spec = {};
		int err = probe_spec_parse(opt->patterns[i], opt->regexp, &spec, e);

		if (!err)
			err = check_slip(opt, opt->patterns[i], e);
		if (err)
			return err;
		has_perf_event |= spec.kind == PROBE_PERF_EVENT;
		has_kernel_stack |= spec.kind == PROBE_KERNEL_FUNCTION ||
				    spec.kind == PROBE_TRACEPOINT || spec.kind == PROBE_PERF_EVENT;
	}
	if ((opt->frequency || opt->period) && !has_perf_event)
		return error_set(e, -EINVAL, "%s is of perf events, and '%s' is none (e:EVENT)",
				 opt->frequency ? "--frequency" : "--period", opt->patterns[0]);
	if (opt->kernel_only && !has_kernel_stack)
		return error_set(e, -EINVAL, "-K: '%s' is user code and has no kernel stack",
				 opt->patterns[0]);
	return 0;
}

static bool is_user_place(const struct probe_spec *spec)
{
	return spec->kind == PROBE_USER_FUNCTION || spec->kind == PROBE_USDT;
}

unsigned patterns_need_features(const struct options *opt)
{
	unsigned groups = FEATURES_ALWAYS;

	for (size_t i = 0; i < opt->n_patterns; i++) {
		cleanup(probe_spec_fini) struct probe_spec spec = {};
		struct error none;

		if (probe_spec_parse(opt->patterns[i], opt->regexp, &spec, &none) != 0)
			continue;
		if (is_user_place(&spec))
			groups |= FEATURES_USER;
		if (spec.kind == PROBE_KERNEL_FUNCTION)
			groups |= spec.is_return ? FEATURES_KERNEL_FUNCTION | FEATURES_KERNEL_RETURN
						 : FEATURES_KERNEL_FUNCTION;
	}
	return groups;
}

bool patterns_have_user_places(const struct options *opt)
{
	return patterns_need_features(opt) & FEATURES_USER;
}

static int parse_patterns(struct matching *m, const struct options *opt, struct error *e)
{
	m->specs = xcalloc(2 * opt->n_patterns, sizeof(*m->specs));
	for (; m->n < opt->n_patterns; m->n++) {
		const int err =
			probe_spec_parse(opt->patterns[m->n], opt->regexp, &m->specs[m->n], e);

		if (err)
			return err;
	}
	return opt->elapsed ? pairs_add_returns(opt, m->specs, &m->n, e) : 0;
}

/* The number of specs in a row, from @first on, that name places in files. */
static size_t n_specs_in_files(const struct matching *m, size_t first)
{
	size_t n = 0;

	while (first + n < m->n && is_user_place(&m->specs[first + n]))
		n++;
	return n;
}

/* Linux 7.2 makes a call of a NOP of ten bytes, and moves the stack pointer before it. */
static bool kernel_calls_at_nop5(void)
{
	static const struct kernel_member trampoline = { "uprobe_trampoline", NULL };
	struct error none;
	uint32_t id;

	return kernel_types_read(KERNEL_BTF, &trampoline, 1, &id, &none) == 0 && id != NO_MEMBER;
}

int matching_begin(struct matching *m, const struct options *opt, enum match_depth depth,
		   struct error *e)
{
	struct target_list none = {};
	int err;

	*m = MATCHING_NONE;
	m->scope = (struct match_scope){ .pids = opt->pids.numbers,
					 .n_pids = opt->pids.n,
					 .limit = MOST_TARGETS,
					 .depth = depth,
					 .raw_names = opt->no_demangle };
	err = parse_patterns(m, opt, e);
	for (size_t i = 0; i < m->n && !m->scope.kernel_calls_at_nop5; i++)
		m->scope.kernel_calls_at_nop5 =
			m->specs[i].kind == PROBE_USDT && kernel_calls_at_nop5();
	m->n_begun = n_specs_in_files(m, 0);
	if (err || !m->n_begun)
		return err;
	return matcher_begin(&m->matcher, m->specs, m->n_begun, &m->scope, &none, e);
}

static int match_in_files(struct matching *m, size_t first, size_t n, struct target_list *targets,
			  struct error *e)
{
	int err = 0;

	if (first >= m->n_begun)
		err = matcher_begin(&m->matcher, m->specs + first, n, &m->scope, targets, e);
	if (!err)
		err = matcher_finish(&m->matcher, m->scope.limit, targets, e);
	matcher_end(&m->matcher);
	return err;
}

/* Did the user mean a tracepoint by one of @specs? The process that looked into files has none. */
static int hint_at_tracepoints(const struct probe_spec *specs, size_t n, struct host *host,
			       struct error *e)
{
	const struct error found = *e;
	char hint[NEAR_HINT] = "";

	for (size_t i = 0; i < n && !hint[0]; i++)
		match_near_tracepoints(&specs[i], host, hint);
	return error_set(e, found.code, "%s%s", found.text, hint);
}

int matching_finish(struct matching *m, struct host *host, struct target_list *targets,
		    struct error *e)
{
	int err = 0;

	for (size_t i = 0, n; i < m->n && !err; i += n) {
		const size_t n_before = targets->n;

		n = n_specs_in_files(m, i);
		if (n)
			err = match_in_files(m, i, n, targets, e);
		if (err == -ENOENT)
			err = hint_at_tracepoints(m->specs + i, n, host, e);
		else if (!n)
			err = match_targets(&m->specs[i], host, &m->scope, targets, e);
		for (size_t k = n_before; k < targets->n && !n; k++)
			targets->targets[k].pattern = (uint32_t)i;
		n += !n;
	}
	return err;
}

void matching_end(struct matching *m)
{
	matcher_end(&m->matcher);
	while (m->n)
		probe_spec_fini(&m->specs[--m->n]);
	cleanup_free_p(&m->specs);
}

int patterns_match(const struct options *opt, struct host *host, enum match_depth depth,
		   struct target_list *targets, struct error *e)
{
	cleanup(matching_end) struct matching m = MATCHING_NONE;
	int err = matching_begin(&m, opt, depth, e);

	return err ? err : matching_finish(&m, host, targets, e);
}

/* Escape it all, because names come from foreign files. */
void patterns_put_target(const struct target *t, struct strbuf *to)
{
	cleanup_strbuf struct strbuf raw = {};

	switch (t->kind) {
	case TARGET_TRACEPOINT:
		strbuf_printf(&raw, "t:%s:%s", t->category, t->event);
		break;
	case TARGET_PERF_EVENT:
		strbuf_printf(&raw, "e:%s", t->name);
		break;
	case TARGET_USER_FUNCTION:
		strbuf_printf(&raw, "%s:%s", t->path, t->name);
		break;
	case TARGET_USER_RETURN:
		strbuf_printf(&raw, "r:%s:%s", t->path, t->name);
		break;
	case TARGET_KERNEL_RETURN:
		strbuf_printf(&raw, "r:%s", t->name);
		if (t->module)
			strbuf_printf(&raw, " [%s]", t->module);
		break;
	case TARGET_USDT:
		strbuf_printf(&raw, "u:%s:%s", t->path, t->name);
		break;
	default:
		strbuf_puts(&raw, t->name);
		if (t->module)
			strbuf_printf(&raw, " [%s]", t->module);
	}
	escape_put(to, raw.text, false);
}
