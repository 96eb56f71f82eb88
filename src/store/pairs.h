/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* store/pairs.h - pairs that have begun and not ended (struct begun_key of bpf/abi.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/object.h"
#include "store/stacks.h"

/* How many there are. */
uint64_t pairs_count_open(const struct object *object);

/*
 * Find the stacks of all of them, which are no old ones then (stacks_age()). False: the map cannot
 * be read.
 */
bool pairs_keep_stacks(const struct object *object, struct stacks *stacks);
