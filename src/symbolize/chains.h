/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/chains.h - one number for all frames of an address. For a single frame it is the
 * frame's number. For several (inlined functions) it is the number of a chain, which is kept once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Set in numbers of chains. Frame numbers are lower. */
#define CHAIN 0x80000000u

/* A zeroed struct is empty. */
struct chains {
	uint32_t *words; /* for each chain its length, then the frames' numbers */
	size_t n, capacity;
	struct u64_map places; /* hash of a chain -> its place in @words */
};

void chains_fini(struct chains *c);

/* The number for @n frames; @n is at least 1. */
uint32_t chains_add(struct chains *c, const uint32_t *frames, size_t n);

/* The *@ret_n frames of *@number. @c lends them until the next chains_add(); a single frame is
 * *@number itself. */
const uint32_t *chains_get(const struct chains *c, const uint32_t *number, size_t *ret_n);
