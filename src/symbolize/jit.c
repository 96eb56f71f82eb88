/*
 * Whose file is it? /tmp/perf-7.map may be a stranger's, or be left from another process that had
 * number 7. It is taken if
 *
 * - it is the user's whose the process is, or root's (reader/perf_file.h), and
 * - it was changed after the program began, and not after it ended.
 *
 * The number is the process's own, in its innermost PID namespace, and the root directory its own;
 * where there is none, the same is tried as this program sees it: the file may have been written
 * by an agent on its behalf. The number, and the effective user, are asked of a process that lives.
 * Of one that is over when it is first looked at, the real user is known from the hit, and its
 * number if it has the root that we have.
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
#include "symbolize/perf_map.h"

#define MOST_FILE_BYTES (64LL << 20)
#define MOST_MAPS_BYTES (256ULL << 20) /* of all together */
#define MOST_MAPS 1024
#define MOST_FILES 64
#define MOST_READ_BYTES (1ULL << 30) /* of a file that is written again and again */
#define LOOK_NS 10000000             /* so long files are left alone, */
#define IDENTIFY_NS 250000000        /* and so long what the process is */
#define BLOCK_BYTES 65536
#define TAIL_BYTES 64

struct jit_map {
	struct program_run process;
	struct process_identity identity;
	uint64_t identified;  /* when; 0: never */
	uint64_t begin_real;  /* CLOCK_REALTIME; 0: not known */
	struct perf_map *map; /* NULL: nothing was read */
	const char *module;
	int root;              /* where the file is, */
	uint32_t number;       /* its number, */
	int fd;                /* -1: closed, */
	struct stat file;      /* and what it was when it was opened */
	uint64_t offset;       /* that it was read up to */
	uint64_t n_read;       /* bytes in all */
	char tail[TAIL_BYTES]; /* the last bytes before */
	uint64_t read_from;    /* when the last reading began: what was written before was read */
	uint64_t read_by;      /* and when it was over */
	uint64_t looked_at;    /* when it was looked for last */
	uint64_t period;       /* and in which */
	uint64_t used;
	uint32_t n_grown; /* readings that brought something */
	bool was_told;    /* that the file is not taken, or not as a whole */
	bool is_over;     /* all is read that will be */
};

struct jit {
	struct images *images;
	struct strtab *strings;
	struct jit_map **maps;
	size_t n, capacity;
	struct u64_map tgids; /* that have a program here */
	struct jit_map *last; /* frame by frame it is mostly the same again */
	uint32_t *changed;    /* processes */
	size_t n_changed, cap_changed;
	size_t n_files, max_files;
	uint64_t bytes; /* of maps */
	uint64_t clock, period;
	int own_root;
};

struct jit *jit_new(struct images *images, struct strtab *strings)
{
	struct jit *j = xcalloc(1, sizeof(*j));

	j->images = images;
	j->strings = strings;
	j->own_root = images_root(images, (uint32_t)getpid());
	j->period = 1;
	j->max_files = MOST_FILES;
	return j;
}

void jit_bound_files(struct jit *j, size_t most)
{
	if (most < j->max_files)
		j->max_files = most ? most : 1;
}

static void close_file(struct jit *j, struct jit_map *g)
{
	if (g->fd < 0)
		return;
	close(g->fd);
	g->fd = -1;
	j->n_files--;
}

static void drop_map(struct jit *j, struct jit_map *g)
{
	close_file(j, g);
	if (g->map)
		j->bytes -= perf_map_bytes(g->map);
	perf_map_freep(&g->map);
	g->offset = 0;
	g->file = (struct stat){};
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

/* The least recently used but @keep; only of those with an open file, if that is what it is for. */
static size_t least_used(const struct jit *j, const struct jit_map *keep, bool with_file)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < j->n; i++) {
		const struct jit_map *g = j->maps[i];

		if (g == keep || (with_file && g->fd < 0))
			continue;
		if (least == SIZE_MAX || g->used < j->maps[least]->used)
			least = i;
	}
	return least;
}

static void keep_bounds(struct jit *j, const struct jit_map *keep)
{
	while (j->n > MOST_MAPS || j->bytes > MOST_MAPS_BYTES) {
		size_t least = least_used(j, keep, false);

		if (least == SIZE_MAX)
			return;
		if (j->maps[least]->map)
			log_warn_once(
				"perf maps take more than %llu MiB, or are more than %d: some "
				"were forgotten, and what they name may have no name",
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

/* So much clock @a is ahead of @b, at least and at most: we may be interrupted in between. */
struct ahead {
	uint64_t least, most;
};

static struct ahead ahead_of(clockid_t a, clockid_t b)
{
	struct ahead best = {};

	for (int i = 0; i < 5; i++) {
		const uint64_t before = clock_ns(b), now = clock_ns(a), behind = clock_ns(b);

		if (i == 0 || behind - before < best.most - best.least)
			best = (struct ahead){ now - behind, now - before };
	}
	return best;
}

static uint64_t changed_at(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

static bool is_too_old(const struct jit_map *g, const struct stat *st)
{
	return g->begin_real && changed_at(st) + MOST_LAG_NS < g->begin_real;
}

static bool is_too_new(const struct jit_map *g, const struct stat *st)
{
	return g->process.end != UINT64_MAX &&
	       changed_at(st) > g->process.end + ahead_of(CLOCK_REALTIME, CLOCK_MONOTONIC).most;
}

/* --- the file --- */

static void tell_once(struct jit_map *g, uint32_t number, const char *what, const char *why)
{
	char path[PERF_FILE_PATH_BYTES];

	if (g->was_told)
		return;
	g->was_told = true;
	perf_file_path(number, path);
	log_warn("%s of process %u is not read%s: %s", path, g->process.tgid, what, why);
}

/* Does @st end where the reading did, or behind that? Else it was written anew. */
static bool goes_on(const struct jit_map *g, int fd, const struct stat *st)
{
	char now[TAIL_BYTES];
	size_t n = g->offset < TAIL_BYTES ? (size_t)g->offset : TAIL_BYTES;

	if (st->st_dev != g->file.st_dev || st->st_ino != g->file.st_ino ||
	    (uint64_t)st->st_size < g->offset)
		return false;
	return pread(fd, now, n, (off_t)(g->offset - n)) == (ssize_t)n &&
	       memcmp(now, g->tail, n) == 0;
}

static void keep_tail(struct jit_map *g, const char *text, size_t n)
{
	if (n >= TAIL_BYTES) {
		memcpy(g->tail, text + n - TAIL_BYTES, TAIL_BYTES);
		return;
	}

	size_t before = g->offset < TAIL_BYTES ? (size_t)g->offset : TAIL_BYTES;
	size_t kept = before + n > TAIL_BYTES ? TAIL_BYTES - n : before;

	memmove(g->tail, g->tail + before - kept, kept);
	memcpy(g->tail + kept, text, n);
}

static void read_on(struct jit_map *g)
{
	char block[BLOCK_BYTES];

	while (g->offset < MOST_FILE_BYTES && g->n_read < MOST_READ_BYTES &&
	       !perf_map_is_full(g->map)) {
		size_t room = (size_t)MOST_FILE_BYTES - g->offset;
		ssize_t n = pread(g->fd, block, room < sizeof(block) ? room : sizeof(block),
				  (off_t)g->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		perf_map_add(g->map, block, (size_t)n);
		keep_tail(g, block, (size_t)n);
		g->offset += (size_t)n;
		g->n_read += (size_t)n;
	}
	tell_once(g, g->number, " to its end", "it is too large");
}

/* What is new in the open file. */
static void read_file(struct jit *j, struct jit_map *g, const struct stat *st)
{
	const uint64_t from = clock_ns(CLOCK_MONOTONIC);
	const uint64_t before = g->map ? perf_map_bytes(g->map) : 0;
	const uint64_t n_before = g->n_read;
	const uint64_t n_garbage = g->map ? perf_map_garbage(g->map) : 0;

	if (!g->map)
		g->map = perf_map_new();
	if (!goes_on(g, g->fd, st)) {
		perf_map_restart(g->map);
		g->offset = 0;
	}
	g->file = *st;
	read_on(g);
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
		tell_once(g, g->number, "", "no line of it is START SIZE NAME, in hexadecimal");
	keep_bounds(j, g);
}

static void take_file(struct jit *j, struct jit_map *g, int fd, int root, uint32_t number)
{
	char path[PERF_FILE_PATH_BYTES];

	close_file(j, g);
	if (j->n_files >= j->max_files) {
		size_t least = least_used(j, g, true);

		if (least != SIZE_MAX)
			close_file(j, j->maps[least]);
	}
	perf_file_path(number, path);
	g->module = strtab_add(j->strings, strrchr(path, '/') + 1);
	g->fd = fd;
	g->root = root;
	g->number = number;
	j->n_files++;
}

/* It lives, and is what it was; else nothing is changed. */
static bool identify(struct jit *j, struct jit_map *g)
{
	struct process_identity now;
	const int root = images_root(j->images, g->process.tgid);

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
		g->begin_real = now.started + ahead_of(CLOCK_REALTIME, CLOCK_BOOTTIME).least;
	return true;
}

/* As perf_file_open(), and of this program, and not too large. */
static int open_file(const struct jit_map *g, int root, uint32_t number, struct stat *st, int *fd,
		     struct error *e)
{
	const uint32_t user = g->identified ? g->identity.user : g->process.user;
	int err = perf_file_open(root, number, user == USER_UNKNOWN ? 0 : user, fd, st, e);

	if (err)
		return err;
	if (is_too_old(g, st))
		return error_set(e, -ESTALE, "it is older than the process");
	if (st->st_size > MOST_FILE_BYTES &&
	    (st->st_dev != g->file.st_dev || st->st_ino != g->file.st_ino))
		return error_set(e, -EFBIG, "it is larger than %lld MiB", MOST_FILE_BYTES >> 20);
	return 0;
}

/* True: there is a file of this program's, taken or not. */
static bool try_file(struct jit *j, struct jit_map *g, int root, uint32_t number)
{
	cleanup_close int fd = -1;
	struct error e;
	struct stat st;
	int err;

	if (root < 0)
		return false;
	if (g->fd >= 0 && g->root == root && g->number == number &&
	    perf_file_is(root, number, &g->file))
		return true;
	err = open_file(g, root, number, &st, &fd, &e);
	if (err == -EPERM && g->process.end == UINT64_MAX && g->identified < g->looked_at &&
	    identify(j, g)) /* it may be another user's by now */
		err = open_file(g, root, number, &st, &fd, &e);
	if (err == -ENOENT)
		return false;
	if (!err)
		take_file(j, g, TAKE_FD(fd), root, number);
	else if (g->identified || g->process.user != USER_UNKNOWN)
		tell_once(g, number, "", e.text);
	return err != -ESTALE;
}

static void find_file(struct jit *j, struct jit_map *g)
{
	const int root = g->process.root;

	if (g->identified) {
		if (!try_file(j, g, root, g->identity.number) &&
		    (root != j->own_root || g->identity.number != g->process.tgid))
			(void)try_file(j, g, j->own_root, g->process.tgid);
	} else if (root < 0 || root == j->own_root) {
		(void)try_file(j, g, j->own_root, g->process.tgid);
	}
}

/* --- programs --- */

/* It has ended, as we hear: what was seen of it since then may have been of another. */
static void forget_seen_too_late(struct jit *j, struct jit_map *g)
{
	const uint64_t end_boot = g->process.end + ahead_of(CLOCK_BOOTTIME, CLOCK_MONOTONIC).most;
	struct stat st;

	if (g->identified && g->identity.started > end_boot)
		g->identified = 0;
	else if (g->read_by < g->process.end || g->fd < 0 || fstat(g->fd, &st) < 0 ||
		 !is_too_new(g, &st))
		return;
	drop_map(j, g);
}

static void look(struct jit *j, struct jit_map *g)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct stat st;

	if (g->is_over)
		return;
	g->looked_at = now;
	g->period = j->period;
	if (g->process.end == UINT64_MAX && (!g->identified || now - g->identified > IDENTIFY_NS))
		(void)identify(j, g);
	if (!g->is_over)
		find_file(j, g);
	if (g->fd >= 0 && fstat(g->fd, &st) == 0 && !is_too_new(g, &st))
		read_file(j, g, &st);
	g->is_over = g->is_over || g->process.end != UINT64_MAX;
	if (g->is_over)
		close_file(j, g);
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

static struct jit_map *get_map(struct jit *j, const struct program_run *p)
{
	struct jit_map *g = find_map(j, p);

	if (!g) {
		g = xcalloc(1, sizeof(*g));
		g->process = *p;
		g->fd = -1;
		if (p->begin)
			g->begin_real = p->begin + ahead_of(CLOCK_REALTIME, CLOCK_MONOTONIC).least;
		array_push(j->maps, j->n, j->capacity, g);
		(void)u64_map_put(&j->tgids, p->tgid, 0, NULL);
		keep_bounds(j, g);
		look(j, g);
	}
	j->last = g;
	g->used = ++j->clock;
	return g;
}

/* All that was written before @time has been read. */
static struct jit_map *map_at(struct jit *j, const struct program_run *p, uint64_t time)
{
	struct jit_map *g = get_map(j, p);

	if (time ? time > g->looked_at : g->period != j->period)
		look(j, g);
	return g;
}

void jit_watch(struct jit *j, const struct program_run *p)
{
	(void)get_map(j, p);
}

bool jit_at(struct jit *j, const struct program_run *p, uint64_t addr, uint64_t time,
	    struct jit_function *ret)
{
	const struct jit_map *g = map_at(j, p, time);
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
	g = map_at(j, p, time);
	return g->map ? perf_map_epoch(g->map, time) : 0;
}

uint32_t jit_growth(struct jit *j, const struct program_run *p, uint64_t time)
{
	return find_map(j, p) ? map_at(j, p, time)->n_grown : 0;
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
		look(j, g);
	}
}

void jit_look_again(struct jit *j)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < j->n; i++) {
		struct jit_map *g = j->maps[i];

		if (!g->is_over && now - g->looked_at > LOOK_NS)
			look(j, g);
	}
}

uint32_t jit_take_changed(struct jit *j)
{
	return j->n_changed ? j->changed[--j->n_changed] : 0;
}
