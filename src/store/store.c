// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/saturated.h"
#include "store/stacks.h"

/* --- the shares of --max-memory --- */

/*
 * Memory in the kernel. An element of a hash map takes 48 bytes + key + value, and 8 more while it
 * is free. It comes from slabs of 96, 128, 192 bytes and more. A map has a bucket of 16 bytes for
 * each entry that it may ever have. A stack takes one or two pieces. A new row rarely has two new
 * stacks.
 */
#define ROW_BYTES 96ULL
#define SUMMED_ROW_BYTES 128ULL
#define CHUNK_BYTES 192ULL
#define BUCKET_BYTES 16ULL
#define CHUNKS_PER_ROW 2ULL
#define FEWEST_ROWS 64

_Static_assert(48 + sizeof(struct stack_key) + sizeof(struct stack_row) + 8 <= ROW_BYTES, "slab");
_Static_assert(48 + sizeof(struct stack_key) + sizeof(struct summed_row) + 8 <= SUMMED_ROW_BYTES,
	       "slab");
_Static_assert(48 + sizeof(uint64_t) + sizeof(struct stack_chunk) + 8 <= CHUNK_BYTES, "slab");

/* For @rows rows in each generation. */
static uint64_t kernel_bytes(uint64_t rows, bool has_sum)
{
	return 2 * rows * ((has_sum ? SUMMED_ROW_BYTES : ROW_BYTES) + BUCKET_BYTES) +
	       CHUNKS_PER_ROW * rows * (CHUNK_BYTES + BUCKET_BYTES);
}

void store_divide(uint64_t max_bytes, uint32_t n_cpus, struct store_budget *ret)
{
	const uint64_t row_of_counters = 2 * sizeof(uint64_t) * HOT_WORDS(ret->has_sum) * n_cpus;
	uint64_t rows = FEWEST_ROWS, hot = 1;

	while (rows < 1U << 30 && kernel_bytes(2 * rows, ret->has_sum) <= max_bytes / 8 * 5)
		rows *= 2;
	while (hot < MOST_HOT_ROWS && 2 * hot * row_of_counters <= max_bytes / 32)
		hot *= 2;

	uint64_t kernel = kernel_bytes(rows, ret->has_sum) + hot * row_of_counters;

	ret->max_rows = (uint32_t)rows;
	ret->n_hot_rows = (uint32_t)hot;
	ret->max_chunks = (uint32_t)(CHUNKS_PER_ROW * rows);
	ret->user_bytes = max_bytes > kernel ? max_bytes - kernel : 0;
}

/* --- the store --- */

/* A row as it comes from the kernel. Its stacks are hashes. */
struct raw_row {
	struct stack_key key;
	uint64_t count;
	int64_t sum;
	uint64_t first;
};

struct row_list {
	struct store_row *of;
	size_t n, capacity;
};

struct store {
	const struct object *object;
	struct store_budget budget;
	uint32_t n_cpus; /* possible CPUs */
	uint32_t turn;   /* as in struct trace_state, but never TURN_OFF */
	bool is_stopped;

	/* Pending rows. settle_rows() adds them to @rows: it may wait, emptying may not. */
	struct raw_row *raw;
	size_t n_raw, raw_capacity;
	size_t n_settled;    /* the first of these, already settled */
	unsigned generation; /* the one that is being emptied */
	uint64_t emptied_at; /* when that began: ns of CLOCK_MONOTONIC */

	struct stacks stacks;
	uint32_t aged; /* the turn in which stacks_age() was called, or stacks of pairs were kept */
	bool are_pairs_kept; /* after that: see keep_open_stacks() */
	size_t kept;         /* bytes of stacks that came again in the interval after it */

	struct row_list rows;
	uint32_t *index; /* row number + 1 by key; open addressing */
	size_t n_index;

	struct row_list lent; /* the rows that the present report borrows */
	bool is_lent;

	struct losses losses;
};

struct store *store_new(const struct object *object, const struct store_budget *budget,
			uint32_t n_cpus)
{
	struct store *s = xcalloc(1, sizeof(*s));

	s->object = object;
	s->budget = *budget;
	s->n_cpus = n_cpus;
	s->stacks = (struct stacks){ .object = object, .max_chunks = budget->max_chunks };
	s->losses = (struct losses){ .object = object, .n_cpus = n_cpus };
	return s;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	free(s->raw);
	stacks_fini(&s->stacks);
	free(s->rows.of);
	free(s->index);
	free(s->lent.of);
	free(s);
}

static size_t pending_bytes(const struct store *s)
{
	return s->raw_capacity * sizeof(*s->raw);
}

static size_t settled_bytes(const struct store *s)
{
	return stacks_bytes(&s->stacks) +
	       (s->rows.capacity + s->lent.capacity) * sizeof(*s->rows.of) +
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
	const uint64_t stacks = (uint64_t)row->kernel_stack << 32 | row->user_stack;
	size_t i = hash_mix(stacks ^ hash_mix((uint64_t)row->tgid << 32 | row->flags)) &
		   (s->n_index - 1);

	for (; s->index[i]; i = (i + 1) & (s->n_index - 1)) {
		const struct store_row *other = &s->rows.of[s->index[i] - 1];

		if (other->kernel_stack == row->kernel_stack &&
		    other->user_stack == row->user_stack && other->tgid == row->tgid &&
		    other->flags == row->flags)
			break;
	}
	return &s->index[i];
}

/* Of all rows, with room for as many again. */
static void make_index(struct store *s)
{
	free(s->index);
	for (s->n_index = 1024; s->n_index <= 2 * s->rows.n;)
		s->n_index *= 2;
	s->index = xcalloc(s->n_index, sizeof(*s->index));
	for (size_t i = 0; i < s->rows.n; i++)
		*index_slot(s, &s->rows.of[i]) = i + 1;
}

/* False if the row is new and there is no room for it. */
static bool add_store_row(struct store *s, const struct store_row *row)
{
	if (s->rows.n * 2 >= s->n_index)
		make_index(s);

	uint32_t *slot = index_slot(s, row);

	if (*slot) {
		struct store_row *known = &s->rows.of[*slot - 1];

		known->count += row->count;
		known->sum = add_wrapped(known->sum, row->sum);
		known->first = earlier_time(known->first, row->first);
		return true;
	}
	if (is_over_budget(s))
		return false;
	array_push(s->rows.of, s->rows.n, s->rows.capacity, *row);
	*slot = s->rows.n;
	return true;
}

/* --- from the kernel --- */

static void set_store_turn(struct store *s, uint32_t turn)
{
	__atomic_store_n(&object_state(s->object)->turn, turn, __ATOMIC_RELEASE);
}

void store_start(struct store *s)
{
	s->turn = FIRST_TURN;
	set_store_turn(s, s->turn);
}

/* Add a hot row's counters on all CPUs. Nothing if @hot is 0: the row is not hot. */
static void add_hot_counters(const struct store *s, uint32_t hot, struct raw_row *to)
{
	const uint64_t *counters = object_maps(s->object)->hot;

	for (uint32_t cpu = 0; cpu < s->n_cpus && hot; cpu++) {
		const uint32_t i = hot_index(cpu, s->generation, hot, s->budget.n_hot_rows);
		const uint64_t *counter = &counters[(size_t)i * HOT_WORDS(s->budget.has_sum)];

		to->count += counter[0];
		if (s->budget.has_sum)
			to->sum = add_wrapped(to->sum, (int64_t)counter[1]);
	}
}

static bool take_rows(struct batch *b, uint32_t n)
{
	struct store *s = b->context;
	const struct stack_key *keys = b->keys;
	const char *rows = b->values;

	for (uint32_t i = 0; i < n; i++) {
		const struct stack_row *from = (const void *)(rows + i * b->value_size);
		/* The low bits. The time is the latest one before now that ends in them. */
		const uint64_t first = (uint64_t)from->first_high << 32 | from->first_low;
		struct raw_row row = { .key = keys[i],
				       .count = from->count,
				       .first = s->emptied_at -
						((s->emptied_at - first) & ROW_TIME_MASK) };

		if (s->budget.has_sum)
			row.sum = ((const struct summed_row *)from)->sum;
		add_hot_counters(s, from->hot, &row);
		array_push(s->raw, s->n_raw, s->raw_capacity, row);
	}
	return true;
}

static void clear_hot_counters(const struct store *s, unsigned g)
{
	struct trace_state *state = object_state(s->object);
	const uint64_t asked = state->n_hot[g];
	const size_t n_words = HOT_WORDS(s->budget.has_sum);
	uint32_t n = asked < s->budget.n_hot_rows ? asked : s->budget.n_hot_rows;
	uint64_t *counters = object_maps(s->object)->hot;

	for (uint32_t cpu = 0; cpu < s->n_cpus && n; cpu++)
		memset(&counters[(size_t)hot_index(cpu, g, 1, s->budget.n_hot_rows) * n_words], 0,
		       n * n_words * sizeof(*counters));
	state->n_hot[g] = 0;
}

/*
 * Move all rows of @generation, which no program uses, behind the pending ones. With @is_last the
 * kernel's copies stay, because nobody needs their room.
 *
 * Reads no level behind the last row. While the kernel looks for an element, it runs no program on
 * that CPU, even if another task preempts us. The empty second level takes it 1.5 ms.
 */
static int empty_generation(struct store *s, unsigned generation, bool is_last, struct error *e)
{
	struct batch b = { .key_size = sizeof(struct stack_key),
			   .value_size = s->budget.has_sum ? sizeof(struct summed_row)
							   : sizeof(struct stack_row),
			   .take = take_rows,
			   .context = s,
			   .deletes = !is_last };
	__u64 *n_rows = &object_state(s->object)->n_rows[generation];
	const size_t n_before = s->n_raw;
	int err = 0;

	s->generation = generation;
	s->emptied_at = clock_ns(CLOCK_MONOTONIC);
	for (unsigned level = 0; level < LEVELS && s->n_raw - n_before < *n_rows && !err; level++)
		err = batch_each(&b, object_counts_fd(s->object, generation, level), e);
	clear_hot_counters(s, generation);
	if (!err)
		*n_rows = 0;
	return err;
}

/* Switch to the other generation and empty the old one. */
static int switch_generation(struct store *s, struct error *e)
{
	unsigned old = s->turn % 2;

	set_store_turn(s, ++s->turn);

	int err = object_wait_for_programs(s->object, e);

	return err ? err : empty_generation(s, old, false, e);
}

/* Of pairs that have begun and not ended: find the stacks, or count them at the end. */
static bool take_beginnings(struct batch *b, uint32_t n)
{
	const struct beginning *beginnings = b->values;
	struct store *s = b->context;
	uint32_t number;

	for (uint32_t i = 0; i < n && !s->is_stopped; i++) {
		(void)stacks_find(&s->stacks, beginnings[i].key.kernel_stack, true, &number);
		(void)stacks_find(&s->stacks, beginnings[i].key.user_stack, true, &number);
	}
	s->losses.n_open += s->is_stopped ? n : 0;
	return true;
}

/* False: the map cannot be read. */
static bool read_beginnings(struct store *s)
{
	struct batch b = { .key_size = sizeof(struct begun_key),
			   .value_size = sizeof(struct beginning),
			   .take = take_beginnings,
			   .context = s };
	struct error e;
	const int err = batch_each(&b, object_maps(s->object)->begun_fd, &e);

	if (err)
		log_warn("cannot read the pairs that have not ended: %s", e.text);
	return !err;
}

/* --- settling pending rows --- */

static bool find_stack(struct store *s, uint64_t hash, uint32_t *ret)
{
	return stacks_find(&s->stacks, hash, !is_over_budget(s), ret);
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

	if (s->n_raw - s->n_settled < MANY_ROWS || is_over_budget(s))
		return 0;
	for (size_t i = s->n_settled; i < s->n_raw; i++)
		n_new += stacks_is_new(&s->stacks, s->raw[i].key.kernel_stack) +
			 stacks_is_new(&s->stacks, s->raw[i].key.user_stack);
	if (n_new * BATCH_GAIN < __atomic_load_n(&state->n_chunks, __ATOMIC_RELAXED))
		return 0;
	room = (s->budget.user_bytes - settled_bytes(s)) / 2; /* the rows take memory, too */
	return stacks_copy(&s->stacks, stacks_bytes(&s->stacks) + room, false, e);
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
		return s->n_raw > SETTLED_AT_ONCE;
	return s->n_raw * sizeof(*s->raw) > s->budget.user_bytes / 2;
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
	if (!s->budget.has_pairs || s->are_pairs_kept || s->is_stopped)
		return false;
	s->are_pairs_kept = read_beginnings(s);
	s->aged = s->turn;
	return true;
}

/* Called when no row is pending any more. */
static void end_settling(struct store *s)
{
	s->n_raw = 0;
	s->n_settled = 0;
	/* The kernel has no row left of the turn in which the stacks became old. */
	if (stacks_has_old(&s->stacks) && s->turn != s->aged && !keep_open_stacks(s)) {
		stacks_drop_old(&s->stacks);
		s->kept = stacks_bytes(&s->stacks);
	}
}

/*
 * Settle at most @n of the pending rows: find the numbers of their stacks and add them to @rows. If
 * the kernel's maps fill up meanwhile, empty them. Those rows are pending, too. A row whose stack
 * is being walked in user space is settled later.
 */
static int settle_rows(struct store *s, size_t n, struct error *e)
{
	int err = read_new_stacks(s, e);

	while (n-- > 0 && s->n_settled < s->n_raw && !err && !store_awaits_room(s)) {
		const struct raw_row row = s->raw[s->n_settled++];

		if (IS_LATE_STACK(row.key.user_stack) && !s->is_stopped &&
		    !stacks_has(&s->stacks, row.key.user_stack))
			array_push(s->raw, s->n_raw, s->raw_capacity, row);
		else
			settle_row(s, &row);
		if (!s->is_stopped && s->n_settled % 1024 == 0 && is_pressed(s) && !is_behind(s))
			err = switch_generation(s, e);
	}
	if (!err && s->n_settled == s->n_raw)
		end_settling(s);
	return err;
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
	err = stacks_copy(&s->stacks, most - others, true, e);
	return err ? err : stacks_forget(&s->stacks, e);
}

void store_set_end(struct store *s, bool (*is_over)(void *context), void *context)
{
	s->stacks.is_over = is_over;
	s->stacks.context = context;
}

int store_rotate(struct store *s, struct error *e)
{
	int err = is_behind(s) ? 0 : switch_generation(s, e);

	if (err || stacks_is_over(&s->stacks))
		return err;
	if (stacks_must_forget(&s->stacks) || has_many_pending(s) || is_behind(s))
		err = settle_rows(s, SETTLED_AT_ONCE, e);
	if (!err && stacks_must_forget(&s->stacks) && !stacks_is_over(&s->stacks))
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
		err = empty_generation(s, s->turn % 2, true, e);
	if (s->budget.has_pairs)
		(void)read_beginnings(s);
	return err;
}

/* --- reports --- */

/* If settling fails, the next store_rotate() reports it. */
static void settle_all(struct store *s)
{
	struct error none;

	(void)settle_rows(s, s->n_raw - s->n_settled, &none);
}

const struct store_row *store_rows(struct store *s, size_t *n)
{
	if (!s->is_lent) {
		settle_all(s);
		if (!s->n_raw) { /* idle memory counts towards the budget, too */
			free(s->raw);
			s->raw = NULL;
			s->raw_capacity = 0;
		}
		s->lent = s->rows;
		s->rows = (struct row_list){};
		s->is_lent = true;
		make_index(s);
	}
	*n = s->lent.n;
	return s->lent.of;
}

const struct store_row *store_look(struct store *s, size_t *n)
{
	settle_all(s);
	*n = s->rows.n;
	return s->rows.of;
}

size_t store_stack(const struct store *s, uint32_t number, uint64_t words[STACK_WORDS])
{
	return stacks_words(&s->stacks, number, words);
}

struct losses *store_losses(struct store *s)
{
	return &s->losses;
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
	for (size_t i = 0; i < s->rows.n; i++) {
		struct store_row *row = &s->rows.of[i];

		row->kernel_stack = stacks_renew(&s->stacks, row->kernel_stack);
		row->user_stack = stacks_renew(&s->stacks, row->user_stack);
	}
	make_index(s);
}

/*
 * Stacks stay known, because most come again. If too many are idle, as processes end and others
 * begin, the store forgets those that have no hit in the next interval.
 */
void store_clear(struct store *s)
{
	struct error none; /* if it lasts, store_rotate() returns it */

	free(s->lent.of);
	s->lent = (struct row_list){};
	s->is_lent = false;
	losses_reported(&s->losses);
	if (!s->is_stopped && !stacks_has_old(&s->stacks) && are_stacks_many(s) &&
	    stacks_age(&s->stacks, &none) == 0) {
		renew_stacks(s);
		s->aged = s->turn;
		s->are_pairs_kept = false;
	}
}

void store_keep(struct store *s)
{
	const struct row_list news = s->rows;

	s->rows = s->lent;
	s->lent = (struct row_list){};
	s->is_lent = false;
	losses_reported(&s->losses);
	make_index(s);
	for (size_t i = 0; i < news.n; i++)
		if (!add_store_row(s, &news.of[i]))
			s->losses.n_over_budget += news.of[i].count;
	free(news.of);
}
