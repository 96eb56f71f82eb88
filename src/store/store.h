/*
 * store/store.h - what was counted: the kernel's maps, emptied into rows and stacks.
 *
 * The kernel counts into one of two generations of maps. store_rotate() turns it
 * to the other, waits until no program uses the old one, and moves that into user
 * space. So a report's counts are of one moment. Stacks stay in the kernel, where they are
 * known then, until their map is half full.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/object.h"
#include "store/losses.h"

struct store;

struct store_row {
	uint64_t count;
	uint64_t first;        /* hit: ns of CLOCK_MONOTONIC */
	uint32_t kernel_stack; /* numbers for store_stack(); 0: none */
	uint32_t user_stack;
	uint32_t tgid;
	uint32_t flags; /* KEY_* of bpf/abi.h */
};

/* How --max-memory is divided. */
struct store_budget {
	uint32_t max_rows;   /* of one generation: a power of two */
	uint32_t n_hot_rows; /* of these with a counter on each CPU: likewise */
	uint32_t max_chunks; /* of both generations */
	uint64_t user_bytes; /* for rows and stacks in user space */
};

/* @n_cpus: possible ones. */
void store_divide(uint64_t max_bytes, uint32_t n_cpus, struct store_budget *ret);

/* @object must outlive the store. */
struct store *store_new(const struct object *object, const struct store_budget *budget,
			uint32_t n_cpus);
void store_free(struct store *s);
void store_freep(struct store **s);

/* Begin to count. */
void store_start(struct store *s);

/* Move what was counted until now into the rows; counting goes on. Errors: from the system calls.
 */
must_check int store_rotate(struct store *s, struct error *e);

/* The same, and count nothing any more. */
must_check int store_stop(struct store *s, struct error *e);

/*
 * Take out the rows since the last store_clear(), for a report. Lent by @s until the next
 * store_clear(): store_rotate() may be called meanwhile. The next report has the rows that it
 * moves. Another call gives the same rows.
 */
const struct store_row *store_rows(struct store *s, size_t *n);

/*
 * New stacks have no room until store_clear(): their rows wait unworked, and they themselves in the
 * kernel, whose programs do not say again that these fill up. So rotate then.
 */
bool store_awaits_room(const struct store *s);

/* The report needs its rows no longer. Numbers of stacks change. */
void store_clear(struct store *s);

/* The words of a stack (bpf/abi.h), innermost first; returns how many, at most STACK_WORDS. */
size_t store_stack(const struct store *s, uint32_t number, uint64_t words[STACK_WORDS]);

/* Kept up to date with what the store itself gives up; store_clear() is losses_told(). */
struct losses *store_losses(struct store *s);

/* Memory held in user space, in bytes. */
size_t store_bytes(const struct store *s);
