/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/devices.h - places that do not answer: nothing more of them is opened. For all threads.
 *
 * A place is the number of a device. Before a file is found its device is not known: then the place
 * is what a user has below a root directory (devices_place_below()). 0: no place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

struct devices;

/* What is looked for below a root, or read. One that does not answer costs the other nothing. */
enum devices_kind { DEVICES_DEBUG_FILES, DEVICES_PERF_MAPS, DEVICES_PATHS, DEVICES_CONTENTS };

/*
 * @root is an opener's handle, or -1 for our own, and for that of a process; @user is whose files
 * they are for. A user who mounts a dead file system in a root that others have, too, costs these
 * nothing. Whose the path of a process that has gone was is not known: then @user is 0.
 */
uint64_t devices_place_below(enum devices_kind kind, int root, uint32_t user);

/*
 * What parsers read of @user's files on device @dev. A parser may hang in another file than the one
 * it was asked for (its debug file, or one that it closes), so it takes no device from others.
 */
uint64_t devices_place_of_contents(uint64_t dev, uint32_t user);

/* Can it be the number of a device? Those of glibc have 33 bits at most. */
bool devices_is_number(uint64_t dev);

/*
 * A place is dead when a helper hangs in it, after two silences in a row, and with each silence
 * from the third one on. Otherwise a server that answers every other question costs 2 s each time.
 *
 * A dead place is tried again, by one question, when no helper hangs in it any more, and a pause
 * after it was silent. While a helper hangs in it, that helper holds the file system, so the
 * kernel gives the device's number to no other one. The pause is for those that answer after all,
 * but late: each try may take an opener's 2 s. It is @pause_ns, longer than a try, and doubles with
 * each silence to 32 times that: a disk that was only busy is soon read again. An answer that comes
 * that long after the last silence makes all silences count no more.
 */
#define DEVICES_PAUSE_NS (3 * NS_PER_S)
struct devices *devices_new(uint64_t pause_ns);
void devices_free(struct devices *d);

/* May a helper be asked for something of @place? Once it has been dead: true makes it a try. */
bool devices_may_ask(struct devices *d, uint64_t place);

/* The same, without a try: is it dead? */
bool devices_is_dead(struct devices *d, uint64_t place);

/* A helper came back from @place, which lives now, unless another helper hangs in it. */
void devices_note_answer(struct devices *d, uint64_t place);

/*
 * A helper that was asked for something of @place did not answer in time. @in_call: its PID, if no
 * signal ends the call that it is in; else 0. Tells the user when the place is dead for the first
 * time.
 */
void devices_note_silence(struct devices *d, uint64_t place, pid_t in_call);
