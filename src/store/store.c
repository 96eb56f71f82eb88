// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/store.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/saturated.h"
#include "store/pairs.h"
#include "store/raw_rows.h"
#include "store/row.h"
#include "store/stacks.h"

struct store {
	const struct object *object;
	struct store_budget budget;
	uint32_t turn; /* as in struct trace_state, but never TURN_OFF */
	bool is_stopped;
	bool (*is_over)(void *context); /* store_set_end(); NULL: never */
	void *context;

	/*
	 * Pending rows, as they came from the kernel. settle_rows() adds them to @rows: it may
	 * wait, emptying may not.
	 */
	struct raw_rows raw;
	size_t n_settled; /* the first of these, already settled */

	struct stacks stacks;
	uint32_t aged; /* the turn in which stacks_age() was called, or stacks of pairs were kept */
	bool are_pairs_kept; /* after that: see keep_open_stacks() */
	size_t kept;         /* bytes of stacks that came again in the interval after it */

	struct store_row *rows;
	size_t n_rows, cap_rows;
	uint32_t *index; /* row number + 1 by key; open addressing */
	size_t n_index;

	/* The rows that the present report borrows. */
	struct store_row *lent;
	size_t n_lent, cap_lent;
	bool is_lent;

	struct losses losses;
};

struct store *store_new(const struct object *object, const struct store_budget *budget,
			uint32_t n_cpus)
{
	struct store *s = xcalloc(1, sizeof(*s));

	s->object = object;
	s->budget = *budget;
	s->raw = (struct raw_rows){ .object = object, .budget = &s->budget, .n_cpus = n_cpus };
	s->stacks = (struct stacks){ .object = object, .max_chunks = budget->max_chunks };
	s->losses = (struct losses){ .object = object, .n_cpus = n_cpus };
	return s;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	raw_rows_fini(&s->raw);
	stacks_fini(&s->stacks);
	free(s->rows);
	free(s->index);
	free(s->lent);
	free(s);
}

void store_freep(struct store **s)
{
	store_free(*s);
	*s = NULL;
}

static size_t pending_bytes(const struct store *s)
{
	return s->raw.capacity * sizeof(*s->raw.list);
}

static size_t settled_bytes(const struct store *s)
{
	return stacks_bytes(&s->stacks) + (s->cap_rows + s->cap_lent) * sizeof(*s->rows) +
	       s->n_index * sizeof(*s->index);
}

static bool is_over_budget(const struct store *s)
{
	return settled_bytes(s) > s->budget.user_bytes;
}

size_t store_bytes(const struct store *s)
{
	return pending_bytes(s) + settled_bytes(s);
}

/* --- rows --- */

static uint32_t *index_slot(struct store *s, const struct store_row *row)
{
	size_t i = row_hash(row) & (s->n_index - 1);

	while (s->index[i] && !is_same_row(&s->rows[s->index[i] - 1], row))
		i = (i + 1) & (s->n_index - 1);
	return &s->index[i];
}

static void clear_index(struct store *s)
{
	if (s->index)
		memset(s->index, 0, s->n_index * sizeof(*s->index));
}

static void fill_index(struct store *s)
{
	for (size_t i = 0; i < s->n_rows; i++)
		*index_slot(s, &s->rows[i]) = i + 1;
}

static void grow_index(struct store *s)
{
	free(s->index);
	s->n_index = s->n_index ? s->n_index * 2 : 1024;
	s->index = xcalloc(s->n_index, sizeof(*s->index));
	fill_index(s);
}

/* False if the row is new and there is no room for it. */
static bool add_store_row(struct store *s, const struct store_row *row)
{
	if (s->n_rows * 2 >= s->n_index)
		grow_index(s);

	uint32_t *slot = index_slot(s, row);

	if (*slot) {
		s->rows[*slot - 1].count += row->count;
		s->rows[*slot - 1].sum = add_wrapped(s->rows[*slot - 1].sum, row->sum);
		if (s->rows[*slot - 1].first > row->first)
			s->rows[*slot - 1].first = row->first;
		return true;
	}
	if (is_over_budget(s))
		return false;
	array_push(s->rows, s->n_rows, s->cap_rows, *row);
	*slot = s->n_rows;
	return true;
}

static void set_store_turn(struct store *s, uint32_t turn)
{
	__atomic_store_n(&object_state(s->object)->turn, turn, __ATOMIC_RELEASE);
}

void store_start(struct store *s)
{
	s->turn = FIRST_TURN;
	set_store_turn(s, s->turn);
}

/* Switch to the other generation and empty the old one. */
static int switch_generation(struct store *s, struct error *e)
{
	unsigned old = s->turn % 2;

	set_store_turn(s, ++s->turn);

	int err = object_wait_for_programs(s->object, e);

	return err ? err : raw_rows_take(&s->raw, old, false, e);
}

/* --- settling pending rows --- */

static bool find_stack(struct store *s, uint64_t hash, uint32_t *ret)
{
	return stacks_find(&s->stacks, hash, !is_over_budget(s), ret);
}

/* Is the row's stack being walked in user space? Then the row is settled later. */
static bool must_row_wait(const struct store *s, const struct raw_row *raw)
{
	return IS_LATE_STACK(raw->key.user_stack) && !s->is_stopped &&
	       !stacks_has(&s->stacks, raw->key.user_stack);
}

static void settle_row(struct store *s, const struct raw_row *raw)
{
	struct store_row row = { .count = raw->count,
				 .sum = raw->sum,
				 .first = raw->first,
				 .tgid = raw->key.tgid,
				 .flags = raw->key.flags };

	if (find_stack(s, raw->key.kernel_stack, &row.kernel_stack) &&
	    find_stack(s, raw->key.user_stack, &row.user_stack) && add_store_row(s, &row))
		return;
	s->losses.n_over_budget += row.count;
	if (s->is_stopped)
		return; /* nobody needs room in the kernel any more, and this takes system calls */
	stacks_drop(&s->stacks, raw->key.kernel_stack);
	stacks_drop(&s->stacks, raw->key.user_stack);
}

void store_add(struct store *s, const struct store_hit *hit)
{
	struct store_row row = { .count = 1,
				 .sum = hit->value,
				 .first = hit->time,
				 .tgid = hit->key.tgid,
				 .flags = hit->key.flags };

	if (!is_over_budget(s)) {
		row.kernel_stack = stacks_add(&s->stacks, hit->kernel, hit->n_kernel);
		row.user_stack = stacks_add(&s->stacks, hit->user, hit->n_user);
		if (add_store_row(s, &row))
			return;
	}
	s->losses.n_over_budget++;
}

void store_keep_late(struct store *s, uint64_t number, const uint64_t *words, size_t n)
{
	if (!is_over_budget(s))
		stacks_keep(&s->stacks, LATE_STACK(number), words, n);
}

/* To read one piece in a batch takes a quarter of the time of a single look-up. */
#define BATCH_GAIN 4
#define MANY_ROWS 1024

/* Rows that store_rotate() settles, so that its caller has time for other work. */
#define SETTLED_AT_ONCE 16384

/* If most stacks in the kernel are new here, read all of them in batches. */
static int read_new_stacks(struct store *s, struct error *e)
{
	const struct trace_state *state = object_state(s->object);
	size_t n_new = 0, room;

	if (s->raw.n - s->n_settled < MANY_ROWS)
		return 0;
	for (size_t i = s->n_settled; i < s->raw.n && !is_over_budget(s); i++)
		n_new += stacks_want(&s->stacks, s->raw.list[i].key.kernel_stack) +
			 stacks_want(&s->stacks, s->raw.list[i].key.user_stack);
	if (is_over_budget(s) ||
	    n_new * BATCH_GAIN < __atomic_load_n(&state->n_chunks, __ATOMIC_RELAXED))
		return 0;
	room = (s->budget.user_bytes - settled_bytes(s)) / 2; /* the rows take memory, too */
	return stacks_read_wanted(&s->stacks, stacks_bytes(&s->stacks) + room, e);
}

static bool is_pressed(const struct store *s)
{
	const struct trace_state *state = object_state(s->object);

	return __atomic_load_n(&state->n_rows[s->turn % 2], __ATOMIC_RELAXED) >
	       s->budget.max_rows / 2;
}

static bool has_many_pending(const struct store *s)
{
	return pending_bytes(s) > s->budget.user_bytes / 2;
}

/*
 * Has settling fallen behind? Then further rows stay in the kernel until all pending ones are
 * settled. A row without room there is a counted loss. Otherwise settling would never end while
 * rows come faster. Beyond the budget most rows are lost anyway, so few may wait.
 */
static bool is_behind(const struct store *s)
{
	if (is_over_budget(s) && !s->is_lent)
		return s->raw.n > SETTLED_AT_ONCE;
	return s->raw.n * sizeof(*s->raw.list) > s->budget.user_bytes / 2;
}

bool store_awaits_room(const struct store *s)
{
	return s->is_lent && is_over_budget(s) && !has_many_pending(s);
}

/*
 * Before old stacks go: keep those of pairs that have begun and not ended. A pair that ends
 * meanwhile has a row of this turn, which is settled before the next one. Returns true if the old
 * stacks must stay until then.
 */
static bool keep_open_stacks(struct store *s)
{
	if (!s->budget.has_pairs || s->are_pairs_kept)
		return false;
	s->are_pairs_kept = pairs_keep_stacks(s->object, &s->stacks);
	s->aged = s->turn;
	return true;
}

/* Called when no row is pending any more. */
static void end_settling(struct store *s)
{
	s->raw.n = 0;
	s->n_settled = 0;
	/* The kernel has no row left of the turn in which the stacks became old. */
	if (stacks_has_old(&s->stacks) && s->turn != s->aged && !keep_open_stacks(s)) {
		stacks_drop_old(&s->stacks);
		s->kept = stacks_bytes(&s->stacks);
	}
}

/*
 * Settle at most @n of the pending rows: find the numbers of their stacks and add them to @rows. If
 * the kernel's maps fill up meanwhile, empty them. Those rows are pending, too.
 */
static int settle_rows(struct store *s, size_t n, struct error *e)
{
	int err = read_new_stacks(s, e);

	while (n-- > 0 && s->n_settled < s->raw.n && !err && !store_awaits_room(s)) {
		const struct raw_row row = s->raw.list[s->n_settled++];

		if (must_row_wait(s, &row))
			array_push(s->raw.list, s->raw.n, s->raw.capacity, row);
		else
			settle_row(s, &row);
		if (!s->is_stopped && s->n_settled % 1024 == 0 && is_pressed(s) && !is_behind(s))
			err = switch_generation(s, e);
	}
	if (!err && s->n_settled == s->raw.n)
		end_settling(s);
	return err;
}

static bool must_forget(const struct store *s)
{
	return stacks_are_many(&s->stacks) || stacks_spare_is_used(&s->stacks);
}

/*
 * If the maps stay half full, rows of many stacks were lost. Reading those stacks may take half of
 * our memory.
 */
static int make_map_room(struct store *s, struct error *e)
{
	const size_t others = settled_bytes(s) - stacks_bytes(&s->stacks);
	const size_t most = s->budget.user_bytes / 2;
	int err = stacks_forget(&s->stacks, e);

	if (err || !stacks_are_many(&s->stacks) || others >= most)
		return err;
	err = stacks_learn(&s->stacks, most - others, e);
	return err ? err : stacks_forget(&s->stacks, e);
}

void store_set_end(struct store *s, bool (*is_over)(void *context), void *context)
{
	s->is_over = s->stacks.is_over = is_over;
	s->context = s->stacks.context = context;
}

static bool is_over(const struct store *s)
{
	return s->is_over && s->is_over(s->context);
}

int store_rotate(struct store *s, struct error *e)
{
	int err = is_behind(s) ? 0 : switch_generation(s, e);

	if (err || is_over(s))
		return err;
	if (must_forget(s) || has_many_pending(s) || is_behind(s))
		err = settle_rows(s, SETTLED_AT_ONCE, e);
	if (!err && must_forget(s) && !is_over(s))
		err = make_map_room(s, e);
	__atomic_store_n(&object_state(s->object)->is_noticed, 0, __ATOMIC_RELEASE);
	return err;
}

int store_stop(struct store *s, struct error *e)
{
	set_store_turn(s, TURN_OFF);
	s->is_stopped = true;

	int err = object_wait_for_programs(s->object, e);

	if (!err)
		err = raw_rows_take(&s->raw, s->turn % 2, true, e);
	if (s->budget.has_pairs)
		s->losses.n_open = pairs_count_open(s->object);
	return err;
}

static void lend_rows(struct store *s)
{
	s->lent = s->rows;
	s->n_lent = s->n_rows;
	s->cap_lent = s->cap_rows;
	s->rows = NULL;
	s->n_rows = s->cap_rows = 0;
	s->is_lent = true;
	clear_index(s);
}

/* Use the memory of the lent rows again, unless new rows have memory already. */
static void reuse_lent_rows(struct store *s)
{
	if (s->rows) {
		free(s->lent);
	} else {
		s->rows = s->lent;
		s->cap_rows = s->cap_lent;
	}
	s->lent = NULL;
	s->n_lent = s->cap_lent = 0;
	s->is_lent = false;
}

/* Idle memory counts towards the budget, too. */
static void free_raw(struct store *s)
{
	if (!s->raw.n)
		raw_rows_fini(&s->raw);
}

const struct store_row *store_rows(struct store *s, size_t *n)
{
	struct error none;

	if (!s->is_lent) {
		(void)settle_rows(s, s->raw.n - s->n_settled,
				  &none); /* store_rotate() reports it */
		free_raw(s);
		lend_rows(s);
	}
	*n = s->n_lent;
	return s->lent;
}

const struct store_row *store_look(struct store *s, size_t *n)
{
	struct error none; /* store_rotate() reports it */

	(void)settle_rows(s, s->raw.n - s->n_settled, &none);
	*n = s->n_rows;
	return s->rows;
}

const struct tree *store_tree(const struct store *s)
{
	return &s->stacks.tree;
}

struct losses *store_losses(struct store *s)
{
	return &s->losses;
}

static void free_rows(struct store *s)
{
	free(s->rows);
	free(s->index);
	s->rows = NULL;
	s->index = NULL;
	s->cap_rows = s->n_index = 0;
}

/*
 * Idle stacks, such as those of ended processes, may take this much more than twice the stacks in
 * use.
 */
#define IDLE_STACK_BYTES ((size_t)4 << 20)

static bool are_stacks_many(const struct store *s)
{
	const size_t bytes = stacks_bytes(&s->stacks);

	return bytes > 2 * s->kept + IDLE_STACK_BYTES || bytes > s->budget.user_bytes / 4;
}

/*
 * After stacks_age(): give new numbers to the stacks of rows that came while the report was made.
 */
static void renew_stacks(struct store *s)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		struct store_row *row = &s->rows[i];

		row->kernel_stack = stacks_renew(&s->stacks, row->kernel_stack);
		row->user_stack = stacks_renew(&s->stacks, row->user_stack);
	}
	clear_index(s);
	fill_index(s);
}

/*
 * Stacks stay known, because most come again. If too many are idle, as processes end and others
 * begin, the store forgets those that have no hit in the next interval.
 */
void store_clear(struct store *s)
{
	struct error none; /* if it lasts, store_rotate() returns it */

	reuse_lent_rows(s);
	losses_reported(&s->losses);
	if (!s->n_rows && settled_bytes(s) > s->budget.user_bytes / 2)
		free_rows(s);
	if (!s->is_stopped && !stacks_has_old(&s->stacks) && are_stacks_many(s) &&
	    stacks_age(&s->stacks, &none) == 0) {
		renew_stacks(s);
		s->aged = s->turn;
		s->are_pairs_kept = false;
	}
}

void store_keep(struct store *s)
{
	struct store_row *news = s->rows;
	const size_t n_news = s->n_rows;

	s->rows = s->lent;
	s->n_rows = s->n_lent;
	s->cap_rows = s->cap_lent;
	s->lent = NULL;
	s->n_lent = s->cap_lent = 0;
	s->is_lent = false;
	losses_reported(&s->losses);
	clear_index(s);
	fill_index(s);
	for (size_t i = 0; i < n_news; i++)
		if (!add_store_row(s, &news[i]))
			s->losses.n_over_budget += news[i].count;
	free(news);
}
