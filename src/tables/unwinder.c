// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "bpf/tables.h"
#include "bpf/user_step.h"
#include "tables/late.h"
#include "tables/memory.h"
#include "tables/table_set.h"

/*
 * The most wishes for new files that may wait. Processes may map files faster than we make tables.
 * Without a bound, these wishes would take all memory and delay those for processes that were hit.
 */
#define MOST_FILES_ASKED 1024U

/* What a wish is for, besides the looks of enum unwinder_wish. */
enum { WISH_OVER = UNWINDER_SOMETIME + 1, WISH_FILE, WISH_WALK };

struct wish {
	unsigned kind;
	uint32_t tgid;
	uint64_t time;        /* OVER: ns of CLOCK_MONOTONIC */
	struct mapping *file; /* FILE: as tgid maps it; one allocation with its path, to free() */
	struct late_job *job; /* WALK: lent */
};

/*
 * The list of a process whose mappings were read.
 *
 * A list must not be older than the walk that uses it, or a library that has replaced another at
 * its address is walked by the other's table. So BPF programs withdraw a list when a mapping takes
 * a place in it, and at exec and exit. Until confirm_list() they do so, but do not walk by it.
 */
struct published {
	uint32_t tgid;
	uint64_t looked;           /* time of the last reading, ns of CLOCK_MONOTONIC */
	uint64_t paid;             /* the time when all readings are paid for */
	uint64_t hash;             /* of the list */
	struct unwind_space space; /* n 0: no list of its own */
};

struct unwinder {
	/* The wishes. @mutex guards them. */
	pthread_mutex_t mutex;
	pthread_cond_t is_changed;
	struct wish *urgent, *others;
	size_t first_urgent, n_urgent, urgent_capacity; /* in order */
	struct u64_map asked; /* look_key() -> does such an urgent wish wait? */
	size_t n_others, others_capacity;
	size_t n_files_asked;       /* among the urgent ones */
	uint64_t n_pushed, n_taken; /* urgent wishes so far */
	bool is_busy, is_over;
	bool is_last; /* unwinder_last(); atomic */
	pthread_t thread;

	/* The thread's own. */
	struct object *object; /* lent, as @files */
	struct files *files;
	struct unwind_memory *memory;
	struct table_set *tables;
	struct published *published;
	size_t n_published, cap_published;
	size_t n_to_compact;    /* at this many, those without a list are dropped */
	struct u64_map numbers; /* tgid -> index in @published */
	uint64_t n_mappings;    /* in all lists */
	uint32_t last_number;
	bool has_told_full; /* that there is no room for lists */
};

/* --- deferred hits --- */

/* The requests for a missing table, of all hits of a space together. */
#define MOST_TRIES 2

struct late_space *late_space_new(struct file_list *list)
{
	struct late_space *space = xcalloc(1, sizeof(*space));

	space->n_users = 1;
	space->list = *list;
	*list = (struct file_list){};
	space->found = xcalloc(space->list.list.n + 1, sizeof(*space->found));
	space->n_tries = xcalloc(space->list.list.n + 1, 1);
	for (size_t i = 0; i < space->list.list.n; i++)
		space->found[i].how = UNWIND_NOT_YET;
	return space;
}

void late_space_drop(struct late_space *space)
{
	if (!space || --space->n_users)
		return;
	file_list_fini(&space->list);
	free(space->found);
	free(space->n_tries);
	free(space);
}

bool late_job_is_done(const struct late_job *job)
{
	return __atomic_load_n(&job->is_done, __ATOMIC_ACQUIRE);
}

void late_job_fini(struct late_job *job)
{
	free(job->words);
	job->words = NULL;
	late_space_drop(job->space);
	job->space = NULL;
}

/*
 * Look up an address in a published table, as the programs do. Puts the rule for @vaddr of the
 * image at @place into *@ret: UNWIND_NO_ROW if no row covers it. Returns UNWIND_GOES_ON, or
 * UNWIND_END_NO_TABLE_YET if the image's table was given up.
 */
static enum unwind_end table_row(const struct unwind_memory *m, uint32_t place, uint64_t vaddr,
				 struct unwind_rule *ret)
{
	const struct unwind_image *image = unwind_memory_find(m, place, sizeof(*image));
	const struct unwind_rule *rule;
	const struct unwind_entry *entries;
	const uint32_t *page;
	uint16_t number;
	uint32_t n;

	*ret = (struct unwind_rule){};
	if (!image || !image->n_pages)
		return UNWIND_END_NO_TABLE_YET;
	vaddr -= image->base;
	if (vaddr >> UNWIND_PAGE_BITS >= image->n_pages)
		return UNWIND_GOES_ON;
	page = unwind_memory_find(m, image->pages + (uint32_t)(vaddr >> UNWIND_PAGE_BITS) * 4,
				  2 * sizeof(*page));
	if (!page)
		return UNWIND_GOES_ON;
	n = page[0] > page[1] ? page[0] : page[1];
	entries = unwind_memory_find(m, image->entries, n * sizeof(*entries));
	if (!entries || !unwind_find(entries, n, page[0], page[1], (uint16_t)vaddr, &number) ||
	    number >= image->n_rules)
		return UNWIND_GOES_ON;
	rule = unwind_memory_find(m, image->rules + number * (uint32_t)sizeof(*rule),
				  sizeof(*rule));
	if (rule)
		*ret = *rule;
	return UNWIND_GOES_ON;
}

/* A walk in progress. */
struct walking {
	struct unwinder *unwinder;
	struct late_space *space;
	uint32_t tgid;
};

/* How to walk mapping @i. A table that is missing is made now. */
static const struct unwind_mapping *how_to_walk(const struct walking *w, size_t i)
{
	struct late_space *space = w->space;
	const struct file_fact *state = &space->list.states[i];
	struct unwind_mapping *found = &space->found[i];

	if (found->how != UNWIND_NOT_YET || space->n_tries[i] == MOST_TRIES)
		return found;
	space->n_tries[i]++;
	table_set_find(w->unwinder->tables, w->tgid, &space->list.list.mappings[i],
		       state->is_there ? state : NULL, TABLE_IN_USE, found);
	return found;
}

static int find_late_rule(void *from, __u64 addr, struct unwind_rule *ret)
{
	const struct walking *w = from;
	const struct unwind_memory *memory = w->unwinder->memory;
	const struct mapping *m = mapping_list_at(&w->space->list.list, addr);
	const size_t i = m ? (size_t)(m - w->space->list.list.mappings) : 0;
	const struct unwind_mapping *found;
	enum unwind_end end;

	if (!m)
		return UNWIND_END_NO_MAPPING;
	found = how_to_walk(w, i);
	switch ((enum unwind_how)found->how) {
	case UNWIND_BY_TABLE:
		end = table_row(memory, found->image, addr - found->bias, ret);
		if (end) { /* it was evicted: the next hit may ask for it once more */
			w->space->found[i].how = UNWIND_NOT_YET;
			end = how_to_walk(w, i)->how == UNWIND_BY_TABLE
				      ? table_row(memory, found->image, addr - found->bias, ret)
				      : UNWIND_END_NO_TABLE_YET;
		}
		return end;
	case UNWIND_MADE_CODE:
		*ret = UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES);
		return UNWIND_GOES_ON;
	case UNWIND_BY_FRAME_POINTERS:
		*ret = (struct unwind_rule){};
		return UNWIND_GOES_ON;
	case UNWIND_PROBED:
		return UNWIND_END_PROBED;
	case UNWIND_NOT_AT_ALL:
		return UNWIND_END_NO_TABLE;
	default:
		return UNWIND_END_NO_TABLE_YET;
	}
}

static void run_late_job(struct unwinder *u, struct late_job *job)
{
	struct walking w = { u, job->space, job->recorded.hit->key.tgid };
	uint64_t words[STACK_WORDS];

	job->n_words =
		(uint32_t)late_walk(&job->recorded, job->most_frames, find_late_rule, &w, words);
	job->words = xcalloc(job->n_words, sizeof(*words));
	memcpy(job->words, words, job->n_words * sizeof(*words));
	__atomic_store_n(&job->is_done, true, __ATOMIC_RELEASE);
}

/* --- published lists of mappings --- */

#define LEAST_TO_COMPACT 1024

/* Drop the entries of processes that have no list and owe nothing. */
static void compact_published(struct unwinder *u)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t n = 0;

	u64_map_clear(&u->numbers);
	for (size_t i = 0; i < u->n_published; i++) {
		if (!u->published[i].space.n && u->published[i].paid <= now)
			continue;
		u->published[n] = u->published[i];
		(void)u64_map_put(&u->numbers, u->published[n].tgid, (uint32_t)n, NULL);
		n++;
	}
	u->n_published = n;
	u->n_to_compact = n < LEAST_TO_COMPACT / 2 ? LEAST_TO_COMPACT : 2 * n;
}

/* The entry of process @tgid, a new one if necessary. It is valid until the next call. */
static struct published *published_of(struct unwinder *u, uint32_t tgid)
{
	bool is_new;
	uint32_t i;

	if (u->n_published >= u->n_to_compact)
		compact_published(u);
	i = *u64_map_put(&u->numbers, tgid, (uint32_t)u->n_published, &is_new);
	if (is_new)
		array_push(u->published, u->n_published, u->cap_published,
			   (struct published){ .tgid = tgid });
	return &u->published[i];
}

static void free_list(struct unwinder *u, const struct unwind_space *space)
{
	unwind_memory_drop(u->memory, space->mappings, space->n * sizeof(struct unwind_mapping));
}

/* BPF has @space of the process from now on. Drop the memory of the former list. */
static void replace_list(struct unwinder *u, struct published *published, struct unwind_space space)
{
	free_list(u, &published->space);
	u->n_mappings += space.n;
	u->n_mappings -= published->space.n;
	published->space = space;
}

static void withdraw_space(const struct unwinder *u, uint32_t tgid)
{
	struct error e;

	if (object_set_space(u->object, tgid, NULL, &e))
		log_debug("%s", e.text);
}

/* Withdraw the process's list. The BPF programs ask the kernel from here on. */
static void retract_list(struct unwinder *u, uint32_t tgid)
{
	withdraw_space(u, tgid);
	replace_list(u, published_of(u, tgid), (struct unwind_space){});
}

/* The process has gone: withdraw its list, and forgive what it owes. */
static void forget_list(struct unwinder *u, uint32_t tgid)
{
	retract_list(u, tgid);
	published_of(u, tgid)->paid = 0;
}

/*
 * A list has no room, because of @why. Withdraw all lists, also those that children have from their
 * parents, and drop the tables that are not in use. The mappings of a process that is hit are read
 * again. False: that was tried a moment ago.
 */
static bool drop_lists(struct unwinder *u, const char *why)
{
	cleanup_free struct unwind_space *spaces = xcalloc(MOST_SPACES, sizeof(*spaces));
	cleanup_free uint32_t *tgids = xcalloc(MOST_SPACES, sizeof(*tgids));
	size_t n;

	if (!table_set_make_room(u->tables, why))
		return false;
	n = object_spaces(u->object, tgids, spaces, MOST_SPACES);
	for (size_t i = 0; i < n; i++)
		withdraw_space(u, tgids[i]);
	for (size_t i = 0; i < u->n_published; i++)
		replace_list(u, &u->published[i], (struct unwind_space){});
	return true;
}

/*
 * Publish the @n mappings at @list for process @tgid. After an error, it still has its former list.
 * All lists together take at most half of the memory, so that tables have room. Errors: -E2BIG
 * there is no room for the list, or for another process; others of the kernel.
 */
static int set_list(struct unwinder *u, uint32_t tgid, const struct unwind_mapping *list, size_t n,
		    struct error *e)
{
	const uint64_t most = unwind_memory_most(u->memory) / 2 / sizeof(*list);
	struct published *published = published_of(u, tgid);
	struct unwind_space space = { .n = (uint32_t)n };
	int err;

	if (u->n_mappings - published->space.n + n > most)
		return error_set(e, -E2BIG, "mappings take half of the unwind-table memory");
	err = unwind_memory_allocate(u->memory, n * sizeof(*list), &space.mappings, e);
	if (err)
		return err;
	memcpy(unwind_memory_at(u->memory, space.mappings), list, n * sizeof(*list));
	err = object_set_space(u->object, tgid, &space, e);
	if (err) {
		free_list(u, &space);
	} else {
		replace_list(u, published, space);
		published->hash = hash_bytes(list, n * sizeof(*list));
	}
	return err == -E2BIG ? error_set(e, err, "very many processes are walked by tables") : err;
}

/*
 * Since set_list(), the process's mappings have been read once more, and are the same. Let the BPF
 * programs walk by its list. False: they have withdrawn it.
 */
static bool confirm_list(struct unwinder *u, uint32_t tgid)
{
	struct published *published = published_of(u, tgid);

	published->space.number = ++u->last_number;
	return object_replace_space(u->object, tgid, 0, &published->space);
}

/* Do the BPF programs walk by exactly this list? */
static bool have_list(struct unwinder *u, uint32_t tgid, const struct unwind_mapping *list,
		      size_t n)
{
	const struct published *published = published_of(u, tgid);
	const struct unwind_space *space = &published->space;

	return space->number && space->n == n &&
	       published->hash == hash_bytes(list, n * sizeof(*list)) &&
	       object_replace_space(u->object, tgid, space->number, space);
}

/* --- in the thread --- */

/* Fill in @ret for the first @n mappings of @list. True: all their tables are there. */
static bool find_all_tables(struct unwinder *u, const struct file_list *list, size_t n,
			    enum table_wish wish, struct unwind_mapping *ret)
{
	bool is_complete = true;

	for (size_t i = 0; i < n; i++) {
		const struct mapping *m = &list->list.mappings[i];

		ret[i] = (struct unwind_mapping){ .start = m->start, .end = m->end };
		table_set_find(u->tables, list->list.tid, m, &list->states[i], wish, &ret[i]);
		is_complete = is_complete && ret[i].how != UNWIND_NOT_YET;
	}
	return is_complete;
}

/* Read the mappings of process @tgid again. Are they those of @list? Adds to @list->cost. */
static bool do_mappings_stay(struct unwinder *u, uint32_t tgid, struct file_list *list)
{
	cleanup(file_list_fini) struct file_list now = {};
	struct error e;
	const bool is_equal = files_list(u->files, tgid, false, &now, &e) == 0 &&
			      mapping_list_is_equal(&list->list, &now.list);

	list->cost += now.cost;
	return is_equal;
}

/*
 * Publish @list with the tables that @wish allows. Returns 1 if all tables are there, 0 if not, or
 * an error.
 */
static int publish_list(struct unwinder *u, uint32_t tgid, struct file_list *list,
			enum table_wish wish, struct error *e)
{
	const size_t n = list->list.n < MOST_MAPPINGS ? list->list.n : MOST_MAPPINGS;
	cleanup_free struct unwind_mapping *mappings = xcalloc(n, sizeof(*mappings));
	const bool is_complete = find_all_tables(u, list, n, wish, mappings);

	/* A new list serves no walk for a moment, so one that is right stays. */
	if (have_list(u, tgid, mappings, n))
		return is_complete;

	int err;

	do
		err = set_list(u, tgid, mappings, n, e);
	while (err == -E2BIG && drop_lists(u, e->text));
	if (err || !do_mappings_stay(u, tgid, list) || !confirm_list(u, tgid))
		retract_list(u, tgid);
	return err ? err : is_complete;
}

/*
 * Readings of one process take at most 1 / READING_SHARE of wall time, in the long run. It may owe
 * READING_CREDIT_NS, because a program that starts maps its libraries in a burst.
 */
#define READING_SHARE 25ULL
#define READING_CREDIT_NS 10000000000ULL

/* Read and publish the mappings of process @tgid. -ESRCH: it has gone, or nobody can read them. */
static int look_at_process(struct unwinder *u, uint32_t tgid, enum table_wish wish, struct error *e)
{
	cleanup(file_list_fini) struct file_list list = {};
	const uint64_t began = clock_ns(CLOCK_MONOTONIC);
	const uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct published *published;
	int result = files_list(u->files, tgid, true, &list, e);

	if (result || !list.list.n) {
		forget_list(u, tgid);
		if (!result || result == -ESRCH)
			return error_set(e, -ESRCH, "it has gone");
	} else {
		result = publish_list(u, tgid, &list, TABLE_AS_IS, e);
		if (!result)
			result = publish_list(u, tgid, &list, wish, e);
	}
	published = published_of(u, tgid);
	published->looked = began;
	published->paid = later_time(published->paid, began) +
			  READING_SHARE * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu + list.cost);
	return result < 0 ? result : 0;
}

/* A wish for a look serves all later ones of its kind for that process, until it is taken. */
static uint64_t look_key(const struct wish *wish)
{
	return (uint64_t)wish->kind << 32 | wish->tgid;
}

static struct wish next_urgent(struct unwinder *u)
{
	struct wish wish = u->urgent[u->first_urgent++];
	uint32_t *asked = u64_map_get(&u->asked, look_key(&wish));

	u->n_taken++;
	u->n_files_asked -= wish.kind == WISH_FILE;
	if (asked)
		*asked = false;
	if (u->first_urgent == u->n_urgent) {
		u->first_urgent = u->n_urgent = 0;
		u64_map_clear(&u->asked);
	}
	return wish;
}

/* Wait for the next wish. False: the thread is to end. */
static bool next_wish(struct unwinder *u, struct wish *ret)
{
	(void)pthread_mutex_lock(&u->mutex);
	u->is_busy = false;
	(void)pthread_cond_broadcast(&u->is_changed);
	while (!u->is_over && !u->n_urgent && !u->n_others)
		(void)pthread_cond_wait(&u->is_changed, &u->mutex);

	const bool is_over = u->is_over;

	u->is_busy = !is_over;
	if (!is_over && u->n_urgent)
		*ret = next_urgent(u);
	else if (!is_over)
		*ret = u->others[--u->n_others];

	(void)pthread_mutex_unlock(&u->mutex);
	return !is_over;
}

/*
 * If a process's mappings changed and it is too early to read them again, withdraw its list, which
 * may be out of date. The programs then ask the kernel. They send notices while they miss the list.
 */
static void look_in_time(struct unwinder *u, const struct wish *wish)
{
	const uint32_t *i = u64_map_get(&u->numbers, wish->tgid);
	const uint64_t credit_until = clock_ns(CLOCK_MONOTONIC) + READING_CREDIT_NS;
	struct error e;

	if (i && u->published[*i].paid > credit_until) {
		if (wish->kind == UNWINDER_CHANGED)
			retract_list(u, wish->tgid);
		return;
	}

	const enum table_wish tables = wish->kind == UNWINDER_NOW ? TABLE_IN_USE : TABLE_AHEAD;
	const int err = look_at_process(u, wish->tgid, tables, &e);

	if (err == -E2BIG && !u->has_told_full)
		log_warn("user stacks of process %u and others may be cut: %s (see "
			 "--unwind-memory)",
			 wish->tgid, e.text);
	u->has_told_full = u->has_told_full || err == -E2BIG;
	if (err)
		log_debug("process %u is not walked by tables: %s", wish->tgid, e.text);
}

static void fulfil_wish(struct unwinder *u, const struct wish *wish)
{
	struct unwind_mapping unused = {};
	const uint32_t *at;

	if (wish->kind != WISH_WALK && __atomic_load_n(&u->is_last, __ATOMIC_RELAXED)) {
		free(wish->file);
		return;
	}
	table_set_turn(u->tables, clock_ns(CLOCK_MONOTONIC));
	switch (wish->kind) {
	case WISH_OVER:
		/* Most processes have no list of their own: BPF gives them their parent's. */
		at = u64_map_get(&u->numbers, wish->tgid);
		if (at && u->published[*at].looked < wish->time)
			forget_list(u, wish->tgid);
		break;
	case WISH_FILE:
		table_set_find(u->tables, wish->tgid, wish->file, NULL, TABLE_AHEAD, &unused);
		free(wish->file);
		break;
	case WISH_WALK:
		run_late_job(u, wish->job);
		break;
	default:
		look_in_time(u, wish);
		break;
	}
}

static void *run_unwinder(void *argument)
{
	struct unwinder *u = argument;
	struct wish wish = {};

	while (next_wish(u, &wish))
		fulfil_wish(u, &wish);
	return NULL;
}

/* --- wishes from other threads --- */

static void unwinder_free(struct unwinder *u)
{
	free(u->published);
	u64_map_fini(&u->numbers);
	table_set_free(u->tables);
	unwind_memory_free(u->memory);
	for (size_t i = u->first_urgent; i < u->n_urgent; i++)
		free(u->urgent[i].file);
	u64_map_fini(&u->asked);
	free(u->urgent);
	free(u->others);
	(void)pthread_mutex_destroy(&u->mutex);
	(void)pthread_cond_destroy(&u->is_changed);
	free(u);
}

int unwinder_start(struct object *object, uint64_t max_bytes, struct files *files,
		   struct unwinder **ret, struct error *e)
{
	struct unwinder *u = xcalloc(1, sizeof(*u));

	(void)pthread_mutex_init(&u->mutex, NULL);
	(void)pthread_cond_init(&u->is_changed, NULL);
	u->memory = unwind_memory_new(object, max_bytes);
	u->object = object;
	u->files = files;
	u->n_to_compact = LEAST_TO_COMPACT;
	u->tables = table_set_new(u->memory, object, files);

	const int err = thread_start(&u->thread, run_unwinder, u);

	if (err) {
		unwinder_free(u);
		return error_set(e, err, "start a thread for unwind tables: %s",
				 error_start_words(err));
	}
	(void)pthread_setname_np(u->thread, "unwind tables");
	*ret = u;
	return 0;
}

void unwinder_last(struct unwinder *u)
{
	__atomic_store_n(&u->is_last, true, __ATOMIC_RELAXED);
}

void unwinder_end(struct unwinder *u)
{
	(void)pthread_mutex_lock(&u->mutex);
	u->is_over = true;
	(void)pthread_cond_broadcast(&u->is_changed);
	(void)pthread_mutex_unlock(&u->mutex);
}

bool unwinder_stop(struct unwinder *u)
{
	if (!u)
		return true;
	unwinder_end(u);
	if (!thread_join_soon(u->thread))
		return false;
	table_set_describe(u->tables);
	unwinder_free(u);
	return true;
}

/* The queue may never become empty, so the front makes room for new wishes. */
static void push_urgent(struct unwinder *u, const struct wish *wish)
{
	if (u->n_urgent == u->urgent_capacity && u->first_urgent > u->n_urgent / 2) {
		u->n_urgent -= u->first_urgent;
		memcpy(u->urgent, u->urgent + u->first_urgent, u->n_urgent * sizeof(*u->urgent));
		u->first_urgent = 0;
	}
	array_push(u->urgent, u->n_urgent, u->urgent_capacity, *wish);
	u->n_pushed++;
}

static void add_wish(struct unwinder *u, const struct wish *wish)
{
	(void)pthread_mutex_lock(&u->mutex);
	push_urgent(u, wish);
	(void)pthread_mutex_unlock(&u->mutex);
}

void unwinder_begin(struct unwinder *u)
{
	(void)pthread_mutex_lock(&u->mutex);
	if (u->n_urgent)
		(void)pthread_cond_broadcast(&u->is_changed);
	(void)pthread_mutex_unlock(&u->mutex);
}

void unwinder_over(struct unwinder *u, uint32_t tgid, uint64_t time)
{
	add_wish(u, &(struct wish){ .kind = WISH_OVER, .tgid = tgid, .time = time });
}

static struct mapping *copy_mapping(const struct mapping *m)
{
	const size_t bytes = strlen(m->path) + 1;
	struct mapping *ret = xcalloc(1, sizeof(*ret) + bytes);

	*ret = *m;
	ret->path = memcpy(ret + 1, m->path, bytes);
	return ret;
}

void unwinder_file(struct unwinder *u, uint32_t tgid, const struct mapping *m)
{
	(void)pthread_mutex_lock(&u->mutex);

	const bool may = u->n_files_asked < MOST_FILES_ASKED;

	u->n_files_asked += may;
	if (may)
		push_urgent(u, &(struct wish){
				       .kind = WISH_FILE, .tgid = tgid, .file = copy_mapping(m) });
	(void)pthread_mutex_unlock(&u->mutex);
	if (!may)
		log_warn_once("processes map new files faster than unwind tables are made: user "
			      "stacks in some of these may be cut");
}

void unwinder_walk(struct unwinder *u, struct late_job *job)
{
	add_wish(u, &(struct wish){ .kind = WISH_WALK, .job = job });
}

void unwinder_look(struct unwinder *u, uint32_t tgid, enum unwinder_wish how)
{
	const struct wish wish = { .kind = how, .tgid = tgid };
	uint32_t *asked;

	(void)pthread_mutex_lock(&u->mutex);
	if (how == UNWINDER_SOMETIME) {
		array_push(u->others, u->n_others, u->others_capacity, wish);
	} else if (!*(asked = u64_map_put(&u->asked, look_key(&wish), false, NULL))) {
		*asked = true;
		push_urgent(u, &wish);
	}
	if (how != UNWINDER_CHANGED)
		(void)pthread_cond_broadcast(&u->is_changed);
	(void)pthread_mutex_unlock(&u->mutex);
}

bool unwinder_wait(struct unwinder *u, uint64_t until)
{
	const struct timespec at = { .tv_sec = (time_t)(until / NS_PER_S),
				     .tv_nsec = (long)(until % NS_PER_S) };
	bool is_done;

	unwinder_begin(u);
	(void)pthread_mutex_lock(&u->mutex);
	do
		is_done = !u->is_busy && (u->is_over || (!u->n_urgent && !u->n_others));
	while (!is_done &&
	       pthread_cond_clockwait(&u->is_changed, &u->mutex, CLOCK_MONOTONIC, &at) == 0);
	(void)pthread_mutex_unlock(&u->mutex);
	return is_done;
}

uint64_t unwinder_n_wishes(struct unwinder *u)
{
	(void)pthread_mutex_lock(&u->mutex);

	const uint64_t n = u->n_pushed;

	(void)pthread_mutex_unlock(&u->mutex);
	return n;
}

bool unwinder_has_done(struct unwinder *u, uint64_t n_wishes)
{
	unwinder_begin(u);
	(void)pthread_mutex_lock(&u->mutex);

	const bool is_done = u->n_taken >= n_wishes + u->is_busy;

	(void)pthread_mutex_unlock(&u->mutex);
	return is_done;
}
