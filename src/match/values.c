// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "base/text.h"
#include "kernel/kernel_types.h"
#include "match/names.h"

/* --- which fields and arguments are numbers --- */

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
 * The fields that all tracepoints have: the program's context has a pointer in the first 8 bytes,
 * where the record has these fields.
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

/* --- arguments in the notes of USDT probes --- */

/* The bytes up to the argument's end, a blank. There may be blanks within the brackets of memory.
 */
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
		break;
	}
}

static const char *parse_argument(struct usdt_argument *ret)
{
	struct arch_operand operand;
	struct value_type type;
	const char *behind = parse_size(ret->text, &type);

	if (!behind)
		return strchr(ret->text, 'f') && strchr(ret->text, '@')
			       ? "it is a floating-point number"
			       : "its size is not known";
	if (!arch_parse_operand(behind, &operand))
		return "its place has another form";
	place_operand(&operand, type, &ret->node);
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

/* --- values and their places --- */

#define MOST_TEXT 256
#define MOST_REMARK 384

static const int32_t argument_offsets[] = ARCH_ARGUMENTS;
static const struct value_type word = { .bytes = 8, .is_signed = true };

/* The node becomes argument @number, from 1 on, of @function at its entry. */
static void place_argument(const struct target *function, uint32_t number,
			   struct expression_node *node)
{
	const uint32_t n_registers = ARRAY_SIZE(argument_offsets);

	node->type = word;
	if (number <= n_registers) {
		node->op = EXPRESSION_CONTEXT;
		node->number = argument_offsets[number - 1];
		return;
	}
	node->op = function->kind == TARGET_USER_FUNCTION ? EXPRESSION_USER_MEMORY
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

/* A walk of the values of a target. */
struct value_walk {
	const struct target *target;
	named_value_visit *visit;
	void *context;
	bool is_list; /* for people: with types, and not what no program can read */
};

/*
 * Visit @v, whose place is set. @lack: why it is no number that can be read; NULL: it is one, with
 * the unit or hint @unit (NULL: none).
 */
static void visit_value(const struct value_walk *w, struct named_value *v, const char *lack,
			const char *unit)
{
	v->remark = lack ? lack : unit ? unit : "";
	v->as = lack ? (struct value_type){} : v->place.type;
	w->visit(w->context, v);
}

static int visit_field(void *context, const struct tracepoint_field *field)
{
	const struct value_walk *w = context;
	size_t n = field->n_type;
	char type[MOST_TEXT];
	struct named_value v = { .name = field->name,
				 .type = type,
				 .place = { .op = EXPRESSION_CONTEXT,
					    .number = field->offset,
					    .type = type_of_field(field) } };

	if (w->is_list && field_is_common(field))
		return 0;
	/* "char prev_comm[16]" has the type "char[16]". */
	while (n && field->type[n - 1] == ' ')
		n--;
	(void)snprintf(type, sizeof(type), "%.*s%.*s", (int)n, field->type, (int)field->n_bounds,
		       field->bounds);
	visit_value(w, &v, lack_of_field(field), unit_of(field->name, field->type, field->n_type));
	return 0;
}

static const char *lack_of_argument(const struct function_value *value)
{
	const bool is_result = value->number == 0;

	if (!value->bytes)
		return is_result ? "it returns no number" : "the argument is no number";
	return is_result || value->position ? NULL : "its place behind a structure is not known";
}

/* The result is listed at the entry, too, where it has no value yet. */
static int visit_function_value(void *context, const struct function_value *value)
{
	const struct value_walk *w = context;
	const bool is_result = value->number == 0;
	const bool is_return = w->target->kind == TARGET_KERNEL_RETURN;
	const char *lack = lack_of_argument(value);
	char number[sizeof("arg4294967295")], remark[MOST_REMARK];
	struct named_value v = { .name = value->name };

	if (is_result != is_return && !(is_result && w->is_list && value->type))
		return 0;
	if (is_result) {
		v.name = "retval";
		place_result(&v.place);
	} else if (value->position) {
		place_argument(w->target, value->position, &v.place);
	}
	if (!v.name[0]) {
		(void)snprintf(number, sizeof(number), "arg%u", value->number);
		v.name = number;
	}
	if (is_result && !is_return) {
		(void)snprintf(remark, sizeof(remark), "at r:%s", w->target->name);
		lack = remark;
	}
	/* Its register may have more bits. */
	v.place.type = (struct value_type){ (uint8_t)value->bytes, value->is_signed };
	v.type = w->is_list ? function_types_text(value) : "";
	visit_value(w, &v, lack,
		    unit_of(value->name, "size_t", value->is_size ? strlen("size_t") : 0));
	return 0;
}

/* Visit what the kernel's BTF has of a kernel function. */
static int visit_function(struct value_walk *w, struct host *host, struct error *e)
{
	struct kernel_types *types;
	const int err = host_kernel_types(host, &types, e);

	return err ? err
		   : function_types_each(types, w->target->symbol, w->target->module,
					 visit_function_value, w, e);
}

/* --- from a name to its place --- */

#define MOST_NAME 128

struct resolving {
	const struct target *target;
	struct host *host;
	struct resolved_value *ret;
	struct error *e;
};

/* A search for a value by its name. */
struct search {
	const char *name;
	struct near near;
	struct named_value found; /* .name NULL: none. .type is not valid */
};

static void find_named(void *context, const struct named_value *v)
{
	struct search *search = context;

	if (strcmp(v->name, search->name) != 0 && v->as.bytes) {
		near_offer(&search->near, v->name);
	} else if (strcmp(v->name, search->name) == 0 && !search->found.name) {
		search->found = *v;
		search->found.name = search->name;
	}
}

static struct value_walk begin_search(const struct resolving *r, const char *name,
				      struct search *ret)
{
	*ret = (struct search){ .name = name };
	near_init(&ret->near, name);
	return (struct value_walk){ .target = r->target, .visit = find_named, .context = ret };
}

static void take_found(struct resolving *r, const struct search *search,
		       struct expression_node *node)
{
	*node = search->found.place;
	r->ret->unit = search->found.remark[0] ? search->found.remark : NULL;
}

static int refuse_name(const struct resolving *r, const char *what, struct search *search)
{
	return error_set(r->e, -ENOENT, "%s has no %s '%s'%s", r->target->name, what, search->name,
			 near_text(&search->near));
}

static int refuse_leaf(const struct resolving *r, const char *what, const char *why)
{
	return error_set(r->e, -EOPNOTSUPP, "%s has no %s: %s", r->target->name, what, why);
}

static int resolve_tracepoint(struct resolving *r, const char *name, struct expression_node *node)
{
	struct search search;
	struct value_walk w = begin_search(r, name, &search);
	const int err = host_each_field(r->host, r->target->category, r->target->event, visit_field,
					&w, r->e);

	if (err)
		return err;
	if (!search.found.name) /* a field may be called arg1 */
		return node->op == EXPRESSION_NAME
			       ? refuse_name(r, "field", &search)
			       : refuse_leaf(r, name, "a tracepoint has fields");
	if (!search.found.as.bytes)
		return error_set(r->e, -EOPNOTSUPP, "the field '%s' of %s has no value to add: %s",
				 name, r->target->name, search.found.remark);
	take_found(r, &search, node);
	return 0;
}

/* The leaf is an argument or the result of a kernel function. @is_cast: the user tells its type. */
static int resolve_kernel_value(struct resolving *r, const char *name, bool is_cast,
				struct expression_node *node)
{
	const bool is_result = node->op == EXPRESSION_RETVAL;
	struct search search;
	struct value_walk w = begin_search(r, name, &search);
	const int err = visit_function(&w, r->host, r->e);

	if (err && is_result && is_cast) {
		place_result(node);
		return 0;
	}
	if (err)
		return error_within(r->e, "%s",
				    is_result ? "the type of retval is not known, so write a cast, "
						"as (int)retval"
					      : name);
	if (!search.found.name)
		return refuse_name(r, "argument", &search);
	if (!search.found.as.bytes)
		return refuse_leaf(r, name, search.found.remark);
	take_found(r, &search, node);
	return 0;
}

static int resolve_entry(struct resolving *r, const char *name, struct expression_node *node)
{
	if (r->target->is_32_bit)
		return refuse_leaf(r, name, "arguments of 32-bit functions are not read");
	if (node->op == EXPRESSION_ARGUMENT) {
		place_argument(r->target, (uint32_t)node->number, node);
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
		return resolve_kernel_value(r, name, is_cast, node);
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

/* A value whose type the user has to know. */
static void visit_word(const struct value_walk *w, const char *name, const char *hint)
{
	struct named_value v = { .name = name, .type = "", .place.type = word };

	visit_value(w, &v, NULL, hint);
}

static void list_kernel_function(struct value_walk *w, struct host *host)
{
	const bool is_return = w->target->kind == TARGET_KERNEL_RETURN;
	struct error why;

	if (visit_function(w, host, &why))
		visit_word(w, is_return ? "retval" : NAMED_ARGUMENTS, why.text);
}

static void list_user_function(const struct value_walk *w)
{
	struct named_value unread = { .name = NAMED_ARGUMENTS, .type = "" };

	if (w->target->kind == TARGET_USER_RETURN)
		visit_word(w, "retval", "cast it, as (int)retval");
	else if (w->target->is_32_bit)
		visit_value(w, &unread, "arguments of 32-bit functions are not read", NULL);
	else
		visit_word(w, NAMED_ARGUMENTS, "cast them, as (int)arg1");
}

static void list_probe(const struct value_walk *w)
{
	const char *at = w->target->arguments ? w->target->arguments : "";
	struct usdt_argument argument;

	for (unsigned i = 1; usdt_argument_next(&at, &argument); i++) {
		const char *place = strchr(argument.text, '@');
		char name[sizeof("arg4294967295")];
		struct named_value v = { .name = name,
					 .type = place && !argument.unknown ? place + 1
									    : argument.text,
					 .place = argument.node };

		(void)snprintf(name, sizeof(name), "arg%u", i);
		visit_value(w, &v,
			    w->target->is_32_bit ? "arguments of 32-bit programs are not read"
						 : argument.unknown,
			    NULL);
	}
}

int value_list_each(const struct target *target, struct host *host, named_value_visit *visit,
		    void *context, struct error *e)
{
	struct value_walk w = {
		.target = target, .visit = visit, .context = context, .is_list = true
	};

	switch (target->kind) {
	case TARGET_TRACEPOINT:
		return host_each_field(host, target->category, target->event, visit_field, &w, e);
	case TARGET_KERNEL_FUNCTION:
	case TARGET_KERNEL_RETURN:
		list_kernel_function(&w, host);
		return 0;
	case TARGET_USER_FUNCTION:
	case TARGET_USER_RETURN:
		list_user_function(&w);
		return 0;
	case TARGET_USDT:
		list_probe(&w);
		return 0;
	default:
		return 0;
	}
}
