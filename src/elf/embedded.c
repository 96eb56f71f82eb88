// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * .gnu_debugdata is an ELF file, compressed by xz, with the symbols of the stripped file alone. A
 * few kilobytes of it can stand for gigabytes. So the decoder's memory and the output have bounds.
 */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "elf/debug.h"
#include "elf/internal.h"

#define SECTION ".gnu_debugdata"
#define MOST_BYTES ((size_t)64 << 20)
/* xz -9 needs 65 MiB to unpack. */
#define MOST_DECODER_BYTES (80 << 20)

static struct slice find_debugdata(const struct image *im)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (strcmp(im->sections[i].name, SECTION) == 0)
			return section_bytes(im, &im->sections[i]);
	return (struct slice){};
}

static int explain_xz(const struct image *im, lzma_ret code, struct error *e)
{
	if (code == LZMA_MEMLIMIT_ERROR || code == LZMA_MEM_ERROR)
		return error_set(e, -E2BIG,
				 "%s: " SECTION
				 " takes too much memory to unpack (more than %zu MiB)",
				 im->name, MOST_BYTES >> 20);
	return error_set(e, -EBADMSG, "%s: " SECTION " is not valid xz data", im->name);
}

/* Unpack @in. Grows *@ret with the output; the caller frees it, also after an error. */
static int unpack_xz(const struct image *im, struct slice in, lzma_stream *xz, uint8_t **ret,
		     struct error *e)
{
	size_t capacity = in.size < MOST_BYTES / 4 ? 4 * in.size : MOST_BYTES;
	lzma_ret code = lzma_stream_decoder(xz, MOST_DECODER_BYTES, 0);

	xz->next_in = in.data;
	xz->avail_in = in.size;
	while (code == LZMA_OK) {
		*ret = xreallocarray(*ret, capacity, 1);
		xz->next_out = *ret + xz->total_out;
		xz->avail_out = capacity - xz->total_out;
		code = lzma_code(xz, LZMA_FINISH);
		if (code != LZMA_OK || xz->avail_out)
			continue;
		if (capacity == MOST_BYTES)
			return explain_xz(im, LZMA_MEM_ERROR, e);
		capacity = capacity < MOST_BYTES / 2 ? 2 * capacity : MOST_BYTES;
	}
	return code == LZMA_STREAM_END ? 0 : explain_xz(im, code, e);
}

/*
 * Somebody may have copied the section from another file. If the symbols have no build ID, the code
 * sections of both files must be the same by name and size.
 */
static int check_build(const struct image *im, const struct image *debug, struct error *e)
{
	const uint8_t *id;

	if (image_build_id(im, &id) && image_build_id(debug, &id)) {
		if (!image_is_same_build(im, debug))
			return error_set(e, -EBADMSG, "%s: " SECTION " belongs to another build",
					 im->name);
	} else if (!image_has_code_of(im, debug)) {
		return error_set(e, -EBADMSG,
				 "%s: " SECTION
				 " belongs to another file: its code sections differ",
				 im->name);
	}
	return 0;
}

int image_open_embedded(const struct image *im, struct image **ret, struct error *e)
{
	struct slice in = find_debugdata(im);
	cleanup_free uint8_t *data = NULL;
	cleanup(image_freep) struct image *debug = NULL;
	lzma_stream xz = LZMA_STREAM_INIT;

	if (!in.size)
		return error_set(e, -ENOENT, "%s: no " SECTION, im->name);

	int err = unpack_xz(im, in, &xz, &data, e);
	size_t size = xz.total_out;

	lzma_end(&xz);
	if (!err)
		err = image_open_memory(data, size, SECTION, &debug, e);
	if (!err)
		err = check_build(im, debug, e);
	if (!err)
		*ret = TAKE(debug);
	return err;
}
