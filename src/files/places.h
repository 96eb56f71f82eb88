/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/places.h - remembers places that do not answer, and users whose files take too much time,
 * so that nothing more of them is opened.
 *
 * A place is a user's files on a device, or below a root directory: one who mounts a dead file
 * system stops the reading of his own files only. All threads may call these functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "files/question.h"

struct places;

/*
 * A place is silent after a child that waited there was killed: for 3 s, and twice as long each
 * further time, up to 96 s. So a disk that was only busy is soon read again, and a server that
 * answers every other question costs little. A place is silent, too, as long as a child hangs in
 * it.
 */
struct places *places_new(void);
void places_free(struct places *p);

/*
 * The place at which a child waits in @step. @number: of the device; with STEP_PATH, STEP_DEBUG and
 * STEP_PERF, the handle of the root directory.
 */
#define PLACE_NUMBERS ((1ULL << 28) - 1) /* numbers with the same bits here are one place */
uint64_t place_of(enum step step, uint64_t number, uint32_t user);

bool places_may_ask(struct places *p, uint64_t place);

/* Fill in up to @most devices (their PLACE_NUMBERS) on which nothing of @user is to be looked for.
 * Returns how many. */
size_t places_silent_devices(struct places *p, uint32_t user, uint64_t *ret, size_t most);

/*
 * A child did not answer in time, and was killed. @is_hung: it hangs there. Warns when the place is
 * silent for the first time.
 */
void places_note_silence(struct places *p, uint64_t place, bool is_hung);

/* A child that hung there has ended at last. */
void places_note_end(struct places *p, uint64_t place);

/*
 * -- Time that children spend on each user's files: CPU time, and long waits. Root's have no
 * bound. For one thread. --
 */

/*
 * If a user's file makes a child wait so long, the user pays for that, too. A shorter wait may come
 * from a busy machine.
 */
#define SPENDING_LONG_WAIT_NS NS_PER_S

/*
 * Many short waits delay others, too. A user whose files have made children wait for so long gets a
 * pause. Waits are forgotten at the rate of one second in six. A wait below the least one is that
 * for a CPU.
 */
#define SPENDING_LEAST_WAIT_NS (NS_PER_S / 50)
#define SPENDING_MOST_WAITS_NS (10 * NS_PER_S)
#define SPENDING_FORGET_RATE 6

struct spending {
	uint64_t most_ns;  /* bound for all files of one user */
	const char *after; /* the loss: "this user's other files get no unwind tables" */
	struct spent *users;
	size_t n, capacity;
};

void spending_fini(struct spending *s);

/* May children read files of @user? 0, or -EDQUOT: the time is used up; -EAGAIN: not for a while.
 */
int spending_check(const struct spending *s, uint32_t user);

/*
 * A child has spent @cpu_ns of CPU time on a file of @user, and its asker has waited @took_ns.
 * Warns when a bound is reached.
 */
void spending_add(struct spending *s, uint32_t user, uint64_t cpu_ns, uint64_t took_ns);
