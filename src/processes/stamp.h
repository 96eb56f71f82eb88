/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/stamp.h - build ID and time of a mapping: which file was mapped, if one place (device
 * and inode, or path) has had several. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/asks.h"

/* The facts about a mapped file besides device and inode. */
struct file_stamp {
	uint8_t bytes[20]; /* the build ID: @n bytes; @n is 0 if the kernel gave none */
	size_t n;
	uint64_t mapped_at; /* ns of CLOCK_MONOTONIC; 0: not known */
};

/* Have both the same build ID, or both none? */
bool stamp_is_same(const struct file_stamp *a, const struct file_stamp *b);

/*
 * Was the file written over after the mapping? @file is its present state. False if @stamp has a
 * build ID, which is the better proof.
 */
bool stamp_is_before(const struct file_stamp *stamp, const struct file_fact *file);
