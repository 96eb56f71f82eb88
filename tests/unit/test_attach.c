/* rooms: base attach arch; alone */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * On the running kernel, as root: probes on this program's own functions, and programs of a few
 * instructions that count their hits. tests/e2e tells targets apart, by each backend.
 */
#include "test.h"

#include <dirent.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "attach/attach.h"
#include "attach/syscall.h"
#include "base/log.h"

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
__asm__(".text\n"
	".globl locked, halting\n"
	".type locked, @function\n"
	".type halting, @function\n"
	"locked: lock incl (%rdi)\n"
	"	ret\n"
	"halting: hlt\n"
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

/* How many links and perf events this process has open. */
static size_t n_links_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *entry;
	size_t n = 0;

	assert_non_null(d);
	while ((entry = readdir(d))) {
		char target[64] = "";

		(void)!readlinkat(dirfd(d), entry->d_name, target, sizeof(target) - 1);
		n += strstr(target, "bpf_link") || strstr(target, "[perf_event]");
	}
	(void)closedir(d);
	return n;
}

/* Stands in for attach/object.h: programs of a few instructions that count in the map's one value.
 */
struct object {
	int programs[PROGRAM_N];
	int map;
};

static pid_t own_pid;

/* What another process had open when it asked for a program last. Shared with it. */
static size_t *n_links_elsewhere;

static int share_memory(void **state)
{
	own_pid = getpid();
	n_links_elsewhere = mmap(NULL, sizeof(size_t), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return n_links_elsewhere == MAP_FAILED;
}

int object_program_fd(const struct object *object, enum object_program program)
{
	if (getpid() != own_pid)
		*n_links_elsewhere = n_links_open();
	return object->programs[program];
}

/* A program for user functions that counts hits of @tgid, or of any with 0. */
static int load_counter(const struct object *o, bool is_multi, uint32_t tgid)
{
	const struct bpf_insn insns[] = {
		CALL(BPF_FUNC_get_current_pid_tgid),
		INSN(BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_0, 0, 0, 32),
		INSN(BPF_JMP | (tgid ? BPF_JNE : BPF_JSET) | BPF_K, BPF_REG_0, 0, 4, (int)tgid),
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, 0, o->map),
		INSN(0, 0, 0, 0, 0),
		MOVE_IMM(BPF_REG_2, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_1, BPF_REG_2, 0, BPF_ADD),
		MOVE_IMM(BPF_REG_0, 0),
		EXIT,
	};

	return instructions_load(BPF_PROG_TYPE_KPROBE, is_multi ? ABI_TRACE_UPROBE_MULTI : 0, insns,
				 ARRAY_SIZE(insns));
}

static void object_open(struct object *o, const struct plan *plan, uint32_t tgid)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1
	};

	o->map = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	assert_true(o->map >= 0);
	for (int p = 0; p < PROGRAM_N; p++) {
		if (!(plan->programs & 1u << p))
			continue;
		o->programs[p] = load_counter(o, plan->multi >> p & 1, tgid);
		assert_true(o->programs[p] >= 0);
	}
}

static void object_close(struct object *o)
{
	for (int p = 0; p < PROGRAM_N; p++)
		cleanup_close_fd(&o->programs[p]);
	cleanup_close_fd(&o->map);
}

static uint64_t hits(const struct object *o)
{
	const uint32_t zero = 0;
	uint64_t n = 0;
	union bpf_attr attr = { .map_fd = (unsigned)o->map,
				.key = (uintptr_t)&zero,
				.value = (uintptr_t)&n };

	assert_int_equal(sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)), 0);
	return n;
}

struct tracing {
	struct features features;
	struct object object;
	struct plan plan;
	struct attachment *attachment;
};

static void expect_refusal(const struct error *e, const char *begin)
{
	if (strncmp(e->text, begin, strlen(begin)) != 0)
		fail_msg("%s", e->text);
}

static int start(struct tracing *t, struct target *targets, size_t n, unsigned avoid,
		 const struct attach_scope *scope, struct error *e)
{
	const struct attach_scope here = scope ? *scope : (struct attach_scope){};
	cleanup_fclose FILE *type = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	struct target_list list = { .targets = targets, .n = n };

	*t = (struct tracing){ .object.map = -1 };
	memset(t->object.programs, -1, sizeof(t->object.programs));
	features_probe(&t->features, FEATURES_USER);
	assert_true(!type || fscanf(type, "%u", &t->features.uprobe_pmu) == 1);
	int err = plan_make(&list, &t->features, avoid, &t->plan, e);
	if (err)
		return err;
	/* With a scope it is the probes that tell processes apart, not the program. */
	object_open(&t->object, &t->plan, scope ? 0 : (uint32_t)getpid());
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

/*
 * A file may have been changed since it was looked at: nobody waits for a FIFO's writer. The kernel
 * would take a place where it mistakes the instruction.
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
		unsigned refused = 0;

		targets[5].path = "/nonexistent/lib.so";
		targets[6].path = path;
		targets[7].obstacle = OBSTACLE_MISTAKEN;
		assert_works(start(&t, targets, ARRAY_SIZE(targets), avoided[i], NULL, &e));
		assert_int_equal(attachment_n_attached(t.attachment), 3);

		size_t n;
		const struct refusal *refusal = attachment_refusals(t.attachment, &n);

		assert_int_equal(n, 5);
		for (; n > 0; n--, refusal++) {
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

/* They would outlive us there, if that process hangs. */
TEST(who_puts_probes_into_a_file_has_no_others)
{
	for (size_t i = 0; i < ARRAY_SIZE(avoided); i++) {
		struct target targets[] = { USER(first), USER(second) };
		struct tracing t;

		targets[1].path = "/proc/thread-self/exe";
		*n_links_elsewhere = SIZE_MAX;
		assert_works(start(&t, targets, 2, avoided[i], NULL, &e));
		assert_int_equal(attachment_n_attached(t.attachment), 2);
		assert_int_equal(n_links_open(), 2);
		/* The event that becomes a link now. */
		assert_int_equal(*n_links_elsewhere, t.plan.backends[1] == BACKEND_UPROBE ? 1 : 0);
		first();
		second();
		assert_int_equal(hits(&t.object), 2);
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
	struct target targets[] = { USER(first), USER(second), USER(third), USER(first) };
	struct strbuf held = {};
	struct tracing t;
	int status, n_left = 0;

	assert_works(start(&t, targets, 4, 1u << BACKEND_UPROBE_MULTI, NULL, &e));
	log_hold(&held);
	does_stop = true;
	attachment_detach(t.attachment);
	does_stop = false;
	if (held.n)
		(void)sscanf(held.text, "%*s %d probes no longer count", &n_left);
	log_release();
	assert_int_equal(n_left, 4);
	assert_int_equal(n_links_open(), 0);

	pid_t last;

	do
		last = waitpid(-1, &status, WUNTRACED);
	while (last > 0 && !WIFSTOPPED(status));
	assert_true(last > 0);
	assert_int_equal(kill(last, SIGCONT), 0);
	assert_int_equal(waitpid(last, &status, 0), last);
	assert_true(WIFEXITED(status));
	stop(&t);
}

TEST(a_kernel_that_runs_the_tests_has_what_is_required)
{
	assert_works(features_require(&e));
}

TEST(features_are_found_by_trying)
{
	struct utsname name;
	struct features has = {};
	unsigned major, minor;

	assert_int_equal(uname(&name), 0);
	assert_int_equal(sscanf(name.release, "%u.%u", &major, &minor), 2);
	unsigned version = major * 100 + minor;
	/* Not carried back as a rule, so here the version does tell. */
	features_probe(&has, FEATURES_ALL);
	assert_int_equal(has.counts_missed, version >= 607);
	if (version >= 612)
		assert_int_equal(has.uprobe_multi,
				 access("/sys/bus/event_source/devices/uprobe/type", R_OK) == 0);
	if (version < 606)
		assert_false(has.uprobe_multi);
}

TEST(features_that_are_not_asked_for_are_not_touched)
{
	struct features has = { .kprobe_multi = true, .uprobe_multi = true, .kprobe_pmu = 77 };

	features_probe(&has, 0);
	assert_true(has.kprobe_multi);
	assert_true(has.uprobe_multi);
	assert_int_equal(has.kprobe_pmu, 77);
}

TEST_MAIN(share_memory, NULL)
