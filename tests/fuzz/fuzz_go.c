// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A Go program's table of functions, changed anywhere: functions lie by rising address in the code,
 * each has a name that can be read to its end or none, and not more steps than bytes; rows lie by
 * rising address where they were asked for; and the table of them says at each row's what it says.
 *
 * The first byte is the format's number, the rest are changes: two bytes say where, one what is
 * there. Behind the table lies the code.
 */
#include "fuzz.h"

#include "../unit/made_go.h"
#include "../unit/table_reading.h"
#include "arch/arch.h"
#include "base/cleanup.h"
#include "elf/image.h"
#include "unwind/private.h"

#define N_CODE 64

struct rows {
	uint64_t next; /* no row begins before */
	uint64_t n;
	const struct unwind_table *table; /* NULL: not compared */
};

static int take_row(void *context, const struct cfi_row *row)
{
	struct rows *r = context;

	require(row->vaddr >= r->next);
	r->next = row->vaddr + 1;
	r->n++;
	if (r->table) {
		const struct unwind_rule is = unwind_table_at(r->table, row->vaddr);
		const struct unwind_rule wanted = arch_rule_of(row);

		/* C code has derived rows, or none; but nothing says that it has frame pointers. */
		require(row->kind == CFI_GAP ? (is.how & 15) != UNWIND_FRAMES
					     : memcmp(&is, &wanted, sizeof(is)) == 0);
	}
	return 0;
}

static void check_function(struct image *im, const struct go_table *t, uint32_t i)
{
	struct go_function f;
	struct image_symbol s;
	size_t n = 0;

	if (!go_function_at(t, i, &f))
		return;
	require(f.start < f.end && f.end <= go_function_start(t, i + 1));

	struct go_steps steps = go_steps_of(t, &f);

	while (go_next_step(&steps))
		n++;
	require(n <= f.end - f.start);
	require(strlen(f.name) < GO_TABLE_BYTES);
	if (!f.name[0] || f.name[0] == '@')
		return;
	require(image_function_at(im, f.start, &s) && s.vaddr <= f.start && s.name[0]);
	require(image_function_at(im, f.end - 1, &s) && f.end - s.vaddr <= s.size);
}

/* In parts, some of them beside something else that is known. */
static void check_parts(struct go_rows *rows)
{
	struct rows taken = { .next = GO_TEXT };
	struct cfi_row before = { .vaddr = GO_TEXT, .kind = CFI_GAP };

	for (uint64_t to = GO_TEXT + 7; to < GO_TABLE; to += 13) {
		require(go_rows_between(rows, &before, to, take_row, &taken) == 0);
		before.kind = before.kind == CFI_GAP ? CFI_BAD : CFI_GAP;
		before.vaddr = to + 3;
	}
	require(taken.n > 0);
}

static void check_rows(struct image *im, size_t file_bytes)
{
	const struct cfi_row before = { .vaddr = MADE_VADDR, .kind = CFI_GAP };
	cleanup(unwind_table_fini) struct unwind_table table = {};
	struct rows all = { .next = MADE_VADDR, .table = &table };
	struct go_rows rows;
	struct error e;
	const int err = unwind_table_make(im, 1UL << 20, &table, &e);

	if (!go_rows_of(im, &rows))
		return;
	require(err == 0);
	check_parts(&rows);
	require(go_rows_of(im, &rows));
	require(go_rows_between(&rows, &before, MADE_VADDR + file_bytes, take_row, &all) == 0);
	require(all.n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t parts[GO_TEXT_BYTES + GO_TABLE_BYTES] = {};
	const struct made_section sections[] = {
		{ ".text", parts, GO_TEXT_BYTES },
		{ ".gopclntab", parts + GO_TEXT_BYTES, GO_TABLE_BYTES },
	};
	struct image *im;
	struct go_table t;
	struct error e;
	size_t file_bytes;

	if (!size)
		return 0;
	make_go_text(parts);
	make_go_table(parts + GO_TEXT_BYTES, data[0] % GO_FORMATS, GO_TEXT);
	for (size_t i = 1; i + 3 <= size; i += 3) {
		const size_t at = (data[i] | (size_t)data[i + 1] << 8) % sizeof(parts);

		parts[(at + GO_TEXT_BYTES) % sizeof(parts)] = data[i + 2];
	}

	cleanup_free void *file = made_elf(sections, 2, N_CODE, &file_bytes);

	require(image_open_memory(file, file_bytes, "made", &im, &e) == 0);
	if (go_table_of(im, &t))
		for (uint32_t i = 0; i < t.n; i++)
			check_function(im, &t, i);
	check_rows(im, file_bytes);
	image_close(im);
	return 0;
}
