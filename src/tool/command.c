// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How a command starts:
 *
 *	main process                                       child
 *	command_hold()    forks                            waits at the gate
 *	                  loads, attaches, makes tables of its files, begins to count
 *	command_exec()    opens the gate                   execs, and runs
 */
#include "tool/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/memory.h"
#include "elf/image.h"
#include "files/libraries.h"
#include "files/sandbox.h"
#include "report/writer.h"

/* --- the files that it maps --- */

/* The file system has 5 s to answer, as in match/matcher.c. For libraries, nobody waits as long. */
#define PROGRAM_LOOKS 50
#define LIBRARY_LOOKS 10
#define LIBRARY_CPU_S 1

#define MOST_ERRNO 4095
#define MOST_COMMAND_FILES 256
#define HEAD_BYTES 256 /* read by the kernel to find a program's format */

/* -- In the process. -- */

/*
 * The kernel reads these bytes at exec. By then, Ctrl-C should end the run with a report, so a file
 * system that does not answer must show now.
 */
static void read_program_head(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char head[HEAD_BYTES];

	if (fd >= 0)
		(void)!pread(fd, head, sizeof(head), 0);
}

/* False: errno has the reason. */
static bool is_executable_file(const char *path)
{
	struct stat st;

	if (access(path, X_OK) < 0 || stat(path, &st) < 0)
		return false;
	errno = EISDIR;
	if (S_ISREG(st.st_mode))
		read_program_head(path);
	return !S_ISDIR(st.st_mode);
}

/* Write its path to @found. Returns 0, or a positive errno. */
static int find_in_path(const char *name, char found[PATH_MAX])
{
	const char *path = getenv("PATH");
	int why = ENOENT;

	if (strchr(name, '/')) {
		(void)snprintf(found, PATH_MAX, "%s", name);
		return is_executable_file(name) ? 0 : errno;
	}
	for (path = path ? path : "/bin:/usr/bin"; *path; path += strspn(path, ":")) {
		int n = (int)strcspn(path, ":");

		(void)snprintf(found, PATH_MAX, "%.*s/%s", n, path, name);
		if (is_executable_file(found))
			return 0;
		if (errno == EACCES)
			why = EACCES;
		path += n;
	}
	return why;
}

/* As the process sends it. */
struct found {
	uint64_t dev, inode;
	char path[PATH_MAX];
};

struct finder {
	struct found files[MOST_COMMAND_FILES];
	uint32_t n;
};

static void add_file(struct finder *f, const char *path)
{
	struct found *found = &f->files[f->n];
	struct stat st;

	if (f->n == MOST_COMMAND_FILES || !realpath(path, found->path) ||
	    stat(found->path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	for (size_t i = 0; i < f->n; i++)
		if (f->files[i].inode == st.st_ino && f->files[i].dev == st.st_dev)
			return;
	found->dev = st.st_dev;
	found->inode = st.st_ino;
	f->n++;
}

/*
 * ld.so(8) also searches folders that the file or LD_LIBRARY_PATH names. We do not: hits in such a
 * library are deferred until its table is made.
 */
static void add_need(void *context, enum image_need what, const char *text)
{
	cleanup_free char *path = NULL;
	struct error e;

	if (what == NEED_LINKER || strchr(text, '/'))
		add_file(context, text);
	else if (!library_find(text, 0, &path, &e))
		add_file(context, path);
}

/* "#!/usr/bin/python3 -u": the kernel executes that program. */
static void add_interpreter(struct finder *f, int fd)
{
	char head[HEAD_BYTES + 1] = "";

	if (pread(fd, head, HEAD_BYTES, 0) < 2 || strncmp(head, "#!", 2) != 0)
		return;

	char *path = head + 2 + strspn(head + 2, " \t");

	path[strcspn(path, " \t\n")] = '\0';
	add_file(f, path);
}

static void add_needs_of(struct finder *f, const char *path)
{
	cleanup(image_freep) struct image *im = NULL;
	cleanup_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct error e;

	if (fd < 0)
		return;
	add_interpreter(f, fd);
	if (image_open_fd(fd, path, &im, &e) == 0)
		image_each_need(im, add_need, f);
}

/* Their tables are wanted. */
static bool wants_libraries(const struct run *r)
{
	return r->zygote.pid && !r->opt->unwind_by_fp;
}

/* It sends the errno of the search, the number of files, and these. */
static void find_files_in_process(void *argument, int channel)
{
	const struct run *r = argument;
	static struct finder f;
	char program[PATH_MAX];
	struct error e;
	int kept[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, channel };
	int why;

	descriptors_close_but(kept, ARRAY_SIZE(kept));
	why = find_in_path(*r->opt->command, program);
	if (!aside_write(channel, &why, sizeof(why)) || why || !wants_libraries(r))
		return;
	if (sandbox_enter(SANDBOX_MATCHER, &e))
		return;
	(void)setrlimit(RLIMIT_CPU, &(struct rlimit){ LIBRARY_CPU_S, LIBRARY_CPU_S });
	add_file(&f, program);
	for (size_t i = 0; i < f.n; i++)
		add_needs_of(&f, f.files[i].path);
	if (aside_write(channel, &f.n, sizeof(f.n)))
		(void)aside_write(channel, f.files, f.n * sizeof(*f.files));
}

/* -- The main process. Whoever takes the other one over can send anything. -- */

static int read_answer(struct command *c, struct error *e)
{
	cleanup_free char *called = xasprintf("command '%s'", c->shown);
	int why = 0;
	const int err = aside_read(&c->aside, &why, sizeof(why));

	if (err)
		return aside_explain(err, called, e);
	if (!why)
		return 0;
	errno = why > 0 && why <= MOST_ERRNO ? why : EINVAL;
	return error_errno(e, "%s", called);
}

/*
 * Look for the program as execvp(3) will, before anything is attached for it, and begin to read.
 * Meanwhile a signal ends the program. Errors: those of execvp(3); -ETIMEDOUT a file system does
 * not answer; no process can be made.
 */
static int find_program(struct run *r, struct error *e)
{
	struct command *c = &r->command;
	int err = aside_start(&c->aside, PROGRAM_LOOKS, find_files_in_process, r, e);

	if (!err)
		err = read_answer(c, e);
	if (err || !wants_libraries(r))
		aside_end(&c->aside);
	return err;
}

void command_find_files(struct run *r)
{
	struct command *c = &r->command;
	static struct found found;
	uint32_t n = 0, i = 0;
	struct error e;
	int err;

	if (!c->aside.pid)
		return;
	c->aside.most_still = LIBRARY_LOOKS;
	err = aside_read(&c->aside, &n, sizeof(n));
	if (err && aside_explain(err, "the command's libraries", &e))
		log_debug("%s", e.text);
	for (; i < n && i < MOST_COMMAND_FILES; i++) {
		if (aside_read(&c->aside, &found, sizeof(found)) || found.path[0] != '/')
			break;
		found.path[sizeof(found.path) - 1] = '\0';

		const struct mapping m = {
			.end = 1, .dev = found.dev, .inode = found.inode, .path = found.path
		};

		if (r->unwinder)
			unwinder_file(r->unwinder, (uint32_t)c->pid, &m);
	}
	log_debug("the command's program and libraries: %u files", i);
	aside_end(&c->aside);
}

/* --- the command --- */

/* In the child: wait at the gate, then exec. */
__attribute__((noreturn)) static void run_child(char *const *argv, int gate)
{
	char byte;
	int why;

	if (read(gate, &byte, 1) != 1)
		_exit(127);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)execvp(argv[0], argv);
	why = errno;
	_exit(write(gate, &why, sizeof(why)) < 0 ? 126 : 127);
}

int command_hold(struct run *r, struct error *e)
{
	struct command *c = &r->command;
	struct strbuf shown = {};
	int gate[2];
	int err;

	strbuf_puts(&shown, "");
	escape_put(&shown, *r->opt->command, false);
	c->shown = shown.text;
	err = find_program(r, e);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0)
		return error_errno(e, "make a socket");

	cleanup_close int childs = gate[1];

	c->gate = gate[0];
	c->pid = fork();
	if (c->pid < 0) {
		err = -errno;
		c->pid = 0;
		return error_set(e, err, "start '%s': %s", c->shown, error_start_words(err));
	}
	if (c->pid == 0) {
		close(c->gate); /* else the gate would stay open when we end */
		run_child(r->opt->command, childs);
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? error_errno(e, "start '%s': watch it", c->shown) : 0;
}

/* A command that hangs ends when its file system answers or goes, so do not wait for long. */
#define KILLED_MS 100

#define GRACE_NS NS_PER_S /* usually a signal to us goes to the command, too */

/*
 * Wait until the child's end of the socket is closed, or has an errno. Exec may take long, because
 * PATH may have many slow directories. False: the run must end, and we killed the command.
 */
static bool wait_for_exec(struct run *r)
{
	struct command *c = &r->command;
	struct pollfd fd = { .fd = c->gate, .events = POLLIN };
	uint64_t enough = 0;

	while (poll(&fd, 1, TICK_MS) <= 0) {
		const uint64_t now = clock_ns(CLOCK_MONOTONIC);

		run_serve(r);
		if (!enough && ending_is_near(r))
			enough = now;
		if (!enough || now - enough <= GRACE_NS)
			continue;
		c->is_killed = true;
		(void)kill(c->pid, SIGKILL);
		for (int ms = 0; ms < KILLED_MS && !command_has_ended(c); ms++)
			(void)usleep(1000);
		return false;
	}
	return true;
}

int command_exec(struct run *r, struct error *e)
{
	struct command *c = &r->command;
	int why;

	if (write(c->gate, "", 1) != 1)
		return error_errno(e, "start '%s'", c->shown);
	if (!wait_for_exec(r) || read(c->gate, &why, sizeof(why)) != sizeof(why)) {
		cleanup_close_fd(&c->gate);
		return 0;
	}
	if (c->pid)
		(void)waitpid(c->pid, &c->status, 0);
	c->pid = 0;
	errno = why;
	return error_errno(e, "start '%s'", c->shown);
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

	aside_end(&c->aside);
	free(c->shown);
	cleanup_close_fd(&c->gate);
	cleanup_close_fd(&c->pidfd);
	if (c->pid && was_held)
		(void)waitpid(c->pid, &c->status, 0);
}
