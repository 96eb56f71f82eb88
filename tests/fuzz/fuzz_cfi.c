// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes as .eh_frame, .debug_frame and .plt become rows, sorted and about the file's code,
 * not more than there are bytes; and a table that has at every row's address the row's rule.
 *
 * The first three bytes say how the rest is divided.
 */
#include "fuzz.h"

#include "../unit/made_elf.h"
#include "../unit/table_reading.h"
#include "arch/arch.h"
#include "base/memory.h"
#include "elf/image.h"

#define N_CODE 0x4000
#define N_STUBS 64

struct rows {
	struct cfi_row *rows;
	size_t n, capacity;
};

static int take_row(void *context, const struct cfi_row *row)
{
	struct rows *r = context;

	array_push(r->rows, r->n, r->capacity, *row);
	return 0;
}

static bool is_code(uint64_t vaddr, size_t file_bytes)
{
	return vaddr - MADE_VADDR <= file_bytes || vaddr - MADE_FAR <= file_bytes;
}

static void check_rows(const struct rows *r, size_t size, size_t file_bytes)
{
	for (size_t i = 0; i < r->n; i++) {
		require(i == 0 || r->rows[i - 1].vaddr < r->rows[i].vaddr);
		require(is_code(r->rows[i].vaddr, file_bytes));
	}
	require(r->n == 0 || r->rows[r->n - 1].kind == CFI_GAP);
	require(r->n <= 2 * (size + 3 * N_STUBS + file_bytes));
}

/* A page beyond those of the table begins too far from the first row. */
static bool is_in_table(const struct unwind_table *t, uint64_t vaddr)
{
	return (vaddr - t->base) >> UNWIND_PAGE_BITS < t->n_pages;
}

static void check_table(const struct unwind_table *t, const struct rows *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct unwind_rule wanted = arch_rule_of(&r->rows[i]);
		struct unwind_rule first = unwind_table_at(t, r->rows[i].vaddr);
		uint64_t next = i + 1 < r->n ? r->rows[i + 1].vaddr : r->rows[i].vaddr + 1;
		struct unwind_rule last = unwind_table_at(t, next - 1);

		if (!is_in_table(t, r->rows[i].vaddr))
			continue;
		require(memcmp(&first, &wanted, sizeof(first)) == 0);
		require(!is_in_table(t, next - 1) || memcmp(&last, &wanted, sizeof(last)) == 0);
	}
	require(unwind_table_bytes(t) <= 12 * (r->n + 4) + 4UL * 65536);
}

static void read_image(struct image *im, size_t size, size_t file_bytes)
{
	struct rows rows = {};
	struct unwind_table table;
	struct error e = {};
	int err = cfi_each_row(im, NULL, take_row, &rows, &e);

	require(err == 0 || (err == -ENOENT && e.text[0]));
	require(unwind_table_make(im, 1UL << 20, &table, &e) == err);
	if (!err) {
		check_rows(&rows, size, file_bytes);
		check_table(&table, &rows);
	}
	unwind_table_fini(&table);
	require(unwind_table_make(im, 64, &table, &e) <= 0);
	require(unwind_table_bytes(&table) <= 64 + sizeof(uint32_t));
	unwind_table_fini(&table);
	free(rows.rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct made_section sections[3] = { { ".eh_frame", NULL, 0 },
					    { ".debug_frame", NULL, 0 },
					    { ".plt", NULL, 0 } };
	struct image *im = NULL;
	size_t file_bytes, debug_bytes;
	struct error e = {};
	void *file;

	if (size < 3)
		return 0;
	debug_bytes = (data[0] | data[1] << 8) % (size - 2);
	sections[2].size = data[2] % N_STUBS % (size - 2);
	if (sections[2].size > size - 3 - debug_bytes)
		sections[2].size = size - 3 - debug_bytes;
	sections[1].size = debug_bytes;
	sections[0].size = size - 3 - debug_bytes - sections[2].size;
	sections[0].data = data + 3;
	sections[1].data = data + 3 + sections[0].size;
	sections[2].data = data + size - sections[2].size;
	file = made_elf(sections, 3, N_CODE, &file_bytes);
	require(image_open_memory(file, file_bytes, "made", &im, &e) == 0);
	read_image(im, size, file_bytes);
	image_close(im);
	free(file);
	return 0;
}
