// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "helper/seat.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "helper/channel.h"

/* The payload of @ask in a packet of @n bytes, or in the area. NULL: the length is wrong. */
static const void *payload_of(const struct seat *seat, const struct ask *ask, const char *packet,
			      size_t n, char **copy)
{
	if (ask->n_bytes <= ASK_INLINE)
		return n == sizeof(*ask) + ask->n_bytes ? packet + sizeof(*ask) : NULL;
	if (n != sizeof(*ask) || ask->n_bytes > seat->n_area)
		return NULL;
	/* A copy, because the answer overwrites the area. */
	*copy = xcalloc(1, ask->n_bytes);
	return memcpy(*copy, seat->area, ask->n_bytes);
}

void seat_serve(struct seat *seat, seat_answer *answer_it, void *state)
{
	cleanup_free char *packet = xcalloc(1, sizeof(struct ask) + ASK_INLINE);

	for (;;) {
		struct ask ask;
		struct answer answer = {};
		cleanup_free char *copy = NULL;
		const ssize_t n = channel_receive_some(seat->channel, packet, sizeof(ask),
						       sizeof(ask) + ASK_INLINE);

		if (n < 0)
			return;
		memcpy(&ask, packet, sizeof(ask));

		const void *payload = payload_of(seat, &ask, packet, (size_t)n, &copy);

		if (!payload)
			return;
		answer.number = ask.number;
		answer_it(state, seat, &ask, payload, &answer);
		if (channel_send(seat->channel, &answer, sizeof(answer)) < 0)
			return;
	}
}

int seat_pass(int files, struct passed_file what, int fd)
{
	return channel_pass(files, &what, sizeof(what), &fd, 1);
}

int seat_take(const struct seat *seat, struct passed_file *ret, int *ret_fd)
{
	int fds[CHANNEL_FDS];
	const int n = channel_take(seat->files, ret, sizeof(*ret), fds);

	if (n == 1 && ret->to == getpid()) {
		*ret_fd = fds[0];
		return 0;
	}
	for (int i = 0; i < n; i++)
		(void)close(fds[i]);
	return n < 0 ? n : -EBADMSG;
}

/* -- Its start. -- */

#define LEAST_AREA 65536U

/*
 * The warden makes helpers while events are traced, and the programs do not leave out hits of this
 * one yet. So we avoid getppid(2), which people often trace to try a tracer.
 */
void seat_end_with(pid_t parent, int life)
{
	struct pollfd ended = { .fd = life, .events = POLLIN };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have ended before the prctl(2). */
	if (life >= 0 ? poll(&ended, 1, 0) != 0 : getppid() != parent)
		_exit(1);
}

void seat_close_from(unsigned first)
{
	if (close_range(first, ~0U, 0) < 0)
		for (int fd = (int)first; fd < SEAT_MOST_FILES; fd++)
			(void)close(fd);
}

/*
 * The main process leaves out its helpers' hits, so it must know a helper before that one does
 * anything else. We only peek at the packet: its descriptor would enter the table that openers
 * share.
 */
static bool may_begin(const struct seat_start *start)
{
	char byte;

	return recv(start->channel, &byte, sizeof(byte), MSG_PEEK) == sizeof(byte);
}

/* Take the packet that lets us begin. Returns how many descriptors come with it. */
static int receive_go(const struct seat *seat, int fds[CHANNEL_FDS])
{
	char byte;

	return channel_take(seat->channel, &byte, sizeof(byte), fds);
}

/*
 * Give a parser a table of its own: channel, area and files as 3, 4 and 5, and no others of ours.
 */
static int own_table(struct seat *seat, bool can_leave, int *area)
{
	int fds[CHANNEL_FDS];

	if (!can_leave)
		seat_close_from(SEAT_OURS);
	else if (close_range(SEAT_OURS, ~0U, CLOSE_RANGE_UNSHARE) < 0)
		return -errno;

	const int n = receive_go(seat, fds);

	if (n != 1)
		return n < 0 ? n : -EBADMSG;

	/* Move each above all others first, because it may occupy another one's place. */
	const int from[] = { fcntl(seat->channel, F_DUPFD_CLOEXEC, SEAT_OURS),
			     fcntl(*area, F_DUPFD_CLOEXEC, SEAT_OURS), fds[0] };

	for (size_t i = 0; i < ARRAY_SIZE(from); i++)
		if (from[i] < 0 || dup3(from[i], STDERR_FILENO + 1 + (int)i, O_CLOEXEC) < 0)
			return -errno;
	seat->channel = STDERR_FILENO + 1;
	*area = seat->channel + 1;
	seat->files = seat->channel + 2;
	seat_close_from((unsigned)seat->files + 1);
	return 0;
}

/* An opener shares the warden's table. It closes descriptors that killed openers left there. */
static int shared_table(const struct seat *seat, const struct seat_start *start)
{
	int none[CHANNEL_FDS];
	const int err = receive_go(seat, none);

	held_use(start->held, start->child);
	for (size_t i = 0; i < start->n_stale; i++)
		(void)close(start->stale[i]);
	return err;
}

static int set_up_seat(const struct role *role, const struct seat_start *start, struct seat *seat,
		       struct error *e)
{
	const bool is_parser = role->sandbox == SANDBOX_PARSER;
	int area = start->area;

	if (is_parser)
		held_leave(start->held);

	const int err =
		is_parser ? own_table(seat, start->can_leave, &area) : shared_table(seat, start);

	if (err)
		return error_set(e, err, "leave what others have open: %s", error_words(err));
	seat->n_area = area_size(area);
	if (seat->n_area < LEAST_AREA && seat->n_area < role->n_area)
		return error_set(e, -EFBIG, "files may not have %u KiB (ulimit -f)",
				 LEAST_AREA / 1024);
	seat->area = mmap(NULL, seat->n_area, PROT_READ | PROT_WRITE, MAP_SHARED, area, 0);
	if (seat->area == MAP_FAILED)
		return error_errno(e, "map the area");
	return 0;
}

void seat_begin(const struct role *role, const struct seat_start *start)
{
	struct seat seat = { .channel = start->channel, .files = -1 };
	struct answer ready = {};
	struct error e = {};
	sigset_t blocked;

	/*
	 * The warden may have ended already. Its ends of our sockets stay open in the table that we
	 * share.
	 */
	seat_end_with(start->warden, start->life);
	if (!may_begin(start))
		_exit(1);
	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGTERM); /* WARDEN_HURRY */
	(void)sigprocmask(SIG_SETMASK, &blocked, NULL);
	(void)prctl(PR_SET_NAME, role->names ? role->names[start->lane] : role->name);
	ready.result = set_up_seat(role, start, &seat, &e);
	if (!ready.result)
		ready.result = sandbox_enter(role->sandbox, &ready.n, &e);
	if (ready.result)
		(void)snprintf(ready.words, sizeof(ready.words), "%.95s", e.text);
	if (channel_send(seat.channel, &ready, sizeof(ready)) == 0 && !ready.result)
		role->run(&seat);
	_exit(0);
}
