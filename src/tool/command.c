#include "tool/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/auxvec.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "report/escape.h"

/*
 * What the child tells: NOT_TRACED before its exec, the errno if that failed; end of file
 * is that it succeeded.
 */
#define NOT_TRACED (-1)

static void tell(int fd, int what)
{
	if (write(fd, &what, sizeof(what)) < 0)
		_exit(126);
}

/*
 * In the child: wait at the gate, then exec. A traced process stops behind exec, before its
 * first instruction; the parent lets it go at once. Where tracing is not
 * allowed, it just runs.
 */
__attribute__((noreturn)) static void run_child(char *const *argv, int gate, int trouble)
{
	sigset_t none;
	char byte;
	ssize_t n = read(gate, &byte, 1);

	if (n != 1)
		_exit(127);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		tell(trouble, NOT_TRACED);
	(void)execvp(argv[0], argv);
	tell(trouble, errno);
	_exit(127);
}

/* As execvp(3) will look for it: so that a command that is not there attaches nothing. */
/* With the reason in errno where it is not. */
static bool is_program(const char *path)
{
	struct stat st;

	if (access(path, X_OK) < 0 || stat(path, &st) < 0)
		return false;
	errno = EISDIR;
	return !S_ISDIR(st.st_mode);
}

static int check_program(const char *name, const char *shown, struct error *e)
{
	const char *path = getenv("PATH");
	int why = ENOENT;

	if (strchr(name, '/')) {
		if (is_program(name))
			return 0;
		return error_errno(e, "command '%s'", shown);
	}
	for (path = path ? path : "/bin:/usr/bin"; *path; path += strspn(path, ":")) {
		char file[PATH_MAX];
		int n = (int)strcspn(path, ":");

		(void)snprintf(file, sizeof(file), "%.*s/%s", n, path, name);
		if (is_program(file))
			return 0;
		if (errno == EACCES)
			why = EACCES;
		path += n;
	}
	errno = why;
	return error_errno(e, "command '%s'", shown);
}

static char *make_visible(const char *name)
{
	struct strbuf text = {};

	strbuf_puts(&text, "");
	escape_put(&text, name, false);
	return text.text;
}

int command_hold(char *const *argv, struct command *ret, struct error *e)
{
	int gate[2], trouble[2];
	int err;

	*ret = (struct command)COMMAND_NONE;
	ret->shown = make_visible(argv[0]);
	err = check_program(argv[0], ret->shown, e);
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
		ret->pid = 0;
		return error_errno(e, "start '%s'", ret->shown);
	}
	if (ret->pid == 0) {
		close(ret->gate); /* or it would wait for itself when we end */
		run_child(argv, gate_in, trouble_in);
	}
	ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
	return 0;
}

int command_exec(struct command *c, struct error *e)
{
	bool is_traced = true;
	int said;

	if (write(c->gate, "", 1) != 1)
		return error_errno(e, "start '%s'", c->shown);
	close(TAKE_FD(c->gate));
	while (read(c->trouble, &said, sizeof(said)) == sizeof(said)) {
		is_traced = is_traced && said != NOT_TRACED;
		if (said == NOT_TRACED)
			continue;
		(void)waitpid(c->pid, &c->status, 0);
		c->pid = 0;
		errno = said;
		return error_errno(e, "start '%s'", c->shown);
	}
	if (!is_traced)
		return 0;
	if (waitpid(c->pid, &c->status, 0) == c->pid && WIFSTOPPED(c->status))
		c->is_stopped = true;
	else
		c->pid = 0; /* it was killed meanwhile */
	return 0;
}

/* The program's own first instruction; 0: not known. */
static uint64_t entry_of(pid_t pid)
{
	char path[64];
	struct {
		uint64_t type, value;
	} item;

	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", pid);

	cleanup_fclose FILE *f = fopen(path, "re");

	while (f && fread(&item, sizeof(item), 1, f) == 1 && item.type != AT_NULL)
		if (item.type == AT_ENTRY)
			return item.value;
	return 0;
}

static bool set_debug_register(pid_t pid, size_t number, uint64_t value)
{
	const size_t offset = offsetof(struct user, u_debugreg) + number * sizeof(value);

	return ptrace(PTRACE_POKEUSER, pid, offset, value) == 0;
}

/* A breakpoint of the CPU's: nothing is written into the program, where there may be probes. */
#define DR7_FIRST_ON 1

/* Constructors may do anything, wait for input too: then it goes on from wherever it is. */
#define MOST_WAITS 1000 /* of 1 ms */

/* Until it has stopped or ended; false: neither in time. */
static bool wait_for_stop(struct command *c)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	pid_t pid = 0;

	for (int i = 0; i < MOST_WAITS && !pid; i++) {
		pid = waitpid(c->pid, &c->status, WNOHANG);
		if (!pid)
			(void)nanosleep(&pause, NULL);
	}
	return pid == c->pid;
}

/* What else stops it before our signal does is given to it. */
static void stop_now(struct command *c)
{
	(void)kill(c->pid, SIGSTOP);
	while (waitpid(c->pid, &c->status, 0) == c->pid && WIFSTOPPED(c->status) &&
	       WSTOPSIG(c->status) != SIGSTOP) {
		uintptr_t signal = WSTOPSIG(c->status) == SIGTRAP ? 0 : WSTOPSIG(c->status);

		(void)set_debug_register(c->pid, 7, 0);
		(void)ptrace(PTRACE_CONT, c->pid, NULL, signal);
	}
}

void command_run_to_entry(struct command *c)
{
	const uint64_t entry = c->is_stopped ? entry_of(c->pid) : 0;

	if (!entry || !set_debug_register(c->pid, 0, entry) ||
	    !set_debug_register(c->pid, 7, DR7_FIRST_ON))
		return;
	if (ptrace(PTRACE_CONT, c->pid, NULL, NULL) < 0)
		return;

	const bool is_in_time = wait_for_stop(c);

	if (!is_in_time)
		stop_now(c);
	if (!WIFSTOPPED(c->status)) { /* it has ended */
		c->is_stopped = false;
		c->pid = 0;
		return;
	}
	(void)set_debug_register(c->pid, 7, 0);
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
	if (c->pid)
		strbuf_printf(to, "'%s' still runs", c->shown);
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
	free(c->shown);
	c->shown = NULL;
	cleanup_close_fd(&c->gate);
	cleanup_close_fd(&c->trouble);
	cleanup_close_fd(&c->pidfd);
	if (c->pid && was_held)
		(void)waitpid(c->pid, &c->status, 0);
}
