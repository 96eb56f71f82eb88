/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/follow.h - follow processes during a run, for names and unwind tables. The model learns of
 * their events first (processes/processes.h), then perf maps, the unwinder and the BPF programs of
 * the consequences.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct run;
struct follower;

/* Follow all processes from now on. @r is kept. Errors: of sideband_open(). */
must_check int follower_open(struct run *r, struct follower **ret, struct error *e);
void follower_close(struct follower *f);

/* Readable when many records have come (sideband_fd()). */
int follower_fd(const struct follower *f);

/*
 * The tool reads records at least this often. So it opens files while they can be found, and
 * another file at the same addresses soon begins another life.
 */
#define FOLLOW_MS 250

/*
 * Handle the records of processes, at least all before @until (ns of CLOCK_MONOTONIC; UINT64_MAX:
 * all until now). At the end of a run, only while there is time (ending_has_time()).
 */
void follower_read(struct follower *f, uint64_t until);

/*
 * The run ends, and has no time for the records and the @n_notices notices that are left: give them
 * up, as losses.
 */
void follower_drop(struct follower *f, size_t n_notices);

/* Read the mappings of some processes that ran before the run, for a few ms. Are there more? */
bool follower_look(struct follower *f);

/* The time until the follower has work to do: FOLLOW_MS at most. */
int follower_patience_ms(const struct follower *f);

/* Are all records from before @since (ns of CLOCK_MONOTONIC) handled? */
bool follower_has_read(const struct follower *f, uint64_t since);

/* Warn about lost records and forgotten processes, if there are any since the last call. */
void follower_tell_losses(struct follower *f);
