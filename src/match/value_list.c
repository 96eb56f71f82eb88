// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/value_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "match/fields.h"
#include "match/usdt_argument.h"

#define MOST_TEXT 256
#define MOST_REMARK 384

struct value_listing {
	const struct target *target;
	named_value_visit *visit;
	void *context;
};

static const struct value_type word = { .bytes = 8, .is_signed = true };
static const struct value_type none;

/* --- tracepoints --- */

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
	const char *unit = kind->unit ? kind->unit : "";
	const struct named_value value = { .name = name,
					   .type = type,
					   .as = kind->lack ? none : kind->type,
					   .remark = kind->lack ? kind->lack : unit };

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

/* --- functions --- */

static void visit_words(const struct value_listing *l, const char *name, const char *remark)
{
	const struct named_value value = { .name = name, .type = "", .as = word, .remark = remark };

	l->visit(l->context, &value);
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
		visit_words(l, is_return ? "retval" : NAMED_ARGUMENTS, why.text);
}

static void list_user_function(const struct value_listing *l)
{
	const struct named_value unread = { .name = NAMED_ARGUMENTS,
					    .type = "",
					    .remark =
						    "arguments of 32-bit functions are not read" };

	if (l->target->kind == TARGET_USER_RETURN)
		visit_words(l, "retval", "cast it, as (int)retval");
	else if (l->target->is_32_bit)
		l->visit(l->context, &unread);
	else
		visit_words(l, NAMED_ARGUMENTS, "cast them, as (int)arg1");
}

/* --- USDT probes --- */

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
