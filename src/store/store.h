/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * store/store.h - empties the kernel's maps into rows and stacks.
 *
 * The kernel counts into one of two generations of rows. A rotation (store_rotate()) switches to
 * the other one. It waits until no program uses the old one, and moves its rows into user space. So
 * all counts of a report end at one moment. Stacks belong to both generations. They stay in the
 * kernel until their maps are half full, or too many of them are idle. So the programs need not
 * store a known stack again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/object.h"
#include "base/error.h"
#include "store/counters.h"

struct store;

struct store_row {
	uint64_t count;
	int64_t sum;           /* of the hits' values; 0 without store_budget.has_sum */
	uint64_t first;        /* time of the first hit: ns of CLOCK_MONOTONIC */
	uint32_t kernel_stack; /* numbers for store_stack(); 0: none */
	uint32_t user_stack;
	uint32_t tgid;
	uint32_t flags; /* KEY_* of bpf/abi.h */
};

/* The shares of --max-memory. */
struct store_budget {
	uint32_t max_rows;   /* of each generation: a power of two */
	uint32_t n_hot_rows; /* rows with a counter on each CPU: a power of two */
	uint32_t max_chunks; /* pieces of stacks, for both generations */
	uint64_t user_bytes; /* for rows and stacks in user space */
	bool has_sum;        /* rows have sums: trace_config.has_sum */
	bool has_pairs;      /* hits begin and end: trace_config.n_groups */
};

/* Divide @max_bytes, for @ret->has_sum. @n_cpus counts possible CPUs. */
void store_divide(uint64_t max_bytes, uint32_t n_cpus, struct store_budget *ret);

/* @object must outlive the store. */
struct store *store_new(const struct object *object, const struct store_budget *budget,
			uint32_t n_cpus);
void store_free(struct store *s);

/* Begin to count. */
void store_start(struct store *s);

/*
 * Move the rows that the kernel has counted into user space; counting goes on. If rows come faster
 * than the store settles them, they stay in the kernel until a later call. So a call takes a
 * bounded time, however many come. Errors: from the system calls.
 */
must_check int store_rotate(struct store *s, struct error *e);

/*
 * Once @is_over, store_rotate() leaves out what only makes room for later hits. That may take a
 * second. It asks every few milliseconds.
 */
void store_set_end(struct store *s, bool (*is_over)(void *context), void *context);

/* Move the rows into user space and stop counting. Errors: from the system calls. */
must_check int store_stop(struct store *s, struct error *e);

/* A hit that the programs did not count themselves (bpf/deferred.h). */
struct store_hit {
	struct stack_key key; /* without the hash of the user stack */
	uint64_t time;        /* ns of CLOCK_MONOTONIC */
	int64_t value;        /* 0: hits have none */
	const uint64_t *kernel, *user;
	size_t n_kernel, n_user; /* words */
};

/*
 * Add a hit to the row of its stacks, which is the row that the programs would have used. If there
 * is no room, the hit is a loss.
 */
void store_add(struct store *s, const struct store_hit *hit);

/*
 * With trace_config.n_groups: the beginning of a pair was deferred. Its user stack has these words.
 * @number: of its struct deferred_hit.
 */
void store_keep_late(struct store *s, uint64_t number, const uint64_t *words, size_t n);

/*
 * Returns the rows since the last store_clear(), for a report. @s lends them until the next
 * store_clear(). Meanwhile store_rotate() may add rows, which belong to the next report. A second
 * call returns the same rows.
 */
const struct store_row *store_rows(struct store *s, size_t *n);

/*
 * True if new stacks have no room until store_clear(). Their rows wait in the kernel's form, and
 * the stacks wait in the kernel. The programs may send no further notice that the maps fill up. So
 * the caller must rotate after store_clear().
 */
bool store_awaits_room(const struct store *s);

/* Take back the lent rows. The numbers of stacks change. */
void store_clear(struct store *s);

/*
 * Take back the lent rows, but keep them. The next report has them again, in the same order, and
 * new ones behind them.
 */
void store_keep(struct store *s);

/*
 * The rows up to now, which nobody has lent. They are in the order of the report. Valid until the
 * next call of this room.
 */
const struct store_row *store_look(struct store *s, size_t *n);

/*
 * Write the words of a stack (bpf/abi.h) to @words, innermost first. Returns how many. Numbers are
 * valid while rows are lent.
 */
size_t store_stack(const struct store *s, uint32_t number, uint64_t words[STACK_WORDS]);

/*
 * Lent by @s. They include the hits that exceed the store's budget. store_clear() marks all as
 * reported.
 */
struct losses *store_losses(struct store *s);

/* Memory held in user space, in bytes. */
size_t store_bytes(const struct store *s);
