/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * store/calls.h - how often each target was hit.
 *
 * The kernel has a counter for each target and CPU, and never sets it back. The hits of an interval
 * are the difference between two readings. So no hit is missed or counted twice.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/object.h"
#include "store/losses.h"

struct calls;

/*
 * Bytes that counters of @n_targets targets take, in the kernel and in user space. @n_cpus counts
 * possible CPUs.
 */
uint64_t calls_bytes(size_t n_targets, uint32_t n_cpus);

/* @object must outlive the calls. */
struct calls *calls_new(const struct object *object, size_t n_targets, uint32_t n_cpus);
void calls_free(struct calls *c);

/* Begin to count. */
void calls_start(struct calls *c);

/*
 * Stop counting and wait for running programs. A later calls_read() is final. Errors: from the
 * system calls.
 */
must_check int calls_stop(struct calls *c, struct error *e);

/*
 * Returns the hits of each target since the last calls_clear(), indexed by target number. @c lends
 * the array until its next call.
 */
const uint64_t *calls_read(struct calls *c);

/* Mark the hits of the last calls_read() as reported. The next reading has only later ones. */
void calls_clear(struct calls *c);

/* Lent by @c. calls_clear() marks these losses as reported, too. */
struct losses *calls_losses(struct calls *c);
