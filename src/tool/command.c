// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How a command starts:
 *
 *	main process                                       child
 *	command_hold()    forks                            waits at the gate
 *	                  loads, attaches, makes tables of its files, begins to count
 *	command_exec()    opens the gate                   execs, and runs
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "report/escape.h"

/* In the child: wait at the gate, then exec. */
__attribute__((noreturn)) static void run_child(char *const *argv, int gate, int trouble)
{
	char byte;
	int why;

	if (read(gate, &byte, 1) != 1)
		_exit(127);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)execvp(argv[0], argv);
	why = errno;
	_exit(write(trouble, &why, sizeof(why)) < 0 ? 126 : 127);
}

int command_hold(char *const *argv, bool reads_libraries, struct command *ret, struct error *e)
{
	struct strbuf shown = {};
	int gate[2], trouble[2];
	int err;

	*ret = (struct command)COMMAND_NONE;
	strbuf_puts(&shown, "");
	escape_put(&shown, argv[0], false);
	ret->shown = shown.text;
	err = command_files_begin(&ret->files, argv[0], ret->shown, reads_libraries, e);
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
	return ret->pidfd < 0 ? error_errno(e, "start '%s': watch it", ret->shown) : 0;
}

static int exec_failed(struct command *c, int why, struct error *e)
{
	if (c->pid)
		(void)waitpid(c->pid, &c->status, 0);
	c->pid = 0;
	errno = why;
	return error_errno(e, "start '%s'", c->shown);
}

/* A command that hangs ends when its file system answers or goes, so do not wait for long. */
#define KILLED_MS 100

static void kill_command(struct command *c)
{
	c->is_killed = true;
	(void)kill(c->pid, SIGKILL);
	for (int ms = 0; ms < KILLED_MS && !command_has_ended(c); ms++)
		(void)usleep(1000);
}

#define LOOK_MS 20
#define GRACE_NS NS_PER_S /* usually a signal to us goes to the command, too */

/*
 * Wait until the child's end of the pipe is closed, or has an errno. Exec may take long, because
 * PATH may have many slow directories. False: the run must end, and we killed the command.
 */
static bool wait_for_exec(struct command *c, bool (*must_end)(void *context), void *context)
{
	struct pollfd fd = { .fd = c->trouble, .events = POLLIN };
	uint64_t enough = 0;

	while (poll(&fd, 1, LOOK_MS) <= 0) {
		const uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (must_end(context) && !enough)
			enough = now;
		if (enough && now - enough > GRACE_NS) {
			kill_command(c);
			return false;
		}
	}
	return true;
}

int command_exec(struct command *c, bool (*must_end)(void *context), void *context, struct error *e)
{
	int why;

	if (write(c->gate, "", 1) != 1)
		return error_errno(e, "start '%s'", c->shown);
	close(TAKE_FD(c->gate));
	if (wait_for_exec(c, must_end, context) &&
	    read(c->trouble, &why, sizeof(why)) == sizeof(why))
		return exec_failed(c, why, e);
	return 0;
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

	command_files_fini(&c->files);
	free(c->shown);
	c->shown = NULL;
	cleanup_close_fd(&c->gate);
	cleanup_close_fd(&c->trouble);
	cleanup_close_fd(&c->pidfd);
	if (c->pid && was_held)
		(void)waitpid(c->pid, &c->status, 0);
}
