// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kernel/kernel_types.h"
#include "match/matcher.h"
#include "match/spec.h"
#include "match/values.h"
#include "report/escape.h"
#include "report/render.h"

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

static bool is_user_place(const struct probe_spec *spec)
{
	return spec->kind == PROBE_USER_FUNCTION || spec->kind == PROBE_USDT;
}

/* A user function has no kernel stack: with -K there would be nothing to show. */
static int check_kinds(const struct options *opt, struct error *e)
{
	bool has_kernel_stack = false, has_perf_event = false;

	for (size_t i = 0; i < opt->n_patterns; i++) {
		has_perf_event |= opt->specs[i].kind == PROBE_PERF_EVENT;
		has_kernel_stack |= !is_user_place(&opt->specs[i]);
	}
	if ((opt->frequency || opt->period) && !has_perf_event)
		return error_set(e, -EINVAL, "%s is of perf events, and '%s' is none (e:EVENT)",
				 opt->frequency ? "--frequency" : "--period", opt->patterns[0]);
	if (opt->kernel_only && !has_kernel_stack)
		return error_set(e, -EINVAL, "-K: '%s' is user code and has no kernel stack",
				 opt->patterns[0]);
	return 0;
}

int patterns_parse(struct options *opt, struct error *e)
{
	int err = opt->sum ? expression_parse(opt->sum, &opt->x, e) : 0;

	opt->specs = xcalloc(2 * opt->n_patterns, sizeof(*opt->specs));
	for (size_t i = 0; i < opt->n_patterns && !err; i++) {
		err = probe_spec_parse(opt->patterns[i], opt->regexp, &opt->specs[i], e);
		opt->n_specs += !err;
		if (!err && opt->elapsed)
			err = pairs_check(opt, i, e);
		if (!err)
			err = check_slip(opt, opt->patterns[i], e);
	}
	if (!err)
		err = check_kinds(opt, e);
	return err || !opt->elapsed ? err : pairs_add_returns(opt, e);
}

unsigned patterns_need_features(const struct options *opt)
{
	unsigned groups = 0;

	for (size_t i = 0; i < opt->n_specs; i++) {
		const struct probe_spec *spec = &opt->specs[i];

		if (is_user_place(spec))
			groups |= FEATURES_USER;
		if (spec->kind == PROBE_KERNEL_FUNCTION)
			groups |= FEATURES_KERNEL_FUNCTION |
				  (spec->is_return ? FEATURES_KERNEL_RETURN : 0U);
	}
	return groups;
}

bool patterns_have_user_places(const struct options *opt)
{
	return patterns_need_features(opt) & FEATURES_USER;
}

/* Linux 7.2 makes a call of a NOP of ten bytes, and moves the stack pointer before it. */
static bool kernel_calls_at_nop5(void)
{
	static const struct kernel_member trampoline = { "uprobe_trampoline", NULL };
	struct error none;
	uint32_t id;

	return kernel_types_read(KERNEL_BTF, &trampoline, 1, &id, &none) == 0 && id != NO_MEMBER;
}

/* Did the user mean a tracepoint? The process that looked into files knows none. */
static int hint_at_tracepoints(const struct options *opt, struct host *host, struct error *e)
{
	const struct error found = *e;
	struct near near = {};

	for (size_t i = 0; i < opt->n_specs && !near.n; i++)
		if (is_user_place(&opt->specs[i]))
			match_near_tracepoints(&opt->specs[i], host, &near);
	return error_set(e, found.code, "%s%s", found.text, near_text(&near));
}

int patterns_match(const struct options *opt, struct host *host, enum match_depth depth,
		   struct target_list *targets, struct error *e)
{
	struct match_scope scope = { .pids = opt->pids.numbers,
				     .n_pids = opt->pids.n,
				     .limit = MOST_TARGETS,
				     .depth = depth,
				     .raw_names = opt->no_demangle };
	cleanup_free struct probe_spec *in_files = xcalloc(opt->n_specs + 1, sizeof(*in_files));
	size_t n_in_files = 0;
	int err;

	for (size_t i = 0; i < opt->n_specs; i++)
		if (is_user_place(&opt->specs[i]))
			in_files[n_in_files++] = opt->specs[i];
	scope.kernel_calls_at_nop5 = n_in_files && kernel_calls_at_nop5();
	/* Files may hang, or be hostile, so another process searches them. */
	err = n_in_files ? match_in_files(in_files, n_in_files, &scope, targets, e) : 0;
	if (err == -ENOENT)
		return hint_at_tracepoints(opt, host, e);
	for (size_t i = 0; i < opt->n_specs && !err; i++) {
		const size_t n_before = targets->n;

		if (is_user_place(&opt->specs[i]))
			continue;
		err = match_targets(&opt->specs[i], host, &scope, targets, e);
		for (size_t k = n_before; k < targets->n; k++)
			targets->targets[k].pattern = (uint32_t)i;
	}
	return err;
}

/* Escape it all, because names come from foreign files. */
void patterns_put_target(const struct target *t, struct strbuf *to)
{
	static const char *const prefixes[] = {
		[TARGET_USDT] = "u:",          [TARGET_TRACEPOINT] = "t:",
		[TARGET_KERNEL_RETURN] = "r:", [TARGET_USER_RETURN] = "r:",
		[TARGET_PERF_EVENT] = "e:",
	};
	cleanup_strbuf struct strbuf raw = {};

	strbuf_puts(&raw, prefixes[t->kind] ? prefixes[t->kind] : "");
	if (t->path)
		strbuf_printf(&raw, "%s:", t->path);
	strbuf_puts(&raw, t->name);
	if (t->module)
		strbuf_printf(&raw, " [%s]", t->module);
	escape_put(to, raw.text, false);
}

/* --- -l --- */

/*
 * With -v:
 *
 *	t:syscalls:sys_enter_write
 *	    __syscall_nr  int           s32
 *	    fd            unsigned int  u32
 *	    buf           const char *  u64
 *	    count         size_t        u64  bytes
 *
 * The third column is the type in an expression, as a cast has it; "-" for a value that an
 * expression cannot have, whose reason follows. The completions of shells read this.
 */
#define COLUMNS 4

/* The values of a target are visited twice: for the widths of their columns, and to print them. */
struct value_table {
	size_t widths[COLUMNS];
	bool is_measured;
};

/* Names and places come from foreign files. */
static char *escaped(const char *text)
{
	cleanup_strbuf struct strbuf to = {};

	strbuf_puts(&to, "");
	escape_put(&to, text, false);
	return xstrdup(to.text);
}

static void visit_value(void *context, const struct named_value *value)
{
	struct value_table *t = context;
	cleanup_free char *name = escaped(value->name), *type = escaped(value->type);
	cleanup_free char *remark = escaped(value->remark);
	cleanup_strbuf struct strbuf line = {};
	char as[] = "s64";
	const char *const columns[COLUMNS] = { name, type, value->as.bytes ? as : "-", remark };

	(void)snprintf(as, sizeof(as), "%c%u", value->as.is_signed ? 's' : 'u',
		       8U * value->as.bytes % 100);
	for (int i = 0; i < COLUMNS; i++) {
		const size_t n = strlen(columns[i]);

		if (!t->is_measured)
			t->widths[i] = n > t->widths[i] ? n : t->widths[i];
		else if (t->widths[i]) /* an empty column takes no room */
			strbuf_printf(&line, "  %-*s", (int)t->widths[i], columns[i]);
	}
	while (line.n && line.text[line.n - 1] == ' ')
		line.n--;
	if (t->is_measured)
		(void)printf("  %.*s\n", (int)line.n, line.text);
}

static int print_values(const struct target *target, struct host *host, struct error *e)
{
	struct value_table t = {};
	const int err = value_list_each(target, host, visit_value, &t, e);

	t.is_measured = true;
	return err ? err : value_list_each(target, host, visit_value, &t, e);
}

static void print_target(const struct target *t, bool with_places)
{
	cleanup_strbuf struct strbuf text = {};

	patterns_put_target(t, &text);
	if (with_places && (t->kind == TARGET_USER_RETURN || t->kind == TARGET_USDT))
		strbuf_printf(&text, " at 0x%" PRIx64, t->offset);
	if (with_places && t->is_jump)
		strbuf_puts(&text, ", a jump to another function: no retval");
	(void)puts(text.text);
}

/* Is the target behind this one in the list a further exit of its function? */
static bool has_further_exit(const struct target_list *targets, size_t i)
{
	return i + 1 < targets->n &&
	       target_is_further_exit(&targets->targets[i], &targets->targets[i + 1]);
}

/* A function's exits are listed with -v alone, and its values behind the last one. */
static int print_all(const struct target_list *targets, struct host *host, bool is_verbose,
		     struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < targets->n && !err; i++) {
		const struct target *t = &targets->targets[i];

		if (t->role == ROLE_END)
			continue; /* it ends what is listed */
		if (is_verbose || !i || !has_further_exit(targets, i - 1))
			print_target(t, is_verbose);
		if (is_verbose && !has_further_exit(targets, i))
			err = print_values(t, host, e);
	}
	return err;
}

int list_targets(const struct options *opt, struct error *e)
{
	cleanup(host_freep) struct host *host = host_new();
	cleanup(target_list_fini) struct target_list targets = {};
	cleanup(values_fini) struct values values = { .opt = opt };
	int err = patterns_match(opt, host, MATCH_NAMES, &targets, e);

	if (!err)
		err = values_choose(&values, host, &targets, e);
	return err ? err : print_all(&targets, host, opt->verbose, e);
}
