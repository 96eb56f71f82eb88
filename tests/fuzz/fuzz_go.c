// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A Go program's table of functions, changed anywhere: functions lie by rising address in the code,
 * each has a name that can be read to its end or none, and not more steps than bytes; the table of
 * rows has them by rising address.
 *
 * The first byte is the format's number, the rest are changes: two bytes say where, one what is
 * there. Behind the table lies the code.
 */
#include "fuzz.h"

#include "../unit/made_go.h"
#include "../unit/table_reading.h"
#include "base/memory.h"
#include "elf/gopclntab.h"
#include "elf/image.h"

#define N_CODE 64

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

/* A search needs rising rows. Go's functions have rows, and what has no steps no frame pointers. */
static void check_table(struct image *im, const struct go_table *go)
{
	cleanup(unwind_table_fini) struct unwind_table t = {};
	struct go_function f;
	struct error e;

	require(unwind_table_make(im, 1UL << 20, &t, &e) == 0);
	for (uint32_t page = 0; page < t.n_pages; page++)
		for (uint32_t i = t.pages[page] + 1; i < t.pages[page + 1]; i++)
			require(t.entries[i - 1].low < t.entries[i].low);
	for (uint32_t i = 0; i < go->n; i++) {
		if (!go_function_at(go, i, &f))
			continue;

		const uint8_t how = unwind_table_at(&t, f.start).how & 15;

		require(go_has_steps(go, i) ? how != UNWIND_NO_ROW : how != UNWIND_FRAMES);
	}
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
	if (go_table_of(im, &t)) {
		for (uint32_t i = 0; i < t.n; i++)
			check_function(im, &t, i);
		check_table(im, &t);
	}
	image_close(im);
	return 0;
}
