// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel lists programs by number. For each it gives the addresses, lengths and tags of its
 * functions. Their names are in its BTF. /proc/kallsyms has the same names and addresses, but no
 * ends, and takes a thousand times as long to read.
 *
 * The kernel also gives the time when the loading of a program began. That is of no use: the last
 * program at its place was freed before the loading ended, and may have been hit meanwhile. So a
 * program's time begins with perf's record of it (kernel/ksymbols.h), else with our first look.
 */
#include "kernel/bpf_programs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/ksymbols.h"
#include "kernel/program_info.h"

/* With more functions than this, the oldest ones that have gone are forgotten. */
#define MOST_PAST 4096

struct piece {
	uint64_t start, end;
	uint64_t from, until;
	uint32_t id; /* the program's */
	bool is_seen;
	char *name;
};

struct bpf_programs {
	struct piece *present; /* sorted by address */
	size_t n_present, cap_present;
	struct piece *past; /* in the order in which they were found to be gone */
	size_t n_past, cap_past;
	uint64_t looked; /* ns of the last look; all programs that are loaded and older are known */
	bool has_looked, is_refused;
	struct ksymbols *records; /* NULL: none */
	uint64_t began;           /* ns; from here on there are answers */
	uint32_t first_ids;       /* programs up to this number were loaded then */
};

/* --- one program --- */

/* Mark the pieces of program @id as present. False: there are none. */
static bool mark_present(struct bpf_programs *p, uint32_t id, uint64_t now)
{
	bool is_known = false;

	for (size_t i = 0; i < p->n_present; i++) {
		struct piece *piece = &p->present[i];

		if (piece->id != id)
			continue;
		piece->is_seen = is_known = true;
		if (piece->until < now)
			piece->until = now;
	}
	return is_known;
}

/*
 * Since when @program has been there. Numbers rise, and a program has one when it has been loaded.
 * Our own are loaded before the first hit. Of another program we have seen the number, so the
 * records of the one that was at its place before have all been written.
 */
static uint64_t first_time_of(const struct bpf_programs *p, const struct program_info *program,
			      uint32_t i, bool is_own)
{
	uint64_t since = 0;

	if (is_own || program->info.id <= p->first_ids)
		return p->began;
	if (p->records) {
		ksymbols_read(p->records);
		since = ksymbols_since(p->records, program->starts[i]);
	}
	return since ? since : clock_ns(CLOCK_MONOTONIC);
}

static void add_pieces(struct bpf_programs *p, int fd, bool is_own, uint64_t now)
{
	cleanup_free struct program_info *program = xcalloc(1, sizeof(*program));
	struct program_names names;

	if (!program_read(fd, program) || mark_present(p, program->info.id, now))
		return;
	program_names_init(&names, program);
	for (uint32_t i = 0; i < program_n_functions(program); i++) {
		struct piece piece = {
			.start = program->starts[i],
			.end = program->starts[i] + program->lengths[i],
			.from = first_time_of(p, program, i, is_own),
			.until = is_own ? UINT64_MAX : now,
			.id = program->info.id,
			.is_seen = true,
		};

		if (!piece.start || piece.end <= piece.start)
			continue; /* hidden from this user */
		piece.name = program_name(program, i, &names);
		array_push(p->present, p->n_present, p->cap_present, piece);
	}
	program_names_fini(&names);
}

/* --- all --- */

static void free_pieces(struct piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(pieces[i].name);
}

struct bpf_programs *bpf_programs_new(bool has_records)
{
	struct bpf_programs *p = xcalloc(1, sizeof(*p));

	p->records = has_records ? ksymbols_open() : NULL;
	while (has_records && program_next(&p->first_ids) == 0)
		continue;
	p->began = clock_ns(CLOCK_MONOTONIC);
	return p;
}

void bpf_programs_free(struct bpf_programs *p)
{
	if (!p)
		return;
	free_pieces(p->present, p->n_present);
	free_pieces(p->past, p->n_past);
	free(p->present);
	free(p->past);
	ksymbols_free(p->records);
	free(p);
}

/* Add the programs that this process holds. They stay, and reading them needs no permission. */
static void read_own_programs(struct bpf_programs *p)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	char target[64];

	while (dir && (entry = readdir(dir)) != NULL) {
		const ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		if (strstr(target, "bpf-prog"))
			add_pieces(p, atoi(entry->d_name), true, 0);
	}
	if (dir)
		(void)closedir(dir);
}

static void forget_old_pieces(struct bpf_programs *p)
{
	const size_t n = p->n_past / 2;

	if (p->n_past < MOST_PAST)
		return;
	free_pieces(p->past, n);
	memmove(p->past, p->past + n, (p->n_past - n) * sizeof(*p->past));
	p->n_past -= n;
}

static void move_gone_to_past(struct bpf_programs *p)
{
	size_t n_kept = 0;

	forget_old_pieces(p);
	for (size_t i = 0; i < p->n_present; i++) {
		const struct piece *piece = &p->present[i];

		if (piece->is_seen || piece->until == UINT64_MAX)
			p->present[n_kept++] = *piece;
		else
			array_push(p->past, p->n_past, p->cap_past, *piece);
	}
	p->n_present = n_kept;
}

static int compare_pieces(const void *va, const void *vb)
{
	const struct piece *a = va, *b = vb;

	return (a->start > b->start) - (a->start < b->start);
}

static void read_all_programs(struct bpf_programs *p, uint64_t now)
{
	uint32_t id = 0;
	int err;

	while ((err = program_next(&id)) == 0) {
		if (mark_present(p, id, now))
			continue;

		cleanup_close int fd = program_open(id);

		if (fd >= 0)
			add_pieces(p, fd, false, now);
	}
	p->is_refused = err == -EPERM || err == -EACCES;
}

void bpf_programs_look(struct bpf_programs *p)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	p->looked = now;
	if (p->is_refused)
		return;
	for (size_t i = 0; i < p->n_present; i++)
		p->present[i].is_seen = false;
	if (!p->has_looked)
		read_own_programs(p);
	p->has_looked = true;
	read_all_programs(p, now);
	move_gone_to_past(p);
	if (p->n_present)
		qsort(p->present, p->n_present, sizeof(*p->present), compare_pieces);
}

static struct piece *find_present_piece(struct bpf_programs *p, uint64_t addr)
{
	size_t low = 0, high = p->n_present;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->present[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && addr < p->present[low - 1].end ? &p->present[low - 1] : NULL;
}

/* Is the program still loaded? Cheaper than a look at all, for functions that are hit often. */
static bool is_still_loaded(struct bpf_programs *p, const struct piece *piece)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	cleanup_close int fd = program_open(piece->id);

	return fd >= 0 && mark_present(p, piece->id, now);
}

static const struct piece *find_past_piece(const struct bpf_programs *p, uint64_t addr,
					   uint64_t first, uint64_t last)
{
	for (size_t i = p->n_past; i-- > 0;) {
		const struct piece *piece = &p->past[i];

		if (addr >= piece->start && addr < piece->end && first >= piece->from &&
		    last <= piece->until)
			return piece;
	}
	return NULL;
}

bool bpf_programs_at(struct bpf_programs *p, uint64_t addr, uint64_t first, uint64_t last,
		     struct program_symbol *ret)
{
	const struct piece *piece = find_present_piece(p, addr);

	if (!p->has_looked ||
	    (piece ? last > piece->until && !is_still_loaded(p, piece) : last > p->looked)) {
		bpf_programs_look(p);
		piece = find_present_piece(p, addr);
	}
	if (!piece || first < piece->from || last > piece->until)
		piece = find_past_piece(p, addr, first, last);
	if (!piece)
		return false;
	*ret = (struct program_symbol){ .name = piece->name,
					.start = piece->start,
					.size = piece->end - piece->start,
					.from = piece->from,
					.until = piece->until };
	return true;
}
