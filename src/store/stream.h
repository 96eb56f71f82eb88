/*
 * store/stream.h - single events out of the kernel's rings, in the order of their time.
 *
 * Each CPU has a ring of its own (struct event_ring of bpf/abi.h). An event is given when no
 * earlier one can come any more: when all events that were taken before that moment, on any
 * CPU, have been written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/object.h"
#include "store/losses.h"

struct stream;

/* How --max-memory is divided. */
struct stream_budget {
	uint32_t ring_events; /* places in each CPU's ring: a power of two */
	uint32_t max_chunks;  /* pieces of stacks in the kernel */
	uint64_t user_bytes;  /* for stacks and what is made of them, in user space */
};

/* @n_cpus: possible ones. */
void stream_divide(uint64_t max_bytes, uint32_t n_cpus, struct stream_budget *ret);

/* @object must outlive the stream. */
struct stream *stream_new(const struct object *object, const struct stream_budget *budget,
			  uint32_t n_cpus);
void stream_free(struct stream *s);

/* From now on, events come. */
void stream_start(struct stream *s);

/* No more come: what is left can be read. Errors: from waiting for the programs. */
must_check int stream_stop(struct stream *s, struct error *e);

/* An event, lent until the call returns. A non-zero result ends the reading, and is returned. */
typedef int stream_take(void *context, const struct stream_event *event, uint32_t cpu);

/*
 * Give @take what can be given now and is before @until (ns of CLOCK_MONOTONIC; UINT64_MAX: no
 * limit); behind stream_stop(), all. Returns 0 or what @take returned, having taken what it
 * was given.
 */
int stream_read(struct stream *s, uint64_t until, stream_take *take, void *context);

/*
 * Nothing is there and nothing is being written; the next event wakes with NOTICE_EVENTS.
 * False: there is something, or will be soon: read again.
 */
bool stream_sleep(struct stream *s);

/* The words of a stack of an event that was just given; returns how many, 0 where it was lost. */
size_t stream_stack(struct stream *s, uint64_t hash, uint64_t words[STACK_WORDS]);

/*
 * The kernel's maps fill up (NOTICE_FILLING): forget there what is known here. False: they are
 * still half full, of what no event refers to any more; then stream_forget_all() is due.
 */
must_check int stream_make_room(struct stream *s, bool *has_room, struct error *e);

/*
 * Forget all stacks, here and there: afterwards, what was made of hashes before means nothing.
 * Meanwhile events are lost, and counted. @take is given what came before. Returns as
 * stream_read() does, or a negative errno with words.
 */
int stream_forget_all(struct stream *s, stream_take *take, void *context, struct error *e);

/* Of stacks, in user space. */
size_t stream_bytes(const struct stream *s);

struct losses *stream_losses(struct stream *s);
