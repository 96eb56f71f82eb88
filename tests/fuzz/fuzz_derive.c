// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes as code without entries: the analysis ends, and its rows are sorted and lie within that
 * code. They use the stack alone: rsp below the CFA, and the return address in its place.
 */
#include "fuzz.h"

#include "../unit/made_elf.h"
#include "elf/image.h"
#include "unwind/table.h"

#define N_TEXT 0x1400 /* derive() needs 4 KiB of gaps */

struct seen {
	uint64_t last;
	uint64_t end;
	size_t n;
	bool is_gap;
};

static int take_row(void *context, const struct cfi_row *row)
{
	struct seen *seen = context;

	require(!seen->n++ || row->vaddr > seen->last);
	require(row->vaddr >= MADE_VADDR && row->vaddr <= seen->end);
	seen->last = row->vaddr;
	seen->is_gap = row->kind == CFI_GAP;
	if (row->kind != CFI_ROW || row->is_signal || row->pc.how == CFI_UNDEFINED)
		return 0;
	require(row->cfa.how == CFI_IS && row->cfa.offset >= 0 && row->cfa.offset % 8 == 0);
	require(row->cfa.reg == CFI_RSP || row->cfa.reg == CFI_RBP);
	require(row->pc.how == CFI_AT_CFA && row->pc.offset == -8);
	require(row->fp.how != CFI_AT_CFA || row->fp.offset < -8);
	require(row->third.how != CFI_AT_CFA || row->third.offset < -8);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t text[N_TEXT];
	const struct made_section sections[] = { { ".text", text, sizeof(text) } };
	struct image *im = NULL;
	struct error e = {};
	struct seen seen = {};
	size_t file_bytes;
	void *file;

	/* Repeated, so that more of the code leads to other parts of it. */
	for (size_t at = 0; at < N_TEXT; at++)
		text[at] = size ? data[at % size] : 0;
	file = made_elf(sections, 1, 0, &file_bytes);
	seen.end = MADE_VADDR + file_bytes;
	require(image_open_memory(file, file_bytes, "made", &im, &e) == 0);
	if (cfi_each_row(im, NULL, take_row, &seen, &e) == 0)
		require(seen.n == 0 || seen.is_gap);
	image_close(im);
	free(file);
	return 0;
}
