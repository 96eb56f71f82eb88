// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of descriptors, which some finders share (question.h):
 *
 *	0..2	standard input, output and error: a file without contents
 *	3..5	controls of askers
 *	6	signals
 *	7	a pidfd of the zygote
 *	8..15	as 0
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
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/read.h"

#define NOTHING STDIN_FILENO
#define FIRST_CONTROL 3
#define SIGNALS (FIRST_CONTROL + ZYGOTE_ASKERS)
#define ZYGOTE_LIFE (SIGNALS + 1) /* a pidfd of the zygote, by which children see that it lives */
#define MOST_CHILDREN 96
#define LOOK_MS 20

/* A parser moves its files to the zygote's slots (child_confine()). */
_Static_assert(ZYGOTE_LIFE < FIRST_HANDLE && STDERR_FILENO + CHILD_MOST_FILES < FIRST_HANDLE,
	       "slots");

struct entry {
	pid_t pid; /* 0: none */
	unsigned asker;
	uint32_t number;    /* struct order */
	bool stays;         /* STAYS */
	bool is_stopped;    /* it has answered */
	uint64_t killed_at; /* ns; 0: not killed */
	uint32_t state;     /* of proc(5), when it was killed */
	bool is_left;       /* NEWS_LEFT was sent */
	bool is_hung;       /* in state D then */
};

struct keeper {
	child_work *work;
	pid_t pid;
	bool is_open[ZYGOTE_ASKERS];
	bool is_hurried[ZYGOTE_ASKERS];
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
	c->state = c->is_stopped ? 'T' : (uint32_t)process_state(c->pid);
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

/* Let the kernel end this process when its parent ends. */
static void end_with(pid_t parent, int life)
{
	struct pollfd ended = { .fd = life, .events = POLLIN };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/*
	 * The parent may have ended before the prctl(2). A child avoids getppid(2), which people
	 * often trace to try a tracer.
	 */
	if (life >= 0 ? poll(&ended, 1, 0) != 0 : getppid() != parent)
		_exit(1);
}

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
	const size_t n = area_size(area);
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, area, 0);

	if (at == MAP_FAILED)
		return -errno;

	const pid_t pid = make_process(question <= QUESTION_LIST);
	const int err = errno;

	if (pid == 0) {
		end_with(k->pid, ZYGOTE_LIFE);
		child_run(k->work, at, n);
	}
	(void)munmap(at, n);
	return pid < 0 ? -err : pid;
}

static bool are_too_many_left(const struct keeper *k)
{
	unsigned n = 0;

	for (size_t i = 0; i < MOST_CHILDREN; i++)
		n += k->children[i].is_hung;
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
	*c = (struct entry){ .pid = pid, .asker = asker, .number = o->child, .stays = o->stays };
	if (k->is_hurried[asker])
		(void)kill(pid, SIGTERM);
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
	k->is_hurried[asker] |= order.what == ORDER_HURRY;
	for (size_t i = 0; i < MOST_CHILDREN; i++) {
		struct entry *c = &k->children[i];

		if (!c->pid || c->asker != asker)
			continue;
		/* They block SIGTERM, and check whether it is pending (base/cpu_budget.h). */
		if (order.what == ORDER_HURRY)
			(void)kill(c->pid, SIGTERM);
		if (c->number != order.child)
			continue;
		if (order.what == ORDER_KILL)
			kill_child(c);
		if (order.what == ORDER_GO_ON) {
			c->is_stopped = false;
			(void)kill(c->pid, SIGCONT);
		}
	}
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

/* If another than a child itself stops it, we kill it: its question would wait. */
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
		else if (!c->stays)
			kill_child(c);
		else
			c->is_stopped = true;
		if (news.what == NEWS_ENDED || c->stays)
			send_news(k, asker, &news);
	}
}

/* Report children that were killed and do not end. True: some may still end in time. */
static bool report_left(struct keeper *k)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool has_more = false;

	for (size_t i = 0; i < MOST_CHILDREN; i++) {
		struct entry *c = &k->children[i];

		if (!c->killed_at || c->is_left)
			continue;
		c->is_left = now - c->killed_at >= ZYGOTE_LEFT_AFTER_NS;
		has_more |= !c->is_left;
		if (!c->is_left)
			continue;

		const struct news news = { .what = NEWS_LEFT,
					   .child = c->number,
					   .state = (uint32_t)process_state(c->pid) };

		c->is_hung = news.state == 'D';
		send_news(k, c->asker, &news);
	}
	return has_more;
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
		if (poll(all, ARRAY_SIZE(all), report_left(k) ? LOOK_MS : -1) < 0)
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
	child_close_from(FIRST_HANDLE);
	return 0;
}

static int watch_children(void)
{
	sigset_t blocked;

	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGCHLD);

	cleanup_close int fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);

	/* Children inherit SIGTERM as blocked, and see that it is pending (ORDER_HURRY). */
	(void)sigaddset(&blocked, SIGTERM);
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

static int open_life(pid_t pid)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 || dup3(fd, ZYGOTE_LIFE, O_CLOEXEC) < 0 ? -errno : 0;
}

/* If this fails, the process ends. Askers then see their controls closed. */
_Noreturn static void be_zygote(struct keeper *k, const int *controls, int nothing, pid_t parent)
{
	struct error e = {};

	k->pid = getpid();
	ignore_end_signals();
	end_with(parent, -1);
	/*
	 * A process group, not a session. The scheduler would take a session for another user's
	 * work, whatever our nice value.
	 */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_NAME, "file-zygote");
	(void)!chdir("/"); /* so that a child left behind keeps no file system mounted */
	be_killed_first();
	if (set_descriptors(k, controls, nothing) < 0 || watch_children() < 0 ||
	    open_life(k->pid) < 0 || sandbox_enter(SANDBOX_FINDER, NULL, &e) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		_exit(1);
	run_zygote(k);
}

static int make_pairs(struct zygote *mine, struct zygote *its)
{
	int pair[2];

	for (size_t i = 0; i < ZYGOTE_ASKERS; i++) {
		const int err = packet_pair(pair);

		if (err)
			return err;
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
