/* rooms: base attach arch */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "attach/plan.h"

#define STRICT .no_events = "not for you", .no_uprobes = "nor these", .no_kprobes = "nor those"

/* clang-format off */
static const struct features bare = {};
static const struct features no_kprobes = { .uprobe_pmu = 9, .uprobe_multi = true };
static const struct features linux_6_1 = { .kprobe_pmu = 6, .uprobe_pmu = 7 };
static const struct features linux_6_12 = { .kprobe_pmu = 6, .uprobe_pmu = 7, .kprobe_multi = true,
	.uprobe_multi = true, .counts_missed = true };
static const struct features without_fprobe = { .kprobe_pmu = 6, .counts_missed = true };
static const struct features locked_returns = { .kprobe_pmu = 6, .counts_missed = true, .no_kprobes = "nor those" };
static const struct features strict_returns = { .kprobe_pmu = 6, .kprobe_multi = true, .counts_missed = true, STRICT };
static const struct features strict_6_1 = { .kprobe_pmu = 6, .uprobe_pmu = 7, STRICT };
static const struct features strict_6_12 = { .kprobe_pmu = 6, .uprobe_pmu = 7, STRICT, .kprobe_multi = true,
	.uprobe_multi = true };
static const struct features no_uprobes_6_1 = { .kprobe_pmu = 6, .uprobe_pmu = 7, .no_uprobes = "nor these" };
static const struct features locked_6_1 = { .kprobe_pmu = 6, .uprobe_pmu = 7, .no_kprobes = "nor those" };
static const struct features no_pmus = { .kprobe_multi = true, .uprobe_multi = true };
/* clang-format on */

#define FEW 4 /* get a probe each though there is a backend for many */
#define MANY (FEW + 1)
#define P(program) (1u << PROGRAM_##program)

/* clang-format off */
static const struct {
	const struct features *kernel;
	enum target_kind kind;
	unsigned avoid;
	enum backend backend;
	unsigned programs;
} choices[] = {
	{ &bare, TARGET_TRACEPOINT, 0, BACKEND_TRACEPOINT, P(TRACEPOINT) },
	{ &bare, TARGET_PERF_EVENT, 0, BACKEND_PERF_EVENT, P(PERF_EVENT) },
	{ &linux_6_1, TARGET_KERNEL_FUNCTION, 0, BACKEND_KPROBE, P(KPROBE) },
	{ &linux_6_12, TARGET_KERNEL_FUNCTION, 0, BACKEND_KPROBE_MULTI, P(KPROBE) },
	{ &no_pmus, TARGET_KERNEL_FUNCTION, 0, BACKEND_KPROBE_MULTI, P(KPROBE) },
	{ &linux_6_12, TARGET_KERNEL_FUNCTION, 1u << BACKEND_KPROBE_MULTI, BACKEND_KPROBE, P(KPROBE) },
	{ &linux_6_12, TARGET_KERNEL_FUNCTION, 1u << BACKEND_KPROBE, BACKEND_KPROBE_MULTI, P(KPROBE) },
	{ &linux_6_1, TARGET_USER_FUNCTION, 0, BACKEND_UPROBE, P(UPROBE) },
	{ &linux_6_1, TARGET_USDT, 0, BACKEND_UPROBE, P(USDT) },
	{ &linux_6_12, TARGET_USER_FUNCTION, 0, BACKEND_UPROBE_MULTI, P(UPROBE) },
	{ &linux_6_12, TARGET_USDT, 0, BACKEND_UPROBE_MULTI, P(USDT) },
	{ &linux_6_12, TARGET_USER_FUNCTION, 1u << BACKEND_UPROBE_MULTI, BACKEND_UPROBE, P(UPROBE) },
	{ &strict_6_12, TARGET_KERNEL_FUNCTION, 0, BACKEND_KPROBE_MULTI, P(KPROBE) },
	{ &strict_6_12, TARGET_USER_FUNCTION, 0, BACKEND_UPROBE_MULTI, P(UPROBE) },
	{ &linux_6_12, TARGET_KERNEL_RETURN, 0, BACKEND_KRETPROBE_MULTI, P(KRETURN) },
	{ &linux_6_12, TARGET_KERNEL_RETURN, 1u << BACKEND_KRETPROBE, BACKEND_KRETPROBE_MULTI, P(KRETURN) },
	{ &linux_6_12, TARGET_KERNEL_RETURN, 1u << BACKEND_KRETPROBE_MULTI, BACKEND_KRETPROBE, P(KRETURN) },
	{ &without_fprobe, TARGET_KERNEL_RETURN, 0, BACKEND_KRETPROBE, P(KRETURN) },
	{ &strict_returns, TARGET_KERNEL_RETURN, 0, BACKEND_KRETPROBE_MULTI, P(KRETURN) },
	{ &linux_6_1, TARGET_USER_RETURN, 0, BACKEND_UPROBE, P(UPROBE) },
	{ &linux_6_12, TARGET_USER_RETURN, 0, BACKEND_UPROBE_MULTI, P(UPROBE) },
};

static const struct {
	const struct features *kernel;
	enum target_kind kind;
	unsigned avoid;
	const char *text;
} messages[] = {
	{ &no_kprobes, TARGET_KERNEL_FUNCTION, 0,
	  "vfs_read: this kernel has no kprobes (CONFIG_KPROBES is not set); tracepoints (t:...), "
	  "user functions (LIB:FUNC) and USDT probes (u:LIB:PROBE) work" },
	{ &bare, TARGET_KERNEL_FUNCTION, 0,
	  "vfs_read: this kernel has no kprobes (CONFIG_KPROBES is not set); tracepoints (t:...) work" },
	{ &(const struct features){ .kprobe_pmu = 6 }, TARGET_USER_FUNCTION, 0,
	  "vfs_read: this kernel has no uprobes (CONFIG_UPROBES is not set); tracepoints (t:...) and "
	  "kernel functions (FUNC) work" },
	{ &bare, TARGET_USDT, 0,
	  "vfs_read: this kernel has no uprobes (CONFIG_UPROBES is not set); tracepoints (t:...) work" },
	{ &linux_6_1, TARGET_KERNEL_FUNCTION, 1u << BACKEND_KPROBE,
	  "vfs_read: every backend for it is excluded (see --without); tracepoints (t:...), "
	  "user functions (LIB:FUNC) and USDT probes (u:LIB:PROBE) work" },
	{ &strict_6_1, TARGET_TRACEPOINT, 0, "vfs_read: not for you; no other kind of event works" },
	{ &strict_6_1, TARGET_KERNEL_FUNCTION, 0, "vfs_read: nor those; no other kind of event works" },
	{ &strict_6_12, TARGET_TRACEPOINT, 0,
	  "vfs_read: not for you; kernel functions (FUNC), user functions (LIB:FUNC) and USDT probes "
	  "(u:LIB:PROBE) work" },
	{ &strict_6_12, TARGET_USDT, 1u << BACKEND_UPROBE_MULTI,
	  "vfs_read: every backend for it is excluded (see --without); kernel functions (FUNC) work" },
	{ &strict_6_1, TARGET_USDT, 0, "vfs_read: nor these; no other kind of event works" },
	{ &no_uprobes_6_1, TARGET_USDT, 0,
	  "vfs_read: nor these; tracepoints (t:...) and kernel functions (FUNC) work" },
	{ &locked_6_1, TARGET_KERNEL_FUNCTION, 0,
	  "vfs_read: nor those; tracepoints (t:...), user functions (LIB:FUNC) and USDT probes "
	  "(u:LIB:PROBE) work" },
	{ &locked_6_1, TARGET_KERNEL_FUNCTION, 1u << BACKEND_KPROBE,
	  "vfs_read: nor those; tracepoints (t:...), user functions (LIB:FUNC) and USDT probes "
	  "(u:LIB:PROBE) work" },
	{ &bare, TARGET_KERNEL_RETURN, 0,
	  "vfs_read: this kernel has no kprobes (CONFIG_KPROBES is not set); tracepoints (t:...) work" },
	{ &linux_6_1, TARGET_KERNEL_RETURN, 0,
	  "vfs_read: this kernel does not tell how many returns it missed (Linux 6.7 does); "
	  "tracepoints (t:...), kernel functions (FUNC), user functions (LIB:FUNC) and USDT probes "
	  "(u:LIB:PROBE) work" },
	{ &locked_returns, TARGET_KERNEL_RETURN, 0, "vfs_read: nor those; tracepoints (t:...) work" },
	{ &linux_6_12, TARGET_KERNEL_RETURN, 1u << BACKEND_KRETPROBE | 1u << BACKEND_KRETPROBE_MULTI,
	  "vfs_read: every backend for it is excluded (see --without); tracepoints (t:...), "
	  "kernel functions (FUNC), user functions (LIB:FUNC) and USDT probes (u:LIB:PROBE) work" },
	{ &bare, TARGET_TRACEPOINT, 1u << BACKEND_TRACEPOINT,
	  "vfs_read: every backend for it is excluded (see --without); no other kind of event works" },
};
/* clang-format on */

static bool is_multi(enum backend backend)
{
	return backend == BACKEND_KPROBE_MULTI || backend == BACKEND_KRETPROBE_MULTI ||
	       backend == BACKEND_UPROBE_MULTI;
}

TEST(each_kernel_serves_each_kind_by_its_best_backend)
{
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		struct target targets[MANY];
		struct target_list list = { .targets = targets, .n = MANY };
		struct plan plan = {};

		for (size_t t = 0; t < MANY; t++)
			targets[t] = (struct target){ .kind = choices[i].kind, .name = "vfs_read" };
		assert_int_equal(plan_make(&list, choices[i].kernel, choices[i].avoid, &plan, NULL),
				 0);
		assert_int_equal(plan.n, MANY);
		for (size_t t = 0; t < MANY; t++)
			assert_int_equal(plan.backends[t], choices[i].backend);
		assert_int_equal(plan.programs, choices[i].programs);
		assert_int_equal(plan.multi, is_multi(choices[i].backend) ? plan.programs : 0);
		assert_memory_equal(&plan.features, choices[i].kernel, sizeof(plan.features));
		plan_fini(&plan);
	}
}

TEST(a_few_kernel_functions_get_a_kprobe_each)
{
	struct target target = { .kind = TARGET_KERNEL_FUNCTION, .name = "vfs_read" };
	struct target_list list = { .targets = &target, .n = 1 };
	struct plan plan = {};

	assert_int_equal(plan_make(&list, &linux_6_12, 0, &plan, NULL), 0);
	assert_int_equal(plan.backends[0], BACKEND_KPROBE);
	assert_int_equal(plan.programs, P(KPROBE));
	plan_fini(&plan);
	assert_int_equal(plan_make(&list, &linux_6_12, 1u << BACKEND_KPROBE, &plan, NULL), 0);
	assert_int_equal(plan.backends[0], BACKEND_KPROBE_MULTI);
	plan_fini(&plan);
	assert_int_equal(plan_make(&list, &strict_6_12, 0, &plan, NULL), 0);
	assert_int_equal(plan.backends[0], BACKEND_KPROBE_MULTI); /* no perf event is needed */
	plan_fini(&plan);
}

TEST(names_that_several_functions_may_have_want_addresses)
{
	static const struct features refusing = { .kprobe_pmu = 6,
						  .kprobe_multi = true,
						  .refuses_namesakes = true };
	static const struct {
		const struct features *kernel;
		struct target target;
		size_t n;
		bool is_wanted;
	} rows[] = {
		/* a kprobe: only if the kernel takes the first one silently */
		{ &linux_6_1, { .is_unchecked = true }, 1, true },
		{ &linux_6_1, {}, 1, true },
		{ &linux_6_1, { .addr = 1 }, 1, false },
		{ &refusing, { .is_unchecked = true }, 1, false },
		/* kprobe.multi: if the name was not taken from the list of what is traceable */
		{ &refusing, { .is_unchecked = true }, MANY, true },
		{ &refusing, {}, MANY, false },
		{ &refusing, { .addr = 1 }, MANY, false },
		{ &refusing, { .kind = TARGET_TRACEPOINT }, MANY, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target targets[MANY];
		struct target_list list = { .targets = targets, .n = rows[i].n };
		struct plan plan = {};

		for (size_t t = 0; t < list.n; t++)
			targets[t] = rows[i].target;
		assert_int_equal(plan_make(&list, rows[i].kernel, 0, &plan, NULL), 0);
		assert_int_equal(plan_wants_addresses(&plan, &list), rows[i].is_wanted);
		plan_fini(&plan);
	}
}

TEST(what_a_kernel_lacks_is_said_with_what_it_has)
{
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		struct target target = { .kind = messages[i].kind, .name = "vfs_read" };
		struct target_list list = { .targets = &target, .n = 1 };
		struct plan plan = {};
		struct error e = {};

		assert_int_equal(plan_make(&list, messages[i].kernel, messages[i].avoid, &plan, &e),
				 -EOPNOTSUPP);
		assert_string_equal(e.text, messages[i].text);
		assert_null(plan.backends);
	}
}

TEST(a_mixed_list_gets_every_program_it_needs_and_no_other)
{
	struct target targets[] = {
		{ .kind = TARGET_TRACEPOINT },
		{ .kind = TARGET_USDT },
		{ .kind = TARGET_KERNEL_FUNCTION },
		{ .kind = TARGET_USER_FUNCTION },
		{ .kind = TARGET_USDT },
	};
	struct target_list list = { .targets = targets, .n = ARRAY_SIZE(targets) };
	struct plan plan = {};

	assert_int_equal(plan_make(&list, &linux_6_1, 0, &plan, NULL), 0);
	const uint8_t expected[] = { BACKEND_TRACEPOINT, BACKEND_UPROBE, BACKEND_KPROBE,
				     BACKEND_UPROBE, BACKEND_UPROBE };
	assert_int_equal(plan.n, ARRAY_SIZE(expected));
	assert_memory_equal(plan.backends, expected, sizeof(expected));
	assert_int_equal(plan.programs, P(TRACEPOINT) | P(USDT) | P(KPROBE) | P(UPROBE));
	plan_fini(&plan);
	assert_null(plan.backends);
}

TEST_MAIN(NULL, NULL)
