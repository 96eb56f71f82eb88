#include "tables/unwinder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "bpf/tables.h"
#include "tables/table_set.h"

enum wish_kind {
	WISH_LOOK, /* it was hit */
	WISH_LOOK_IF_KNOWN,
	WISH_LOOK_AHEAD,
	WISH_FORK,
	WISH_EXEC,
	WISH_FILE,
};

struct wish {
	enum wish_kind kind;
	uint32_t tgid;
	uint32_t parent;      /* FORK */
	uint64_t time;        /* EXEC: ns of CLOCK_MONOTONIC */
	uint64_t inode;       /* LOOK: of the file that was missed, or 0 */
	uint32_t dev;         /* FILE_DEV() */
	struct mapping *file; /* FILE: as tgid maps it; in one piece with its path, to free() */
};

/* A look that waits does for all that are asked for behind it, until the process is another one. */
enum look_asked { NOT_ASKED, ASKED_IF_KNOWN, ASKED_NOW };

/* What the programs have been told of a process. */
struct known {
	uint32_t tgid;
	bool is_known;
	uint64_t looked;           /* ns of CLOCK_MONOTONIC */
	struct unwind_space space; /* n 0: nothing, or what its parent has */
};

/* PID_MAX_LIMIT of the kernel (include/linux/threads.h). */
#define MOST_TGIDS (4U << 20)

/* Entries of processes, until it is seen which of them have gone. */
#define LEAST_TO_COMPACT 1024

struct unwinder {
	/* What is asked of the thread. */
	pthread_mutex_t mutex;
	pthread_cond_t is_changed;
	struct wish *urgent, *others;
	size_t first_urgent, n_urgent, urgent_capacity; /* in order */
	struct u64_map asked; /* of tgids: the look that is among them, an enum look_asked */
	size_t n_others, others_capacity;
	bool is_busy, is_over;
	void (*at_rest)(void *context); /* to be called once there is nothing to do; or NULL */
	void *context;
	pthread_t thread;

	/* The asker's own: files that were asked for; a bit for each process that may be known. */
	struct u64_map files;
	size_t n_files;
	uint64_t *may_be_known;

	/* The thread's own. */
	struct object *object;
	struct unwind_memory *memory;
	struct table_set *tables;
	struct known *known;
	size_t n_known, known_capacity;
	size_t n_to_compact;
	struct u64_map numbers; /* of tgids in @known */
	uint32_t last_space;
};

/* --- in the thread --- */

/* Processes that have gone are left out. */
static void compact(struct unwinder *u)
{
	size_t n = 0;

	u64_map_clear(&u->numbers);
	for (size_t i = 0; i < u->n_known; i++) {
		if (!u->known[i].is_known && !u->known[i].space.n)
			continue;
		u->known[n] = u->known[i];
		(void)u64_map_put(&u->numbers, u->known[n].tgid, (uint32_t)n, NULL);
		n++;
	}
	u->n_known = n;
	u->n_to_compact = n < LEAST_TO_COMPACT / 2 ? LEAST_TO_COMPACT : 2 * n;
}

/* Lent until the next call. */
static struct known *known_of(struct unwinder *u, uint32_t tgid)
{
	bool is_new;
	uint32_t i;

	if (u->n_known >= u->n_to_compact)
		compact(u);
	i = *u64_map_put(&u->numbers, tgid, (uint32_t)u->n_known, &is_new);

	if (is_new)
		array_push(u->known, u->n_known, u->known_capacity, (struct known){ .tgid = tgid });
	return &u->known[i];
}

static void drop(struct unwinder *u, const struct unwind_space *space)
{
	unwind_memory_drop(u->memory, space->mappings, space->n * sizeof(struct unwind_mapping));
}

/*
 * The programs take that for what process @tgid has mapped, unless more was mapped than the
 * @n_reserved times that had been counted before it was looked at.
 */
static int tell(struct unwinder *u, uint32_t tgid, const struct unwind_mapping *list, size_t n,
		uint64_t n_reserved, struct error *e)
{
	struct known *known = known_of(u, tgid);
	struct unwind_space space = { .n = (uint32_t)n,
				      .number = ++u->last_space,
				      .unsure = space_unsure(n_reserved) };
	int err;

	do
		err = unwind_memory_put(u->memory, list, n * sizeof(*list), &space.mappings, e);
	while (err == -E2BIG && table_set_make_room(u->tables));
	if (err)
		return err;
	err = object_set_space(u->object, tgid, &space, e);
	drop(u, err ? &space : &known->space);
	if (!err)
		known->space = space;
	known->is_known = true;
	return err;
}

/* What it has mapped has changed: the kernel is asked until it has been looked at again. */
static void retract(struct unwinder *u, uint32_t tgid)
{
	struct known *known = known_of(u, tgid);
	struct error e;

	if (object_set_space(u->object, tgid, NULL, &e))
		log_debug("%s", e.text);
	drop(u, &known->space);
	known->space = (struct unwind_space){};
}

static void forget(struct unwinder *u, uint32_t tgid)
{
	retract(u, tgid);
	known_of(u, tgid)->is_known = false;
}

/* Of the first @n of @list. True: all tables are there. */
static bool find_all(struct unwinder *u, const struct mapping_list *list, size_t n,
		     enum table_wish wish, struct unwind_mapping *ret)
{
	bool is_complete = true;

	for (size_t i = 0; i < n; i++) {
		const struct mapping *m = &list->mappings[i];

		ret[i] = (struct unwind_mapping){ .start = m->start, .end = m->end };
		table_set_find(u->tables, list->tid, m, wish, &ret[i]);
		is_complete = is_complete && ret[i].how != UNWIND_NOT_YET;
	}
	return is_complete;
}

static uint64_t count_reserved(const struct unwinder *u, uint32_t tgid)
{
	return __atomic_load_n(&object_state(u->object)->n_reserved[reservations_of(tgid)],
			       __ATOMIC_ACQUIRE);
}

/* Is @list what it still has mapped? Where nothing was mapped since, nothing took any place. */
static bool is_still(const struct unwinder *u, uint32_t tgid, const struct mapping_list *list,
		     uint64_t n_reserved)
{
	cleanup(mapping_list_fini) struct mapping_list now = {};
	struct error e;

	if (count_reserved(u, tgid) == n_reserved)
		return true;
	return mapping_list_read(tgid, &now, &e) == 0 && mapping_list_is_equal(list, &now);
}

/* What was told is so: what came since is in @list, or the programs have seen it come. */
static void confirm(struct unwinder *u, uint32_t tgid, const struct mapping_list *list,
		    uint64_t n_reserved)
{
	struct known *known = known_of(u, tgid);

	known->space.unsure = 0;
	if (!is_still(u, tgid, list, n_reserved) ||
	    !object_replace_space(u->object, tgid, &known->space))
		retract(u, tgid);
}

/*
 * Tell the programs of @list, by tables that are there, or that are made first if @wish is so.
 * Returns whether all are there, or an error.
 */
static int tell_of(struct unwinder *u, uint32_t tgid, const struct mapping_list *list,
		   enum table_wish wish, uint64_t n_reserved, struct error *e)
{
	const size_t n = list->n < MOST_MAPPINGS ? list->n : MOST_MAPPINGS;
	cleanup_free struct unwind_mapping *mappings = xcalloc(n, sizeof(*mappings));
	const bool is_complete = find_all(u, list, n, wish, mappings);
	int err = tell(u, tgid, mappings, n, n_reserved, e);

	if (err)
		return err;
	confirm(u, tgid, list, n_reserved);
	return is_complete;
}

static int look(struct unwinder *u, uint32_t tgid, enum table_wish wish, struct error *e)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const uint64_t n_reserved = count_reserved(u, tgid);
	int result = mapping_list_read(tgid, &list, e);

	if (result || !list.n) {
		forget(u, tgid);
		return 0;
	}
	known_of(u, tgid)->looked = now;
	result = tell_of(u, tgid, &list, TABLE_AS_IS, n_reserved, e);
	if (!result)
		result = tell_of(u, tgid, &list, wish, n_reserved, e);
	return result < 0 ? result : 0;
}

static struct wish next_urgent(struct unwinder *u)
{
	struct wish wish = u->urgent[u->first_urgent++];
	uint32_t *asked = u64_map_get(&u->asked, wish.tgid);

	if (asked && wish.kind <= WISH_LOOK_IF_KNOWN)
		*asked = NOT_ASKED;
	if (u->first_urgent == u->n_urgent) {
		u->first_urgent = u->n_urgent = 0;
		u64_map_clear(&u->asked);
	}
	return wish;
}

/* Nothing is asked for. False: nobody wishes to know. */
static bool tell_rest(struct unwinder *u)
{
	void (*at_rest)(void *context) = u->at_rest;

	if (!at_rest)
		return false;
	u->at_rest = NULL;
	(void)pthread_mutex_unlock(&u->mutex);
	at_rest(u->context);
	(void)pthread_mutex_lock(&u->mutex);
	return true;
}

/* False: the end. */
static bool next_wish(struct unwinder *u, struct wish *ret)
{
	(void)pthread_mutex_lock(&u->mutex);
	u->is_busy = false;
	(void)pthread_cond_broadcast(&u->is_changed);
	while (!u->is_over && !u->n_urgent && !u->n_others)
		if (!tell_rest(u))
			(void)pthread_cond_wait(&u->is_changed, &u->mutex);
	u->is_busy = true;

	bool is_over = u->is_over;

	if (!is_over && u->n_urgent)
		*ret = next_urgent(u);
	else if (!is_over)
		*ret = u->others[--u->n_others];

	(void)pthread_mutex_unlock(&u->mutex);
	return !is_over;
}

static bool is_known(const struct unwinder *u, uint32_t tgid)
{
	const uint32_t *i = u64_map_get(&u->numbers, tgid);

	return i && u->known[*i].is_known;
}

/* What is known of a process that had the child's number is not of the child. */
static void note_child(struct unwinder *u, const struct wish *wish)
{
	if (is_known(u, wish->parent))
		known_of(u, wish->tgid)->is_known = true;
	else if (is_known(u, wish->tgid))
		forget(u, wish->tgid);
}

/* What was mapped before is not any more; the programs know it. */
static void note_exec(struct unwinder *u, const struct wish *wish)
{
	if (is_known(u, wish->tgid) && known_of(u, wish->tgid)->looked < wish->time)
		forget(u, wish->tgid);
}

static void fulfil(struct unwinder *u, const struct wish *wish)
{
	struct unwind_mapping unused = {};
	struct error e;

	table_set_turn(u->tables, clock_ns(CLOCK_MONOTONIC));
	switch (wish->kind) {
	case WISH_LOOK_IF_KNOWN:
		if (!is_known(u, wish->tgid))
			break;
		/* fall through */
	case WISH_LOOK:
	case WISH_LOOK_AHEAD:
		if (look(u, wish->tgid, wish->kind == WISH_LOOK ? TABLE_IN_USE : TABLE_AHEAD, &e))
			log_debug("process %u is not walked by tables: %s", wish->tgid, e.text);
		if (wish->inode)
			table_set_again(u->tables, wish->inode, wish->dev);
		break;
	case WISH_FORK:
		note_child(u, wish);
		break;
	case WISH_EXEC:
		note_exec(u, wish);
		break;
	case WISH_FILE:
		table_set_find(u->tables, wish->tgid, wish->file, TABLE_AHEAD, &unused);
		free(wish->file);
		break;
	}
}

static void *work(void *argument)
{
	struct unwinder *u = argument;
	struct wish wish = {};

	while (next_wish(u, &wish))
		fulfil(u, &wish);
	return NULL;
}

/* --- asking it --- */

static int start_thread(struct unwinder *u, struct error *e)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGBUS); /* elf/guard.h */
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);

	int err = pthread_create(&u->thread, NULL, work, u);

	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		(void)pthread_setname_np(u->thread, "unwind tables");
	return err ? error_set(e, -err, "start a thread for unwind tables") : 0;
}

static void unwinder_free(struct unwinder *u)
{
	table_set_free(u->tables);
	unwind_memory_free(u->memory);
	for (size_t i = u->first_urgent; i < u->n_urgent; i++)
		free(u->urgent[i].file);
	u64_map_fini(&u->files);
	u64_map_fini(&u->asked);
	free(u->may_be_known);
	free(u->urgent);
	free(u->others);
	free(u->known);
	u64_map_fini(&u->numbers);
	(void)pthread_mutex_destroy(&u->mutex);
	(void)pthread_cond_destroy(&u->is_changed);
	free(u);
}

int unwinder_start(struct object *object, uint64_t max_bytes, struct unwinder **ret,
		   struct error *e)
{
	struct unwinder *u = xcalloc(1, sizeof(*u));

	(void)pthread_mutex_init(&u->mutex, NULL);
	(void)pthread_cond_init(&u->is_changed, NULL);
	u->object = object;
	u->n_to_compact = LEAST_TO_COMPACT;
	u->may_be_known = xcalloc(MOST_TGIDS / 64, sizeof(*u->may_be_known));
	u->memory = unwind_memory_new(object, max_bytes);
	u->tables = table_set_new(u->memory, object);

	int err = start_thread(u, e);

	if (err)
		unwinder_free(u);
	else
		*ret = u;
	return err;
}

void unwinder_stop(struct unwinder *u)
{
	if (!u)
		return;
	(void)pthread_mutex_lock(&u->mutex);
	u->is_over = true;
	(void)pthread_cond_broadcast(&u->is_changed);
	(void)pthread_mutex_unlock(&u->mutex);
	(void)pthread_join(u->thread, NULL);
	unwinder_free(u);
}

static void ask(struct unwinder *u, const struct wish *wish)
{
	(void)pthread_mutex_lock(&u->mutex);

	uint32_t *asked = u64_map_get(&u->asked, wish->tgid);

	if (asked && (wish->kind == WISH_FORK || wish->kind == WISH_EXEC))
		*asked = NOT_ASKED;
	array_push(u->urgent, u->n_urgent, u->urgent_capacity, *wish);
	(void)pthread_mutex_unlock(&u->mutex);
}

void unwinder_begin(struct unwinder *u)
{
	(void)pthread_mutex_lock(&u->mutex);
	if (u->n_urgent)
		(void)pthread_cond_broadcast(&u->is_changed);
	(void)pthread_mutex_unlock(&u->mutex);
}

/*
 * Of most processes nothing is ever known: the thread is not to hear of what they do. They become
 * known by being looked at, and as children of those that may be.
 */
static bool may_be_known(const struct unwinder *u, uint32_t tgid)
{
	return tgid >= MOST_TGIDS || u->may_be_known[tgid / 64] >> tgid % 64 & 1;
}

static void set_may_be_known(struct unwinder *u, uint32_t tgid, bool may_be)
{
	const uint64_t bit = 1ULL << tgid % 64;

	if (tgid >= MOST_TGIDS)
		return;
	if (may_be)
		u->may_be_known[tgid / 64] |= bit;
	else
		u->may_be_known[tgid / 64] &= ~bit;
}

void unwinder_fork(struct unwinder *u, uint32_t parent, uint32_t child)
{
	const bool may_be = may_be_known(u, parent);

	if (!may_be && !may_be_known(u, child))
		return;
	set_may_be_known(u, child, may_be);
	ask(u, &(struct wish){ .kind = WISH_FORK, .tgid = child, .parent = parent });
}

void unwinder_exec(struct unwinder *u, uint32_t tgid, uint64_t time)
{
	if (may_be_known(u, tgid))
		ask(u, &(struct wish){ .kind = WISH_EXEC, .tgid = tgid, .time = time });
}

static struct mapping *copy(const struct mapping *m)
{
	const size_t bytes = strlen(m->path) + 1;
	struct mapping *ret = xcalloc(1, sizeof(*ret) + bytes);

	*ret = *m;
	ret->path = memcpy(ret + 1, m->path, bytes);
	return ret;
}

void unwinder_file(struct unwinder *u, uint32_t tgid, const struct mapping *m)
{
	const uint64_t key = hash_mix(hash_mix(hash_mix(m->dev) ^ m->inode) ^ m->offset);
	bool is_new;

	if (!m->inode)
		return;
	if (u->n_files == MOST_FILES) {
		u64_map_fini(&u->files);
		u->files = (struct u64_map){};
		u->n_files = 0;
	}
	(void)u64_map_put(&u->files, key, 0, &is_new);
	u->n_files += is_new;
	if (is_new)
		ask(u, &(struct wish){ .kind = WISH_FILE, .tgid = tgid, .file = copy(m) });
}

/* Is there one already that does for it? */
static bool is_asked(struct unwinder *u, const struct wish *wish)
{
	const uint32_t wanted = wish->kind == WISH_LOOK ? ASKED_NOW : ASKED_IF_KNOWN;
	uint32_t *asked = u64_map_put(&u->asked, wish->tgid, NOT_ASKED, NULL);
	const bool is = *asked >= wanted;

	if (!is)
		*asked = wanted;
	return is;
}

void unwinder_look(struct unwinder *u, uint32_t tgid, enum unwinder_wish how)
{
	static const enum wish_kind kinds[] = { [UNWINDER_NOW] = WISH_LOOK,
						[UNWINDER_SOMETIME] = WISH_LOOK_AHEAD,
						[UNWINDER_IF_KNOWN] = WISH_LOOK_IF_KNOWN };
	const struct wish wish = { .kind = kinds[how], .tgid = tgid };

	if (how == UNWINDER_IF_KNOWN && !may_be_known(u, tgid))
		return;
	set_may_be_known(u, tgid, true);
	(void)pthread_mutex_lock(&u->mutex);
	if (how == UNWINDER_SOMETIME)
		array_push(u->others, u->n_others, u->others_capacity, wish);
	else if (!is_asked(u, &wish))
		array_push(u->urgent, u->n_urgent, u->urgent_capacity, wish);
	if (how != UNWINDER_IF_KNOWN)
		(void)pthread_cond_broadcast(&u->is_changed);
	(void)pthread_mutex_unlock(&u->mutex);
}

void unwinder_miss(struct unwinder *u, uint32_t tgid, uint64_t inode, uint32_t dev)
{
	set_may_be_known(u, tgid, true);
	ask(u, &(struct wish){ .kind = WISH_LOOK, .tgid = tgid, .inode = inode, .dev = dev });
	unwinder_begin(u);
}

void unwinder_wait(struct unwinder *u)
{
	unwinder_begin(u);
	(void)pthread_mutex_lock(&u->mutex);
	while (u->is_busy || u->n_urgent || u->n_others)
		(void)pthread_cond_wait(&u->is_changed, &u->mutex);
	(void)pthread_mutex_unlock(&u->mutex);
}

void unwinder_then(struct unwinder *u, void (*at_rest)(void *context), void *context)
{
	(void)pthread_mutex_lock(&u->mutex);
	u->at_rest = at_rest;
	u->context = context;
	(void)pthread_cond_broadcast(&u->is_changed);
	(void)pthread_mutex_unlock(&u->mutex);
}

void unwinder_describe(struct unwinder *u)
{
	unwinder_wait(u);
	table_set_describe(u->tables);
}
