// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kernel functions. There are two lists, and both take long to read:
 *
 *	ftrace's    traceable functions; one name may stand for several functions,
 *	            and its addresses are those of patch sites
 *	kallsyms    every function with its address, traceable or not
 *
 * Only addresses tell static functions of one name apart. So we look up addresses if names are not
 * unique; else the kernel finds a name faster. The name m_start is not unique on any kernel:
 * /proc/PID/maps, /proc/PID/mounts and /proc/modules have one each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/strtab.h"
#include "kernel/kallsyms.h"
#include "match/names.h"
#include "match/private.h"

/* The matching part of ftrace's list. */
struct function_list {
	const struct pattern *pattern;
	struct strtab *strings;          /* lends names and modules */
	struct kernel_symbol *functions; /* .addr: where ftrace patches it; 0: unknown */
	size_t n, capacity;
	size_t n_all;           /* all entries, whether they match or not */
	struct u64_map by_name; /* the name's address in @strings -> how many functions */
	bool has_namesakes;
};

static void function_list_fini(struct function_list *list)
{
	strtab_free(list->strings);
	free(list->functions);
	u64_map_fini(&list->by_name);
}

static int collect_traceable(void *context, const char *name, const char *module, uint64_t site)
{
	struct function_list *list = context;

	list->n_all++;
	if (!names_match_symbol(list->pattern, name))
		return 0;

	const struct kernel_symbol f = {
		.name = strtab_add(list->strings, name),
		.module = *module ? strtab_add(list->strings, module) : NULL,
		.addr = site,
	};

	if ((*u64_map_put(&list->by_name, (uintptr_t)f.name, 0, NULL))++)
		list->has_namesakes = true;
	array_push(list->functions, list->n, list->capacity, f);
	return 0;
}

static int add_kernel_function(struct matching *m, const struct kernel_symbol *s, bool is_unchecked,
			       struct error *e)
{
	cleanup_free char *written = names_written(s->name, true);
	const struct target t = {
		.kind = m->spec->is_return ? TARGET_KERNEL_RETURN : TARGET_KERNEL_FUNCTION,
		.name = written,
		.symbol = s->name,
		.module = s->module,
		.addr = s->addr,
		.is_unchecked = is_unchecked,
	};

	return matching_add(m, &t, e);
}

/*
 * The next function, from number *@i on. Leaves out symbols of BPF programs and trampolines,
 * because no probe can be put there by name. False: there are no more.
 */
static bool next_kernel_function(const struct kallsyms *k, size_t *i, struct kernel_symbol *ret)
{
	while (*i < kallsyms_n(k)) {
		kallsyms_nth(k, (*i)++, ret);
		if (!ret->module || !is_made_at_run_time(ret->module))
			return true;
	}
	return false;
}

/*
 * Add all matching functions of kallsyms, with addresses; with @list, those that have a name in it.
 */
static int match_kallsyms(struct matching *m, const struct kallsyms *k,
			  const struct function_list *list, size_t *ret_n, struct error *e)
{
	struct kernel_symbol s;
	int err = 0;

	*ret_n = 0;
	for (size_t i = 0; !err && next_kernel_function(k, &i, &s);) {
		if (!names_match_symbol(m->spec->name, s.name) ||
		    (list &&
		     !u64_map_get(&list->by_name, (uintptr_t)strtab_add(list->strings, s.name))))
			continue;
		err = add_kernel_function(m, &s, false, e);
		++*ret_n;
	}
	return err;
}

static int add_traceable(struct matching *m, const struct function_list *list, struct error *e)
{
	const struct kallsyms *k = NULL;
	struct error why;
	int err = 0;
	size_t n;

	if ((list->has_namesakes || m->scope->depth == MATCH_ADDRESSES) &&
	    host_kallsyms(m->host, &k, &why) != 0)
		log_debug("cannot tell functions of one name apart: %s", why.text);
	/* Before Linux 6.5 there are no sites: add all functions that have a name of the list. */
	if (k && !list->functions[0].addr)
		err = match_kallsyms(m, k, list, &n, e);
	for (size_t i = 0; i < list->n && !err; i++) {
		struct kernel_symbol f = list->functions[i], s;

		f.addr = k && f.addr && kallsyms_at(k, f.addr, &s) ? s.addr : 0;
		err = add_kernel_function(m, &f, false, e);
	}
	return err;
}

/* @k may be NULL. */
static int explain_no_kernel_function(const struct probe_spec *spec, struct host *host,
				      const struct kallsyms *k, struct error *e)
{
	struct kernel_symbol s;
	struct near near, tracepoints;

	near_init(&near, pattern_text(spec->name));
	for (size_t i = 0; k && next_kernel_function(k, &i, &s);)
		near_offer(&near, s.name);
	match_near_tracepoints(spec, host, &tracepoints);
	return error_set(e, -ENOENT, "no kernel function matches '%s'%s", spec->text,
			 near_text(tracepoints.n ? &tracepoints : &near));
}

static int match_by_kallsyms(struct matching *m, struct error *e)
{
	const struct kallsyms *k;
	struct error why;
	size_t n;
	int err = host_kallsyms(m->host, &k, &why);

	if (err)
		return error_set(e, err == -EPERM ? -EACCES : err, "%s", why.text);
	err = match_kallsyms(m, k, NULL, &n, e);
	if (err || n)
		return err;
	return explain_no_kernel_function(m->spec, m->host, k, e);
}

static int list_traceable(const struct matching *m, struct function_list *list, struct error *e)
{
	bool with_sites = m->scope->depth == MATCH_ADDRESSES;
	int err = host_each_traceable(m->host, with_sites, collect_traceable, list, e);

	if (err || with_sites || !list->has_namesakes)
		return err;
	list->n = 0;
	u64_map_clear(&list->by_name);
	return host_each_traceable(m->host, true, collect_traceable, list, e);
}

static int match_full_name(struct matching *m, const char *name, struct error *e)
{
	const struct kernel_symbol by_name = { .name = name };
	const struct kallsyms *k;
	struct error why;

	if (m->scope->depth == MATCH_PATTERNS)
		return add_kernel_function(m, &by_name, true, e);
	if (!host_kallsyms(m->host, &k, &why))
		return match_by_kallsyms(m, e);
	log_warn("only one function named %s is traced, even if there are several: %s", name,
		 why.text);
	return add_kernel_function(m, &by_name, true, e);
}

int match_kernel(struct matching *m, struct error *e)
{
	const char *literal = pattern_literal(m->spec->name);

	if (literal && m->scope->depth != MATCH_NAMES)
		return match_full_name(m, literal, e);

	cleanup(function_list_fini) struct function_list list = {
		.pattern = m->spec->name,
		.strings = strtab_new(),
	};
	struct error why;
	int err = list_traceable(m, &list, &why);

	if (!err && list.n)
		return add_traceable(m, &list, e);
	/*
	 * A kernel with this list refuses kprobes at other functions, too (within_notrace_func()).
	 */
	if (!err && list.n_all)
		return match_explain_unknown(m->spec, m->host, e);
	if (err)
		log_debug("matching against all functions: %s", why.text);
	return match_by_kallsyms(m, e);
}

int match_explain_unknown(const struct probe_spec *spec, struct host *host, struct error *e)
{
	const struct kallsyms *k;
	struct error none;

	if (host_kallsyms(host, &k, &none) != 0)
		return explain_no_kernel_function(spec, host, NULL, e);
	for (size_t i = 0; i < kallsyms_n(k); i++) {
		struct kernel_symbol s;

		kallsyms_nth(k, i, &s);
		if (pattern_matches(spec->name, s.name))
			return error_set(e, -ENOENT,
					 "kernel function '%s' exists, but the kernel allows no "
					 "probe there (notrace or protected)",
					 s.name);
	}
	return explain_no_kernel_function(spec, host, k, e);
}
