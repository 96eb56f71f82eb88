/*
 * Three things may come late or not at all, and all are decided by time:
 *
 * - Events are read in batches, so a look at /proc may show what was begun by an exec or by another
 *   process whose event is still to come: forget_look().
 * - The kernel counts a life at an exec's end, and tells its new name in the midst: history_keep().
 * - Records are lost: nothing that was known of a running process is taken for what it does
 *   afterwards, on_lost().
 */
#include "symbolize/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "kernel/host.h"

/* Lives that are over are forgotten when there are so many more than at the last time, */
#define MANY_LIVES 4096
/* and not before a hit of theirs must have been told of. */
#define FORGET_NS (5 * NS_PER_S)

/* So much may all take before lives that are over are forgotten though they were hit. */
#define MOST_BYTES ((size_t)24 << 20)

/* As many as processes may have mapped at once (vm.max_map_count), and what was there before. */
#define MOST_REGIONS 131072U

struct history {
	struct memories memories;
	struct u64_map newest; /* tgid -> index in @heads */
	struct life **heads;   /* the newest life of each process */
	size_t n_heads, cap_heads;
	size_t n_lives, n_last_lives;
	size_t n_last_drop; /* lives, when the oldest were dropped last */
	uint64_t n_dropped; /* lives that were hit */
	size_t bytes;       /* of lives */
	uint32_t *changed;  /* processes: history_changed() */
	size_t n_changed, cap_changed;
	struct u64_map made; /* of threads: the process that each made last */
	uint64_t period;
	int own_root;
};

struct history *history_new(struct images *images)
{
	struct history *h = xcalloc(1, sizeof(*h));

	h->memories = (struct memories){ .images = images, .most_regions = MOST_REGIONS };
	h->own_root = images_root(h->memories.images, (uint32_t)getpid());
	h->period = 1;
	return h;
}

void history_refresh(struct history *h)
{
	h->period++;
}

/* --- lives --- */

/* Where the newest life of @tgid is, or is to be. Lent until the next call. */
static struct life **head_of(struct history *h, uint32_t tgid)
{
	bool is_new;
	uint32_t i = *u64_map_put(&h->newest, tgid, (uint32_t)h->n_heads, &is_new);

	if (is_new)
		array_push(h->heads, h->n_heads, h->cap_heads, NULL);
	return &h->heads[i];
}

/* What was read of it came after its end: it was of the next one. */
static void forget_look(struct history *h, struct life *life)
{
	if (life->looked_at < life->end)
		return;
	life->looked_at = 0;
	life->is_whole = false;
	life->comm[0] = '\0';
	life->named_at = 0;
	memory_forget_first(&h->memories, life->memory);
}

static struct life *begin_life(struct history *h, uint32_t tgid, uint64_t time,
			       struct memory *memory)
{
	struct life **link = head_of(h, tgid);
	struct life *life = xcalloc(1, sizeof(*life));

	*life = (struct life){
		.tgid = tgid, .begin = time, .end = UINT64_MAX, .exited = UINT64_MAX, .root = -1
	};
	life->memory = memory;
	while (*link && (*link)->begin > time) {
		life->end = (*link)->begin;
		link = &(*link)->older;
	}
	life->older = *link;
	*link = life;
	h->n_lives++;
	h->bytes += sizeof(*life);
	if (life->older) {
		life->older->end = time;
		forget_look(h, life->older);
	}
	return life;
}

static void life_free(struct history *h, struct life *life)
{
	h->n_lives--;
	h->bytes -= sizeof(*life);
	h->bytes -= life->former.capacity * sizeof(*life->former.list);
	former_comms_fini(&life->former);
	memory_drop(&h->memories, life->memory);
	free(life);
}

void history_free(struct history *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n_heads; i++) {
		for (struct life *life = h->heads[i], *older; life; life = older) {
			older = life->older;
			life_free(h, life);
		}
	}
	free(h->heads);
	free(h->changed);
	u64_map_fini(&h->newest);
	u64_map_fini(&h->made);
	free(h);
}

static bool is_kept(const struct history *h, const struct life *life)
{
	return life->kept && life->kept + 2 > h->period;
}

/* When it was over; UINT64_MAX: it is not. */
static uint64_t over_at(const struct life *life)
{
	return life->end < life->exited ? life->end : life->exited;
}

static struct life *without_forgotten(struct history *h, struct life *life)
{
	struct life *first = NULL, **link = &first;

	for (struct life *older; life; life = older) {
		older = life->older;
		if (life->is_forgotten) {
			life_free(h, life);
			continue;
		}
		*link = life;
		link = &life->older;
	}
	*link = NULL;
	return first;
}

static void forget_marked(struct history *h)
{
	size_t n = 0;

	u64_map_clear(&h->newest);
	for (size_t i = 0; i < h->n_heads; i++) {
		struct life *head = without_forgotten(h, h->heads[i]);

		if (!head)
			continue;
		*u64_map_put(&h->newest, head->tgid, 0, NULL) = (uint32_t)n;
		h->heads[n++] = head;
	}
	h->n_heads = n;
}

static void forget_ended(struct history *h, uint64_t now)
{
	const uint64_t before = now > FORGET_NS ? now - FORGET_NS : 0;

	if (h->n_lives < h->n_last_lives + h->n_last_lives / 2 + MANY_LIVES)
		return;
	for (size_t i = 0; i < h->n_heads; i++)
		for (struct life *life = h->heads[i]; life; life = life->older)
			life->is_forgotten = over_at(life) < before && !is_kept(h, life);
	forget_marked(h);
	h->n_last_lives = h->n_lives;
}

/* Those that were not hit go first, and of either the oldest. */
struct candidate {
	struct life *life;
	bool is_kept;
	uint64_t over_at;
};

static int by_worth(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->is_kept != b->is_kept)
		return a->is_kept ? 1 : -1;
	return a->over_at < b->over_at ? -1 : a->over_at > b->over_at;
}

static void drop_oldest(struct history *h)
{
	struct candidate *all = NULL;
	size_t n = 0, capacity = 0;

	if (history_bytes(h) <= MOST_BYTES || h->n_lives < h->n_last_drop + MANY_LIVES / 4)
		return;
	for (size_t i = 0; i < h->n_heads; i++) {
		for (struct life *life = h->heads[i]; life; life = life->older) {
			const struct candidate one = { life, is_kept(h, life), over_at(life) };

			if (one.over_at != UINT64_MAX)
				array_push(all, n, capacity, one);
		}
	}
	if (n)
		qsort(all, n, sizeof(*all), by_worth);
	for (size_t i = 0; i < n / 2; i++) {
		all[i].life->is_forgotten = true;
		h->n_dropped += all[i].is_kept;
	}
	free(all);
	forget_marked(h);
	h->n_last_drop = h->n_lives;
}

uint64_t history_dropped(const struct history *h)
{
	return h->n_dropped;
}

uint64_t history_dropped_regions(const struct history *h)
{
	return h->memories.n_forgotten;
}

/* The newest life; one of which nothing is known where there is none. */
static struct life *current_life(struct history *h, uint32_t tgid)
{
	struct life *life = *head_of(h, tgid);

	return life ? life : begin_life(h, tgid, 0, memory_new(&h->memories));
}

/* --- events --- */

/* If it has gone and nothing is known of it, ours may do: only the file itself is ever taken. */
static int root_of(struct history *h, uint32_t pid, int before)
{
	const int root = images_root(h->memories.images, pid);

	if (root >= 0)
		return root;
	return before >= 0 ? before : h->own_root;
}

static void set_comm(struct life *life, const char *comm)
{
	(void)snprintf(life->comm, sizeof(life->comm), "%.15s", comm);
}

/* A SHARE follows at once, or never. */
static void note_maker(struct history *h, const struct process_event *event)
{
	if (h->made.n >= MANY_LIVES)
		u64_map_clear(&h->made);
	*u64_map_put(&h->made, event->parent_tid, 0, NULL) = event->pid;
}

/* The child has not run yet. */
static void on_share(struct history *h, const struct process_event *event)
{
	const uint32_t *made = u64_map_get(&h->made, event->tid);
	struct life *child = made ? *head_of(h, *made) : NULL;

	if (!child || child->is_exec)
		return;
	memory_drop(&h->memories, child->memory);
	child->memory = memory_share(current_life(h, event->pid)->memory);
}

static void on_fork(struct history *h, const struct process_event *event)
{
	if (event->pid == event->parent_pid)
		return; /* a thread */
	history_look(h, event->parent_pid);

	struct life *parent = current_life(h, event->parent_pid);
	struct life *child =
		begin_life(h, event->pid, event->time, memory_copy(&h->memories, parent->memory));

	if (parent->root < 0)
		parent->root = root_of(h, parent->tgid, -1);
	child->root = parent->root;
	child->is_whole = parent->is_whole;
	if (event->parent_tid == event->parent_pid) { /* else it has a thread's name */
		memcpy(child->comm, parent->comm, sizeof(child->comm));
		child->is_named = parent->is_named;
	}
	note_maker(h, event);
	forget_ended(h, event->time);
	drop_oldest(h);
}

static void on_exec(struct history *h, const struct process_event *event)
{
	struct life *former = current_life(h, event->pid);
	const int root = root_of(h, event->pid, former->root);
	struct life *life = begin_life(h, event->pid, event->time, memory_new(&h->memories));

	life->root = root;
	set_comm(life, event->comm);
	life->is_named = true;
	life->is_exec = true;
	life->is_whole = true;
}

/* The other processes that have this memory. */
static void note_sharers(struct history *h, const struct life *life)
{
	for (size_t i = 0; i < h->n_heads && memory_is_shared(life->memory); i++)
		if (h->heads[i] && h->heads[i] != life && h->heads[i]->memory == life->memory)
			array_push(h->changed, h->n_changed, h->cap_changed, h->heads[i]->tgid);
}

static bool on_map(struct history *h, const struct process_event *event)
{
	struct life *life = current_life(h, event->pid);
	struct file_stamp id = { .n = event->n_build_id, .mapped_at = event->time };

	if (id.n)
		memcpy(id.bytes, event->build_id, id.n);

	struct past_region region = {
		.start = event->map.start,
		.end = event->map.end,
		.offset = event->map.offset,
		.image = images_add(h->memories.images, event->pid, life->root, &event->map, &id),
		.from = event->time,
		.until = UINT64_MAX,
	};
	const bool is_replaced = memory_map(&h->memories, life->memory, &region);

	if (is_replaced)
		note_sharers(h, life);
	return is_replaced;
}

/*
 * After @event->since each process may run another program, or be another one. What has begun
 * another life since then may have more mapped than was told.
 */
static void on_lost(struct history *h, const struct process_event *event)
{
	u64_map_clear(&h->made);
	for (size_t i = 0; i < h->n_heads; i++) {
		struct life *life = h->heads[i];

		if (life->begin > event->since) {
			life->is_whole = false;
			continue;
		}
		if (life->exited != UINT64_MAX ||
		    (!life->is_whole && memory_is_empty(life->memory)))
			continue;
		life = begin_life(h, life->tgid, event->since, memory_new(&h->memories));
		life->root = life->older ? life->older->root : -1;
	}
}

/* What /proc said may be this name already, or a later one; then the one before is not known. */
static void on_comm(struct history *h, struct life *life, const struct process_event *event)
{
	const size_t capacity = life->former.capacity;

	if ((life->comm[0] || life->is_named) && life->named_at < event->time)
		former_comms_add(&life->former, life->comm, event->time);
	else
		former_comms_forget(&life->former, event->time);
	h->bytes += (life->former.capacity - capacity) * sizeof(*life->former.list);
	set_comm(life, event->comm);
	life->is_named = true;
}

static void on_first_thread(struct history *h, const struct process_event *event)
{
	struct life *life = current_life(h, event->pid);

	if (event->type == PROCESS_EXIT)
		life->exited = event->time;
	else
		on_comm(h, life, event);
}

bool history_event(struct history *h, const struct process_event *event)
{
	if (event->type == PROCESS_LOST)
		on_lost(h, event);
	else if (event->pid == 0 || event->pid == UINT32_MAX)
		return false; /* not of our PID namespace */
	if (event->type == PROCESS_FORK)
		on_fork(h, event);
	else if (event->type == PROCESS_SHARE)
		on_share(h, event);
	else if (event->type == PROCESS_EXEC)
		on_exec(h, event);
	else if (event->type == PROCESS_MAP)
		return on_map(h, event);
	else if (event->type != PROCESS_LOST && event->pid == event->tid)
		on_first_thread(h, event);
	return false;
}

uint32_t history_changed(struct history *h)
{
	return h->n_changed ? h->changed[--h->n_changed] : 0;
}

/* --- what is there already --- */

static void look_at_comm(struct life *life)
{
	char comm[32] = "";

	if (life->comm[0] || life->is_named)
		return;
	life->named_at = clock_ns(CLOCK_MONOTONIC);
	host_pid_comm(life->tgid, comm, sizeof(comm));
	set_comm(life, comm);
}

void history_look(struct history *h, uint32_t tgid)
{
	const uint32_t *at = u64_map_get(&h->newest, tgid);
	struct life *life = at ? h->heads[*at] : NULL;
	cleanup(mapping_list_fini) struct mapping_list list = {};
	struct error e;

	if (life && life->is_whole)
		return;

	const int err = mapping_list_read(tgid, &list, &e);

	images_note_error(h->memories.images, err);
	if (err || !list.n)
		return;
	life = current_life(h, tgid);
	life->root = images_root(h->memories.images, list.tid);
	memory_part(&h->memories, &life->memory);
	for (size_t i = 0; i < list.n; i++) {
		const struct mapping *m = &list.mappings[i];
		struct past_region region = { .start = m->start,
					      .end = m->end,
					      .offset = m->offset,
					      .image = images_add(h->memories.images, list.tid,
								  life->root, m,
								  &(struct file_stamp){}),
					      .until = UINT64_MAX };

		memory_add_if_free(&h->memories, life->memory, &region);
	}
	look_at_comm(life);
	life->is_whole = true;
	life->looked_at = clock_ns(CLOCK_MONOTONIC);
}

/* --- questions --- */

const struct life *history_keep(struct history *h, uint32_t tgid, uint64_t time, uint64_t since)
{
	const uint32_t *at = u64_map_get(&h->newest, tgid);
	struct life *life = at ? h->heads[*at] : NULL;

	while (life && time && life->begin > time)
		life = life->older;
	if (life && life->is_exec && life->begin > since && life->older)
		life = life->older;
	if (life)
		life->kept = h->period;
	return life;
}

const char *life_comm(const struct life *life, uint64_t time)
{
	const char *former = NULL;

	switch (former_comms_at(&life->former, time ? time : UINT64_MAX, &former)) {
	case COMM_FORMER:
		return former;
	case COMM_NOT_KNOWN:
		return NULL;
	case COMM_LATER:
		break;
	}
	return life->comm[0] || life->is_named ? life->comm : NULL;
}

/* After lost records another life is begun, though it may be the same program. */
uint64_t life_began(const struct life *life)
{
	while (!life->is_exec && life->older && life->older->exited == UINT64_MAX)
		life = life->older;
	return life->begin;
}

size_t history_bytes(const struct history *h)
{
	return h->bytes + h->memories.bytes + h->cap_heads * sizeof(*h->heads) +
	       h->newest.n_slots * sizeof(*h->newest.slots);
}
