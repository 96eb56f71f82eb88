// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "tool/run.h"

int ready_check(uint64_t fd, struct error *e)
{
	if (!fd)
		return 0;

	const int flags = fcntl((int)fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return error_set(e, -EBADF,
				 "--ready-fd: descriptor %" PRIu64 " is not open for writing", fd);
	if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return error_errno(e, "--ready-fd");
	return 0;
}

/* A peer that has gone, or does not read, is no error, and holds up nothing. */
static bool send_line(const struct ready *ready)
{
	return send((int)ready->fd, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* It is no error if nobody reads the line. */
static void write_ready_line(void *context)
{
	struct ready *ready = context;

	if (ready->is_socket ? !send_line(ready) : write((int)ready->fd, "\n", 1) != 1)
		log_debug("--ready-fd: nobody reads descriptor %" PRIu64, ready->fd);
	if (!ready->is_socket)
		(void)close((int)ready->fd);
	__atomic_store_n(&ready->is_told, true, __ATOMIC_RELEASE);
}

void ready_tell(struct ready *ready, struct unwinder *u)
{
	if (!ready->fd || ready->is_asked)
		return;
	ready->is_asked = true;
	if (u)
		unwinder_then(u, false, write_ready_line, ready);
	else
		write_ready_line(ready);
}

/* --- questions --- */

int ready_listen(struct ready *ready, struct waiter *w, struct error *e)
{
	struct stat st;

	ready->is_socket = ready->fd && fstat((int)ready->fd, &st) == 0 && S_ISSOCK(st.st_mode);
	return ready->is_socket ? waiter_watch(w, (int)ready->fd, OCCASION_QUESTION, e) : 0;
}

/* The descriptor stays open, as the unwinder's thread may still use it. */
static void read_questions(struct ready *ready, struct waiter *w)
{
	char bytes[64];
	const ssize_t got = recv((int)ready->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got > 0) {
		ready->n_next += (size_t)got;
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		waiter_leave(w, (int)ready->fd);
		ready->is_left = true;
	}
}

/* Questions that come until these are answered are the next ones. */
static bool begin_answer(struct run *r)
{
	struct ready *ready = &r->ready;

	if (!ready->n_next || !__atomic_load_n(&ready->is_told, __ATOMIC_ACQUIRE) ||
	    __atomic_load_n(&ready->n, __ATOMIC_ACQUIRE))
		return false;
	ready->n = ready->n_next;
	ready->n_next = 0;
	ready->since = clock_ns(CLOCK_MONOTONIC);
	ready->notices = notices_end(r->notices);
	ready->deferred = deferred_end(&r->deferral.reader);
	return true;
}

static bool is_all_stored(const struct run *r)
{
	const struct ready *ready = &r->ready;

	return notices_are_read(r->notices, ready->notices) &&
	       deferral_has_given(r, ready->deferred) &&
	       (!r->follow || follower_has_read(r->follow, ready->since)) &&
	       (!r->tool->has_printed || r->tool->has_printed(r, ready->since));
}

static void write_answers(void *context)
{
	struct ready *ready = context;

	for (size_t i = 0; i < ready->n && send_line(ready); i++)
		;
	__atomic_store_n(&ready->n, 0, __ATOMIC_RELEASE);
}

bool ready_answer(struct run *r)
{
	struct ready *ready = &r->ready;

	if (!ready->is_socket)
		return false;
	if (!ready->is_left)
		read_questions(ready, &r->waiter);
	if (!ready->is_pending)
		return ready->is_pending = begin_answer(r);
	if (!is_all_stored(r))
		return true;
	ready->is_pending = false;
	if (r->unwinder)
		unwinder_then(r->unwinder, true, write_answers, ready);
	else
		write_answers(ready);
	return false;
}
