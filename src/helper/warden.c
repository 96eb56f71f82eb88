// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of descriptors, which openers share:
 *
 *	0..2	standard input, output and error: a file without contents
 *	3..6	controls of lanes
 *	7	signals
 *	8	a pidfd of the warden
 *	9..56	channel, area and files of each child. Free ones, and 57..63: as 0
 *	64..	openers' files, in any order
 *
 * No number below 64 is ever free, so open(2) gives an opener one above. A parser leaves the
 * openers' files by close_range(64, ..., CLOSE_RANGE_UNSHARE), which takes no reference to them. A
 * copy of the table, as fork(2) makes it, would have to close each open file, and so wait for its
 * file system.
 *
 * A killed opener leaves its descriptors in the table. It has noted them (helper/held.h), and the
 * next opener closes them. The warden does not: with the last reference to a detached mount the
 * kernel unmounts it. That may wait, and the warden must not.
 *
 * For the same reason the warden never holds the last reference to a socket with files in its
 * queue. The parser alone has its end of that socket. The main process sends it, in the packet that
 * lets the parser begin.
 */
#include "helper/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "helper/channel.h"

#define NOTHING STDIN_FILENO
#define FIRST_CONTROL 3
#define SIGNALS (FIRST_CONTROL + WARDEN_LANES)
#define LIFE (SIGNALS + 1) /* a pidfd of the warden, by which helpers see that it lives */
#define FIRST_OF_CHILDREN (LIFE + 1)
#define MOST_CHILDREN HELD_CHILDREN

enum { CHANNEL, AREA, FILES, N_OF_CHILD };
_Static_assert(FIRST_OF_CHILDREN + MOST_CHILDREN * N_OF_CHILD <= SEAT_OURS, "slots");

struct child {
	pid_t pid; /* 0: none */
	unsigned lane;
	uint64_t killed_at; /* ns; 0: not killed */
};

struct keeper {
	const struct role *roles;
	size_t n_roles;
	pid_t pid;
	int life;       /* a pidfd of the warden; -1: none */
	bool can_leave; /* close_range(2) works; some containers refuse it */
	bool is_open[WARDEN_LANES];
	struct child children[MOST_CHILDREN];
	struct held *held;                        /* the openers' notes */
	int32_t stale[MOST_CHILDREN * HELD_MOST]; /* descriptors of openers that have ended */
	size_t n_stale;
};

static unsigned child_number(const struct keeper *k, const struct child *c)
{
	return (unsigned)(c - k->children);
}

static int child_slot(const struct keeper *k, const struct child *c, int what)
{
	return FIRST_OF_CHILDREN + (int)child_number(k, c) * N_OF_CHILD + what;
}

static void child_free(struct keeper *k, struct child *c)
{
	for (int what = 0; what < N_OF_CHILD; what++)
		(void)dup3(NOTHING, child_slot(k, c, what), O_CLOEXEC);
	*c = (struct child){ 0 };
}

/*
 * Collect the note of @c, which has ended. Ignore numbers below SEAT_OURS: those are the warden's.
 */
static void collect_held(struct keeper *k, const struct child *c)
{
	int32_t fds[HELD_MOST];
	const size_t n = held_take(k->held, child_number(k, c), fds);

	for (size_t i = 0; i < n && k->n_stale < ARRAY_SIZE(k->stale); i++)
		if (fds[i] >= SEAT_OURS)
			k->stale[k->n_stale++] = fds[i];
}

static struct child *find_child(struct keeper *k, pid_t pid)
{
	for (size_t i = 0; i < MOST_CHILDREN; i++)
		if (k->children[i].pid == pid)
			return &k->children[i];
	return NULL;
}

/* Ends nobody else: a child keeps its PID until the warden has waited for it. */
static void kill_child(struct child *c)
{
	if (!c->killed_at)
		c->killed_at = clock_ns(CLOCK_MONOTONIC);
	(void)kill(c->pid, SIGKILL);
}

/* Count children that were killed @ns ago or earlier and have not ended. */
static uint32_t count_killed(const struct keeper *k, uint64_t ns)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint32_t n = 0;

	for (size_t i = 0; i < MOST_CHILDREN; i++)
		n += k->children[i].killed_at && now - k->children[i].killed_at >= ns;
	return n;
}

static uint32_t count_left(const struct keeper *k)
{
	return count_killed(k, WARDEN_LEFT_AFTER_NS);
}

static void close_lane(struct keeper *k, unsigned lane)
{
	k->is_open[lane] = false;
	(void)dup3(NOTHING, FIRST_CONTROL + (int)lane, O_CLOEXEC);
	for (size_t i = 0; i < MOST_CHILDREN; i++)
		if (k->children[i].pid && k->children[i].lane == lane)
			kill_child(&k->children[i]);
}

/* Send a message with @n descriptors. If that fails, the lane has gone. */
static void send_to_lane(struct keeper *k, unsigned lane, struct warden_message *message,
			 const int *fds, size_t n)
{
	message->n_left = count_left(k);
	if (k->is_open[lane] &&
	    channel_pass(FIRST_CONTROL + (int)lane, message, sizeof(*message), fds, n) < 0)
		close_lane(k, lane);
}

/* Ends of a new child's sockets, before they move to their slots. */
enum { MAIN_CHANNEL, MAIN_AREA, ITS_FILES, ITS_CHANNEL, OPENERS_FILES, N_ENDS };

static void close_ends(int (*ends)[N_ENDS])
{
	for (size_t i = 0; i < N_ENDS; i++)
		cleanup_close_fd(&(*ends)[i]);
}

static int make_ends(const struct role *role, int *ends)
{
	int pair[2];
	int err = channel_pair(pair);

	if (err)
		return err;
	ends[MAIN_CHANNEL] = pair[0];
	ends[ITS_CHANNEL] = pair[1];
	channel_refuse_descriptors(pair[0]);
	err = area_new(role->n_area, &ends[MAIN_AREA]);
	if (err || role->sandbox == SANDBOX_OPENER)
		return err;
	err = channel_pair(pair);
	if (err)
		return err;
	ends[OPENERS_FILES] = pair[0];
	ends[ITS_FILES] = pair[1];
	(void)shutdown(pair[0], SHUT_RD); /* openers only send */
	return 0;
}

/* fork(2) cannot share the table. With one thread, libc's part of fork(2) is not missed. */
static pid_t make_process(bool shares_files)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD | (shares_files ? CLONE_FILES : 0), 0, 0, 0, 0);
}

/* Fill @ends and make the process. Returns a negative errno. */
static int start_child(struct keeper *k, const struct role *role, struct child *c, int *ends)
{
	const bool is_opener = role->sandbox == SANDBOX_OPENER;
	const struct seat_start start = {
		.warden = k->pid,
		.life = k->life,
		.can_leave = k->can_leave,
		.lane = c->lane,
		.child = child_number(k, c),
		.held = k->held,
		.stale = k->stale,
		.n_stale = k->n_stale,
		.channel = child_slot(k, c, CHANNEL),
		.area = child_slot(k, c, AREA),
	};
	const int err = make_ends(role, ends);

	if (err)
		return err;
	if (dup3(ends[ITS_CHANNEL], start.channel, O_CLOEXEC) < 0 ||
	    dup3(ends[MAIN_AREA], start.area, O_CLOEXEC) < 0 ||
	    (ends[OPENERS_FILES] >= 0 &&
	     dup3(ends[OPENERS_FILES], child_slot(k, c, FILES), O_CLOEXEC) < 0))
		return -errno;
	c->pid = make_process(is_opener || k->can_leave);
	if (c->pid == 0)
		seat_begin(role, &start);
	if (c->pid < 0)
		return -errno;
	if (is_opener)
		k->n_stale = 0;
	return 0;
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
	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		struct child *c = find_child(k, pid);
		struct warden_message ended = {
			.what = WARDEN_ENDED,
			.pid = pid,
			.status = status,
			.cpu_ns = ns_of(used.ru_utime) + ns_of(used.ru_stime),
		};

		if (!c)
			continue;

		const unsigned lane = c->lane;

		collect_held(k, c);
		child_free(k, c);
		send_to_lane(k, lane, &ended, NULL, 0);
	}
}

/*
 * If none of the killed helpers ends, the warden may make no more. So wait until each has ended or
 * is left behind. The lane has waited by its own clock for the last of them.
 */
static void wait_for_killed(struct keeper *k)
{
	struct pollfd ended = { .fd = SIGNALS, .events = POLLIN };

	while (count_killed(k, 0) >= WARDEN_MOST_LEFT && count_left(k) < WARDEN_MOST_LEFT)
		if (poll(&ended, 1, 10) > 0)
			reap_children(k);
}

static void make_child(struct keeper *k, unsigned lane, uint32_t role)
{
	struct warden_message made = { .what = WARDEN_MADE, .role = role };
	cleanup(close_ends) int ends[N_ENDS] = { -1, -1, -1, -1, -1 };
	struct child *c;
	int err = -EBUSY;

	wait_for_killed(k);
	c = find_child(k, 0);
	if (c && count_left(k) < WARDEN_MOST_LEFT && role < k->n_roles) {
		c->lane = lane;
		err = start_child(k, &k->roles[role], c, ends);
		if (err)
			child_free(k, c);
	}
	if (err) {
		made.what = WARDEN_REFUSED;
		made.status = err;
		send_to_lane(k, lane, &made, NULL, 0);
		return;
	}
	made.pid = c->pid;
	made.files = ends[OPENERS_FILES] < 0 ? 0 : (uint32_t)child_slot(k, c, FILES);
	send_to_lane(k, lane, &made, &ends[MAIN_CHANNEL], made.files ? 3 : 2);
}

/* -- Its loop. -- */

/* They block SIGTERM, and check whether it is pending (base/cpu_budget.h). */
static void hurry_children(const struct keeper *k, unsigned lane)
{
	for (size_t i = 0; i < MOST_CHILDREN; i++)
		if (k->children[i].pid && k->children[i].lane == lane)
			(void)kill(k->children[i].pid, SIGTERM);
}

static void handle_lane_message(struct keeper *k, unsigned lane)
{
	struct warden_message ask;

	if (channel_receive(FIRST_CONTROL + (int)lane, &ask, sizeof(ask)) < 0) {
		close_lane(k, lane);
		return;
	}
	if (ask.what == WARDEN_MAKE)
		make_child(k, lane, ask.role);
	if (ask.what == WARDEN_HURRY)
		hurry_children(k, lane);

	struct child *c = ask.what == WARDEN_KILL && ask.pid > 0 ? find_child(k, ask.pid) : NULL;

	if (c && c->lane == lane)
		kill_child(c);
}

_Noreturn static void run_warden(struct keeper *k)
{
	struct pollfd all[WARDEN_LANES + 1];

	for (;;) {
		unsigned n_open = 0;

		for (unsigned i = 0; i < WARDEN_LANES; i++) {
			all[i].fd = k->is_open[i] ? FIRST_CONTROL + (int)i : -1;
			all[i].events = POLLIN;
			n_open += k->is_open[i];
		}
		if (!n_open)
			_exit(0);
		all[WARDEN_LANES] = (struct pollfd){ .fd = SIGNALS, .events = POLLIN };
		if (poll(all, ARRAY_SIZE(all), -1) < 0)
			continue;
		if (all[WARDEN_LANES].revents)
			reap_children(k);
		for (unsigned i = 0; i < WARDEN_LANES; i++)
			if (all[i].revents)
				handle_lane_message(k, i);
	}
}

/* -- Its start. -- */

/*
 * Ignore signals that ask a program to end: the main process handles them, and needs its helpers
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
	files.rlim_cur = files.rlim_max < SEAT_MOST_FILES ? files.rlim_max : SEAT_MOST_FILES;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/*
 * Fill the slots, and close all descriptors of the main process but @controls. Free slots are an
 * empty file, and so are standard input and output. Else a helper that is left behind would hold a
 * pipeline open, and its reader would wait.
 */
static int set_warden_descriptors(struct keeper *k, const int *controls, int nothing)
{
	int high[WARDEN_LANES];

	set_most_files();
	nothing = fcntl(nothing, F_DUPFD_CLOEXEC, SEAT_OURS);
	for (size_t i = 0; i < WARDEN_LANES; i++)
		high[i] = fcntl(controls[i], F_DUPFD_CLOEXEC, SEAT_OURS);
	for (int slot = 0; slot < SEAT_OURS; slot++)
		if (!(IS_SANITIZED && slot == STDERR_FILENO) && dup3(nothing, slot, O_CLOEXEC) < 0)
			return -errno;
	for (int i = 0; i < WARDEN_LANES; i++) {
		if (dup3(high[i], FIRST_CONTROL + i, O_CLOEXEC) < 0)
			return -errno;
		k->is_open[i] = true;
	}
	seat_close_from(SEAT_OURS);
	k->can_leave = close_range(~0U, ~0U, CLOSE_RANGE_UNSHARE) == 0;
	return 0;
}

static int watch_children(void)
{
	sigset_t child;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &child, NULL) < 0)
		return -errno;

	cleanup_close int fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);

	return fd < 0 || dup3(fd, SIGNALS, O_CLOEXEC) < 0 ? -errno : 0;
}

/*
 * If memory runs out, the kernel ends helpers first, and the largest of them before others. Call
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

	return fd < 0 ? -1 : dup3(fd, LIFE, O_CLOEXEC);
}

/*
 * If this fails, the process ends. The lanes then see their controls closed, as when a warden has
 * ended.
 */
_Noreturn static void be_warden(struct keeper *k, const int *controls, int nothing, pid_t parent)
{
	struct error e = {};

	k->pid = getpid();
	ignore_end_signals();
	seat_end_with(parent, -1);
	/*
	 * A process group, not a session. The scheduler would take a session for another user's
	 * work, whatever our nice value.
	 */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_NAME, "helper-warden");
	(void)!chdir("/"); /* so that a helper left behind keeps no file system mounted */
	be_killed_first();
	if (set_warden_descriptors(k, controls, nothing) < 0 || watch_children() < 0 ||
	    sandbox_prepare(&e) < 0)
		_exit(1);
	k->life = open_life(k->pid);
	k->held = held_new();
	run_warden(k);
}

static int pairs_make(struct warden *mine, struct warden *its)
{
	int pair[2];

	for (size_t i = 0; i < WARDEN_LANES; i++) {
		const int err = channel_pair(pair);

		if (err)
			return err;
		mine->controls[i] = pair[0];
		its->controls[i] = pair[1];
	}
	return 0;
}

int warden_start(const struct role *roles, size_t n_roles, struct warden *ret, struct error *e)
{
	const pid_t parent = getpid();
	struct keeper k = { .roles = roles, .n_roles = n_roles };
	cleanup_close int nothing = -1;
	cleanup(warden_fini) struct warden its = WARDEN_NONE;

	*ret = its;

	int err = pairs_make(ret, &its);

	if (!err)
		err = area_new(0, &nothing);
	if (!err) {
		ret->pid = fork();
		if (ret->pid == 0)
			be_warden(&k, its.controls, nothing, parent);
		err = ret->pid < 0 ? -errno : 0;
	}
	if (err) {
		warden_fini(ret);
		return error_set(e, err, "make a process: %s", error_start_words(err));
	}
	return 0;
}

int warden_take_control(struct warden *w, unsigned lane)
{
	return TAKE_FD(w->controls[lane]);
}

void warden_fini(struct warden *w)
{
	for (size_t i = 0; i < WARDEN_LANES; i++)
		cleanup_close_fd(&w->controls[i]);
}
