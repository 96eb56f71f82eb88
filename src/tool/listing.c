// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "match/values.h"
#include "report/writer.h"

/* Escape it all, because names come from foreign files. */
void put_target(const struct target *t, struct strbuf *to)
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

	put_target(t, &text);
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
	cleanup(values_fini) struct values values = { .of = &opt->patterns };
	int err = patterns_match(&opt->patterns, host, MATCH_NAMES, &targets, e);

	if (!err)
		err = values_choose(&values, host, &targets, e);
	return err ? err : print_all(&targets, host, opt->verbose, e);
}
