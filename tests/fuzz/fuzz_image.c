// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes either are an image or are refused with words. Of an image: every
 * name can be read to its end (the copy is as long as the file, so a sanitizer
 * sees a step outside), a function found at an address contains it, and memory
 * is in proportion to the file.
 */
#include "fuzz.h"

#include "elf/frames.h"
#include "elf/image.h"

struct asked {
	struct image *im;
	size_t file_bytes;
	size_t n;
};

static void check_address(struct image *im, uint64_t vaddr)
{
	struct image_symbol s;
	struct image_frame frame;
	uint64_t offset;
	uint64_t back;
	size_t n;

	if (image_function_at(im, vaddr, &s))
		require(s.vaddr <= vaddr && vaddr - s.vaddr < s.size && s.name[0]);
	if (image_frame_at(im, vaddr, &frame))
		require(frame.start <= vaddr && vaddr < frame.end);
	(void)image_is_behind_call(im, vaddr);
	n = image_code(im, vaddr, 16).size;
	require(n <= 16);
	if (image_vaddr_to_offset(im, vaddr, &offset))
		require(image_offset_to_vaddr(im, offset, &back));
	else
		require(n == 0);
	if (image_offset_to_vaddr(im, vaddr, &back))
		require(image_vaddr_to_offset(im, back, &offset));
}

static int visit_symbol(void *context, const struct image_symbol *symbol)
{
	struct asked *asked = context;
	struct image_symbol s;

	require(symbol->name[0] && symbol->vaddr + symbol->size >= symbol->vaddr);
	asked->n += strlen(symbol->name);
	/* The index keeps an answer for every function's own address. */
	require(image_function_at(asked->im, symbol->vaddr, &s));
	check_address(asked->im, symbol->vaddr);
	check_address(asked->im, symbol->vaddr + symbol->size);
	check_address(asked->im, symbol->vaddr + symbol->size / 2);
	return 0;
}

static int visit_probe(void *context, const struct image_usdt *probe)
{
	struct asked *asked = context;

	require(probe->provider[0] && probe->name[0]);
	require(probe->offset < asked->file_bytes && probe->semaphore < asked->file_bytes);
	asked->n += strlen(probe->provider) + strlen(probe->name);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asked asked = { .file_bytes = size };
	struct error e = {};
	const size_t before = heap_bytes();
	int err = image_open_memory(data, size, "x", &asked.im, &e);

	if (err) {
		require(err == -ENOEXEC && e.text[0] && !asked.im);
		return 0;
	}
	require(image_each_function(asked.im, visit_symbol, &asked) == 0);
	err = image_each_usdt(asked.im, visit_probe, &asked, &e);
	if (err)
		require((err == -ENOEXEC || err == -ENOENT) && e.text[0]);
	for (uint64_t offset = 0, vaddr; offset < size; offset += 4)
		if (image_offset_to_vaddr(asked.im, offset, &vaddr))
			check_address(asked.im, vaddr);
	check_address(asked.im, 0);
	check_address(asked.im, size);
	check_address(asked.im, UINT64_MAX);
	require(heap_bytes() <= before + 64 * size + (1 << 19));
	image_close(asked.im);
	return 0;
}
