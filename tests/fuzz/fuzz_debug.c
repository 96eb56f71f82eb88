// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A file and a debug file, whatever they are (in the input: two bytes, the length of the first;
 * the first; the second). With the second one's symbols, or with those that the first one has
 * packed into itself: every function found at an address contains it and lies in a section of
 * code of the first; names can be read to their end; memory is in proportion to the files.
 */
#include "fuzz.h"

#include "../unit/debug_files.h"
#include "elf/debug.h"

#define MOST_UNPACKED ((size_t)64 << 20)

static size_t heap_before;

static void check_address(struct image *im, uint64_t vaddr)
{
	struct image_symbol s;

	if (!image_function_at(im, vaddr, &s))
		return;
	require(s.vaddr <= vaddr && vaddr - s.vaddr < s.size && s.vaddr + s.size > s.vaddr);
	require(s.name[0] && strlen(s.name) < 1 << 17);
}

static int visit(void *im, const struct image_symbol *symbol)
{
	check_address(im, symbol->vaddr);
	check_address(im, symbol->vaddr + symbol->size);
	check_address(im, symbol->vaddr + symbol->size / 2);
	return 0;
}

static void check_all(struct image *im, size_t n_bytes)
{
	uint64_t vaddr;

	for (uint64_t offset = 0; offset < n_bytes; offset += 4)
		if (image_offset_to_vaddr(im, offset, &vaddr))
			check_address(im, vaddr);
	require(image_each_function(im, visit, im) == 0);
}

static void check_id(const struct image *im)
{
	const uint8_t *id = NULL;
	size_t n = image_build_id(im, &id);
	uint8_t sum = 0;

	require(n == 0 || (n >= 8 && n <= 64));
	for (size_t i = 0; i < n; i++)
		sum ^= id[i];
	(void)sum;
}

static struct image *open_image(const uint8_t *data, size_t size)
{
	struct image *im = NULL;
	struct error e;

	return image_open_memory(data, size, "x", &im, &e) == 0 ? im : NULL;
}

static void check_embedded(struct image *im, size_t size)
{
	struct image *embedded = NULL;
	struct error e = {};
	int err = image_open_embedded(im, &embedded, &e);

	if (err) {
		require(e.text[0] && !embedded);
		require(err == -ENOENT || err == -EBADMSG || err == -E2BIG || err == -ENOEXEC);
		return;
	}
	require(heap_bytes() <= heap_before + MOST_UNPACKED * 3);
	image_set_debug(im, embedded);
	check_all(im, size);
}

static void check_debug(struct image *im, size_t n, struct image *debug, size_t n_debug)
{
	struct image *none = NULL;
	struct error e;

	check_id(debug);
	(void)image_has_symtab(debug);
	require(debug_file_find(im, "", &none, &e) != 0 || none);
	image_close(none);
	image_set_debug(im, debug);
	check_all(im, n);
	require(heap_bytes() <= heap_before + 64 * (n + n_debug) + (1 << 19));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;

	size_t n = (size_t)(data[0] | data[1] << 8);
	size_t most = size - 2;

	n = n < most ? n : most;
	heap_before = heap_bytes();

	struct image *im = open_image(data + 2, n);
	struct image *debug = open_image(data + 2 + n, most - n);

	if (im) {
		check_id(im);
		check_embedded(im, n);
	}
	if (im && debug)
		check_debug(im, n, debug, most - n);
	else
		image_close(debug);
	image_close(im);
	return 0;
}
