// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/text.h"
#include "kernel/function_types.h"
#include "match/fields.h"
#include "match/near.h"
#include "match/usdt_argument.h"

#define MOST_NAME 128

struct resolving {
	const struct target *target;
	struct host *host;
	struct resolved_value *ret;
	struct error *e;
};

/* A search for a field, an argument or the result. */
struct lookup {
	const char *name; /* NULL: the result */
	struct near near;
	uint32_t place; /* a field's offset, an argument's position */
	struct number_kind kind;
};

static int refuse_name(const struct resolving *r, const char *what, const struct lookup *lookup)
{
	char hint[NEAR_HINT];

	near_text(&lookup->near, hint, sizeof(hint));
	return error_set(r->e, -ENOENT, "%s has no %s '%s'%s", r->target->name, what, lookup->name,
			 hint);
}

/* --- fields of tracepoints --- */

static int look_at_field(void *context, const struct tracepoint_field *field)
{
	struct lookup *lookup = context;

	if (strcmp(field->name, lookup->name) != 0) {
		if (!field_is_common(field))
			near_offer(&lookup->near, field->name);
		return 0;
	}
	lookup->place = field->offset;
	lookup->kind = field_kind(field);
	return 1;
}

static int resolve_field(struct resolving *r, const char *name, struct expression_node *node)
{
	struct lookup lookup = { .name = name };
	int found;

	near_init(&lookup.near, name);
	found = host_each_field(r->host, r->target->category, r->target->event, look_at_field,
				&lookup, r->e);
	if (found <= 0)
		return found ? found : refuse_name(r, "field", &lookup);
	if (lookup.kind.lack)
		return error_set(r->e, -EOPNOTSUPP, "the field '%s' of %s has no value to add: %s",
				 name, r->target->name, lookup.kind.lack);
	node->op = EXPRESSION_CONTEXT;
	node->number = lookup.place;
	node->type = lookup.kind.type;
	r->ret->unit = lookup.kind.unit;
	return 0;
}

/* --- functions --- */

static const int32_t argument_offsets[] = ARCH_ARGUMENTS;
static const struct value_type word = { .bytes = 8, .is_signed = true };

static int refuse_leaf(const struct resolving *r, const char *what, const char *why)
{
	return error_set(r->e, -EOPNOTSUPP, "%s has no %s: %s", r->target->name, what, why);
}

/* The leaf is argument @number, from 1 on, of a function at its entry. */
static void place_argument(const struct resolving *r, uint32_t number, struct expression_node *node)
{
	const uint32_t n_registers = ARRAY_SIZE(argument_offsets);

	node->type = word;
	if (number <= n_registers) {
		node->op = EXPRESSION_CONTEXT;
		node->number = argument_offsets[number - 1];
		return;
	}
	node->op = r->target->kind == TARGET_USER_FUNCTION ? EXPRESSION_USER_MEMORY
							   : EXPRESSION_KERNEL_MEMORY;
	node->number = ARCH_STACK_ARGUMENTS + 8LL * (number - n_registers - 1);
	node->base = ARCH_STACK_POINTER;
}

static void place_result(struct expression_node *node)
{
	node->op = EXPRESSION_CONTEXT;
	node->number = ARCH_RETURN_VALUE;
	node->type = word;
}

static int look_at_value(void *context, const struct function_value *value)
{
	struct lookup *lookup = context;
	const bool is_result = value->number == 0;

	if (is_result == !lookup->name && (is_result || strcmp(value->name, lookup->name) == 0)) {
		lookup->place = value->position;
		lookup->kind = argument_kind(value);
		return 1;
	}
	if (!is_result && value->name[0] && lookup->name)
		near_offer(&lookup->near, value->name);
	return 0;
}

/* Find an argument or the result in the kernel's BTF. Returns 1, 0 if there is none, or an error.
 */
static int find_value(const struct resolving *r, struct lookup *lookup)
{
	struct function_types *types;
	const int err = host_function_types(r->host, &types, r->e);

	if (err)
		return err;
	near_init(&lookup->near, lookup->name ? lookup->name : "");
	return function_types_each(types, r->target->symbol, r->target->module, look_at_value,
				   lookup, r->e);
}

/* Give the leaf the type of the value, whose register may have more bits. */
static int narrow_leaf(const struct resolving *r, const char *what, const struct number_kind *kind,
		       struct expression_node *node)
{
	if (kind->lack)
		return refuse_leaf(r, what, kind->lack);
	node->type = kind->type;
	r->ret->unit = kind->unit;
	return 0;
}

static int resolve_kernel_argument(struct resolving *r, const char *name,
				   struct expression_node *node)
{
	struct lookup lookup = { .name = name };
	const int found = find_value(r, &lookup);

	if (found < 0)
		return error_within(r->e, "%s", name);
	if (!found)
		return refuse_name(r, "argument", &lookup);
	if (lookup.place) /* else it lacks one */
		place_argument(r, lookup.place, node);
	return narrow_leaf(r, name, &lookup.kind, node);
}

static int resolve_entry(struct resolving *r, const char *name, struct expression_node *node)
{
	if (r->target->is_32_bit)
		return refuse_leaf(r, name, "arguments of 32-bit functions are not read");
	if (node->op == EXPRESSION_ARGUMENT) {
		place_argument(r, (uint32_t)node->number, node);
		return 0;
	}
	if (node->op == EXPRESSION_RETVAL)
		return refuse_leaf(r, name, "returns have it, as r:FUNC");
	if (r->target->kind == TARGET_USER_FUNCTION)
		return refuse_leaf(r, name, "arguments of user functions are arg1, arg2 ...");
	return resolve_kernel_argument(r, name, node);
}

/* @is_cast: the user tells its type. */
static int resolve_kernel_result(struct resolving *r, bool is_cast, struct expression_node *node)
{
	struct lookup lookup = { .name = NULL };
	const int found = find_value(r, &lookup);

	place_result(node);
	if (found < 0 && is_cast)
		return 0;
	if (found < 0)
		return error_within(r->e, "the type of retval is not known, so write a cast, as "
					  "(int)retval");
	return narrow_leaf(r, "retval", &lookup.kind, node);
}

static int resolve_return(struct resolving *r, const char *name, bool is_cast,
			  struct expression_node *node)
{
	if (node->op != EXPRESSION_RETVAL)
		return refuse_leaf(r, name,
				   "when a function returns, retval is known, and no argument");
	if (r->target->kind == TARGET_KERNEL_RETURN)
		return resolve_kernel_result(r, is_cast, node);
	place_result(node);
	if (r->target->is_jump)
		node->op = EXPRESSION_UNKNOWN;
	return 0;
}

/* --- USDT probes --- */

static int resolve_probe(struct resolving *r, const char *name, struct expression_node *node)
{
	const char *at = r->target->arguments ? r->target->arguments : "";
	struct usdt_argument argument;
	int64_t n = 0;

	if (r->target->is_32_bit)
		return refuse_leaf(r, name, "arguments of 32-bit programs are not read");
	if (node->op != EXPRESSION_ARGUMENT)
		return refuse_leaf(r, name, "the arguments of a USDT probe are arg1, arg2 ...");
	while (usdt_argument_next(&at, &argument))
		if (++n == node->number)
			break;
	if (n < node->number)
		return error_set(r->e, -ENOENT, "%s has no %s: it has %" PRId64 " argument%s",
				 r->target->name, name, n, text_plural((uint64_t)n));
	if (argument.unknown)
		return error_set(r->e, -EOPNOTSUPP, "%s of %s is '%s', which is not read: %s", name,
				 r->target->name, argument.text, argument.unknown);
	*node = argument.node;
	return 0;
}

/* --- leaves --- */

static int resolve_tracepoint(struct resolving *r, const char *name, struct expression_node *node)
{
	const bool is_name = node->op == EXPRESSION_NAME;
	const int err = resolve_field(r, name, node);

	/* A field may be called arg1. */
	return err == -ENOENT && !is_name ? refuse_leaf(r, name, "a tracepoint has fields") : err;
}

/* Replace the leaf number @i. */
static int resolve_leaf(struct resolving *r, const char *text, size_t i)
{
	struct expression_node *node = &r->ret->x.nodes[i];
	const bool is_cast = i + 1 < r->ret->x.n && node[1].op == EXPRESSION_CAST;
	char name[MOST_NAME];

	(void)snprintf(name, sizeof(name), "%.*s", (int)node->length, text + node->at);
	switch (r->target->kind) {
	case TARGET_TRACEPOINT:
		return resolve_tracepoint(r, name, node);
	case TARGET_KERNEL_FUNCTION:
	case TARGET_USER_FUNCTION:
		return resolve_entry(r, name, node);
	case TARGET_KERNEL_RETURN:
	case TARGET_USER_RETURN:
		return resolve_return(r, name, is_cast, node);
	case TARGET_USDT:
		return resolve_probe(r, name, node);
	default:
		return refuse_leaf(r, name, "a perf event has no values");
	}
}

/* Nodes with equal effects have equal bytes. */
static void forget_text(struct expression *x)
{
	x->text = NULL;
	for (size_t i = 0; i < x->n; i++)
		x->nodes[i].at = x->nodes[i].length = 0;
}

int value_resolve(const struct expression *x, const struct target *target, struct host *host,
		  struct resolved_value *ret, struct error *e)
{
	struct resolving r = { .target = target, .host = host, .ret = ret, .e = e };

	*ret = (struct resolved_value){ .x = *x };
	for (size_t i = 0; i < x->n; i++) {
		const struct expression_node *node = &ret->x.nodes[i];
		const bool is_leaf = node->op == EXPRESSION_NAME ||
				     node->op == EXPRESSION_ARGUMENT ||
				     node->op == EXPRESSION_RETVAL;
		const int err = is_leaf ? resolve_leaf(&r, x->text, i) : 0;

		ret->wrong_at = node->at;
		if (err)
			return err;
	}
	if (!expression_leaf(x))
		ret->unit = NULL;
	forget_text(&ret->x);
	return 0;
}
