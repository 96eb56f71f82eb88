// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A stranger may have written /tmp/perf-7.map, or an earlier process with number 7. The tool
 * accepts the file if
 *
 * - it belongs to the process's user or to root (files/zygote.h), and
 * - it changed after the program began, and not after it ended, and
 * - it is not as the process's former program left it.
 *
 * The search uses the process's number in its innermost PID namespace, below its own root
 * directory. If no file is there, it tries our number and root, because an agent may have written
 * the map. A live process gives its number and its effective user. If nobody has seen the process
 * alive, the hit gives the real user. Its number is known then only if its root is ours.
 */
#include "symbolize/jit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/read.h"
#include "files/files.h"

/* --- one perf map --- */

/*
 * /tmp/perf-PID.map: start and size, hexadecimal, and a name up to the line's end.
 *
 *	7f31c0000b40 1c4 JS:*fib /srv/app.js:3:13            node --perf-basic-prof
 *	0x00007fc5a8b2f0c0 0x00000060 I2C/C2I adapters       jcmd PID Compiler.perfmap
 *	7F9C2A4B1230 5a [Tier0] void [app] Main::Run()       .NET, DOTNET_PerfMapEnabled=1
 */

#define MOST_LINE_BYTES 4096
#define MOST_LINES (1U << 20)

void perf_map_fini(struct perf_map *m)
{
	free(m->text);
	free(m->lines);
	free(m->bounds);
	free(m->owners);
	*m = (struct perf_map){};
}

/* With or without 0x, and a blank behind it. */
static bool parse_hex_field(const char **at, uint64_t *ret)
{
	if ((*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
		*at += 2;
	if (!take_hex(at, ret) || (**at != ' ' && **at != '\t'))
		return false;
	*at += strspn(*at, " \t");
	return true;
}

/* @line ends with a NUL, but may have others. */
static bool parse_line(char *line, struct perf_line *ret)
{
	const char *at = line + strspn(line, " \t");
	uint64_t size;

	if (!parse_hex_field(&at, &ret->start) || !parse_hex_field(&at, &size))
		return false;
	if (size == 0 || size > UINT64_MAX - ret->start)
		return false;

	char *name = line + (at - line);
	size_t n = strlen(name);

	while (n && strchr(" \t\r", name[n - 1]))
		n--;
	name[n] = '\0';
	ret->end = ret->start + size;
	ret->name = name;
	return n > 0;
}

static void parse_lines(struct perf_map *m, size_t n)
{
	char *at = m->text, *const end = at + n, *newline;
	struct perf_line line;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))) != NULL && m->n < MOST_LINES;
	     at = newline + 1) {
		*newline = '\0';
		if (newline - at <= MOST_LINE_BYTES && parse_line(at, &line))
			array_push(m->lines, m->n, m->capacity, line);
	}
	m->is_full = newline;
}

static void sort_bounds(struct perf_map *m)
{
	m->bounds = xcalloc(2 * m->n, sizeof(*m->bounds));
	for (size_t i = 0; i < m->n; i++) {
		m->bounds[2 * i] = m->lines[i].start;
		m->bounds[2 * i + 1] = m->lines[i].end;
	}
	qsort(m->bounds, 2 * m->n, sizeof(*m->bounds), array_compare_u64);
}

/* The first bound at or behind @i that has no owner. Shortens the way for later questions. */
static uint32_t find_unowned(uint32_t *next, uint32_t i)
{
	while (next[i] != i)
		i = next[i] = next[next[i]];
	return i;
}

/* From the last line to the first: each gets what no later one has. */
static void give_owners(struct perf_map *m)
{
	cleanup_free uint32_t *next = xcalloc(2 * m->n, sizeof(*next));

	m->owners = xcalloc(2 * m->n, sizeof(*m->owners));
	for (uint32_t i = 0; i < 2 * m->n; i++)
		next[i] = i;
	for (size_t i = m->n; i-- > 0;) {
		uint32_t at = (uint32_t)array_count_below(m->bounds, 2 * m->n, sizeof(*m->bounds),
							  m->lines[i].start);

		/* The last bound is an end, so nobody owns what follows it. */
		while (m->bounds[at = find_unowned(next, at)] < m->lines[i].end) {
			m->owners[at] = (uint32_t)i + 1;
			next[at] = at + 1;
		}
	}
}

void perf_map_read(char *text, size_t n, struct perf_map *ret)
{
	*ret = (struct perf_map){ .text = text };
	parse_lines(ret, n);
	sort_bounds(ret);
	give_owners(ret);
	ret->n_bytes = n + ret->capacity * sizeof(*ret->lines) +
		       2 * ret->n * (sizeof(*ret->bounds) + sizeof(*ret->owners));
}

const struct perf_line *perf_map_at(const struct perf_map *m, uint64_t addr)
{
	/* No line has the last address, because ends are exclusive: no bound is below 0. */
	const size_t n = array_count_below(m->bounds, 2 * m->n, sizeof(*m->bounds), addr + 1);
	const uint32_t owner = n ? m->owners[n - 1] : 0;

	return owner ? &m->lines[owner - 1] : NULL;
}

/* --- the maps of processes --- */

/* All maps together. Each counts as more, because a look-up goes over all of them. */
#define MOST_MAPS_BYTES (256ULL << 20)
#define MAP_BYTES (256ULL << 10)
#define IDENTIFY_NS 250000000 /* the least time between two looks at a process's identity */
/* Between two reports, the next look at a map is after this many times the last one's duration. */
#define LOOK_PAUSE 20
/* All looks may take one in so many parts of the time, and this much CPU time at once. */
#define SHARE 4
#define AT_ONCE_NS NS_PER_S

struct jit_map {
	struct program_run process;
	struct process_identity identity;
	uint64_t identified;   /* when; 0: never */
	uint64_t begin_real;   /* CLOCK_REALTIME; 0: not known */
	struct perf_map map;   /* with no text: nothing was read */
	struct file_fact file; /* the state of the file that @map was read from */
	char module[PERF_FILE_PATH_BYTES];
	uint64_t next_look; /* CLOCK_MONOTONIC: hits after it cause a look; 0: any hit does */
	bool has_warned;    /* the user knows that the file is not read, or not to its end */
	bool is_over;       /* nothing more will be read */
};

struct jit {
	struct images *images;
	struct jit_map **maps; /* those that were used last come first */
	size_t n, capacity;
	uint64_t bytes;      /* of maps */
	uint64_t used_until; /* CLOCK_MONOTONIC: looks have taken their share of the time before */
	int own_root;
	struct log_few warnings; /* warnings about maps */
};

struct jit *jit_new(struct images *images)
{
	struct jit *j = xcalloc(1, sizeof(*j));

	j->images = images;
	j->own_root = roots_of(images_files(images), (uint32_t)getpid());
	return j;
}

static void drop_text(struct jit *j, struct jit_map *g)
{
	j->bytes -= g->map.n_bytes;
	perf_map_fini(&g->map);
	g->file = (struct file_fact){};
}

void jit_free(struct jit *j)
{
	if (!j)
		return;
	log_few_end(&j->warnings, "perf maps");
	for (size_t i = 0; i < j->n; i++) {
		perf_map_fini(&j->maps[i]->map);
		free(j->maps[i]);
	}
	free(j->maps);
	free(j);
}

void jit_refresh(struct jit *j)
{
	for (size_t i = 0; i < j->n; i++)
		j->maps[i]->next_look = 0;
}

/* Forget maps that were not used for long, but not the first. */
static void bound_perf_maps(struct jit *j)
{
	while (j->n > 1 && j->bytes + j->n * MAP_BYTES > MOST_MAPS_BYTES) {
		struct jit_map *g = j->maps[--j->n];

		if (g->map.text)
			log_warn_once("perf maps are too many, or take more than %llu MiB: some "
				      "were forgotten, and their functions may have no name",
				      MOST_MAPS_BYTES >> 20);
		drop_text(j, g);
		free(g);
	}
}

/* Make map number @i the first: the frames of a stack have one map. */
static struct jit_map *use_map(struct jit *j, size_t i)
{
	struct jit_map *g = j->maps[i];

	memmove(j->maps + 1, j->maps, i * sizeof(*j->maps));
	j->maps[0] = g;
	return g;
}

/* --- times --- */

/*
 * The kernel dates a file by its last tick, and a virtual CPU may get its tick late. Files in a
 * tmpfs were up to 12 ms behind on a busy host.
 */
#define MOST_LAG_NS (NS_PER_S / 10)

/*
 * How far clock @a is ahead of clock @b. It is less if we are interrupted between the readings, so
 * each use of it takes a little more files for the process's own.
 */
static uint64_t clock_lead(clockid_t a, clockid_t b)
{
	const uint64_t now = clock_ns(a);

	return now - clock_ns(b);
}

static bool is_read(const struct jit_map *g, const struct file_fact *file)
{
	return file_fact_is_equal(&g->file, file);
}

static uint64_t changed_at(const struct file_fact *file)
{
	return file->changed * NS_PER_S + file->changed_ns;
}

/* A program may exec soon after it changed its map, so the time alone does not tell. */
static bool is_too_old(const struct jit *j, const struct jit_map *g, const struct file_fact *file)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->maps[i]->process.tgid == g->process.tgid &&
		    j->maps[i]->process.begin < g->process.begin && is_read(j->maps[i], file))
			return true;
	return g->begin_real && changed_at(file) + MOST_LAG_NS < g->begin_real;
}

static bool is_too_new(const struct jit_map *g, const struct file_fact *file)
{
	return g->process.end != UINT64_MAX &&
	       changed_at(file) > g->process.end - clock_lead(CLOCK_MONOTONIC, CLOCK_REALTIME);
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

/* Could the file be this program's, and is it not too large? A later program's may be there. */
static int check_file(const struct jit *j, const struct jit_map *g, const struct file_fact *file,
		      struct error *e)
{
	if (is_too_new(g, file))
		return error_set(e, -ENOENT, "it changed after the process's end");
	if (is_too_old(j, g, file))
		return error_set(e, -ESTALE, "it is older than the process");
	if (file->size > PERF_TEXT_BYTES)
		return error_set(e, -EFBIG, "it is larger than %lu MiB", PERF_TEXT_BYTES >> 20);
	return 0;
}

/* Make the map of file @number, in place of the one that was read before. Takes its memory. */
static int read_map_file(struct jit *j, struct jit_map *g, uint32_t number,
			 struct file_perf_map *answer, struct error *e)
{
	const struct file_fact *file = &answer->fact;
	char path[PERF_FILE_PATH_BYTES];

	if (answer->n == 0 && file->size)
		return error_set(e, -EIO, "it cannot be read");
	memmove(answer->memory, answer->text, answer->n);
	drop_text(j, g);
	perf_map_read(TAKE(answer->memory), answer->n, &g->map);
	j->bytes += g->map.n_bytes;
	perf_file_path(number, path);
	(void)snprintf(g->module, sizeof(g->module), "%s", strrchr(path, '/') + 1);
	g->file = *file;
	if (answer->n && !g->map.n)
		warn_of_map(j, g, number, "", "no line of it is START SIZE NAME, in hexadecimal");
	if (g->map.is_full || answer->n < file->size)
		warn_of_map(j, g, number, " to its end",
			    answer->n < file->size ? "it was cut short" : "it is too large");
	bound_perf_maps(j);
	return 0;
}

/* True: there is a file of this program, even if we may not use it. */
static bool try_map_file(struct jit *j, struct jit_map *g, int root, uint32_t number)
{
	const uint32_t user = g->identified ? g->identity.user : g->process.user;
	const struct perf_question what = { .root = roots_handle(images_files(j->images), root),
					    .number = number,
					    .user = user == USER_UNKNOWN ? 0 : user,
					    .known = g->file };
	struct file_perf_map answer;
	struct error e;

	if (root < 0)
		return false;

	int err = files_perf_map(images_files(j->images), &what, &answer, &e);

	if (!err)
		err = check_file(j, g, &answer.fact, &e);
	if (!err && !is_read(g, &answer.fact))
		err = read_map_file(j, g, number, &answer, &e);
	free(answer.memory);
	if (err == -ENOENT || err == -ETIME || err == -EINTR || err == -ENOTCONN || err == -EIO ||
	    err == -EAGAIN)
		return false;
	if (err && (g->identified || g->process.user != USER_UNKNOWN))
		warn_of_map(j, g, number, "", e.text);
	return err != -ESTALE;
}

static void find_perf_file(struct jit *j, struct jit_map *g)
{
	const int root = g->process.root;

	if (g->identified) {
		if (!try_map_file(j, g, root, g->identity.number) &&
		    (root != j->own_root || g->identity.number != g->process.tgid))
			(void)try_map_file(j, g, j->own_root, g->process.tgid);
	} else if (root < 0 || root == j->own_root) {
		(void)try_map_file(j, g, j->own_root, g->process.tgid);
	}
}

/* --- programs --- */

/* Read the identity of the process, if it has not ended. False: another one has its number. */
static bool identify_process(struct jit *j, struct jit_map *g)
{
	struct process_identity now;
	const int root = roots_of(images_files(j->images), g->process.tgid);
	const bool is_there = process_identity_read(g->process.tgid, &now);
	const bool is_other = is_there && g->identified && now.started != g->identity.started;

	if (!is_there || is_other)
		return !is_other;
	g->identity = now;
	g->identified = clock_ns(CLOCK_MONOTONIC);
	if (root >= 0)
		g->process.root = root;
	if (!g->begin_real && now.started)
		g->begin_real = now.started + clock_lead(CLOCK_REALTIME, CLOCK_BOOTTIME);
	return true;
}

static void look_at_perf_map(struct jit *j, struct jit_map *g)
{
	if (g->is_over)
		return;

	const uint64_t begin = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (j->used_until > begin + SHARE * AT_ONCE_NS) {
		log_warn_once("perf maps take too long to read: some were not read, and their "
			      "functions may have no name");
		g->next_look = begin + NS_PER_S;
		return;
	}
	if ((g->process.end != UINT64_MAX || identify_process(j, g)) && !g->is_over)
		find_perf_file(j, g);
	g->is_over = g->is_over || g->process.end != UINT64_MAX;
	j->used_until = (j->used_until > begin ? j->used_until : begin) +
			SHARE * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
	g->next_look = begin + LOOK_PAUSE * (clock_ns(CLOCK_MONOTONIC) - begin);
}

/* The map of @p, new if necessary. */
static struct jit_map *get_jit_map(struct jit *j, const struct program_run *p)
{
	struct jit_map *g;
	size_t i = 0;

	while (i < j->n &&
	       (j->maps[i]->process.tgid != p->tgid || j->maps[i]->process.begin != p->begin))
		i++;
	if (i == j->n) {
		g = xcalloc(1, sizeof(*g));
		g->process = *p;
		if (p->begin)
			g->begin_real = p->begin + clock_lead(CLOCK_REALTIME, CLOCK_MONOTONIC);
		array_push(j->maps, j->n, j->capacity, g);
	}
	g = use_map(j, i);
	bound_perf_maps(j);
	return g;
}

void jit_watch(struct jit *j, const struct program_run *p)
{
	struct jit_map *g = get_jit_map(j, p);

	if (g->process.end != UINT64_MAX)
		look_at_perf_map(j, g);
	else if (clock_ns(CLOCK_MONOTONIC) - g->identified > IDENTIFY_NS)
		(void)identify_process(j, g);
}

bool jit_at(struct jit *j, const struct program_run *p, uint64_t addr, uint64_t time,
	    struct jit_function *ret)
{
	struct jit_map *g = get_jit_map(j, p);
	const struct perf_line *line;

	if (time >= g->next_look)
		look_at_perf_map(j, g);
	line = perf_map_at(&g->map, addr);
	if (line)
		*ret = (struct jit_function){ line->name, g->module, line->start };
	return line;
}

/* We learn of an end late. Forget the answers that may be about the next program. */
static void forget_next_program(struct jit *j, struct jit_map *g)
{
	const uint64_t end_boot = g->process.end - clock_lead(CLOCK_MONOTONIC, CLOCK_BOOTTIME);
	const bool is_next = g->identified && g->identity.started > end_boot;

	if (is_next)
		g->identified = 0;
	if (is_next || is_too_new(g, &g->file))
		drop_text(j, g);
}

void jit_ended(struct jit *j, uint32_t tgid, uint64_t time)
{
	for (size_t i = 0; i < j->n; i++) {
		struct jit_map *g = j->maps[i];

		if (g->process.tgid != tgid || g->process.end != UINT64_MAX ||
		    g->process.begin >= time)
			continue;
		g->process.end = time;
		forget_next_program(j, use_map(j, i));
		look_at_perf_map(j, g);
	}
}
