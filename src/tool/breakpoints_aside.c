// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The main process makes this copy before it has loaded much, so the copy costs little. Whoever
 * takes it over can send any addresses. At worst the command stops there, or nowhere.
 */
#include "tool/breakpoints_aside.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "elf/guard.h"
#include "helper/sandbox.h"

/* The command waits for the answer. */
static const struct aside_bounds bounds = { .cpu_ns = NS_PER_S, .looks = 10 };

struct found {
	uint64_t n, places[MOST_BREAKPOINTS];
};

/* -- In the process. -- */

static bool read_pc(int channel, uint64_t *ret)
{
	ssize_t n;

	do
		n = recv(channel, ret, sizeof(*ret), MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*ret);
}

static void serve_breakpoints(void *argument, int channel)
{
	const pid_t *pid = argument;
	struct found found = {};
	uint32_t layers;
	uint64_t pc;
	struct error e;

	aside_close_others(&channel);
	guard_begin();
	if (sandbox_enter(SANDBOX_MATCHER, &layers, &e) || !aside_write(channel, "", 1) ||
	    !read_pc(channel, &pc))
		return;
	found.n = breakpoints_find(*pid, pc, found.places);
	(void)aside_write(channel, &found, sizeof(found));
}

/* -- The main process. -- */

void breakpoints_aside_start(struct breakpoints_aside *b, pid_t pid)
{
	struct error e;

	if (aside_start(&b->aside, &bounds, serve_breakpoints, &pid, &e)) {
		log_debug("cannot read the command's dynamic linker: %s", e.text);
		breakpoints_aside_end(b);
	}
}

void breakpoints_aside_wait(struct breakpoints_aside *b)
{
	char byte;

	if (b->aside.pid && aside_read(&b->aside, &byte, 1))
		breakpoints_aside_end(b);
}

static bool are_sound_breakpoints(const struct found *found)
{
	if (found->n > MOST_BREAKPOINTS)
		return false;
	for (size_t i = 0; i < found->n; i++)
		if (!found->places[i] || found->places[i] >= ARCH_USER_END)
			return false;
	return true;
}

static size_t request_breakpoints(struct breakpoints_aside *b, uint64_t pc,
				  uint64_t ret[MOST_BREAKPOINTS])
{
	struct found found;
	struct error e;
	int err;

	aside_begin(&b->aside);
	err = aside_write(b->aside.channel, &pc, sizeof(pc)) ? 0 : -EPIPE;
	if (!err)
		err = aside_read(&b->aside, &found, sizeof(found));
	if (err && aside_explain(&b->aside, err, "the command's dynamic linker", &e))
		log_debug("%s", e.text);
	if (err || !are_sound_breakpoints(&found))
		return 0;
	memcpy(ret, found.places, sizeof(found.places));
	return found.n;
}

size_t breakpoints_aside_find(struct breakpoints_aside *b, uint64_t pc, uint32_t *helper,
			      uint64_t ret[MOST_BREAKPOINTS])
{
	const uint32_t former = *helper;
	size_t n;

	if (!b->aside.pid)
		return 0;
	*helper = (uint32_t)b->aside.pid;
	n = request_breakpoints(b, pc, ret);
	breakpoints_aside_end(b);
	*helper = former;
	return n;
}

void breakpoints_aside_end(struct breakpoints_aside *b)
{
	aside_end(&b->aside);
}
