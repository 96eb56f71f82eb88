/* tool/follow.h - processes followed while a run lasts, and told to its tool. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct run;
struct follower;

/* From now on; @r is kept. Errors: from side-band records. */
must_check int follower_open(struct run *r, struct follower **ret, struct error *e);
void follower_close(struct follower *f);

/* Readable when there is much to be read. */
int follower_fd(const struct follower *f);

/*
 * What processes do is read so often, though little comes: what they had mapped is then looked at
 * while it is there, and another file at the same addresses begins another life.
 */
#define FOLLOW_MS 250

/*
 * Tell what processes have done, at least all before @until (ns of CLOCK_MONOTONIC; UINT64_MAX: up
 * to now).
 */
void follower_read(struct follower *f, uint64_t until);

/*
 * Look at some of the processes that were there before, for a few milliseconds. True: there are
 * more of them.
 */
bool follower_look(struct follower *f);

/* Nothing is counted any more. What could not be read in time is waited for, until @until. */
void follower_settle(struct follower *f, uint64_t until);

/* How long nothing need be read or looked at: FOLLOW_MS at most. */
int follower_patience_ms(const struct follower *f);

/* Look at all that are there once more. */
void follower_look_again(struct follower *f);

/* What was lost of what processes did, if anything was since the last time. */
void follower_tell_losses(struct follower *f);
