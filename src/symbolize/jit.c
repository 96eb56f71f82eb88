// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A stranger may have written /tmp/perf-7.map, or an earlier process with number 7. The tool
 * accepts the file if
 *
 * - it belongs to the process's user or to root (reader/perf_file.h), and
 * - it changed after the program began, and not after it ended.
 *
 * The search uses the process's number in its innermost PID namespace, below its own root
 * directory. If no file is there, it tries our number and root, because an agent may have written
 * the map. A live process gives its number and its effective user. If the process has ended before
 * the first look, the hit gives the real user. Its number is known then only if its root is ours.
 */
#include "symbolize/jit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "reader/perf_file.h"
#include "reader/roots.h"
#include "symbolize/perf_map.h"

#define MOST_FILE_BYTES (64ULL << 20)
#define MOST_MAPS_BYTES (256ULL << 20) /* all maps together */
#define MOST_MAPS 1024
#define MOST_FILES 64
#define MOST_READ_BYTES (1ULL << 30) /* in all, of a file that is written again and again */
#define IDENTIFY_NS 250000000        /* the least time between two looks at a process's identity */

struct jit_map {
	struct program_run process;
	struct process_identity identity;
	uint64_t identified;  /* when; 0: never */
	uint64_t begin_real;  /* CLOCK_REALTIME; 0: not known */
	struct perf_map *map; /* NULL: nothing was read */
	const char *module;
	int root;                   /* root directory of the file */
	uint32_t number;            /* in the file's name */
	int handle;                 /* of the file; HANDLE_NONE: closed */
	struct perf_fact file;      /* its state at the last look */
	uint64_t offset;            /* end of the part that was read */
	uint64_t n_read;            /* bytes in all, also before a restart */
	char tail[PERF_TAIL_BYTES]; /* the last bytes before @offset */
	uint64_t read_from;         /* begin of the last reading, which has all earlier lines */
	uint64_t read_by;           /* end of that reading */
	uint64_t looked_at;         /* time of the last look */
	uint64_t period;            /* period of that look */
	uint64_t used;
	uint32_t n_grown; /* readings that brought something */
	bool has_warned;  /* the user knows that the file is not read, or not to its end */
	bool is_over;     /* nothing more will be read */
};

struct jit {
	struct images *images;
	struct strtab *strings;
	struct jit_map **maps;
	size_t n, capacity;
	struct u64_map tgids; /* the processes of @maps */
	struct jit_map *last; /* of get_jit_map(): the frames of a stack have one map */
	uint32_t *changed;    /* the processes that jit_take_changed() returns */
	size_t n_changed, cap_changed;
	size_t n_files, max_files;
	uint64_t bytes; /* of maps */
	uint64_t clock, period;
	int own_root;
	struct log_few warnings; /* warnings about maps */
};

struct jit *jit_new(struct images *images, struct strtab *strings)
{
	struct jit *j = xcalloc(1, sizeof(*j));

	j->images = images;
	j->strings = strings;
	j->own_root = roots_of(images_roots(images), (uint32_t)getpid());
	j->period = 1;
	j->max_files =
		remote_most_handles() / 8 < MOST_FILES ? remote_most_handles() / 8 : MOST_FILES;
	return j;
}

static void close_perf_file(struct jit *j, struct jit_map *g)
{
	if (g->handle == HANDLE_NONE)
		return;
	remote_close(images_files(j->images), g->handle);
	g->handle = HANDLE_NONE;
	j->n_files--;
}

static void drop_map(struct jit *j, struct jit_map *g)
{
	close_perf_file(j, g);
	if (g->map)
		j->bytes -= perf_map_bytes(g->map);
	perf_map_freep(&g->map);
	g->offset = 0;
	g->file = (struct perf_fact){};
}

static void jit_map_free(struct jit *j, struct jit_map *g)
{
	drop_map(j, g);
	if (j->last == g)
		j->last = NULL;
	free(g);
}

void jit_free(struct jit *j)
{
	if (!j)
		return;
	log_few_end(&j->warnings, "perf maps");
	for (size_t i = 0; i < j->n; i++)
		jit_map_free(j, j->maps[i]);
	free(j->maps);
	u64_map_fini(&j->tgids);
	free(j->changed);
	free(j);
}

void jit_refresh(struct jit *j)
{
	j->period++;
}

/* --- bounds --- */

/*
 * Index of the least recently used map but @keep; @with_file: of those with an open file. SIZE_MAX:
 * none.
 */
static size_t least_used(const struct jit *j, const struct jit_map *keep, bool with_file)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < j->n; i++) {
		const struct jit_map *g = j->maps[i];

		if (g == keep || (with_file && g->handle == HANDLE_NONE))
			continue;
		if (least == SIZE_MAX || g->used < j->maps[least]->used)
			least = i;
	}
	return least;
}

static void bound_perf_maps(struct jit *j, const struct jit_map *keep)
{
	while (j->n > MOST_MAPS || j->bytes > MOST_MAPS_BYTES) {
		size_t least = least_used(j, keep, false);

		if (least == SIZE_MAX)
			return;
		if (j->maps[least]->map)
			log_warn_once(
				"perf maps take more than %llu MiB, or are more than %d: some "
				"were forgotten, and their functions may have no name",
				MOST_MAPS_BYTES >> 20, MOST_MAPS);
		jit_map_free(j, j->maps[least]);
		j->maps[least] = j->maps[--j->n];
		u64_map_clear(&j->tgids);
		for (size_t i = 0; i < j->n; i++)
			(void)u64_map_put(&j->tgids, j->maps[i]->process.tgid, 0, NULL);
	}
}

/* --- times --- */

/*
 * The kernel dates a file by its last tick, and a virtual CPU may get its tick late. Files in a
 * tmpfs were up to 12 ms behind on a busy host.
 */
#define MOST_LAG_NS (NS_PER_S / 10)

/* How far one clock is ahead of another: bounds, because we may be interrupted between readings. */
struct ahead {
	uint64_t least, most;
};

static struct ahead clock_lead(clockid_t a, clockid_t b)
{
	struct ahead best = {};

	for (int i = 0; i < 5; i++) {
		const uint64_t before = clock_ns(b), now = clock_ns(a), behind = clock_ns(b);

		if (i == 0 || behind - before < best.most - best.least)
			best = (struct ahead){ now - behind, now - before };
	}
	return best;
}

static bool is_too_old(const struct jit_map *g, const struct perf_fact *file)
{
	return g->begin_real && file->changed_ns + MOST_LAG_NS < g->begin_real;
}

static bool is_too_new(const struct jit_map *g, const struct perf_fact *file)
{
	return g->process.end != UINT64_MAX &&
	       file->changed_ns > g->process.end + clock_lead(CLOCK_REALTIME, CLOCK_MONOTONIC).most;
}

/* --- the file --- */

static void warn_of_map(struct jit *j, struct jit_map *g, uint32_t number, const char *what,
			const char *why)
{
	char path[PERF_FILE_PATH_BYTES];

	if (g->has_warned)
		return;
	g->has_warned = true;
	perf_file_path(number, path);
	log_few(&j->warnings, "%s of process %u is not read%s: %s", path, g->process.tgid, what,
		why);
}

static void keep_tail(struct jit_map *g, const char *text, size_t n)
{
	if (n >= PERF_TAIL_BYTES) {
		memcpy(g->tail, text + n - PERF_TAIL_BYTES, PERF_TAIL_BYTES);
		return;
	}

	size_t before = g->offset < PERF_TAIL_BYTES ? (size_t)g->offset : PERF_TAIL_BYTES;
	size_t kept = before + n > PERF_TAIL_BYTES ? PERF_TAIL_BYTES - n : before;

	memmove(g->tail, g->tail + before - kept, kept);
	memcpy(g->tail + kept, text, n);
}

static bool may_read_on(const struct jit_map *g)
{
	return g->offset < MOST_FILE_BYTES && g->n_read < MOST_READ_BYTES &&
	       !perf_map_is_full(g->map);
}

static void add_map_lines(struct jit_map *g, const struct remote_perf_map *answer)
{
	const uint64_t room = (uint64_t)MOST_FILE_BYTES - g->offset;
	const size_t n = answer->n < room ? answer->n : (size_t)room;

	perf_map_add(g->map, answer->text, n);
	keep_tail(g, answer->text, n);
	g->offset += n;
	g->n_read += n;
}

static struct perf_payload perf_question(const struct jit *j, const struct jit_map *g, int root,
					 uint32_t number)
{
	const uint32_t user = g->identified ? g->identity.user : g->process.user;
	struct perf_payload p = {
		.dev = g->file.dev,
		.inode = g->file.inode,
		.offset = g->offset,
		.root = roots_handle(images_roots(j->images), root),
		.held = g->handle,
		.number = number,
		.user = user == USER_UNKNOWN ? 0 : user,
		.n_tail = g->offset < sizeof(p.tail) ? (uint32_t)g->offset : sizeof(p.tail),
	};

	memcpy(p.tail, g->tail, p.n_tail);
	return p;
}

/* Read the held file to its end. @answer is the first part. */
static void read_map_to_end(struct jit *j, struct jit_map *g, struct remote_perf_map *answer)
{
	struct error e;
	int err = 0;

	g->file = answer->fact;
	for (bool is_first = true; !err && may_read_on(g) && (is_first || answer->n);
	     is_first = false) {
		if (answer->fact.is_anew && g->offset) {
			perf_map_restart(g->map);
			g->offset = 0;
		}
		add_map_lines(g, answer);

		const struct perf_payload next = perf_question(j, g, g->root, 0);
		const bool is_over = !answer->n;

		cleanup_free_p(&answer->memory);
		if (is_over || !may_read_on(g))
			break;
		err = remote_perf_map(images_files(j->images), &next, answer, &e);
	}
	if (!may_read_on(g))
		warn_of_map(j, g, g->number, " to its end", "it is too large");
}

/* Add the new lines of the held file to its map. @answer has the first of them. */
static void read_map_file(struct jit *j, struct jit_map *g, struct remote_perf_map *answer,
			  uint64_t from)
{
	const uint64_t before = g->map ? perf_map_bytes(g->map) : 0;
	const uint64_t n_before = g->n_read;
	const uint64_t n_garbage = g->map ? perf_map_garbage(g->map) : 0;

	if (!g->map)
		g->map = perf_map_new();
	read_map_to_end(j, g, answer);
	if (perf_map_settle(g->map, g->read_from, clock_ns(CLOCK_MONOTONIC)))
		array_push(j->changed, j->n_changed, j->cap_changed, g->process.tgid);
	g->n_grown += g->n_read != n_before;
	g->read_from = from;
	g->read_by = clock_ns(CLOCK_MONOTONIC);
	j->bytes += perf_map_bytes(g->map) - before;
	if (perf_map_garbage(g->map) > n_garbage)
		log_debug("%s of process %u: %" PRIu64 " lines are not of the form", g->module,
			  g->process.tgid, perf_map_garbage(g->map) - n_garbage);
	if (perf_map_is_garbage(g->map))
		warn_of_map(j, g, g->number, "",
			    "no line of it is START SIZE NAME, in hexadecimal");
	bound_perf_maps(j, g);
}

static void hold_perf_file(struct jit *j, struct jit_map *g, const struct perf_fact *file, int root,
			   uint32_t number)
{
	char path[PERF_FILE_PATH_BYTES];

	close_perf_file(j, g);
	if (j->n_files >= j->max_files) {
		size_t least = least_used(j, g, true);

		if (least != SIZE_MAX)
			close_perf_file(j, j->maps[least]);
	}
	perf_file_path(number, path);
	g->module = strtab_add(j->strings, strrchr(path, '/') + 1);
	g->handle = file->handle;
	g->file = *file;
	g->root = root;
	g->number = number;
	j->n_files++;
}

/* Read the identity of the process. False: it has ended, or another process has its number. */
static bool identify_process(struct jit *j, struct jit_map *g)
{
	struct process_identity now;
	const int root = roots_of(images_roots(j->images), g->process.tgid);

	if (!process_identity_read(g->process.tgid, &now) ||
	    (g->identified && now.started != g->identity.started)) {
		g->is_over = !g->process.is_followed;
		return false;
	}
	g->identity = now;
	g->identified = clock_ns(CLOCK_MONOTONIC);
	if (root >= 0)
		g->process.root = root;
	if (!g->begin_real && now.started)
		g->begin_real = now.started + clock_lead(CLOCK_REALTIME, CLOCK_BOOTTIME).least;
	return true;
}

/* May @file become the held file? It must be of this program, and not too large. */
static int check_file(const struct jit_map *g, const struct perf_fact *file, struct error *e)
{
	if (is_too_old(g, file))
		return error_set(e, -ESTALE, "it is older than the process");
	if (file->size > MOST_FILE_BYTES)
		return error_set(e, -EFBIG, "it is larger than %llu MiB", MOST_FILE_BYTES >> 20);
	return 0;
}

/*
 * Ask for file @number. @ret has its new lines if it is the held one; else it is held from now on.
 */
static int ask_perf_file(struct jit *j, struct jit_map *g, int root, uint32_t number,
			 struct remote_perf_map *ret, struct error *e)
{
	struct remote_files *files = images_files(j->images);
	const bool is_held = g->root == root && g->number == number;
	struct perf_payload what = perf_question(j, g, root, number);
	int err;

	if (!is_held)
		what.held = HANDLE_NONE;
	err = remote_perf_map(files, &what, ret, e);
	if (err || ret->fact.handle < 0)
		return err;
	err = check_file(g, &ret->fact, e);
	if (err)
		remote_close(files, ret->fact.handle);
	else
		hold_perf_file(j, g, &ret->fact, root, number);
	cleanup_free_p(&ret->memory);
	return err;
}

/* True: there is a file of this program, even if we may not use it. */
static bool try_map_file(struct jit *j, struct jit_map *g, int root, uint32_t number,
			 struct remote_perf_map *ret)
{
	struct error e;
	int err;

	if (root < 0)
		return false;
	err = ask_perf_file(j, g, root, number, ret, &e);
	if (err == -EPERM && g->process.end == UINT64_MAX && g->identified < g->looked_at &&
	    identify_process(j, g)) /* the process may have another user now */
		err = ask_perf_file(j, g, root, number, ret, &e);
	if (err == -ENOENT || err == -ETIME || err == -EINTR || err == -ENOTCONN || err == -EIO ||
	    err == -EAGAIN)
		return false;
	if (err && (g->identified || g->process.user != USER_UNKNOWN))
		warn_of_map(j, g, number, "", e.text);
	return err != -ESTALE;
}

static void find_perf_file(struct jit *j, struct jit_map *g, struct remote_perf_map *ret)
{
	const int root = g->process.root;

	if (g->identified) {
		if (!try_map_file(j, g, root, g->identity.number, ret) &&
		    (root != j->own_root || g->identity.number != g->process.tgid))
			(void)try_map_file(j, g, j->own_root, g->process.tgid, ret);
	} else if (root < 0 || root == j->own_root) {
		(void)try_map_file(j, g, j->own_root, g->process.tgid, ret);
	}
}

/* --- programs --- */

/* We learn of an end late. Forget a look after it, which may have seen the next program. */
static void forget_seen_too_late(struct jit *j, struct jit_map *g)
{
	const uint64_t end_boot = g->process.end + clock_lead(CLOCK_BOOTTIME, CLOCK_MONOTONIC).most;

	if (g->identified && g->identity.started > end_boot)
		g->identified = 0;
	else if (g->read_by < g->process.end || g->handle == HANDLE_NONE ||
		 !is_too_new(g, &g->file))
		return;
	drop_map(j, g);
}

/* Read the held file by its handle: no path leads to it any more, or it was opened just now. */
static void ask_held(const struct jit *j, const struct jit_map *g, struct remote_perf_map *ret)
{
	const struct perf_payload what = perf_question(j, g, g->root, 0);
	struct error e;

	if (remote_perf_map(images_files(j->images), &what, ret, &e))
		log_debug("perf map of process %u: %s", g->process.tgid, e.text);
}

static void look_at_perf_map(struct jit *j, struct jit_map *g)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct remote_perf_map found = {};

	if (g->is_over)
		return;
	g->looked_at = now;
	g->period = j->period;
	if (g->process.end == UINT64_MAX && (!g->identified || now - g->identified > IDENTIFY_NS))
		(void)identify_process(j, g);
	if (!g->is_over)
		find_perf_file(j, g, &found);
	if (g->handle != HANDLE_NONE && !found.memory)
		ask_held(j, g, &found);
	if (found.memory && !is_too_new(g, &found.fact))
		read_map_file(j, g, &found, now);
	free(found.memory);
	g->is_over = g->is_over || g->process.end != UINT64_MAX;
	if (g->is_over)
		close_perf_file(j, g);
}

static bool is_of_program(const struct jit_map *g, const struct program_run *p)
{
	return g->process.tgid == p->tgid && g->process.begin == p->begin;
}

static struct jit_map *find_map(struct jit *j, const struct program_run *p)
{
	if (j->last && is_of_program(j->last, p))
		return j->last;
	if (!u64_map_get(&j->tgids, p->tgid))
		return NULL;
	for (size_t i = 0; i < j->n; i++)
		if (is_of_program(j->maps[i], p))
			return j->maps[i];
	return NULL;
}

static struct jit_map *get_jit_map(struct jit *j, const struct program_run *p)
{
	struct jit_map *g = find_map(j, p);

	if (!g) {
		g = xcalloc(1, sizeof(*g));
		g->process = *p;
		g->handle = HANDLE_NONE;
		if (p->begin)
			g->begin_real =
				p->begin + clock_lead(CLOCK_REALTIME, CLOCK_MONOTONIC).least;
		array_push(j->maps, j->n, j->capacity, g);
		(void)u64_map_put(&j->tgids, p->tgid, 0, NULL);
		bound_perf_maps(j, g);
		look_at_perf_map(j, g);
	}
	j->last = g;
	g->used = ++j->clock;
	return g;
}

/* The map of @p. It has all lines from before @time. */
static struct jit_map *jit_map_at(struct jit *j, const struct program_run *p, uint64_t time)
{
	struct jit_map *g = get_jit_map(j, p);

	if (time ? time > g->looked_at : g->period != j->period)
		look_at_perf_map(j, g);
	return g;
}

void jit_watch(struct jit *j, const struct program_run *p)
{
	(void)get_jit_map(j, p);
}

bool jit_at(struct jit *j, const struct program_run *p, uint64_t addr, uint64_t time,
	    struct jit_function *ret)
{
	const struct jit_map *g = jit_map_at(j, p, time);
	struct perf_map_function function;

	if (!g->map || !perf_map_at(g->map, addr, time, &function))
		return false;
	*ret = (struct jit_function){ function.name, g->module, function.start };
	return true;
}

uint32_t jit_epoch(struct jit *j, const struct program_run *p, uint64_t time)
{
	const struct jit_map *g = find_map(j, p);

	if (!g)
		return 0;
	g = jit_map_at(j, p, time);
	return g->map ? perf_map_epoch(g->map, time) : 0;
}

uint32_t jit_growth(struct jit *j, const struct program_run *p, uint64_t time)
{
	return find_map(j, p) ? jit_map_at(j, p, time)->n_grown : 0;
}

void jit_ended(struct jit *j, uint32_t tgid, uint64_t time)
{
	for (size_t i = 0; i < j->n && u64_map_get(&j->tgids, tgid); i++) {
		struct jit_map *g = j->maps[i];

		if (g->process.tgid != tgid || g->process.end != UINT64_MAX ||
		    g->process.begin >= time)
			continue;
		g->process.end = time;
		forget_seen_too_late(j, g);
		look_at_perf_map(j, g);
	}
}

void jit_look_again(struct jit *j)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < j->n; i++) {
		struct jit_map *g = j->maps[i];

		if (!g->is_over && now - g->looked_at > JIT_LOOK_NS)
			look_at_perf_map(j, g);
	}
}

uint32_t jit_take_changed(struct jit *j)
{
	return j->n_changed ? j->changed[--j->n_changed] : 0;
}
