/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * store/stream.h - events from the kernel's rings, in the order of time.
 *
 * Each CPU has a ring of its own (struct event_ring of bpf/abi.h). The stream passes an event on
 * when no earlier one can follow: when all events that any CPU took before that moment have been
 * written. If one is not written within a second, the stream no longer waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/object.h"
#include "base/error.h"
#include "store/counters.h"

struct stream;

/* The shares of --max-memory. */
struct stream_budget {
	uint32_t ring_events; /* places in each CPU's ring: a power of two */
	uint32_t max_chunks;  /* pieces of stacks in the kernel */
	uint64_t user_bytes;  /* for copies of stacks and their text, in user space */
	bool has_value;       /* events have values: trace_config.has_sum */
};

/* Divide @max_bytes, for @ret->has_value. @n_cpus counts possible CPUs. */
void stream_divide(uint64_t max_bytes, uint32_t n_cpus, struct stream_budget *ret);

/* @object must outlive the stream. */
struct stream *stream_new(const struct object *object, const struct stream_budget *budget,
			  uint32_t n_cpus);
void stream_free(struct stream *s);

/* Switch events on. */
void stream_start(struct stream *s);

/*
 * Switch events off. stream_read() still passes on those in the rings. Errors: from waiting for the
 * programs.
 */
must_check int stream_stop(struct stream *s, struct error *e);

/*
 * Receives an event, lent for the duration of the call. Its value is 0 without
 * stream_budget.has_value, and with EVENT_NO_VALUE. If the result is not zero, reading stops
 * and returns it.
 */
typedef int stream_take(void *context, const struct valued_event *event, uint32_t cpu);

/*
 * Find the user stack of an event whose user_stack is the number of a deferred hit
 * (EVENT_DEFERRED): write its hash, as stream_keep() gives it. False: it is not known yet. With
 * @must it is found in any case.
 */
typedef bool stream_find(void *context, uint64_t number, bool must, uint64_t *ret_hash);

/* Without @find, no event may be deferred. */
void stream_set_find(struct stream *s, stream_find *find, void *context);

/* Keep a stack that is not in the kernel. Returns its hash for stream_stack(). */
uint64_t stream_keep(struct stream *s, const uint64_t *words, size_t n);

/*
 * Pass the events that are ready and earlier than @until to @take. @until is in ns of
 * CLOCK_MONOTONIC; UINT64_MAX means no limit. After stream_stop() all events are ready. An event
 * whose user stack is not known yet holds up all later ones. Returns 0,
 * or the result of @take that is not zero. The event of that call counts as read.
 */
int stream_read(struct stream *s, uint64_t until, stream_take *take, void *context);

/* Has stream_read() passed on all events before @until, which is no later than now? */
bool stream_is_read(const struct stream *s, uint64_t until);

/*
 * Prepare to sleep. True if all events are read: the next one sends NOTICE_EVENTS. False if events
 * are there or about to come: call stream_read() again.
 */
bool stream_sleep(struct stream *s);

/* Write the words of an event's stack to @words. Returns how many; 0 if the stack was lost. */
size_t stream_stack(struct stream *s, uint64_t hash, uint64_t words[STACK_WORDS]);

/*
 * On NOTICE_FILLING: delete the known stacks from the kernel. Sets @has_room to false if the maps
 * stay half full, with stacks that no event refers to any more. Then call stream_forget_all().
 * Errors: from reading the maps.
 */
must_check int stream_make_room(struct stream *s, bool *has_room, struct error *e);

/*
 * Forget all stacks, in user space and in the kernel. First pass the events so far to @take.
 * Meanwhile new hits are lost and counted. Afterwards, earlier hashes of stacks are invalid.
 * Returns the result of @take if it is not zero, or a negative errno with a message in @e.
 */
int stream_forget_all(struct stream *s, stream_take *take, void *context, struct error *e);

/* Memory of stacks in user space, in bytes. */
size_t stream_bytes(const struct stream *s);

struct losses *stream_losses(struct stream *s);
