/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/devices.h - remembers places that do not answer, so that nothing more of them is opened.
 *
 * A place is the number of a device. Before an opener has found a file, its device is unknown. Then
 * the place is a user's files below a root directory (devices_place_below()). 0 means no place. All
 * threads may call these functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

struct devices;

/* Kinds of places. One that does not answer has no effect on the others. */
enum devices_kind {
	DEVICES_DEBUG_FILES,
	DEVICES_PERF_MAPS,
	DEVICES_PATHS,
	DEVICES_CONTENTS,
	DEVICES_MAPPED,
};

/*
 * The place of @user's files below @root. @root is an opener's handle, or -1 for our root or that
 * of a process. So a user who mounts a dead file system in a shared root stops only reading of his
 * own files. Paths of a process that has gone have user 0, because its user is unknown.
 */
uint64_t devices_place_below(enum devices_kind kind, int root, uint32_t user);

/*
 * The place of reading @user's files on device @dev. A parser may hang in another file than the
 * requested one: in a debug file, or one that it closes. So its silence says nothing about the
 * device for other users.
 */
uint64_t devices_place_of_contents(uint64_t dev, uint32_t user);

/*
 * The place of files on device @dev, opened where @user's processes map them. The kernel takes the
 * lock of a process's memory map for that, and a process can hold it as long as it likes. So
 * silence says nothing about the device for other users.
 */
uint64_t devices_place_of_mapped(uint64_t dev, uint32_t user);

/* Can @dev be the number of a device? Those of glibc have at most 33 bits. */
bool devices_is_number(uint64_t dev);

/*
 * A place is dead if a helper hangs in it, after two silences in a row, and after each silence from
 * the third one on. Else a server that answers every other question would cost 2 s each time.
 *
 * A dead place gets one question as a try when no helper hangs in it any more and a pause is over.
 * A helper that hangs holds the file system, so the kernel gives the device's number to no other
 * one. The pause is for servers that answer late: each try may cost an opener's 2 s.
 *
 * The pause is @pause_ns, which is longer than a try. It doubles with each silence, up to 32 times
 * that. So a disk that was only busy is soon read again. All silences are forgotten if an answer
 * comes 32 pauses after the last one.
 */
#define DEVICES_PAUSE_NS (3 * NS_PER_S)
struct devices *devices_new(uint64_t pause_ns);
void devices_free(struct devices *d);

/*
 * May we ask a helper for something of @place? For a place that has been dead, true makes this a
 * try.
 */
bool devices_may_ask(struct devices *d, uint64_t place);

/* A helper has answered from @place. It lives now, unless another helper hangs in it. */
void devices_note_answer(struct devices *d, uint64_t place);

/*
 * A helper did not answer in time about @place. @in_call: its PID, if it hangs in a call that no
 * signal ends; else 0. Warns when the place is dead for the first time.
 */
void devices_note_silence(struct devices *d, uint64_t place, pid_t in_call);
