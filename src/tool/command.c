// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How a command starts:
 *
 *	main process                            child
 *	command_hold()           forks          waits at the gate
 *	                         loads programs, attaches, begins to count
 *	command_exec()           opens gate     asks to be traced, execs, stops
 *	command_run_to_entry()   breakpoints    maps libraries, stops at the entry point
 *	command_let_go()         detaches       runs
 */
#include "tool/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "report/escape.h"
#include "tool/program.h"

/*
 * The child writes one of these before its exec, then the errno if exec failed. End of file: exec
 * succeeded.
 */
#define TRACED (-1)
#define NOT_TRACED (-2)

static void write_to_parent(int fd, int what)
{
	if (write(fd, &what, sizeof(what)) < 0)
		_exit(126);
}

/*
 * In the child: wait at the gate, then exec. A traced child stops after exec, before its first
 * instruction. If tracing is not allowed, it just runs.
 */
__attribute__((noreturn)) static void run_child(char *const *argv, int gate, int trouble)
{
	sigset_t all, none;
	char byte;
	ssize_t n = read(gate, &byte, 1);

	if (n != 1)
		_exit(127);
	(void)signal(SIGPIPE, SIG_DFL);
	/*
	 * Once the child is traced, each signal stops it. The parent waits for stops only when it
	 * has read TRACED, so block all signals until then.
	 */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	write_to_parent(trouble, ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? NOT_TRACED : TRACED);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execvp(argv[0], argv);
	write_to_parent(trouble, errno);
	_exit(127);
}

static char *make_visible(const char *name)
{
	struct strbuf text = {};

	strbuf_puts(&text, "");
	escape_put(&text, name, false);
	return text.text;
}

int command_hold(char *const *argv, bool stops_at_entry, struct command *ret, struct error *e)
{
	int gate[2], trouble[2];
	int err;

	*ret = (struct command)COMMAND_NONE;
	ret->shown = make_visible(argv[0]);
	err = program_check(argv[0], ret->shown, e);
	if (err)
		return err;
	if (pipe2(gate, O_CLOEXEC) < 0)
		return error_errno(e, "make a pipe");

	cleanup_close int gate_in = gate[0];

	ret->gate = gate[1];
	if (pipe2(trouble, O_CLOEXEC) < 0)
		return error_errno(e, "make a pipe");

	cleanup_close int trouble_in = trouble[1];

	ret->trouble = trouble[0];
	ret->name = argv[0];
	ret->pid = fork();
	if (ret->pid < 0) {
		err = -errno;
		ret->pid = 0;
		return error_set(e, err, "start '%s': %s", ret->shown, error_start_words(err));
	}
	if (ret->pid == 0) {
		close(ret->gate); /* else the gate would stay open when we end */
		run_child(argv, gate_in, trouble_in);
	}
	ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
	if (stops_at_entry)
		breakpoints_aside_start(&ret->breakpoints, ret->pid);
	return 0;
}

void command_get_ready(struct command *c)
{
	breakpoints_aside_wait(&c->breakpoints);
}

static int exec_failed(struct command *c, int why, struct error *e)
{
	if (c->pid)
		(void)waitpid(c->pid, &c->status, 0);
	c->pid = 0;
	errno = why;
	return error_errno(e, "start '%s'", c->shown);
}

/* A successful exec closes the child's end of the pipe, and leaves nothing to read. */
static bool has_execed(const struct command *c)
{
	struct pollfd fd = { .fd = c->trouble, .events = POLLIN };

	return poll(&fd, 1, 0) == 1 && fd.revents == POLLHUP;
}

#define SHORTEST_PAUSE_NS 20000
#define LONGEST_PAUSE_NS 1000000

static void sleep_longer(struct timespec *pause)
{
	(void)nanosleep(pause, NULL);
	if (pause->tv_nsec < LONGEST_PAUSE_NS)
		pause->tv_nsec *= 2;
}

/* A command that hangs ends when its file system answers or goes, so do not wait for long. */
#define MOST_PAUSES_OF_KILLED 100

static void kill_command(struct command *c)
{
	struct timespec pause = { .tv_nsec = SHORTEST_PAUSE_NS };

	c->is_killed = true;
	(void)kill(c->pid, SIGKILL);
	for (int i = 0; i < MOST_PAUSES_OF_KILLED && !command_has_ended(c); i++)
		sleep_longer(&pause);
}

/* Has its exec succeeded or failed? If it is traced: has it stopped or ended? */
static bool has_execed_or_stopped(struct command *c, bool is_traced)
{
	struct pollfd fd = { .fd = c->trouble, .events = POLLIN };
	pid_t pid;

	if (!is_traced)
		return poll(&fd, 1, 0) > 0;
	pid = waitpid(c->pid, &c->status, WNOHANG);
	if (pid < 0)
		c->status = 0; /* it has gone */
	return pid != 0;
}

#define LOOK_MS 20
#define GRACE_NS NS_PER_S /* usually a signal to us goes to the command, too */

/*
 * Wait until has_execed_or_stopped(). False: the run must end, and we killed the command. Its exec
 * and its end wake us by the pipe. A stop follows the exec at once. For other stops, look every
 * LOOK_MS.
 */
static bool wait_for_exec_or_stop(struct command *c, const struct command_watch *w, bool is_traced)
{
	struct timespec pause = { .tv_nsec = SHORTEST_PAUSE_NS };
	struct pollfd fd = { .fd = c->trouble, .events = POLLIN };
	const uint64_t began = clock_ns(CLOCK_MONOTONIC);
	uint64_t now, enough = 0;

	while (!has_execed_or_stopped(c, is_traced)) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now - began > LOOK_MS * (NS_PER_S / 1000) && w->is_enough(w->context) &&
		    !enough)
			enough = now;
		if (enough && now - enough > GRACE_NS) {
			kill_command(c);
			return false;
		}
		if (poll(&fd, 1, LOOK_MS) > 0)
			sleep_longer(&pause);
	}
	return true;
}

/*
 * Wait for the stop after exec, or for the end. Exec may take long, because PATH may have many slow
 * directories. If a signal stops the command meanwhile, pass it on.
 */
static void wait_for_exec(struct command *c, const struct command_watch *w)
{
	while (wait_for_exec_or_stop(c, w, true) && WIFSTOPPED(c->status)) {
		c->is_stopped = WSTOPSIG(c->status) == SIGTRAP && has_execed(c);
		if (c->is_stopped)
			return;
		(void)ptrace(PTRACE_CONT, c->pid, NULL, (uintptr_t)WSTOPSIG(c->status));
	}
	if (!c->is_killed)
		c->pid = 0;
}

int command_exec(struct command *c, const struct command_watch *w, struct error *e)
{
	int said, why;

	if (write(c->gate, "", 1) != 1)
		return error_errno(e, "start '%s'", c->shown);
	close(TAKE_FD(c->gate));
	if (read(c->trouble, &said, sizeof(said)) != sizeof(said) || said == TRACED)
		wait_for_exec(c, w);
	else
		(void)wait_for_exec_or_stop(c, w, false);
	if (!c->is_stopped && !c->is_killed && read(c->trouble, &why, sizeof(why)) == sizeof(why))
		return exec_failed(c, why, e);
	return 0;
}

/*
 * Constructors may do anything, even wait for input. After this time, the command goes on from
 * wherever it is.
 */
#define PATIENCE_NS 1000000000

/*
 * Wait until it has stopped or ended, and take the time from *@patience_ns. False: no time is left.
 */
static bool wait_for_stop(struct command *c, long *patience_ns)
{
	struct timespec pause = { .tv_nsec = SHORTEST_PAUSE_NS };
	pid_t pid = waitpid(c->pid, &c->status, WNOHANG);

	while (!pid && *patience_ns > 0) {
		*patience_ns -= pause.tv_nsec;
		sleep_longer(&pause);
		pid = waitpid(c->pid, &c->status, WNOHANG);
	}
	return pid == c->pid;
}

/* Stop the command by a signal. If another signal stops it first, pass that on. */
static void stop_by_signal(struct command *c, const struct command_watch *w)
{
	(void)kill(c->pid, SIGSTOP);
	while (wait_for_exec_or_stop(c, w, true) && WIFSTOPPED(c->status) &&
	       WSTOPSIG(c->status) != SIGSTOP) {
		uintptr_t signal = WSTOPSIG(c->status) == SIGTRAP ? 0 : WSTOPSIG(c->status);

		(void)arch_set_breakpoints(c->pid, NULL, 0);
		(void)ptrace(PTRACE_CONT, c->pid, NULL, signal);
	}
}

/* Is it in the dynamic linker, at one of our breakpoints? */
static bool is_at_linker_breakpoint(const struct command *c, const uint64_t *places, size_t n)
{
	if (!WIFSTOPPED(c->status) || WSTOPSIG(c->status) != SIGTRAP)
		return false;

	const uint64_t pc = arch_pc_of(c->pid);

	for (size_t i = 1; i < n; i++)
		if (places[i] == pc)
			return true;
	return false;
}

/*
 * Constructors may load any number of libraries. After this many stops, only the entry point stops
 * the command.
 */
#define MOST_STOPS 8

/*
 * Run the command to its entry point, and call w->look() on the way. True: it has stopped or ended.
 */
static bool run_to_entry(struct command *c, const uint64_t *places, size_t n,
			 const struct command_watch *w)
{
	long patience_ns = PATIENCE_NS;

	for (int i = 0; i <= MOST_STOPS; i++) {
		if (i == MOST_STOPS)
			(void)arch_set_breakpoints(c->pid, places, 1);
		if (ptrace(PTRACE_CONT, c->pid, NULL, NULL) < 0)
			return true; /* it was killed */
		if (!wait_for_stop(c, &patience_ns))
			return false;
		if (!is_at_linker_breakpoint(c, places, n))
			return true;
		w->look(w->context);
	}
	return true;
}

void command_run_to_entry(struct command *c, const struct command_watch *w)
{
	uint64_t places[MOST_BREAKPOINTS];
	const size_t n = c->is_stopped ? breakpoints_aside_find(&c->breakpoints, arch_pc_of(c->pid),
								w->helper, places)
				       : 0;

	if (!n || !arch_set_breakpoints(c->pid, places, n))
		return;

	const bool is_in_time = run_to_entry(c, places, n, w);

	if (!is_in_time)
		stop_by_signal(c, w);
	if (c->is_killed) {
		c->is_stopped = false;
		return;
	}
	if (!WIFSTOPPED(c->status)) { /* it has ended */
		c->is_stopped = false;
		c->pid = 0;
		return;
	}
	(void)arch_set_breakpoints(c->pid, NULL, 0);
	if (is_in_time && WSTOPSIG(c->status) != SIGTRAP)
		c->signal = WSTOPSIG(c->status);
}

void command_let_go(struct command *c)
{
	if (c->is_stopped)
		(void)ptrace(PTRACE_DETACH, c->pid, NULL, (uintptr_t)c->signal);
	c->is_stopped = false;
}

bool command_has_ended(struct command *c)
{
	if (c->pid && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->pid = 0;
	return !c->pid;
}

void command_describe(const struct command *c, struct strbuf *to)
{
	if (c->is_killed)
		strbuf_printf(to, "killed '%s' before it began: its file system may not answer",
			      c->shown);
	else if (c->pid)
		strbuf_printf(to, "'%s' is still running", c->shown);
	else if (WIFSIGNALED(c->status))
		strbuf_printf(to, "'%s' was ended by signal %d (%s)", c->shown, WTERMSIG(c->status),
			      strsignal(WTERMSIG(c->status)));
	else
		strbuf_printf(to, "'%s' exited with status %d", c->shown, WEXITSTATUS(c->status));
}

void command_fini(struct command *c)
{
	bool was_held = c->gate >= 0;

	command_let_go(c);
	breakpoints_aside_end(&c->breakpoints);
	free(c->shown);
	c->shown = NULL;
	cleanup_close_fd(&c->gate);
	cleanup_close_fd(&c->trouble);
	cleanup_close_fd(&c->pidfd);
	if (c->pid && was_held)
		(void)waitpid(c->pid, &c->status, 0);
}
