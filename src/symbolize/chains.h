/*
 * symbolize/chains.h - the frames of one address, as one number: that of the frame, where it is
 * one, else that of a chain, kept once each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Frames have no numbers as high. */
#define CHAIN 0x80000000u

/* A zeroed one is empty. */
struct chains {
	uint32_t *words; /* of each chain the length, then the frames' numbers */
	size_t n, capacity;
	struct u64_map places; /* by hash of these */
};

void chains_fini(struct chains *c);

/* The number for @n frames; @n is at least 1. */
uint32_t chains_add(struct chains *c, const uint32_t *frames, size_t n);

/* *@ret_n frames; lent by @c until the next chains_add(), or where it is one, by @number. */
const uint32_t *chains_get(const struct chains *c, const uint32_t *number, size_t *ret_n);
