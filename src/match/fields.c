// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/fields.h"

#include <string.h>

#include "base/array.h"

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

/* The program's context has a pointer in the first 8 bytes, where the record has these fields. */
bool field_is_common(const struct tracepoint_field *field)
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

static bool is_number_size(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static const char *lack_of_field(const struct tracepoint_field *field)
{
	if (field_is_common(field))
		return "programs cannot read it";
	if (begins_with(field, "__data_loc") || begins_with(field, "__rel_loc"))
		return "its length varies (__data_loc)";
	if (field->is_array)
		return "it is an array";
	return is_number_size(field->bytes) ? NULL : "it is no number";
}

struct number_kind field_kind(const struct tracepoint_field *field)
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

struct number_kind argument_kind(const struct function_value *value)
{
	return (struct number_kind){
		.type = { (uint8_t)value->bytes, value->is_signed },
		.unit = unit_of(value->name, "size_t", value->is_size ? strlen("size_t") : 0),
		.lack = lack_of_argument(value),
	};
}
