/* rooms: match kernel arch base elf unwind files */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include <sys/user.h>

#include "arch/arch.h"
#include "match/values.h"
#include "scratch.h"

/* The registers of user space's header have the places of the kernel's. */
TEST(arguments_are_where_the_abi_has_them)
{
	static const int32_t arguments[] = ARCH_ARGUMENTS;

#if defined(__x86_64__)
	static const size_t wanted[] = {
		offsetof(struct user_regs_struct, rdi), offsetof(struct user_regs_struct, rsi),
		offsetof(struct user_regs_struct, rdx), offsetof(struct user_regs_struct, rcx),
		offsetof(struct user_regs_struct, r8),  offsetof(struct user_regs_struct, r9),
	};

	assert_int_equal(ARCH_RETURN_VALUE, offsetof(struct user_regs_struct, rax));
	assert_int_equal(ARCH_STACK_POINTER, offsetof(struct user_regs_struct, rsp));
#else
	static const size_t wanted[] = { 0, 8, 16, 24, 32, 40, 48, 56 };

	assert_int_equal(ARCH_STACK_POINTER, offsetof(struct user_regs_struct, sp));
#endif
	assert_int_equal(ARRAY_SIZE(arguments), ARRAY_SIZE(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_int_equal(arguments[i], wanted[i]);
}

/* --- resolving --- */

static struct host *host_with_event(void)
{
	return host_new_at(&(struct host_paths){ .tracefs = scratch_lent("tracefs") });
}

static int make_event(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	scratch_write("tracefs/events/a/b/format",
		      "name: b\nID: 372\nformat:\n"
		      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		      "\n"
		      "\tfield:size_t bytes_req;\toffset:8;\tsize:8;\tsigned:0;\n"
		      "\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n"
		      "\tfield:short nice;\toffset:32;\tsize:2;\tsigned:1;\n"
		      "\tfield:__data_loc char[] name;\toffset:36;\tsize:4;\tsigned:0;\n"
		      "\tfield:struct odd pair;\toffset:40;\tsize:12;\tsigned:0;\n"
		      "\tfield:u64 wait_ns;\toffset:56;\tsize:8;\tsigned:0;\n"
		      "\tfield:bool arg1;\toffset:64;\tsize:1;\tsigned:0;\n"
		      "\tfield:const int timeout;\toffset:72;\tsize:8;\tsigned:0;\n"
		      "\tfield:unsigned int fd;\toffset:80;\tsize:8;\tsigned:0;\n"
		      "\tfield:loff_t pos;\toffset:88;\tsize:8;\tsigned:0;\n"
		      "\tfield:int * where;\toffset:96;\tsize:8;\tsigned:0;\n"
		      "\tfield:int broken;\tsize:8;\tsigned:0;\n"
		      "\nprint fmt: \"field:int fake;\", REC->nice\n");
	return 0;
}

static const struct target event = {
	.kind = TARGET_TRACEPOINT, .name = "a:b", .category = "a", .event = "b"
};
static const struct target user = { .kind = TARGET_USER_FUNCTION, .name = "f", .symbol = "f" };
static const struct target user_32_bit = {
	.kind = TARGET_USER_FUNCTION, .name = "f", .symbol = "f", .is_32_bit = true
};
static const struct target user_return = { .kind = TARGET_USER_RETURN, .name = "f" };
static const struct target user_jump = { .kind = TARGET_USER_RETURN, .name = "f", .is_jump = true };
static const struct target kernel = { .kind = TARGET_KERNEL_FUNCTION,
				      .name = "vfs_read",
				      .symbol = "vfs_read" };
static const struct target kernel_return = { .kind = TARGET_KERNEL_RETURN,
					     .name = "vfs_read",
					     .symbol = "vfs_read" };
static const struct target unknown_return = { .kind = TARGET_KERNEL_RETURN,
					      .name = "no_such_function",
					      .symbol = "no_such_function" };
#if defined(__x86_64__)
#define NOTE "8@%rdi -4@-12(%rbp) 4@x(%rip)"
#else
#define NOTE "8@x0 -4@[x29,-12] 4@x"
#endif
static const struct target usdt = { .kind = TARGET_USDT, .name = "p:q", .arguments = NOTE };
static const struct target usdt_without = { .kind = TARGET_USDT, .name = "p:q", .arguments = "" };
static const struct target sample = { .kind = TARGET_PERF_EVENT, .name = "page-faults" };
static const struct target usdt_32_bit = { .kind = TARGET_USDT, .name = "p:q", .is_32_bit = true };

/* "context 8 u64 bytes": the first leaf, and the unit. Or the refusal. */
static void describe(const char *text, const struct target *target, char *to, size_t size)
{
	static const char *const places[] = { [EXPRESSION_NUMBER] = "number",
					      [EXPRESSION_CONTEXT] = "context",
					      [EXPRESSION_USER_MEMORY] = "user memory",
					      [EXPRESSION_KERNEL_MEMORY] = "kernel memory",
					      [EXPRESSION_UNKNOWN] = "unknown" };
	cleanup(host_freep) struct host *host = host_with_event();
	struct resolved_value value;
	struct expression x;
	struct error e;

	assert_ok(expression_parse(text, &x, &e), e);
	if (value_resolve(&x, target, host, &value, &e)) {
		(void)snprintf(to, size, "%s", e.text);
		return;
	}

	const struct expression_node *node = &value.x.nodes[0];

	assert_int_equal(value.x.n, x.n);
	(void)snprintf(to, size, "%s %lld %c%d%s%s", places[node->op], (long long)node->number,
		       node->type.is_signed ? 's' : 'u', 8 * node->type.bytes,
		       value.unit ? " " : "", value.unit ? value.unit : "");
}

TEST(names_become_places)
{
	static const struct {
		const char *text;
		const struct target *target;
		const char *is;
	} rows[] = {
		{ "bytes_req", &event, "context 8 u64 bytes" },
		{ "(int)bytes_req", &event, "context 8 u64 bytes" },
		{ "bytes_req / 2", &event, "context 8 u64" },
		{ "nice", &event, "context 32 s16" },
		{ "wait_ns", &event, "context 56 u64 nanoseconds" },
		{ "arg1", &event, "context 64 u8" },
		{ "timeout", &event, "context 72 s32" },
		{ "fd", &event, "context 80 u32" },
		{ "pos", &event, "context 88 s64" },
		{ "where", &event, "context 96 u64" },
		{ "7", &event, "number 7 s64" },
		{ "arg1", &user, "context 112 s64" },
		{ "arg6", &user, "context 64 s64" },
		{ "arg7", &user, "user memory 8 s64" },
		{ "arg9", &user, "user memory 24 s64" },
		{ "arg7", &kernel, "kernel memory 8 s64" },
		{ "arg1", &user_32_bit,
		  "f has no arg1: arguments of 32-bit functions are not read" },
		{ "retval", &user_return, "context 80 s64" },
		{ "retval", &user_jump, "unknown 80 s64" },
		{ "count", &kernel, "context 96 u64 bytes" },
		{ "arg3", &kernel, "context 96 s64" },
		{ "retval", &kernel_return, "context 80 s64 bytes" },
		{ "(int)retval", &unknown_return, "context 80 s64" },
		{ "byts_req", &event, "a:b has no field 'byts_req' (did you mean bytes_req?)" },
		{ "comm", &event, "the field 'comm' of a:b has no value to add: it is an array" },
		{ "name", &event,
		  "the field 'name' of a:b has no value to add: its length varies (__data_loc)" },
		{ "pair", &event, "the field 'pair' of a:b has no value to add: it is no number" },
		{ "common_pid", &event,
		  "the field 'common_pid' of a:b has no value to add: programs cannot read it" },
		{ "retval", &event, "a:b has no retval: a tracepoint has fields" },
		{ "n", &user, "f has no n: arguments of user functions are arg1, arg2 ..." },
		{ "retval", &kernel, "vfs_read has no retval: returns have it, as r:FUNC" },
		{ "coun", &kernel, "vfs_read has no argument 'coun' (did you mean count?)" },
		{ "count", &kernel_return,
		  "vfs_read has no count: when a function returns, retval is known, and no "
		  "argument" },
		{ "retval", &unknown_return,
		  "the type of retval is not known, so write a cast, as (int)retval: the kernel's "
		  "BTF does not describe no_such_function" },
		{ "arg1", &sample, "page-faults has no arg1: a perf event has no values" },
		{ "arg1", &usdt, "context 112 u64" },
		{ "arg2", &usdt, "user memory -12 s32" },
		{ "arg3", &usdt,
		  "arg3 of p:q is '4@x(%rip)', which is not read: its place has another form" },
		{ "arg4", &usdt, "p:q has no arg4: it has 3 arguments" },
		{ "arg1", &usdt_without, "p:q has no arg1: it has 0 arguments" },
		{ "arg1", &usdt_32_bit,
		  "p:q has no arg1: arguments of 32-bit programs are not read" },
		{ "retval", &usdt,
		  "p:q has no retval: the arguments of a USDT probe are arg1, arg2 ..." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char is[512];

		describe(rows[i].text, rows[i].target, is, sizeof(is));
		if (strcmp(is, rows[i].is) != 0)
			fail_msg("%s of %s: '%s', not '%s'", rows[i].text, rows[i].target->name, is,
				 rows[i].is);
	}
}

/* So that targets whose places are equal have one code. */
TEST(equal_places_have_equal_bytes)
{
	cleanup(host_freep) struct host *host = host_with_event();
	struct resolved_value values[2];

	for (int i = 0; i < 2; i++) {
		struct expression x;

		assert_works(expression_parse(i ? "arg3+1" : "  count + 1", &x, &e));
		assert_works(value_resolve(&x, &kernel, host, &values[i], &e));
		values[i].x.nodes[0].type = (struct value_type){};
	}
	assert_memory_equal(values[0].x.nodes, values[1].x.nodes,
			    3 * sizeof(struct expression_node));
}

/* --- lists --- */

/* "count|size_t|u64|bytes\n" */
static void put_named(void *context, const struct named_value *value)
{
	char *to = context;
	const size_t n = strlen(to);

	(void)snprintf(to + n, 2048 - n, "%s|%s|%c%d|%s\n", value->name, value->type,
		       !value->as.bytes      ? '-'
		       : value->as.is_signed ? 's'
					     : 'u',
		       8 * value->as.bytes, value->remark);
}

TEST(events_list_their_values)
{
	static const struct {
		const struct target *target;
		const char *is;
	} rows[] = {
		{ &event, "bytes_req|size_t|u64|bytes\n"
			  "comm|char[16]|-0|it is an array\n"
			  "nice|short|s16|\n"
			  "name|__data_loc char[]|-0|its length varies (__data_loc)\n"
			  "pair|struct odd|-0|it is no number\n"
			  "wait_ns|u64|u64|nanoseconds\n"
			  "arg1|bool|u8|\n"
			  "timeout|const int|s32|\n"
			  "fd|unsigned int|u32|\n"
			  "pos|loff_t|s64|\n"
			  "where|int *|u64|\n" },
		{ &kernel, "file|struct file *|u64|\n"
			   "buf|char *|u64|\n"
			   "count|size_t|u64|bytes\n"
			   "pos|loff_t *|u64|\n"
			   "retval|ssize_t|-0|at r:vfs_read\n" },
		{ &kernel_return, "retval|ssize_t|s64|bytes\n" },
		{ &unknown_return,
		  "retval||s64|the kernel's BTF does not describe no_such_function\n" },
		{ &user, "arg1, arg2 ...||s64|cast them, as (int)arg1\n" },
		{ &user_32_bit, "arg1, arg2 ...||-0|arguments of 32-bit functions are not read\n" },
		{ &user_return, "retval||s64|cast it, as (int)retval\n" },
#if defined(__x86_64__)
		{ &usdt, "arg1|%rdi|u64|\n"
			 "arg2|-12(%rbp)|s32|\n"
			 "arg3|4@x(%rip)|-0|its place has another form\n" },
#endif
		{ &usdt_without, "" },
		{ &sample, "" },
	};
	cleanup(host_freep) struct host *host = host_with_event();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char is[2048] = "";

		assert_works(value_list_each(rows[i].target, host, put_named, is, &e));
		assert_string_equal(is, rows[i].is);
	}
}

TEST_MAIN(make_event, scratch_remove)
