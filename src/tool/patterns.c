#include "tool/patterns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "report/escape.h"
#include "spec/spec.h"
#include "tool/matcher.h"

#define MOST_TARGETS 200000

/* A user function has no kernel stack: with -K there would be nothing to show. */
int check_patterns(const struct options *opt, struct error *e)
{
	bool has_kernel_stack = false;

	for (size_t i = 0; i < opt->n_patterns; i++) {
		cleanup(probe_spec_fini) struct probe_spec spec = {};
		int err = probe_spec_parse(opt->patterns[i], opt->regexp, &spec, e);

		if (err)
			return err;
		has_kernel_stack |=
			spec.kind == PROBE_KERNEL_FUNCTION || spec.kind == PROBE_TRACEPOINT;
	}
	if (opt->kernel_only && !has_kernel_stack)
		return error_set(e, -EINVAL, "-K: there is no kernel stack at '%s'",
				 opt->patterns[0]);
	return 0;
}

static bool is_user_place(const struct probe_spec *spec)
{
	return spec->kind == PROBE_USER_FUNCTION || spec->kind == PROBE_USDT;
}

bool patterns_have_user_places(const struct options *opt)
{
	for (size_t i = 0; i < opt->n_patterns; i++) {
		cleanup(probe_spec_fini) struct probe_spec spec = {};
		struct error none;

		if (probe_spec_parse(opt->patterns[i], opt->regexp, &spec, &none) == 0 &&
		    is_user_place(&spec))
			return true;
	}
	return false;
}

struct specs {
	struct probe_spec *specs;
	size_t n;
};

static void specs_fini(struct specs *s)
{
	while (s->n)
		probe_spec_fini(&s->specs[--s->n]);
	free(s->specs);
}

static int parse(const struct options *opt, struct specs *ret, struct error *e)
{
	ret->specs = xcalloc(opt->n_patterns, sizeof(*ret->specs));
	for (; ret->n < opt->n_patterns; ret->n++) {
		const int err = probe_spec_parse(opt->patterns[ret->n], opt->regexp,
						 &ret->specs[ret->n], e);

		if (err)
			return err;
	}
	return 0;
}

/* How many in a row, from @first on, are places in files. */
static size_t n_of_files(const struct specs *s, size_t first)
{
	size_t n = 0;

	while (first + n < s->n && is_user_place(&s->specs[first + n]))
		n++;
	return n;
}

int match_patterns(const struct options *opt, struct host *host, enum match_depth depth,
		   struct target_list *targets, struct error *e)
{
	struct match_scope scope = { .pids = opt->pids.numbers,
				     .n_pids = opt->pids.n,
				     .limit = MOST_TARGETS,
				     .depth = depth,
				     .raw_names = opt->no_demangle };
	cleanup(specs_fini) struct specs specs = {};
	int err = parse(opt, &specs, e);

	for (size_t i = 0, n; i < specs.n && !err; i += n) {
		n = n_of_files(&specs, i);
		if (n)
			err = matcher_match(specs.specs + i, n, &scope, targets, e);
		else
			err = match_targets(&specs.specs[i], host, &scope, targets, e);
		n += !n;
	}
	return err;
}

/* Its names come from foreign files. */
void put_target(const struct target *t, struct strbuf *to)
{
	cleanup_strbuf struct strbuf raw = {};

	switch (t->kind) {
	case TARGET_TRACEPOINT:
		strbuf_printf(&raw, "t:%s:%s", t->category, t->event);
		break;
	case TARGET_USER_FUNCTION:
		strbuf_printf(&raw, "%s:%s", t->path, t->name);
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

static void print_target(const struct target *t)
{
	cleanup_strbuf struct strbuf text = {};

	put_target(t, &text);
	(void)puts(text.text);
}

int list_targets(const struct options *opt, struct error *e)
{
	cleanup(host_freep) struct host *host = host_new();
	cleanup(target_list_fini) struct target_list targets = {};
	int err = match_patterns(opt, host, MATCH_NAMES, &targets, e);

	for (size_t i = 0; !err && i < targets.n; i++)
		print_target(&targets.targets[i]);
	return err;
}
