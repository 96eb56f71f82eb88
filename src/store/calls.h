/*
 * store/calls.h - how often each target was hit.
 *
 * The kernel counts each target on each CPU, and its counters are never set back: what came
 * between two readings is their difference, so no hit is counted twice and none is missed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/object.h"
#include "store/losses.h"

struct calls;

/* Memory that counting so many targets takes, in the kernel and here; @n_cpus: possible ones. */
uint64_t calls_bytes(size_t n_targets, uint32_t n_cpus);

/* @object must outlive the calls. */
struct calls *calls_new(const struct object *object, size_t n_targets, uint32_t n_cpus);
void calls_free(struct calls *c);

/* Begin to count. */
void calls_start(struct calls *c);

/* Count nothing any more; what is read from then on is final. Errors: from the system calls. */
must_check int calls_stop(struct calls *c, struct error *e);

/* The hits of each target since the last calls_clear(), by number. Lent by @c until the next call.
 */
const uint64_t *calls_read(struct calls *c);

/* What calls_read() gave counts as told; what came since is given the next time. */
void calls_clear(struct calls *c);

/* Lent by @c. calls_clear() takes them for told as well. */
struct losses *calls_losses(struct calls *c);
