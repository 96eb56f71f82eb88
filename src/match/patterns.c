// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/patterns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strtab.h"
#include "base/text.h"
#include "bpf/abi.h"
#include "kernel/kernel_types.h"
#include "match/matcher.h"
#include "match/values.h"

/* --- patterns --- */

/* Do --elapsed and --until fit pattern number @pattern? */
static int pairs_check(const struct patterns *p, size_t pattern, struct error *e)
{
	const struct probe_spec *spec = &p->specs[pattern];
	const char *text = p->texts[pattern], *until = p->untils[pattern];
	cleanup(probe_spec_fini) struct probe_spec end = {};

	if (spec->is_return)
		return error_set(e, -EINVAL,
				 "--elapsed: '%s': name the function, which ends by its returns",
				 text);
	if (spec->kind != PROBE_TRACEPOINT && spec->kind != PROBE_USER_FUNCTION)
		return error_set(e, -EOPNOTSUPP,
				 "--elapsed: '%s' is no tracepoint (t:CATEGORY:EVENT) and no user "
				 "function (LIB:FUNC)",
				 text);
	if (!until)
		return 0;
	if (spec->kind == PROBE_USER_FUNCTION)
		return error_set(e, -EOPNOTSUPP,
				 "--until %s: '%s' is a function, which ends by its returns", until,
				 text);

	const int err = probe_spec_parse(until, p->is_regexp, &end, e);

	if (!err && end.kind != PROBE_TRACEPOINT)
		return error_set(e, -EOPNOTSUPP,
				 "--until: '%s' is no tracepoint (t:CATEGORY:EVENT)", until);
	return err;
}

/* Behind the specs of the patterns, append the returns of user functions. */
static int pairs_add_returns(struct patterns *p, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		cleanup_strbuf struct strbuf text = {};
		const char *pattern = p->texts[i];
		const bool has_prefix = text_begins_with(pattern, "p:");

		if (p->specs[i].kind != PROBE_USER_FUNCTION)
			continue;
		strbuf_printf(&text, "r:%s", pattern + (has_prefix ? strlen("p:") : 0));
		err = probe_spec_parse(text.text, p->is_regexp, &p->specs[p->n_specs], e);
		p->n_specs += !err;
	}
	return err;
}

int patterns_parse(struct patterns *p, struct error *e)
{
	int err = p->sum ? expression_parse(p->sum, &p->x, e) : 0;

	p->specs = xcalloc(2 * p->n, sizeof(*p->specs));
	for (size_t i = 0; i < p->n && !err; i++) {
		err = probe_spec_parse(p->texts[i], p->is_regexp, &p->specs[i], e);
		p->n_specs += !err;
		if (!err && p->elapsed)
			err = pairs_check(p, i, e);
	}
	return err || !p->elapsed ? err : pairs_add_returns(p, e);
}

void patterns_fini(struct patterns *p)
{
	while (p->n_specs)
		probe_spec_fini(&p->specs[--p->n_specs]);
	free(p->specs);
}

bool spec_is_in_file(const struct probe_spec *spec)
{
	return spec->kind == PROBE_USER_FUNCTION || spec->kind == PROBE_USDT;
}

/* Linux 7.2 makes a call of a NOP of ten bytes, and moves the stack pointer before it. */
static bool kernel_calls_at_nop5(struct host *host)
{
	static const struct kernel_member trampoline = { "uprobe_trampoline", NULL };
	struct kernel_types *types;
	uint32_t id = NO_MEMBER;
	struct error none;

	if (host_kernel_types(host, &types, &none) == 0)
		kernel_types_find(types, &trampoline, 1, &id);
	return id != NO_MEMBER;
}

/* Did the user mean a tracepoint? The process that looked into files knows none. */
static int hint_at_tracepoints(const struct patterns *p, struct host *host, struct error *e)
{
	const struct error found = *e;
	struct near near = {};

	for (size_t i = 0; i < p->n_specs && !near.n; i++)
		if (spec_is_in_file(&p->specs[i]))
			match_near_tracepoints(&p->specs[i], host, &near);
	return error_set(e, found.code, "%s%s", found.text, near_text(&near));
}

#define MOST_TARGETS 200000

int patterns_match(const struct patterns *p, struct host *host, enum match_depth depth,
		   struct target_list *targets, struct error *e)
{
	struct match_scope scope = { .pids = p->pids->numbers,
				     .n_pids = p->pids->n,
				     .limit = MOST_TARGETS,
				     .depth = depth,
				     .raw_names = p->raw_names };
	cleanup_free struct probe_spec *in_files = xcalloc(p->n_specs + 1, sizeof(*in_files));
	size_t n_in_files = 0;
	int err;

	for (size_t i = 0; i < p->n_specs; i++)
		if (spec_is_in_file(&p->specs[i]))
			in_files[n_in_files++] = p->specs[i];
	scope.kernel_calls_at_nop5 = n_in_files && kernel_calls_at_nop5(host);
	/* Files may hang, or be hostile, so another process searches them. */
	err = n_in_files ? match_in_files(in_files, n_in_files, &scope, targets, e) : 0;
	if (err == -ENOENT)
		return hint_at_tracepoints(p, host, e);
	for (size_t i = 0; i < p->n_specs && !err; i++) {
		const size_t n_before = targets->n;

		if (spec_is_in_file(&p->specs[i]))
			continue;
		err = match_targets(&p->specs[i], host, &scope, targets, e);
		for (size_t k = n_before; k < targets->n; k++)
			targets->targets[k].pattern = (uint32_t)i;
	}
	return err;
}

/* --- pairs --- */

#define MOST_ENDS 4096 /* of one --until */

/*
 * Pairs of one group exclude each other in a thread (struct begun_key of bpf/abi.h). System calls
 * do, so all that end by themselves are one group. Each --until is another.
 */
struct choice {
	struct values *v;
	struct host *host;
	struct target_list *targets;
	struct error *e;
	size_t n_first;               /* targets before their ends were added */
	uint32_t groups[MOST_GROUPS]; /* the pattern of each, or one of the words below */
	uint32_t n_of_group[MOST_GROUPS];
};

#define NATURAL UINT32_MAX
#define NATURAL_RAW (UINT32_MAX - 1) /* raw_syscalls: they lie around the others */
#define FUNCTIONS (UINT32_MAX - 2)   /* a call is known by its place on the stack */
#define SWITCHES (UINT32_MAX - 3)    /* threads that leave the CPU */

/*
 * The number of the pair that an event of group @word begins: with @is_each a new one, else the
 * group's only one. Errors: -E2BIG.
 */
static int number_pair(struct choice *c, uint32_t word, bool is_each, uint32_t *ret, bool *is_new)
{
	uint32_t group = 0;

	while (group < c->v->n_groups && c->groups[group] != word)
		group++;
	if (group == MOST_GROUPS)
		return error_set(c->e, -E2BIG, "--elapsed: more than %d patterns with --until",
				 MOST_GROUPS);
	if (group == c->v->n_groups)
		c->groups[c->v->n_groups++] = word;
	*is_new = is_each || !c->n_of_group[group];
	if (*is_new && c->n_of_group[group] == MOST_PAIRS_OF_GROUP)
		return error_set(c->e, -E2BIG, "--elapsed: too many events");
	*ret = PAIR_NUMBER(group, is_each ? c->n_of_group[group] : 0);
	c->n_of_group[group] += *is_new;
	c->v->n_numbers += *is_new;
	return 0;
}

/* --- ends --- */

static const char *keep_text(struct choice *c, const char *text)
{
	return strtab_add(c->targets->strings, text);
}

/* Append @end, whose strings are copied, as an end of the pair @number. */
static void add_end(struct choice *c, const struct target *end, uint32_t number)
{
	struct target t = *end;

	t.name = keep_text(c, t.name);
	t.category = keep_text(c, t.category);
	t.event = keep_text(c, t.event);
	t.role = ROLE_END;
	t.pattern = number; /* until all targets are known */
	array_push(c->targets->targets, c->targets->n, c->targets->capacity, t);
}

/* "sys_enter_X" ends with "sys_exit_X". */
static int add_natural_end(struct choice *c, size_t begin, uint32_t number)
{
	static const char enter[] = "sys_enter", leave[] = "sys_exit";
	const struct target *t = &c->targets->targets[begin];
	char event[256], name[512];
	struct target end = {
		.kind = TARGET_TRACEPOINT, .name = name, .category = t->category, .event = event
	};
	int err;

	if (!text_begins_with(t->event, enter))
		return error_set(c->e, -ENOENT,
				 "--elapsed: what ends %s is not known; write it behind the "
				 "pattern, as --until t:CATEGORY:EVENT",
				 t->name);
	(void)snprintf(event, sizeof(event), "%s%s", leave, t->event + strlen(enter));
	(void)snprintf(name, sizeof(name), "%s:%s", t->category, event);
	err = host_tracepoint_id(c->host, end.category, event, &end.tracepoint_id, c->e);
	if (err)
		return error_within(c->e, "--elapsed: the end of %s", t->name);
	add_end(c, &end, number);
	return 0;
}

/* Does an event of @ends begin a pair of @pattern? */
static int check_ends(const struct choice *c, uint32_t pattern, const struct target_list *ends)
{
	for (size_t i = 0; i < c->n_first; i++)
		for (size_t k = 0; k < ends->n; k++)
			if (c->targets->targets[i].kind == TARGET_TRACEPOINT &&
			    c->targets->targets[i].pattern == pattern &&
			    c->targets->targets[i].tracepoint_id == ends->targets[k].tracepoint_id)
				return error_set(c->e, -EINVAL, "--until %s: %s would end itself",
						 c->v->of->untils[pattern], ends->targets[k].name);
	return 0;
}

/* Append all that match the --until of @pattern. */
static int add_ends(struct choice *c, uint32_t pattern, uint32_t number)
{
	const struct match_scope scope = { .limit = MOST_ENDS, .depth = MATCH_NAMES };
	cleanup(target_list_fini) struct target_list ends = {};
	cleanup(probe_spec_fini) struct probe_spec spec = {};
	int err = probe_spec_parse(c->v->of->untils[pattern], c->v->of->is_regexp, &spec, c->e);

	if (!err)
		err = match_targets(&spec, c->host, &scope, &ends, c->e);
	if (!err)
		err = check_ends(c, pattern, &ends);
	for (size_t i = 0; i < ends.n && !err; i++)
		add_end(c, &ends.targets[i], number);
	return err;
}

/* --- user functions --- */

/* The entry or an exit of a user function, as one number. Equal paths are one string. */
static uint64_t number_of_place(const struct target *t, uint64_t place)
{
	return hash_mix(hash_mix((uintptr_t)t->path) ^ place);
}

/*
 * A function whose exits are not known has no end. One that begins with an exit has no time, and
 * the order of both probes there is the kernel's. Finds those that have a time, by their entries.
 */
static void find_timed(const struct target_list *targets, struct u64_map *timed)
{
	cleanup(u64_map_fini) struct u64_map ends = {}, exits = {};

	for (size_t i = 0; i < targets->n; i++) {
		const struct target *t = &targets->targets[i];

		if (t->kind != TARGET_USER_RETURN)
			continue;
		(void)u64_map_put(&ends, number_of_place(t, t->vaddr), 0, NULL);
		(void)u64_map_put(&exits, number_of_place(t, t->offset), 0, NULL);
	}
	for (size_t i = 0; i < targets->n; i++) {
		const struct target *t = &targets->targets[i];

		if (t->kind != TARGET_USER_FUNCTION)
			continue;
		if (!u64_map_get(&ends, number_of_place(t, t->vaddr)))
			log_debug("left out: %s: its exits are not known", t->name);
		else if (u64_map_get(&exits, number_of_place(t, t->offset)))
			log_debug("left out: %s: it returns at once", t->name);
		else
			(void)u64_map_put(timed, number_of_place(t, t->vaddr), 0, NULL);
	}
}

/* Remove the targets that are not @kept, with their @numbers (NULL: there are none). */
static void keep_targets(struct target_list *targets, const bool *kept, uint32_t *numbers)
{
	size_t n = 0;

	for (size_t i = 0; i < targets->n; i++) {
		if (!kept[i])
			continue;
		if (numbers)
			numbers[n] = numbers[i];
		targets->targets[n++] = targets->targets[i];
	}
	targets->n = n;
}

/* Remove functions without a time, and their returns. */
static int remove_timeless(struct choice *c)
{
	cleanup(u64_map_fini) struct u64_map timed = {};
	cleanup_free bool *kept = xcalloc(c->targets->n + 1, sizeof(*kept));
	const char *name = "";
	size_t n = 0;

	find_timed(c->targets, &timed);
	for (size_t i = 0; i < c->targets->n; i++) {
		const struct target *t = &c->targets->targets[i];

		kept[i] = (t->kind != TARGET_USER_FUNCTION && t->kind != TARGET_USER_RETURN) ||
			  u64_map_get(&timed, number_of_place(t, t->vaddr));
		if (!kept[i] && t->kind == TARGET_USER_FUNCTION) {
			name = t->name;
			n++;
		}
	}
	keep_targets(c->targets, kept, NULL);
	c->n_first = c->targets->n;
	if (n && !c->n_first)
		return error_set(c->e, -ENOENT,
				 "--elapsed: %s has no time: it returns at once, or its exits are "
				 "not known",
				 name);
	if (n)
		log_warn_once("%zu of %zu functions have no time and are not traced%s", n,
			      n + timed.n, log_level() < LOG_DEBUG ? " (--debug lists them)" : "");
	return 0;
}

/*
 * Functions are one pair, and so are switches. Events of one pattern with --until begin the same
 * pair: any of its ends is the end of any.
 */
static int choose_target(struct choice *c, size_t i, uint32_t *number)
{
	struct target *t = &c->targets->targets[i];
	const bool is_point = t->kind == TARGET_TRACEPOINT;
	const bool is_until = is_point && c->v->of->untils[t->pattern];
	const bool is_switch = is_point && !is_until && strcmp(t->name, "sched:sched_switch") == 0;
	const bool is_natural = is_point && !is_until && !is_switch;
	const uint32_t word = !is_point                                  ? FUNCTIONS
			      : is_until                                 ? t->pattern
			      : is_switch                                ? SWITCHES
			      : strcmp(t->category, "raw_syscalls") == 0 ? NATURAL_RAW
									 : NATURAL;
	bool is_new = false;
	const int err = number_pair(c, word, is_natural, number, &is_new);

	if (err)
		return err;
	t->role = t->kind == TARGET_USER_RETURN ? ROLE_END : is_switch ? ROLE_SWITCH : ROLE_BEGIN;
	if (is_switch)
		c->v->switch_pair = *number;
	if (is_natural)
		return add_natural_end(c, i, *number);
	return is_until && is_new ? add_ends(c, t->pattern, *number) : 0;
}

static int pairs_choose(struct values *v, struct host *host, struct target_list *targets,
			struct error *e)
{
	struct choice c = { .v = v, .host = host, .targets = targets, .e = e };
	cleanup_free uint32_t *numbers = xcalloc(targets->n + 1, sizeof(*numbers));
	int err = remove_timeless(&c);

	v->name = "elapsed";
	v->unit = "nanoseconds";
	for (size_t i = 0; i < c.n_first && !err; i++)
		err = choose_target(&c, i, &numbers[i]);
	if (err)
		return err;
	v->numbers = xcalloc(targets->n + 1, sizeof(*v->numbers));
	for (size_t i = 0; i < targets->n; i++)
		v->numbers[i] = i < c.n_first ? numbers[i] : targets->targets[i].pattern;
	return 0;
}

/* --- values --- */

void values_fini(struct values *v)
{
	free(v->codes);
	free(v->numbers);
	v->codes = NULL;
	v->numbers = NULL;
	v->n_numbers = v->capacity = v->n_groups = 0;
	v->has_tracepoint = false;
}

/* Without --unit, all targets must have the unit. Targets with one code may differ in it. */
static void note_unit(struct values *v, const char *unit)
{
	if (v->of->unit)
		v->unit = v->of->unit;
	else if (v->n_numbers == 0)
		v->unit = unit;
	else if (!unit || !v->unit || strcmp(unit, v->unit) != 0)
		v->unit = NULL;
}

/* The number of the code of @value, which is added if it is new. */
static int number_of_code(struct values *v, const struct resolved_value *value, uint32_t *ret,
			  struct error *e)
{
	note_unit(v, value->unit);
	for (*ret = 0; *ret < v->n_numbers; ++*ret)
		if (v->codes[*ret].n == value->x.n &&
		    memcmp(v->codes[*ret].nodes, value->x.nodes,
			   value->x.n * sizeof(*value->x.nodes)) == 0)
			return 0;
	if (v->n_numbers == VALUES_MOST)
		return error_set(e, -E2BIG,
				 "%s: the targets have more than %d kinds of '%s'; name fewer",
				 v->of->sum_option, VALUES_MOST, v->of->sum);
	array_push(v->codes, v->n_numbers, v->capacity, value->x);
	return 0;
}

/*
 * Number the targets that have a value, which are @kept. *@wrong_at: where the text has what the
 * first target without a value lacks.
 */
static int resolve_all(struct values *v, struct host *host, const struct target_list *targets,
		       bool *kept, size_t *wrong_at, struct error *first)
{
	struct resolved_value *value = xcalloc(1, sizeof(*value));
	struct error e, *to = first;
	int err = 0;

	for (size_t i = 0; i < targets->n && !err; i++) {
		err = value_resolve(&v->of->x, &targets->targets[i], host, value, to);
		if (!err)
			err = number_of_code(v, value, &v->numbers[i], to);
		kept[i] = !err;
		if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODATA) { /* others may */
			log_debug("left out: %s", to->text);
			*wrong_at = to == first ? value->wrong_at : *wrong_at;
			to = &e;
			err = 0;
		} else if (err && to == &e) {
			*first = e;
		}
		v->has_tracepoint |= targets->targets[i].kind == TARGET_TRACEPOINT;
	}
	free(value);
	return err;
}

int values_choose(struct values *v, struct host *host, struct target_list *targets, struct error *e)
{
	const size_t n = targets->n;
	cleanup_free bool *kept = xcalloc(n + 1, sizeof(*kept));
	size_t wrong_at = 0;
	int err;

	values_fini(v);
	if (v->of->elapsed)
		return pairs_choose(v, host, targets, e);
	if (!v->of->sum)
		return 0;
	v->name = v->of->sum;
	v->numbers = xcalloc(n + 1, sizeof(*v->numbers));
	err = resolve_all(v, host, targets, kept, &wrong_at, e);
	if (err)
		return err;
	keep_targets(targets, kept, v->numbers);
	if (!targets->n && error_within(e, "%s %s", v->of->sum_option, v->of->sum))
		return caret_add(v->of->sum, wrong_at, e);
	if (targets->n < n && !v->was_told)
		log_warn("%zu of %zu have no value '%s' and are not traced%s", n - targets->n, n,
			 v->of->sum, log_level() < LOG_DEBUG ? " (--debug lists them)" : "");
	v->was_told |= targets->n < n;
	return 0;
}
