// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of descriptors, which some finders share (question.h):
 *
 *	0..2	standard input, output and error: a file without contents
 *	3..5	controls of askers
 *	6	signals
 *	7..15	as 0
 *	16..	files of finders, in any order
 *
 * No number below 16 is ever free, so open(2) gives a finder a higher one. A killed finder leaves
 * its descriptors in the table, until the run ends.
 *
 * The zygote closes no handle: with the last reference to a detached mount the kernel unmounts it,
 * which may wait. A finder does that (QUESTION_CLOSE).
 */
#include "files/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/read.h"
#include "base/strbuf.h"

/* --- areas --- */

/* Since Linux commit 105ff5339f49 ("mm/memfd: add MFD_NOEXEC_SEAL and MFD_EXEC") (in v6.3). */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

int area_new(size_t size, int *ret)
{
	struct rlimit most;
	cleanup_close int fd = memfd_create("area", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	/* This kernel does not know the flag. Kernels that do may insist on it. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("area", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* The limit holds for files in memory, too, and a signal would end us. */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < size)
		return -EFBIG;
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	*ret = TAKE_FD(fd);
	return 0;
}

/* --- a child, as its work sees it --- */

void child_note_step(struct child *c, enum step step, uint64_t dev)
{
	c->answer->dev = dev;
	__atomic_store_n(&c->answer->step, step, __ATOMIC_RELEASE);
}

/* A parser has no standard error, so it answers with its first warning. */
static struct strbuf said;

int child_confine(struct child *c, int *fds, size_t n, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const int at = STDERR_FILENO + 1 + (int)i;

		err = dup3(fds[i], at, O_CLOEXEC) < 0 ? -errno : 0;
		fds[i] = at;
	}
	closefrom(STDERR_FILENO + 1 + (int)n);
	if (err)
		err = error_set(e, err, "leave what others have open: %s", error_words(err));
	else
		err = sandbox_enter(SANDBOX_PARSER, e);
	log_setup("", LOG_WARN);
	log_hold(&said);
	child_note_step(c, STEP_CONTENTS, 0);
	return err;
}

int files_work(struct child *c, struct error *e)
{
	const bool is_finder = c->question.what <= QUESTION_LIST;

	(void)prctl(PR_SET_NAME, is_finder ? "file-finder" : "file-parser");
	return is_finder ? finder_work(c, e) : parser_work(c, e);
}

/* Take the question from the area, which gets the answer. False: there is none, or it makes no
 * sense. */
static bool take_question(struct child *c)
{
	const struct question *q = &c->question;

	memcpy(&c->question, c->data, sizeof(*q));
	if (!q->number || q->n_bytes > c->n_data - sizeof(*q))
		return false;
	free(c->payload);
	c->payload = xcalloc(1, q->n_bytes + 1);
	memcpy(c->payload, c->data + sizeof(*q), q->n_bytes);
	*c->answer = (struct answer){ .step = c->answer->step };
	return true;
}

static void publish(struct child *c, int err, const struct error *e)
{
	if (err) {
		c->answer->result = err;
		(void)snprintf(c->answer->words, sizeof(c->answer->words), "%.95s", e->text);
	}
	if (!c->answer->words[0] && said.n)
		(void)sscanf(said.text, ": %95[^\n]", c->answer->words);
	strbuf_clear(&said);
	__atomic_store_n(&c->answer->number, c->question.number, __ATOMIC_RELEASE);
}

bool child_next(struct child *c, int err, const struct error *e)
{
	if (!(c->question.flags & STAYS))
		return false;
	publish(c, err, e);
	if (tgkill(getpid(), gettid(), SIGSTOP) < 0)
		return false;
	if (!take_question(c))
		_exit(1);
	return true;
}

/* In the new process: do the work, and end. */
_Noreturn static void child_run(child_work *work, void *area)
{
	struct child c = { .answer = area };
	struct error e = {};

	c.data = (char *)area + sizeof(*c.answer);
	c.n_data = AREA_BYTES - sizeof(*c.answer);
	(void)setrlimit(RLIMIT_CPU, &(struct rlimit){ CHILD_CPU_S, CHILD_CPU_S + 1 });
	if (!take_question(&c))
		_exit(1);
	publish(&c, work(&c, &e), &e);
	_exit(0);
}

/* --- the zygote --- */

#define NOTHING STDIN_FILENO
#define FIRST_CONTROL 3
#define SIGNALS (FIRST_CONTROL + ZYGOTE_ASKERS)
#define MOST_CHILDREN 96

/* A parser moves its files to the zygote's slots (child_confine()). */
_Static_assert(SIGNALS < FIRST_HANDLE && STDERR_FILENO + CHILD_MOST_FILES < FIRST_HANDLE, "slots");

struct entry {
	pid_t pid; /* 0: none */
	unsigned asker;
	uint32_t number;    /* struct order */
	uint64_t killed_at; /* ns; 0: not killed */
	uint32_t state;     /* of proc(5), when it was killed */
};

struct keeper {
	child_work *work;
	bool is_open[ZYGOTE_ASKERS];
	struct entry children[MOST_CHILDREN];
};

static struct entry *find_pid(struct keeper *k, pid_t pid)
{
	for (size_t i = 0; i < MOST_CHILDREN; i++)
		if (k->children[i].pid == pid)
			return &k->children[i];
	return NULL;
}

/* Ends nobody else: a child keeps its PID until the zygote has waited for it. */
static void kill_child(struct entry *c)
{
	if (c->killed_at)
		return;
	c->state = (uint32_t)process_state(c->pid);
	c->killed_at = clock_ns(CLOCK_MONOTONIC);
	(void)kill(c->pid, SIGKILL);
}

static void close_asker(struct keeper *k, unsigned asker)
{
	k->is_open[asker] = false;
	(void)dup3(NOTHING, FIRST_CONTROL + (int)asker, O_CLOEXEC);
	for (size_t i = 0; i < MOST_CHILDREN; i++)
		if (k->children[i].pid && k->children[i].asker == asker)
			kill_child(&k->children[i]);
}

/* If that fails, the asker has gone. */
static void send_news(struct keeper *k, unsigned asker, const struct news *news)
{
	if (k->is_open[asker] &&
	    packet_send(FIRST_CONTROL + (int)asker, news, sizeof(*news), -1) < 0)
		close_asker(k, asker);
}

/* -- Making a child. -- */

/* fork(2) cannot share the table. With one thread, libc's part of fork(2) is not missed. */
static pid_t make_process(bool shares_files)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD | (shares_files ? CLONE_FILES : 0), 0, 0, 0, 0);
}

/*
 * Map the area before the fork: the child shares the table, and the zygote closes the descriptor.
 * Returns the child's PID, or a negative errno.
 */
static pid_t make_child(const struct keeper *k, uint32_t question, int area)
{
	void *at = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, area, 0);

	if (at == MAP_FAILED)
		return -errno;

	const pid_t pid = make_process(question <= QUESTION_LIST);
	const int err = errno;

	if (pid == 0) {
		/*
		 * Not getppid(2), to see whether the zygote has just ended: people often trace that
		 * to try a tracer.
		 */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_run(k->work, at);
	}
	(void)munmap(at, AREA_BYTES);
	return pid < 0 ? -err : pid;
}

static bool are_too_many_left(const struct keeper *k)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned n = 0;

	for (size_t i = 0; i < MOST_CHILDREN; i++) {
		const struct entry *c = &k->children[i];

		n += c->pid && c->killed_at && now - c->killed_at >= ZYGOTE_LEFT_AFTER_NS &&
		     process_state(c->pid) == 'D';
	}
	return n >= ZYGOTE_MOST_LEFT;
}

static void handle_question(struct keeper *k, unsigned asker, const struct order *o, int area)
{
	struct entry *c = find_pid(k, 0);
	const pid_t pid = !c || are_too_many_left(k) ? -EBUSY : make_child(k, o->question, area);
	const struct news refused = { .what = NEWS_REFUSED, .child = o->child, .status = pid };

	if (pid < 0) {
		send_news(k, asker, &refused);
		return;
	}
	*c = (struct entry){ .pid = pid, .asker = asker, .number = o->child };
}

/* -- Its loop. -- */

static void handle_order(struct keeper *k, unsigned asker)
{
	cleanup_close int area = -1;
	struct order order;
	const int err = packet_receive(FIRST_CONTROL + (int)asker, &order, sizeof(order), &area);

	if (err == -EAGAIN)
		return;
	if (err) {
		close_asker(k, asker);
		return;
	}
	if (order.what == ORDER_ASK)
		handle_question(k, asker, &order, area);
	for (size_t i = 0; i < MOST_CHILDREN; i++) {
		struct entry *c = &k->children[i];

		if (!c->pid || c->asker != asker || c->number != order.child)
			continue;
		if (order.what == ORDER_GO_ON)
			(void)kill(c->pid, SIGCONT);
		if (order.what != ORDER_KILL)
			continue;
		kill_child(c);
		send_news(k, asker,
			  &(struct news){ NEWS_KILLED, .child = c->number, .state = c->state });
	}
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

static void reap_children(struct keeper *k)
{
	struct signalfd_siginfo info;
	struct rusage used;
	int status;
	pid_t pid;

	(void)!read(SIGNALS, &info, sizeof(info));
	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &used)) > 0) {
		struct entry *c = find_pid(k, pid);

		if (!c)
			continue;

		const struct news news = {
			.what = WIFSTOPPED(status) ? NEWS_STOPPED : NEWS_ENDED,
			.child = c->number,
			.status = status,
			.state = c->state,
			.cpu_ns = ns_of(used.ru_utime) + ns_of(used.ru_stime),
			.memory = (uint64_t)used.ru_maxrss * 1024,
		};
		const unsigned asker = c->asker;

		if (news.what == NEWS_ENDED)
			*c = (struct entry){};
		send_news(k, asker, &news);
	}
}

_Noreturn static void run_zygote(struct keeper *k)
{
	struct pollfd all[ZYGOTE_ASKERS + 1];

	for (;;) {
		unsigned n_open = 0;

		for (unsigned i = 0; i < ZYGOTE_ASKERS; i++) {
			all[i].fd = k->is_open[i] ? FIRST_CONTROL + (int)i : -1;
			all[i].events = POLLIN;
			n_open += k->is_open[i];
		}
		if (!n_open)
			_exit(0);
		all[ZYGOTE_ASKERS] = (struct pollfd){ .fd = SIGNALS, .events = POLLIN };
		if (poll(all, ARRAY_SIZE(all), -1) < 0)
			continue;
		if (all[ZYGOTE_ASKERS].revents)
			reap_children(k);
		for (unsigned i = 0; i < ZYGOTE_ASKERS; i++)
			if (all[i].revents)
				handle_order(k, i);
	}
}

/* -- Its start. -- */

/*
 * Ignore signals that ask a program to end: the main process handles them, and needs us
 * until it ends. The terminal does not signal our process group, but systemctl(1) and pkill(1) do.
 */
static void ignore_end_signals(void)
{
	static const int not_ours[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
					SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP };

	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(not_ours); i++)
		(void)signal(not_ours[i], SIG_IGN);
}

/* Allow a large table: it has a handle of each file that the run holds. */
static void set_most_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max < MOST_HANDLES ? files.rlim_max : MOST_HANDLES;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/*
 * Fill the slots, and close all descriptors of the main process but @controls. Free slots are an
 * empty file, and so are standard input and output. Else a child that is left behind would hold a
 * pipeline open, and its reader would wait.
 */
static int set_descriptors(struct keeper *k, const int *controls, int nothing)
{
	int high[ZYGOTE_ASKERS];

	set_most_files();
	nothing = fcntl(nothing, F_DUPFD_CLOEXEC, FIRST_HANDLE);
	for (size_t i = 0; i < ZYGOTE_ASKERS; i++)
		high[i] = fcntl(controls[i], F_DUPFD_CLOEXEC, FIRST_HANDLE);
	for (int slot = 0; slot < FIRST_HANDLE; slot++)
		if (!(IS_SANITIZED && slot == STDERR_FILENO) && dup3(nothing, slot, O_CLOEXEC) < 0)
			return -errno;
	for (int i = 0; i < ZYGOTE_ASKERS; i++) {
		if (dup3(high[i], FIRST_CONTROL + i, O_CLOEXEC) < 0)
			return -errno;
		k->is_open[i] = true;
	}
	closefrom(FIRST_HANDLE);
	return 0;
}

static int watch_children(void)
{
	sigset_t blocked;

	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGCHLD);

	cleanup_close int fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);

	if (sigprocmask(SIG_SETMASK, &blocked, NULL) < 0)
		return -errno;
	return fd < 0 || dup3(fd, SIGNALS, O_CLOEXEC) < 0 ? -errno : 0;
}

/*
 * If memory runs out, the kernel ends children first, and the largest of them before others. Call
 * this while we are dumpable: later the file belongs to root.
 */
static void be_killed_first(void)
{
	cleanup_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "1000", 4);
}

/* If this fails, the process ends. Askers then see their controls closed. */
_Noreturn static void be_zygote(struct keeper *k, const int *controls, int nothing, pid_t parent)
{
	struct error e = {};

	ignore_end_signals();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it ended before that call */
		_exit(1);
	/*
	 * A process group, not a session. The scheduler would take a session for another user's
	 * work, whatever our nice value.
	 */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_NAME, "file-zygote");
	(void)!chdir("/"); /* so that a child left behind keeps no file system mounted */
	be_killed_first();
	if (set_descriptors(k, controls, nothing) < 0 || watch_children() < 0 ||
	    sandbox_enter(SANDBOX_FINDER, &e) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		_exit(1);
	run_zygote(k);
}

static int make_pairs(struct zygote *mine, struct zygote *its)
{
	int pair[2];

	for (size_t i = 0; i < ZYGOTE_ASKERS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
			return -errno;
		mine->controls[i] = pair[0];
		its->controls[i] = pair[1];
	}
	return 0;
}

int zygote_start(child_work *work, struct zygote *ret, struct error *e)
{
	const pid_t parent = getpid();
	struct keeper k = { .work = work };
	cleanup_close int nothing = -1;
	cleanup(zygote_fini) struct zygote its = ZYGOTE_NONE;

	*ret = its;

	int err = make_pairs(ret, &its);

	if (!err)
		err = area_new(0, &nothing);
	if (!err) {
		ret->pid = fork();
		if (ret->pid == 0)
			be_zygote(&k, its.controls, nothing, parent);
		err = ret->pid < 0 ? -errno : 0;
	}
	if (err) {
		zygote_fini(ret);
		return error_set(e, err, "make a process: %s", error_start_words(err));
	}
	return 0;
}

void zygote_fini(struct zygote *z)
{
	for (size_t i = 0; i < ZYGOTE_ASKERS; i++)
		cleanup_close_fd(&z->controls[i]);
}
