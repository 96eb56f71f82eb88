/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reader/devices.h - file systems that do not answer: nothing more of them is opened. For all
 * threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct devices;

struct devices *devices_new(void);
void devices_free(struct devices *d);

/* Is nothing of device @dev to be opened? */
bool devices_is_dead(struct devices *d, uint64_t dev);

/* A file of @dev was found. */
void devices_note_answer(struct devices *d, uint64_t dev);

/*
 * A helper that was asked for files of @dev did not answer in time. @is_in_call: no signal ends the
 * call that it is in. The device is dead then, or the second time in a row, which is said.
 */
void devices_note_silence(struct devices *d, uint64_t dev, bool is_in_call);
