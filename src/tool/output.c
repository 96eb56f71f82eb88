// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "report/render.h"

#define WAIT_MS 1000
#define SERVE_MS 20

void output_init(struct output *o, struct waiter *waiter)
{
	struct stat st;

	*o = (struct output){
		.fd = STDOUT_FILENO, .name = "standard output", .waiter = waiter, .is_last = !waiter
	};
	o->is_file = fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

struct output output_to(const struct output *o, int fd, const char *name)
{
	struct output ret = *o;
	struct stat st;

	ret.fd = fd;
	ret.name = name;
	ret.is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	ret.has_no_reader = false;
	ret.is_last = true;
	return ret;
}

static void call_halt(struct output *o)
{
	if (o->halt)
		o->halt(o->context);
}

/*
 * A reader may be slow (a pager), and still gets the whole report that the first signal asked for.
 * Or it may have stopped reading. Then the second signal ends the run.
 */
static bool is_second_signal(struct output *o)
{
	const bool was_asked = o->must_end;
	const bool is_one = o->waiter && waiter_take_signals(o->waiter);

	o->must_end = is_one || o->must_end;
	if (o->must_end)
		call_halt(o);
	return was_asked && is_one; /* @serve may have taken it meanwhile (output_must_end()) */
}

bool output_must_end(struct output *o)
{
	if (!o->must_end)
		(void)is_second_signal(o);
	return o->must_end;
}

/*
 * Wait until @o can take *@n bytes at once. Lowers *@n to the bytes that poll(2)
 * promises.
 */
static int wait_for_reader(struct output *o, size_t *n)
{
	struct pollfd fds[] = { { .fd = o->fd, .events = POLLOUT },
				{ .fd = o->waiter ? o->waiter->signals : -1, .events = POLLIN },
				{ .fd = o->waiter ? o->waiter->end : -1, .events = POLLIN } };

	if (o->is_file)
		return 0;
	if (*n > PIPE_BUF)
		*n = PIPE_BUF;
	for (int waited_ms = 0; !fds[0].revents;) {
		int ready = poll(fds, ARRAY_SIZE(fds), o->serve ? SERVE_MS : WAIT_MS);

		if (ready < 0 && errno != EINTR)
			return -errno;
		if (o->serve && !fds[0].revents)
			o->serve(o->context);
		waited_ms = ready ? waited_ms : waited_ms + SERVE_MS;
		if (waited_ms >= WAIT_MS && o->while_waiting) {
			o->while_waiting(o->context);
			waited_ms = 0;
		}
		if (ready > 0 && fds[2].revents) {
			fds[2].fd = -1;
			call_halt(o);
		}
		if (!fds[0].revents && fds[1].revents && is_second_signal(o))
			return -EINTR;
	}
	return 0;
}

#define ROOM_MS 500

/* If @err is about a full file system, wait a moment for room. Otherwise return @err. */
static int wait_for_room(struct output *o, int err)
{
	struct pollfd fds[] = { { .fd = o->waiter ? o->waiter->signals : -1, .events = POLLIN },
				{ .fd = o->waiter ? o->waiter->end : -1, .events = POLLIN } };

	if (!o->is_file || o->is_last || o->must_end || (err != -ENOSPC && err != -EDQUOT))
		return err;
	if (!o->is_full_told)
		log_warn("write to %s: %s; still counting, the report waits for room", o->name,
			 strerror(-err));
	o->is_full_told = true;
	for (int ms = 0; ms < ROOM_MS; ms += SERVE_MS) {
		if (poll(fds, ARRAY_SIZE(fds), SERVE_MS) > 0) {
			o->is_last = true; /* try once more */
			(void)is_second_signal(o);
			return 0;
		}
		if (o->serve)
			o->serve(o->context);
	}
	return 0;
}

int output_write(void *output, const char *bytes, size_t n)
{
	struct output *o = output;

	while (n > 0 && !o->has_no_reader) {
		size_t part = n;
		int err = wait_for_reader(o, &part);

		if (err)
			return err;

		ssize_t done = write(o->fd, bytes, part);

		if (done < 0 && errno == EPIPE)
			o->has_no_reader = true;
		else if (done < 0 && errno != EINTR)
			err = wait_for_room(o, -errno);
		if (err)
			return err;
		if (done > 0) {
			bytes += done;
			n -= (size_t)done;
		}
		if (o->serve)
			o->serve(o->context);
	}
	return 0;
}

int output_explain(const struct output *o, int err, struct error *e)
{
	if (err == -EINTR)
		return error_set(e, err,
				 "a second signal ended the report, because nobody read it");
	return err ? error_set(e, err, "write to %s: %s", o->name, strerror(-err)) : 0;
}

int output_put(struct output *o, const char *bytes, size_t n, struct error *e)
{
	return output_explain(o, output_write(o, bytes, n), e);
}

int output_losses(struct output *o, const struct profile_loss *losses, size_t n, uint64_t hits,
		  struct error *e)
{
	cleanup_strbuf struct strbuf line = {};

	render_losses(losses, n, hits, &line);
	return line.n ? output_put(o, line.text, line.n, e) : 0;
}

void output_warn_losses(const struct profile_loss *losses, size_t n, uint64_t hits)
{
	cleanup_strbuf struct strbuf line = {};

	render_losses(losses, n, hits, &line);
	for (const char *at = line.text, *end; line.n && *at; at = end + 1) {
		end = strchr(at, '\n');
		log_warn("%.*s", (int)(end - at), at);
	}
}
