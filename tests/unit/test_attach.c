/* rooms: base attach arch; alone */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * On the running kernel, as root: probes on this program's own functions, and programs of
 * a few instructions that count their hits. What a kernel does not have is not left out but
 * must be refused in words.
 */
#include "test.h"

#include <linux/bpf.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "attach/backend.h"
#include "base/log.h"
#include "bpf/syscall.h"
#include "unit/counting.h"

/* --- places in this program --- */

static volatile int sink;

__attribute__((noinline)) static void first(void)
{
	sink++;
}

__attribute__((noinline)) static void second(void)
{
	sink += 2;
}

__attribute__((noinline)) static void third(void)
{
	sink += 3;
}

#if defined(__x86_64__)
void locked(int *n);
void halting(void);
void vector(void);
__asm__(".text\n"
	".globl locked, halting, vector\n"
	".type locked, @function\n"
	".type halting, @function\n"
	".type vector, @function\n"
	"locked: lock incl (%rdi)\n"
	"	ret\n"
	"halting: hlt\n"
	"	ret\n"
	"vector: vmovaps %xmm0, %xmm0\n"
	"	ret\n");
#else
#error "which instructions do uprobes refuse here?"
#endif

/* Where in this program's file @p is. */
static uint64_t file_offset(const void *p)
{
	cleanup_fclose FILE *f = fopen("/proc/self/maps", "r");
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end, offset;

		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)p >= start && (uintptr_t)p < end)
			return (uintptr_t)p - start + offset;
	}
	fail_msg("not mapped");
	return 0;
}

#define USER(function)                                                                     \
	{                                                                                  \
		.kind = TARGET_USER_FUNCTION, .name = #function, .path = "/proc/self/exe", \
		.offset = file_offset((const void *)(uintptr_t)(function))                 \
	}

/* --- one attachment, and what it is made from --- */

struct tracing {
	struct features features;
	struct object object;
	struct plan plan;
	struct attachment *attachment;
};

static uint32_t pmu_type(const char *path)
{
	cleanup_fclose FILE *f = fopen(path, "r");
	unsigned type = 0;

	return f && fscanf(f, "%u", &type) == 1 ? type : 0;
}

/* The links that a kernel does not know, it declines with another code. */
static void find_features(struct features *f)
{
	const struct bpf_insn insns[] = { MOVE_IMM(BPF_REG_0, 0), EXIT };
	cleanup_close int kernel =
		instructions_load(BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, insns, 2);
	cleanup_close int user =
		instructions_load(BPF_PROG_TYPE_KPROBE, ABI_TRACE_UPROBE_MULTI, insns, 2);
	const uint64_t offset = 0;
	const struct link_places nowhere = { .places = (const uint64_t *)8 /* unreadable */,
					     .n = 1 };
	const struct link_places no_file = { .places = &offset, .n = 1 };

	*f = (struct features){
		.kprobe_pmu = pmu_type("/sys/bus/event_source/devices/kprobe/type"),
		.uprobe_pmu = pmu_type("/sys/bus/event_source/devices/uprobe/type"),
		.kprobe_multi = link_kprobe_multi(kernel, &nowhere, false) == -EFAULT,
		.uprobe_multi = link_uprobe_multi(user, "/", &no_file, 0) == -EBADF,
	};
}

static void expect_refusal(const struct error *e, const char *begin)
{
	if (strncmp(e->text, begin, strlen(begin)) != 0)
		fail_msg("%s", e->text);
}

static int start(struct tracing *t, struct target *targets, size_t n, unsigned avoid,
		 const struct attach_scope *scope, struct error *e)
{
	const struct attach_scope here = scope ? *scope : (struct attach_scope){};
	struct target_list list = { .targets = targets, .n = n };

	*t = (struct tracing){ .object.map = -1, .object.target_by = here.target_by };
	memset(t->object.programs, -1, sizeof(t->object.programs));
	find_features(&t->features);
	int err = plan_make(&list, &t->features, avoid, &t->plan, e);
	if (err)
		return err;
	/* With a scope it is the probes that tell processes apart, not the program. */
	object_open(&t->object, t->plan.programs, scope ? 0 : (uint32_t)getpid());
	return attach_all(&list, &t->plan, &t->object, &here, &t->attachment, e);
}

static void stop(struct tracing *t)
{
	attachment_freep(&t->attachment);
	plan_fini(&t->plan);
	object_close(&t->object);
}

/* Every set of backends that this kernel can be made to use for user functions. */
static const unsigned avoided[] = { 0, 1u << BACKEND_UPROBE_MULTI };

/* --- tests --- */

/* One of them is refused, so that batches are divided; a vector instruction is linked apart. */
TEST(each_target_is_told_apart)
{
	for (size_t i = 0; i < ARRAY_SIZE(avoided); i++) {
		struct target targets[] = { USER(first),   USER(locked), USER(vector),
					    USER(halting), USER(second), USER(third) };
		const uint64_t n_vector = __builtin_cpu_supports("avx") ? 4 : 0;
		struct attach_scope scope = { .target_by = TARGET_BY_COOKIE };
		uint64_t counters[PROGRAM_N];
		struct tracing t;
		struct error e = {};

		assert_ok(start(&t, targets, ARRAY_SIZE(targets), avoided[i], &scope, &e), e);
		first();
		for (int n = 0; n < 2; n++)
			second();
		for (int n = 0; n < 3; n++)
			third();
		for (uint64_t n = 0; n < n_vector; n++)
			vector();
		read_counters(&t.object, counters);
		assert_int_equal(counters[0], 1);
		assert_int_equal(counters[2], n_vector);
		assert_int_equal(counters[4], 2);
		assert_int_equal(counters[5], 3);
		assert_int_equal(hits(&t.object), 6 + n_vector);
		stop(&t);
	}
}

/*
 * A lock prefix is looked for in advance; halting is a surprise. A file may have been changed since
 * it was looked at: nobody waits for a FIFO's writer. The kernel would take a place where it
 * mistakes the instruction.
 */
TEST(a_refused_place_does_not_cost_the_others)
{
	static const char *const reasons[] = {
		[1] = "the kernel cannot probe its first instruction",
		[3] = "the kernel cannot probe its first instruction",
		[5] = "the file is gone",
		[6] = "",
		[7] = "the kernel would mistake its first instruction for another one",
	};
	char path[64];

	(void)snprintf(path, sizeof(path), "/tmp/test_attach.%d", (int)getpid());
	assert_int_equal(mkfifo(path, 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(avoided); i++) {
		struct target targets[] = { USER(first), USER(locked), USER(second), USER(halting),
					    USER(third), USER(first),  USER(first),  USER(first) };
		struct tracing t;
		struct error e = {};
		unsigned refused = 0;

		targets[5].path = "/nonexistent/lib.so";
		targets[6].path = path;
		targets[7].obstacle = OBSTACLE_MISTAKEN;
		assert_ok(start(&t, targets, ARRAY_SIZE(targets), avoided[i], NULL, &e), e);
		assert_int_equal(attachment_n_attached(t.attachment), 3);
		assert_int_equal(attachment_n_refused(t.attachment), 5);
		for (size_t r = 0; r < 5; r++) {
			const struct refusal *refusal = attachment_refused(t.attachment, r);
			const size_t which = (size_t)(refusal->target - targets);

			refused |= 1u << which;
			assert_true(refusal->code < 0);
			assert_non_null(strstr(refusal->reason, reasons[which]));
		}
		assert_int_equal(refused, 0xea);
		first();
		second();
		third();
		assert_int_equal(hits(&t.object), 3);
		assert_int_equal(attachment_missed(t.attachment), 0);
		attachment_freep(&t.attachment);
		first();
		assert_int_equal(hits(&t.object), 3);
		stop(&t);
	}
	assert_int_equal(unlink(path), 0);
}

TEST(when_every_place_is_refused_the_first_one_says_why)
{
	for (size_t i = 0; i < ARRAY_SIZE(avoided); i++) {
		struct target targets[] = { USER(locked), USER(halting) };
		const uint32_t ended = INT32_MAX; /* the number of no process */
		const struct attach_scope nobody = { .pids = &ended, .n_pids = 1 };
		struct tracing t;
		struct error e = {};

		assert_int_equal(start(&t, targets, 1, avoided[i], NULL, &e), -UAPI_ENOTSUPP);
		expect_refusal(
			&e,
			"attach locked: the kernel cannot probe its first instruction (/proc/self/exe+");
		assert_null(t.attachment);
		stop(&t);
		assert_true(start(&t, targets, 2, avoided[i], NULL, &e) < 0);
		assert_non_null(strstr(e.text, ") (and none of the other 1 could be attached)"));
		stop(&t);
		targets[0].kind = TARGET_USDT;
		targets[0].obstacle = OBSTACLE_MISTAKEN;
		assert_int_equal(start(&t, targets, 1, avoided[i], NULL, &e), -EILSEQ);
		expect_refusal(&e, "attach locked: the kernel would mistake the instruction there "
				   "for another one (/proc/self/exe+");
		stop(&t);
		targets[0] = (struct target)USER(first);
		assert_int_equal(start(&t, targets, 1, avoided[i], &nobody, &e), -ESRCH);
		expect_refusal(&e, "attach first: the process has ended (/proc/self/exe+");
		stop(&t);
	}
}

/* Stands in for a backend, in the other process: is anything open there that was made before? */
static void look_for_what_was_made(struct attaching *at, const struct selection *chosen)
{
	const struct attachment *a = at->attachment;
	bool is_open = false;

	for (size_t i = 0; i < a->n_links; i++)
		is_open |= fcntl(a->links[i], F_GETFD) >= 0;
	attaching_note(at, chosen->items[0], is_open ? -EEXIST : 0);
}

/* It would outlive us there, if that process hangs. */
TEST(who_puts_probes_into_distant_files_has_no_others)
{
	for (size_t i = 0; i < ARRAY_SIZE(avoided); i++) {
		struct target target = USER(first);
		uint32_t item = 0;
		const struct selection chosen = { .items = &item, .n = 1 };
		const struct attach_scope scope = {};
		struct outcome outcome = {};
		struct tracing t;
		struct error e = {};

		assert_ok(start(&t, &target, 1, avoided[i], NULL, &e), e);

		struct attaching at = { .targets = &target,
					.plan = &t.plan,
					.object = &t.object,
					.scope = &scope,
					.attachment = t.attachment,
					.outcomes = &outcome };

		target.is_distant = true;
		assert_ok(distant_attach(&at, look_for_what_was_made, &chosen, &e), e);
		assert_int_equal(outcome.code, 0);
		assert_true(outcome.is_placed);
		first();
		assert_int_equal(hits(&t.object), 1);
		stop(&t);
	}
}

static uint64_t tracepoint_id(const char *category, const char *event)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/%s/id", category, event);
	uint32_t id = pmu_type(path);
	assert_true(id > 0);
	return id;
}

/* tracefs, for this program alone, as it may not be mounted. */
static int mount_tracefs(void **state)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	if (mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL) < 0 && errno != EBUSY)
		return -1;
	return 0;
}

/* On every kernel: where kprobes are lacking, in the words of a refusal. */
TEST(what_the_kernel_does_not_have_is_refused_in_words)
{
	static const unsigned avoid[] = { 0, 1u << BACKEND_KPROBE_MULTI };

	for (size_t i = 0; i < ARRAY_SIZE(avoid); i++) {
		struct target targets[] = {
			{ .kind = TARGET_TRACEPOINT, .name = "no:such", .tracepoint_id = 0xffffff },
			{ .kind = TARGET_TRACEPOINT,
			  .name = "syscalls:sys_enter_getppid",
			  .tracepoint_id = tracepoint_id("syscalls", "sys_enter_getppid") },
			{ .kind = TARGET_KERNEL_FUNCTION, .name = "g", .symbol = "no_such_thing" },
			{ .kind = TARGET_KERNEL_FUNCTION, .name = "f", .symbol = "ksys_read" },
		};
		struct tracing t;
		struct error e = {};

		assert_ok(start(&t, targets, 2, 0, NULL, &e), e);
		assert_non_null(
			strstr(attachment_refused(t.attachment, 0)->reason, "no such tracepoint"));
		(void)getppid();
		assert_int_equal(hits(&t.object), 1);
		stop(&t);

		const int err = start(&t, targets + 2, 2, avoid[i], NULL, &e);

		if (!t.features.kprobe_pmu && !t.features.kprobe_multi) {
			assert_int_equal(err, -EOPNOTSUPP);
			assert_non_null(strstr(e.text, "this kernel has no kprobes"));
		} else {
			assert_int_equal(err, 0);
			assert_int_equal(attachment_n_attached(t.attachment), 1);
			assert_string_equal(attachment_refused(t.attachment, 0)->reason,
					    "no such function in this kernel");
		}
		stop(&t);
	}
}

static bool does_stop;

/* Stands in for libc's, in the process that closes links last. */
pid_t setsid(void)
{
	if (does_stop)
		(void)raise(SIGSTOP);
	return getpid();
}

/* As if the kernel took long: the process stops, and so closes nothing. */
TEST(what_takes_the_kernel_long_is_left_to_another_process)
{
	struct strbuf held = {};
	int links[4], status, n_left = 0;

	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		links[i] = open("/", O_PATH | O_CLOEXEC);
	log_hold(&held);
	does_stop = true;
	detach_links(links, ARRAY_SIZE(links));
	does_stop = false;
	if (held.n)
		(void)sscanf(held.text, "%*s %d probes no longer count", &n_left);
	log_release();
	assert_int_equal(n_left, ARRAY_SIZE(links));
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		assert_int_equal(fcntl(links[i], F_GETFD), -1);

	pid_t last;

	do
		last = waitpid(-1, &status, WUNTRACED);
	while (last > 0 && !WIFSTOPPED(status));
	assert_true(last > 0);
	assert_int_equal(kill(last, SIGCONT), 0);
	assert_int_equal(waitpid(last, &status, 0), last);
	assert_true(WIFEXITED(status));
}

/* A hit of 10 us, and 5 us of interrupt: a quarter of a CPU is 10,000 of them in a second. */
TEST(a_clock_gets_what_takes_a_quarter_of_a_cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.sample_period = FIRST_PERIOD_NS,
					.read_format = 3 };
	const struct sampling how = { .period = FIRST_PERIOD_NS, .wanted = 50000 };
	const int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
	struct samples s = {};

	assert_true(fd >= 0);
	samples_add(&s, fd, 0, 0, &how);
	(void)usleep(10000);
	assert_true(samples_read(&s).n_slowed > 0);
	assert_int_equal(samples_pace(&s, 10000)->period, 100000);
	assert_null(samples_pace(&s, 1000)); /* the wanted one */
	samples_fini(&s);
}

TEST_MAIN(mount_tracefs, NULL)
