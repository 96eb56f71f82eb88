/* rooms: unwind kernel processes reader helper elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads of real processes, built without frame pointers, are stopped at instruction after
 * instruction and at every system call; each time the walk by tables gives the frames that
 * libdwfl gives.
 *
 * With a program and its arguments, that is walked at its system calls, with frame pointers where
 * tables say nothing, and nothing is compared:
 *
 *	build/unit/test_unwind_walk node -e 'console.log(1)'
 */
#include "test.h"

#include "scratch.h"
#include "tracee.h"

/*
 * What is between the two int3 is walked at each instruction. Lazy binding leads through the
 * dynamic linker, whose _dl_runtime_resolve is found by rbx; @over_there is realigned, with and
 * without alloca; the signal's stack lies above the frame that it interrupts. In the vdso,
 * getcpu() only: reading a clock begins again with each tick, so on a slow machine it never ends.
 */
static const char source[] =
	"#define _GNU_SOURCE\n#include <alloca.h>\n#include <pthread.h>\n#include <sched.h>\n"
	"#include <signal.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <sys/wait.h>\n"
	"volatile int sink;\n"
	"#define NOINLINE __attribute__((noinline, noclone))\n"
	"static NOINLINE void leaf(int n) { sink += n; __asm__ volatile(\"\" ::: \"memory\"); }\n"
	"static NOINLINE void realigned(int n)\n"
	"{ char b[64] __attribute__((aligned(64))); memset(b, n, 64); leaf(b[n]); sink = b[1]; }\n"
	"static NOINLINE void over_there(int n)\n"
	"{ char b[64] __attribute__((aligned(64))); char *p = alloca(n + 1); memset(b, n, 64);\n"
	"  p[n] = 1; leaf(p[n]); realigned(n); sink = b[n] + p[0]; }\n"
	"static NOINLINE int deep(int n)\n"
	"{ char b[32]; memset(b, n, 32); int r = n ? deep(n - 1) + b[n] : (leaf(n), 0); return r + 1; }\n"
	"static int compare(const void *a, const void *b)\n"
	"{ leaf(1); return *(const int *)a - *(const int *)b; }\n"
	"static void handler(int s) { leaf(s); over_there(s & 7); }\n"
	"static NOINLINE void signals(void)\n"
	"{ char *high = alloca(65536); stack_t st = { .ss_sp = high, .ss_size = 65536 };\n"
	"  struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };\n"
	"  raise(SIGUSR1); sigaltstack(&st, 0); sigaction(SIGUSR2, &sa, 0); raise(SIGUSR2);\n"
	"  memset(high, 0, 8); }\n"
	"static NOINLINE void others(void)\n"
	"{ unsigned cpu; getcpu(&cpu, 0); leaf((int)cpu);\n"
	"  pid_t pid = vfork(); if (pid == 0) _exit(0); waitpid(pid, 0, 0); }\n"
	"static NOINLINE void region(void)\n"
	"{ int v[] = { 5, 3, 8, 1 };\n"
	"  __asm__ volatile(\"int3\");\n"
	"  deep(20); over_there(3); qsort(v, 4, sizeof(v[0]), compare); signals(); others();\n"
	"  sink += abs(v[0]) + (int)strtol(\"17\", 0, 10);\n"
	"  __asm__ volatile(\"int3\"); }\n"
	"static void *thread(void *p) { region(); return p; }\n"
	"int main(int n, char **v)\n"
	"{ signal(SIGUSR1, handler); (void)v; pthread_t t;\n"
	"  if (n > 1) { pthread_create(&t, 0, thread, 0); pthread_join(t, 0); } else region();\n"
	"  return 0; }\n";

/*
 * With a libc of their own: whoever traces the machine's at the same time has breakpoints in it,
 * and trampolines in stacks.
 */
static int build(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	scratch_write("p.c", source);
	scratch_run("cp -L /usr/lib/x86_64-linux-gnu/libc.so.6 /lib64/ld-linux-x86-64.so.2 . && "
		    "cc='gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls p.c -pthread'; "
		    "own=\"-Wl,-rpath,$PWD,--dynamic-linker,$PWD/ld-linux-x86-64.so.2\"; "
		    "$cc $own -Wl,-z,lazy -o lazy && $cc -static -o static && "
		    "$cc -static-pie -fPIE -o pie && "
		    "$cc $own -g -fno-asynchronous-unwind-tables -fno-exceptions -o debug_frame");
	return 0;
}

static pid_t start(char *const argv[])
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			(void)execvp(argv[0], argv);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL,
				PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD),
			 0);
	return pid;
}

/* Of the program, not one that whoever traces a library has put there. */
static bool is_at_int3(struct tracee *t, pid_t tid, const struct mapping *program)
{
	uint64_t pc = regs_of(tid).pc;
	uint8_t byte = 0;

	assert_int_equal(pread(t->memory, &byte, 1, (off_t)pc), 1);
	return byte == 0xcc && pc >= program->start && pc < program->end;
}

static void set_pc(pid_t tid, uint64_t pc)
{
	struct user_regs_struct r;

	assert_int_equal(ptrace(PTRACE_GETREGS, tid, NULL, &r), 0);
	r.rip = pc;
	assert_int_equal(ptrace(PTRACE_SETREGS, tid, NULL, &r), 0);
}

#define MOST_STOPS 50000 /* seven times as many as there are */

/* @tid stands behind the first int3: go on to the second, by instructions. */
static void step_through(struct tracee *t, pid_t tid)
{
	int status;
	long signal = 0;

	tracee_look(t);

	const struct mapping *program = mapping_list_at(&t->mappings, regs_of(tid).pc);

	assert_non_null(program);
	while (!is_at_int3(t, tid, program)) {
		tracee_compare(t, tid, false);
		if (t->n_stops == MOST_STOPS)
			fail_msg("no end of it: at %#lx after %d steps", regs_of(tid).pc,
				 MOST_STOPS);
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, tid, NULL, signal), 0);
		assert_int_equal(waitpid(tid, &status, __WALL), tid);
		assert_true(WIFSTOPPED(status));
		signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	}
	set_pc(tid, regs_of(tid).pc + 1);
}

/* Returns false when the process has ended. */
static bool handle_stop(struct tracee *t, pid_t tid, int status)
{
	long signal = 0;

	if (tid == t->pid && !WIFSTOPPED(status)) {
		assert_int_equal(status, 0);
		return false;
	}
	if (!WIFSTOPPED(status))
		return true;
	if (WSTOPSIG(status) == SIGTRAP && status >> 8 == SIGTRAP)
		step_through(t, tid);
	else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
		signal = WSTOPSIG(status);
	assert_int_equal(ptrace(PTRACE_CONT, tid, NULL, signal), 0);
	return true;
}

static void say(const struct tracee *t, const char *name)
{
	print_message(
		"%s: %zu stops, %zu frames, at most %zu in a stack; %zu without CFI, libdwfl cut %zu; ends:",
		name, t->n_stops, t->n_frames, t->most_frames, t->n_without_cfi, t->n_theirs_cut);
	for (int i = 0; i <= UNWIND_END_DEPTH; i++)
		if (t->n_by_end[i])
			print_message(" %d: %zu", i, t->n_by_end[i]);
	print_message("\n");
}

static void walk_each_instruction(const char *program, char *argument)
{
	cleanup_free char *path = scratch_path(program);
	char *argv[] = { path, argument, NULL };
	static struct tracee t;
	pid_t tid;
	int status;

	tracee_begin(&t, start(argv));
	assert_int_equal(ptrace(PTRACE_CONT, t.pid, NULL, 0), 0);
	do {
		tid = waitpid(-1, &status, __WALL);
		assert_true(tid > 0);
	} while (handle_stop(&t, tid, status));
	say(&t, program);
	assert_true(t.n_stops > 1000 && t.most_frames > 22);
	assert_int_equal(t.n_by_end[UNWIND_END_ROOT], t.n_stops);
	tracee_end(&t);
}

TEST(each_instruction_of_a_program)
{
	walk_each_instruction("lazy", NULL);
}

TEST(each_instruction_of_a_thread)
{
	walk_each_instruction("lazy", "thread");
}

TEST(each_instruction_of_a_static_program)
{
	walk_each_instruction("static", NULL);
	walk_each_instruction("pie", NULL);
}

TEST(each_instruction_of_code_with_debug_frame_only)
{
	walk_each_instruction("debug_frame", NULL);
}

/* Stopped with @status: compare where that is at a system call. Returns the signal to go on with.
 */
static long handle_call(struct tracee *t, pid_t tid, int status)
{
	int signal = WSTOPSIG(status);

	if (signal == (SIGTRAP | 0x80)) {
		tracee_look(t);
		tracee_compare(t, tid, true);
		return 0;
	}
	/* Events, and a new thread's first stop: behind the system call that made it. */
	if (signal == SIGSTOP && tid != t->pid)
		tracee_compare(t, tid, true);
	return signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
}

/* At the entry and at the exit of each system call of each thread, from the first on. */
static void walk_each_system_call(struct tracee *t, char *const argv[])
{
	int status;
	pid_t tid = t->pid;
	long signal = 0;

	for (;;) {
		/* One that is not there any more is told by waitpid(). */
		(void)ptrace(PTRACE_SYSCALL, tid, NULL, signal);
		do {
			tid = waitpid(-1, &status, __WALL);
			assert_true(tid > 0);
		} while (!WIFSTOPPED(status) && tid != t->pid);
		if (!WIFSTOPPED(status))
			break;
		signal = handle_call(t, tid, status);
	}
	assert_int_equal(status, 0);
	say(t, argv[0]);
}

static void walk_installed(char *const argv[])
{
	static struct tracee t;

	tracee_begin(&t, start(argv));
	walk_each_system_call(&t, argv);
	assert_true(t.n_stops > 20 && t.n_without_cfi * 10 < t.n_stops);
	assert_int_equal(t.n_by_end[UNWIND_END_ROOT], t.n_stops);
	tracee_end(&t);
}

/* Also that of glibc's clone3(), which has no entry. */
TEST(each_system_call_of_what_makes_a_thread)
{
	static const char *const programs[] = { "lazy", "static" };

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		cleanup_free char *path = scratch_path(programs[i]);
		char *argv[] = { path, "thread", NULL };

		walk_installed(argv);
	}
}

TEST(each_system_call_of_programs_that_are_installed)
{
	char *const bash[] = { "bash", "-c", "x=$(echo a); cd /; echo $x >/dev/null", NULL };
	char *const perl[] = { "perl", "-e", "use POSIX; print STDERR sort map { '' } 1..9", NULL };
	char *const python[] = { "/usr/bin/python3", "-c", "import json; json.dumps([1])", NULL };

	walk_installed(bash);
	walk_installed(perl);
	walk_installed(python);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		static struct tracee t;

		tracee_begin(&t, start(argv + 1));
		t.is_mixed = true;
		walk_each_system_call(&t, argv + 1);
		tracee_end(&t);
		return 0;
	}
	return run_all_tests(build, scratch_remove);
}
