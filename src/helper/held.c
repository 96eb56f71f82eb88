// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "helper/held.h"

#include <string.h>
#include <sys/mman.h>

struct held {
	int32_t fds[HELD_MOST]; /* 0: free; else SEAT_OURS or above */
};

static struct held *own; /* this opener's; NULL: this process is no opener */

struct held *held_new(void)
{
	void *all = mmap(NULL, HELD_CHILDREN * sizeof(struct held), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return all == MAP_FAILED ? NULL : all;
}

void held_use(struct held *all, unsigned child)
{
	own = all ? &all[child] : NULL;
}

void held_leave(struct held *all)
{
	if (all)
		(void)munmap(all, HELD_CHILDREN * sizeof(*all));
}

size_t held_take(struct held *all, unsigned child, int32_t ret[HELD_MOST])
{
	size_t n = 0;

	if (!all)
		return 0;
	for (size_t i = 0; i < HELD_MOST; i++)
		if (all[child].fds[i])
			ret[n++] = all[child].fds[i];
	memset(&all[child], 0, sizeof(all[child]));
	return n;
}

/* Atomic, because SIGKILL may come between any two instructions. */
static void set_held_fd(size_t i, int fd)
{
	__atomic_store_n(&own->fds[i], fd, __ATOMIC_SEQ_CST);
}

int held_note(int fd)
{
	for (size_t i = 0; own && fd >= 0 && i < HELD_MOST; i++)
		if (!own->fds[i]) {
			set_held_fd(i, fd);
			break;
		}
	return fd;
}

void held_forget(int fd)
{
	for (size_t i = 0; own && fd >= 0 && i < HELD_MOST; i++)
		if (own->fds[i] == fd)
			set_held_fd(i, 0);
}
