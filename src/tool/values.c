// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "match/spec.h"
#include "match/values.h"

#define LEFT_OUT UINT32_MAX

int values_parse(struct values *v, const struct options *opt, struct error *e)
{
	v->opt = opt;
	if (!opt->sum)
		return 0;
	v->is_wanted = true;
	v->option = opt->tool == TOOL_STACKSNOOP ? "--value" : "--sum";
	v->value.name = opt->sum;
	v->unit = opt->unit;
	return expression_parse(opt->sum, &v->x, e);
}

static void forget_codes(struct values *v)
{
	free(v->codes);
	free(v->numbers);
	v->codes = NULL;
	v->numbers = NULL;
	v->n = v->capacity = 0;
	v->has_tracepoint = false;
	v->value.unit = NULL;
}

void values_fini(struct values *v)
{
	forget_codes(v);
	value_code_fini(&v->code);
	pairs_fini(&v->pairs);
	*v = (struct values){};
}

static bool is_same_expression(const struct expression *a, const struct expression *b)
{
	return a->n == b->n && memcmp(a->nodes, b->nodes, a->n * sizeof(*a->nodes)) == 0;
}

/* Without --unit, all targets must have the unit. Targets with one code may differ in it. */
static void note_unit(struct values *v, const char *unit)
{
	if (v->unit)
		v->value.unit = v->unit;
	else if (v->n == 0)
		v->value.unit = unit;
	else if (!unit || !v->value.unit || strcmp(unit, v->value.unit) != 0)
		v->value.unit = NULL;
}

/* The number of the code of @value, which is added if it is new. */
static int number_of_code(struct values *v, const struct resolved_value *value, uint32_t *ret,
			  struct error *e)
{
	note_unit(v, value->unit);
	for (size_t i = 0; i < v->n; i++)
		if (is_same_expression(&v->codes[i], &value->x)) {
			*ret = (uint32_t)i;
			return 0;
		}
	if (v->n == VALUES_MOST)
		return error_set(e, -E2BIG,
				 "%s: the targets have more than %d kinds of '%s'; name fewer",
				 v->option, VALUES_MOST, v->x.text);
	*ret = (uint32_t)v->n;
	array_push(v->codes, v->n, v->capacity, value->x);
	return 0;
}

/* Does the target lack the value, while others may have it? */
static bool is_lack(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODATA;
}

/* *@wrong_at: where the text has what the first target without a value lacks. */
static int resolve_all(struct values *v, struct host *host, const struct target_list *targets,
		       size_t *wrong_at, struct error *first)
{
	struct resolved_value *value = xcalloc(1, sizeof(*value));
	struct error e, *to = first;
	int err = 0;

	for (size_t i = 0; i < targets->n && !err; i++) {
		v->numbers[i] = LEFT_OUT;
		err = value_resolve(&v->x, &targets->targets[i], host, value, to);
		if (!err)
			err = number_of_code(v, value, &v->numbers[i], to);
		if (is_lack(err)) {
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

/* Remove the targets that have no value. */
static void remove_targets(struct values *v, struct target_list *targets)
{
	cleanup_free uint32_t *moved = xcalloc(targets->n + 1, sizeof(*moved));
	size_t n = 0, n_aliases = 0;

	for (size_t i = 0; i < targets->n; i++) {
		moved[i] = LEFT_OUT;
		if (v->numbers[i] == LEFT_OUT)
			continue;
		moved[i] = (uint32_t)n;
		v->numbers[n] = v->numbers[i];
		targets->targets[n++] = targets->targets[i];
	}
	targets->n = n;
	for (size_t i = 0; i < targets->n_aliases; i++) {
		struct target_alias alias = targets->aliases[i];

		alias.target = moved[alias.target];
		if (alias.target != LEFT_OUT)
			targets->aliases[n_aliases++] = alias;
	}
	targets->n_aliases = n_aliases;
}

int values_choose(struct values *v, struct host *host, struct target_list *targets, struct error *e)
{
	const size_t n = targets->n;
	size_t wrong_at = 0;
	int err;

	if (v->opt->elapsed)
		return pairs_choose(&v->pairs, v->opt, host, targets, e);
	if (!v->is_wanted)
		return 0;
	forget_codes(v);
	v->numbers = xcalloc(n + 1, sizeof(*v->numbers));
	err = resolve_all(v, host, targets, &wrong_at, e);
	if (err)
		return err;
	remove_targets(v, targets);
	if (!targets->n && error_within(e, "%s %s", v->option, v->x.text))
		return caret_add(v->x.text, wrong_at, e);
	if (targets->n < n && !v->was_told)
		log_warn("%zu of %zu have no value '%s' and are not traced%s", n - targets->n, n,
			 v->x.text, log_level() < LOG_DEBUG ? " (--debug lists them)" : "");
	v->was_told = v->was_told || targets->n < n;
	return 0;
}

const uint32_t *values_numbers(const struct values *v, size_t *n)
{
	*n = v->opt->elapsed ? v->pairs.n_numbers : v->n;
	return v->opt->elapsed ? v->pairs.numbers : v->numbers;
}

int values_set_up(struct values *v, uint64_t *bytes, struct object_options *o, struct error *e)
{
	*bytes -= pairs_set_up(&v->pairs, *bytes, o);
	if (!v->is_wanted)
		return 0;
	o->value = &v->code;
	value_code_fini(&v->code);
	return value_code_make(v->codes, v->n, v->n > 1 && v->has_tracepoint, &v->code, e);
}

const struct profile_value *values_name(const struct values *v)
{
	if (v->opt->elapsed)
		return &pairs_value;
	return v->is_wanted ? &v->value : NULL;
}
