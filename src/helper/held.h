/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/held.h - the descriptors that an opener has open during a request.
 *
 * Openers share one table of descriptors, so the kernel closes none when an opener is killed.
 * Therefore each opener notes its descriptors in memory that it shares with the warden. When the
 * opener has ended, the warden reads the note, and the next opener closes the descriptors.
 *
 * An opener notes handles (O_PATH) and files of /proc. It does not note files that it opened for
 * reading: closing one may wait for a dead server.
 *
 * Take a descriptor out of the note before it is closed. Its number may be another file's
 * afterwards, which the next opener would close. cleanup_held does so in the place of
 * cleanup_close. In other processes than openers all this does nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define HELD_CHILDREN 16
#define HELD_MOST 16 /* descriptors of each child; the note has no room for more */

struct held;

/* For the warden, before it makes helpers. NULL: no memory; then openers note nothing. */
struct held *held_new(void);

/*
 * For a new helper: an opener, as child @child, notes its descriptors in @all. A parser unmaps
 * @all.
 */
void held_use(struct held *all, unsigned child);
void held_leave(struct held *all);

/*
 * For the warden: move the note of child @child, which has ended, to @ret. Returns how many
 * descriptors.
 */
size_t held_take(struct held *all, unsigned child, int32_t ret[HELD_MOST]);

/* Note @fd, or take it out of the note. Both ignore -1 and keep errno. held_note() returns @fd. */
int held_note(int fd);
void held_forget(int fd);

static inline void held_close(int *fd)
{
	held_forget(*fd);
	cleanup_close_fd(fd);
}

#define cleanup_held cleanup(held_close)
