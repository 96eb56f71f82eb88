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
#include "match/near.h"
#include "match/usdt_argument.h"

#define MOST_NAME 128

struct resolving {
	const struct target *target;
	struct host *host;
	struct resolved_value *ret;
	struct error *e;
};

/* --- units --- */

/* The unit that a name or a type tells; NULL: none. */
static const char *unit_of(const char *name, const char *type, size_t n_type)
{
	const size_t n = strlen(name);

	if (strcmp(name, "bytes") == 0 || strncmp(name, "bytes_", 6) == 0 ||
	    (n > 6 && strcmp(name + n - 6, "_bytes") == 0))
		return "bytes";
	if (n > 3 && strcmp(name + n - 3, "_ns") == 0)
		return "nanoseconds";
	return memmem(type, n_type, "size_t", 6) ? "bytes" : NULL;
}

/* --- fields of tracepoints --- */

struct field_lookup {
	const char *name;
	struct near near;
	struct tracepoint_field found;
	bool is_variable; /* __data_loc or __rel_loc */
	struct value_type type;
	const char *unit;
};

static bool begins_with(const struct tracepoint_field *field, const char *word)
{
	const size_t n = strlen(word);

	return field->n_type >= n && memcmp(field->type, word, n) == 0;
}

/* The program's context has a pointer in the first 8 bytes, where the record has these fields. */
static bool is_common_field(const struct tracepoint_field *field)
{
	return field->offset < 8;
}

/*
 * A system call's arguments are recorded as unsigned long, whatever their types are. The upper half
 * of an int is what the caller left in the register. An enum is rare, and needs a cast.
 */
static const struct {
	const char *name;
	struct value_type type;
} argument_types[] = {
	{ "int", { 4, true } },          { "unsigned int", { 4, false } },
	{ "unsigned", { 4, false } },    { "long", { 8, true } },
	{ "s32", { 4, true } },          { "__s32", { 4, true } },
	{ "u32", { 4, false } },         { "__u32", { 4, false } },
	{ "pid_t", { 4, true } },        { "uid_t", { 4, false } },
	{ "gid_t", { 4, false } },       { "umode_t", { 2, false } },
	{ "clockid_t", { 4, true } },    { "timer_t", { 4, true } },
	{ "mqd_t", { 4, true } },        { "key_t", { 4, true } },
	{ "key_serial_t", { 4, true } }, { "qid_t", { 4, false } },
	{ "rwf_t", { 4, true } },        { "off_t", { 8, true } },
	{ "loff_t", { 8, true } },       { "ssize_t", { 8, true } },
};

static struct value_type type_of_field(const struct tracepoint_field *field)
{
	struct value_type type = { (uint8_t)field->bytes, field->is_signed };
	const size_t before = begins_with(field, "const ") ? strlen("const ") : 0;
	const char *name = field->type + before;
	size_t n = field->n_type - before;

	while (n && name[n - 1] == ' ')
		n--;
	for (size_t i = 0; i < ARRAY_SIZE(argument_types) && type.bytes == 8; i++)
		if (strlen(argument_types[i].name) == n &&
		    memcmp(argument_types[i].name, name, n) == 0)
			type = argument_types[i].type;
	return type;
}

static int look_at_field(void *context, const struct tracepoint_field *field)
{
	struct field_lookup *lookup = context;

	if (strcmp(field->name, lookup->name) != 0) {
		if (!is_common_field(field))
			near_offer(&lookup->near, field->name);
		return 0;
	}
	lookup->found = *field;
	lookup->type = type_of_field(field);
	lookup->is_variable = begins_with(field, "__data_loc") || begins_with(field, "__rel_loc");
	lookup->unit = unit_of(field->name, field->type, field->n_type);
	return 1;
}

static bool is_number_size(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static int refuse_field(const struct resolving *r, const struct field_lookup *field,
			const char *why)
{
	return error_set(r->e, -EOPNOTSUPP, "the field '%s' of %s has no value to add: %s",
			 field->name, r->target->name, why);
}

static int resolve_field(struct resolving *r, const char *name, struct expression_node *node)
{
	struct field_lookup lookup = { .name = name };
	char hint[NEAR_MAX * NEAR_NAME_BYTES + 64];
	int found;

	near_init(&lookup.near, name);
	found = host_each_field(r->host, r->target->category, r->target->event, look_at_field,
				&lookup, r->e);
	if (found < 0)
		return found;
	if (!found) {
		near_text(&lookup.near, hint, sizeof(hint));
		return error_set(r->e, -ENOENT, "%s has no field '%s'%s", r->target->name, name,
				 hint);
	}
	if (is_common_field(&lookup.found))
		return refuse_field(r, &lookup, "programs cannot read it");
	if (lookup.is_variable)
		return refuse_field(r, &lookup, "its length varies (__data_loc)");
	if (lookup.found.is_array)
		return refuse_field(r, &lookup, "it is an array");
	if (!is_number_size(lookup.found.bytes))
		return refuse_field(r, &lookup, "it is no number");
	node->op = EXPRESSION_CONTEXT;
	node->number = lookup.found.offset;
	node->type = lookup.type;
	r->ret->unit = lookup.unit;
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

struct argument_lookup {
	const char *name; /* NULL: the result */
	struct near near;
	struct function_value found;
};

static int look_at_value(void *context, const struct function_value *value)
{
	struct argument_lookup *lookup = context;
	const bool is_result = value->number == 0;

	if (is_result == !lookup->name && (is_result || strcmp(value->name, lookup->name) == 0)) {
		lookup->found = *value;
		return 1;
	}
	if (!is_result && value->name[0] && lookup->name)
		near_offer(&lookup->near, value->name);
	return 0;
}

/* Find an argument or the result in the kernel's BTF. Returns 1, 0 if there is none, or an error.
 */
static int find_value(const struct resolving *r, struct argument_lookup *lookup)
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
static void narrow_leaf(const struct resolving *r, const struct function_value *value,
			struct expression_node *node)
{
	node->type = (struct value_type){ (uint8_t)value->bytes, value->is_signed };
	r->ret->unit = unit_of(value->name, "size_t", value->is_size ? 6 : 0);
}

static int resolve_kernel_argument(struct resolving *r, const char *name,
				   struct expression_node *node)
{
	struct argument_lookup lookup = { .name = name };
	char hint[NEAR_MAX * NEAR_NAME_BYTES + 64];
	const int found = find_value(r, &lookup);

	if (found < 0)
		return error_within(r->e, "%s", name);
	if (!found) {
		near_text(&lookup.near, hint, sizeof(hint));
		return error_set(r->e, -ENOENT, "%s has no argument '%s'%s", r->target->name, name,
				 hint);
	}
	if (!lookup.found.bytes)
		return refuse_leaf(r, name, "the argument is no number");
	if (!lookup.found.position)
		return refuse_leaf(r, name, "its place behind a structure is not known");
	place_argument(r, lookup.found.position, node);
	narrow_leaf(r, &lookup.found, node);
	return 0;
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
	struct argument_lookup lookup = { .name = NULL };
	const int found = find_value(r, &lookup);

	place_result(node);
	if (found < 0 && is_cast)
		return 0;
	if (found < 0)
		return error_within(r->e, "the type of retval is not known, so write a cast, as "
					  "(int)retval");
	if (!lookup.found.bytes)
		return refuse_leaf(r, "retval", "it returns no number");
	narrow_leaf(r, &lookup.found, node);
	return 0;
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
