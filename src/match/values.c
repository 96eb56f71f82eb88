// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/text.h"
#include "kernel/function_types.h"
#include "match/names.h"

/* --- which fields and arguments are numbers --- */

struct number_kind {
	struct value_type type;
	const char *unit; /* "bytes", "nanoseconds"; NULL: none is known. A constant */
	const char *lack; /* why it is no number that can be read; NULL: it is one. A constant */
};

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

static bool begins_with(const struct tracepoint_field *field, const char *word)
{
	const size_t n = strlen(word);

	return field->n_type >= n && memcmp(field->type, word, n) == 0;
}

/*
 * Is it one of the fields that all tracepoints have? The program's context has a pointer in the
 * first 8 bytes, where the record has these fields.
 */
static bool field_is_common(const struct tracepoint_field *field)
{
	return field->offset < 8;
}

/*
 * A system call's arguments are recorded as unsigned long, whatever their types are. The upper half
 * of an int is what the caller left in the register. An enum is rare, and needs a cast.
 */
static struct value_type type_of_field(const struct tracepoint_field *field)
{
	struct value_type type = { (uint8_t)field->bytes, field->is_signed };
	const size_t before = begins_with(field, "const ") ? strlen("const ") : 0;
	size_t n = field->n_type - before;

	while (n && field->type[before + n - 1] == ' ')
		n--;
	if (type.bytes == 8)
		(void)value_type_named(field->type + before, n, &type);
	return type;
}

static const char *lack_of_field(const struct tracepoint_field *field)
{
	if (field_is_common(field))
		return "programs cannot read it";
	if (begins_with(field, "__data_loc") || begins_with(field, "__rel_loc"))
		return "its length varies (__data_loc)";
	if (field->is_array)
		return "it is an array";
	return field->bytes && field->bytes <= 8 && !(field->bytes & (field->bytes - 1))
		       ? NULL
		       : "it is no number";
}

static struct number_kind field_kind(const struct tracepoint_field *field)
{
	return (struct number_kind){ .type = type_of_field(field),
				     .unit = unit_of(field->name, field->type, field->n_type),
				     .lack = lack_of_field(field) };
}

static const char *lack_of_argument(const struct function_value *value)
{
	const bool is_result = value->number == 0;

	if (!value->bytes)
		return is_result ? "it returns no number" : "the argument is no number";
	return is_result || value->position ? NULL : "its place behind a structure is not known";
}

/* Of a kernel function's argument or result. */
static struct number_kind argument_kind(const struct function_value *value)
{
	return (struct number_kind){
		.type = { (uint8_t)value->bytes, value->is_signed },
		.unit = unit_of(value->name, "size_t", value->is_size ? strlen("size_t") : 0),
		.lack = lack_of_argument(value),
	};
}

/* --- arguments in the notes of USDT probes --- */

/* Arguments have blanks between them. One that is memory may have blanks within its brackets. */

/* The bytes up to the argument's end. */
static size_t argument_length(const char *at)
{
	size_t n = 0;
	bool is_within = false;

	for (; at[n] && (is_within || at[n] != ' '); n++)
		is_within = at[n] == '[' || (is_within && at[n] != ']');
	return n;
}

/* Parse "-4@", and return what is behind it. NULL: it is no such text. */
static const char *parse_size(const char *text, struct value_type *ret)
{
	const bool is_signed = text[0] == '-';
	const char *digit = text + is_signed;

	if (!digit[0] || !strchr("1248", digit[0]) || digit[1] != '@')
		return NULL;
	*ret = (struct value_type){ (uint8_t)(digit[0] - '0'), is_signed };
	return digit + 2;
}

static int64_t number_of_type(int64_t number, struct value_type type)
{
	const unsigned shift = 64U - 8U * type.bytes;
	const uint64_t left = (uint64_t)number << shift;

	return type.is_signed ? (int64_t)left >> shift : (int64_t)(left >> shift);
}

static void place_operand(const struct arch_operand *operand, struct value_type type,
			  struct expression_node *node)
{
	node->type = type;
	switch (operand->kind) {
	case ARCH_OPERAND_NUMBER:
		node->op = EXPRESSION_NUMBER;
		node->number = number_of_type(operand->number, type);
		break;
	case ARCH_OPERAND_REGISTER:
		node->op = EXPRESSION_CONTEXT;
		node->number = operand->base;
		break;
	case ARCH_OPERAND_MEMORY:
		node->op = EXPRESSION_USER_MEMORY;
		node->number = operand->number;
		node->base = operand->base;
		node->index = operand->index;
		node->shift = operand->shift;
		node->has_index = operand->has_index;
		break;
	}
}

static const char *parse_argument(struct usdt_argument *ret)
{
	struct arch_operand operand;
	const char *behind = parse_size(ret->text, &ret->type);

	if (!behind)
		return strchr(ret->text, 'f') && strchr(ret->text, '@')
			       ? "it is a floating-point number"
			       : "its size is not known";
	if (!arch_parse_operand(behind, &operand))
		return "its place has another form";
	place_operand(&operand, ret->type, &ret->node);
	return NULL;
}

bool usdt_argument_next(const char **at, struct usdt_argument *ret)
{
	const char *text = *at + strspn(*at, " ");
	const size_t n = argument_length(text);

	*ret = (struct usdt_argument){};
	*at = text + n;
	if (!n)
		return false;
	memcpy(ret->text, text, n < sizeof(ret->text) ? n : sizeof(ret->text) - 1);
	ret->unknown = n < sizeof(ret->text) ? parse_argument(ret) : "its place is too long a text";
	return true;
}

/* --- from a name to its place --- */

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

static int refuse_name(const struct resolving *r, const char *what, struct lookup *lookup)
{
	return error_set(r->e, -ENOENT, "%s has no %s '%s'%s", r->target->name, what, lookup->name,
			 near_text(&lookup->near));
}

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

/*
 * The leaf is an argument of a kernel function, or its result (@argument is NULL). It gets the type
 * of the value, whose register may have more bits. @is_cast: the user tells its type.
 */
static int resolve_kernel_value(struct resolving *r, const char *argument, bool is_cast,
				struct expression_node *node)
{
	const char *what = argument ? argument : "retval";
	struct lookup lookup = { .name = argument };
	const int found = find_value(r, &lookup);

	if (!argument)
		place_result(node);
	if (found < 0 && !argument && is_cast)
		return 0;
	if (found < 0)
		return error_within(r->e, "%s",
				    argument ? argument
					     : "the type of retval is not known, so write a cast, "
					       "as (int)retval");
	if (!found)
		return refuse_name(r, "argument", &lookup);
	if (lookup.kind.lack)
		return refuse_leaf(r, what, lookup.kind.lack);
	if (argument)
		place_argument(r, lookup.place, node);
	node->type = lookup.kind.type;
	r->ret->unit = lookup.kind.unit;
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
	return resolve_kernel_value(r, name, false, node);
}

static int resolve_return(struct resolving *r, const char *name, bool is_cast,
			  struct expression_node *node)
{
	if (node->op != EXPRESSION_RETVAL)
		return refuse_leaf(r, name,
				   "when a function returns, retval is known, and no argument");
	if (r->target->kind == TARGET_KERNEL_RETURN)
		return resolve_kernel_value(r, NULL, is_cast, node);
	place_result(node);
	if (r->target->is_jump)
		node->op = EXPRESSION_UNKNOWN;
	return 0;
}

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
	/* Nodes with equal effects have equal bytes. */
	ret->x.text = NULL;
	for (size_t i = 0; i < x->n; i++)
		ret->x.nodes[i].at = ret->x.nodes[i].length = 0;
	return 0;
}

/* --- the list of values --- */

#define MOST_TEXT 256
#define MOST_REMARK 384

struct value_listing {
	const struct target *target;
	named_value_visit *visit;
	void *context;
};

/* "char prev_comm[16]" has the type "char[16]". */
static void put_field_type(const struct tracepoint_field *field, char to[MOST_TEXT])
{
	size_t n = field->n_type;

	while (n && field->type[n - 1] == ' ')
		n--;
	(void)snprintf(to, MOST_TEXT, "%.*s%.*s", (int)n, field->type, (int)field->n_bounds,
		       field->bounds);
}

static void visit_number(const struct value_listing *l, const char *name, const char *type,
			 const struct number_kind *kind)
{
	struct named_value value = { .name = name, .type = type, .remark = kind->lack };

	if (!kind->lack) {
		value.as = kind->type;
		value.remark = kind->unit ? kind->unit : "";
	}
	l->visit(l->context, &value);
}

static int list_field(void *context, const struct tracepoint_field *field)
{
	const struct number_kind kind = field_kind(field);
	char type[MOST_TEXT];

	if (field_is_common(field))
		return 0;
	put_field_type(field, type);
	visit_number(context, field->name, type, &kind);
	return 0;
}

/* A value whose type the user has to know. */
static void visit_word(const struct value_listing *l, const char *name, const char *hint)
{
	visit_number(l, name, "", &(struct number_kind){ .type = word, .unit = hint });
}

/* The result is shown at the entry, too, where it has no value yet. */
static void list_result(const struct value_listing *l, const struct function_value *result)
{
	const bool is_entry = l->target->kind == TARGET_KERNEL_FUNCTION;
	struct number_kind kind = argument_kind(result);
	char remark[MOST_REMARK];

	if (is_entry && !result->type)
		return;
	if (is_entry) {
		(void)snprintf(remark, sizeof(remark), "at r:%s", l->target->name);
		kind.lack = remark;
	}
	visit_number(l, "retval", function_types_text(result), &kind);
}

static int list_function_value(void *context, const struct function_value *value)
{
	const struct value_listing *l = context;
	const struct number_kind kind = argument_kind(value);
	char name[sizeof("arg4294967295")];

	if (value->number == 0) {
		list_result(l, value);
		return 0;
	}
	if (l->target->kind == TARGET_KERNEL_RETURN)
		return 0;
	(void)snprintf(name, sizeof(name), "arg%u", value->number);
	visit_number(l, value->name[0] ? value->name : name, function_types_text(value), &kind);
	return 0;
}

static void list_kernel_function(struct value_listing *l, struct host *host)
{
	const bool is_return = l->target->kind == TARGET_KERNEL_RETURN;
	struct function_types *types;
	struct error why;
	int err = host_function_types(host, &types, &why);

	if (!err)
		err = function_types_each(types, l->target->symbol, l->target->module,
					  list_function_value, l, &why);
	if (err)
		visit_word(l, is_return ? "retval" : NAMED_ARGUMENTS, why.text);
}

static void list_user_function(const struct value_listing *l)
{
	const struct number_kind unread = { .lack = "arguments of 32-bit functions are not read" };

	if (l->target->kind == TARGET_USER_RETURN)
		visit_word(l, "retval", "cast it, as (int)retval");
	else if (l->target->is_32_bit)
		visit_number(l, NAMED_ARGUMENTS, "", &unread);
	else
		visit_word(l, NAMED_ARGUMENTS, "cast them, as (int)arg1");
}

static void list_probe(const struct value_listing *l)
{
	const char *at = l->target->arguments ? l->target->arguments : "";
	struct usdt_argument argument;

	for (unsigned i = 1; usdt_argument_next(&at, &argument); i++) {
		const char *place = strchr(argument.text, '@');
		const char *lack = l->target->is_32_bit
					   ? "arguments of 32-bit programs are not read"
					   : argument.unknown;
		struct number_kind kind = { .type = argument.type, .lack = lack };
		char name[sizeof("arg4294967295")];

		(void)snprintf(name, sizeof(name), "arg%u", i);
		visit_number(l, name, place && !argument.unknown ? place + 1 : argument.text,
			     &kind);
	}
}

int value_list_each(const struct target *target, struct host *host, named_value_visit *visit,
		    void *context, struct error *e)
{
	struct value_listing l = { .target = target, .visit = visit, .context = context };

	switch (target->kind) {
	case TARGET_TRACEPOINT:
		return host_each_field(host, target->category, target->event, list_field, &l, e);
	case TARGET_KERNEL_FUNCTION:
	case TARGET_KERNEL_RETURN:
		list_kernel_function(&l, host);
		return 0;
	case TARGET_USER_FUNCTION:
	case TARGET_USER_RETURN:
		list_user_function(&l);
		return 0;
	case TARGET_USDT:
		list_probe(&l);
		return 0;
	default:
		return 0;
	}
}
