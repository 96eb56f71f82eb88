// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/coarse.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "profile/merge.h"

/*
 * Two frames with equal keys are one. Compared byte by byte, so it has no padding, and members that
 * do not matter are 0. Texts are addresses in the table of strings.
 */
struct coarse_key {
	uint64_t kind; /* and the flags */
	uint64_t image;
	const char *name;
	const char *module;
	const char *file;
	uint64_t line;
	uint64_t start;                            /* of a function without a name, in its module */
	uint64_t offset;                           /* KEEP_OFFSETS */
	uint64_t addr, module_offset, file_offset; /* KEEP_ADDRESSES */
};

/* Likewise for images. */
struct image_key {
	const char *build_id;
	const char *path; /* with a build ID, its last part */
	uint64_t start, limit, offset;
};

void coarse_init(struct coarse *c, unsigned keep)
{
	*c = (struct coarse){ .keep = keep, .strings = strtab_new() };
}

void coarse_fini(struct coarse *c)
{
	free(c->table.frames);
	free(c->table.images);
	free(c->keys);
	u64_map_fini(&c->numbers);
	u64_map_fini(&c->images);
	strtab_free(c->strings);
	*c = (struct coarse){};
}

static const char *coarse_text(struct coarse *c, const char *text)
{
	return text ? strtab_add(c->strings, text) : NULL;
}

/* A file may have several paths, in a container and outside of it. */
static struct image_key key_of_image(struct coarse *c, const struct frame_image *image)
{
	struct image_key key = { .build_id = coarse_text(c, image->build_id) };
	const char *slash = image->path ? strrchr(image->path, '/') : NULL;
	const bool is_last_part = slash && image->build_id && !(c->keep & KEEP_ADDRESSES);

	key.path = coarse_text(c, is_last_part ? slash + 1 : image->path);
	if (c->keep & KEEP_ADDRESSES) {
		key.start = image->start;
		key.limit = image->limit;
		key.offset = image->offset;
	}
	return key;
}

static uint32_t number_of_image(struct coarse *c, const struct frame_image *image)
{
	const struct image_key key = key_of_image(c, image);

	for (uint64_t hash = hash_bytes(&key, sizeof(key));; hash++) {
		bool is_new;
		const uint32_t number =
			*u64_map_put(&c->images, hash, (uint32_t)c->table.n_images, &is_new);

		if (is_new) {
			array_push(c->table.images, c->table.n_images, c->table.image_capacity,
				   *image);
			return number;
		}

		const struct image_key other = key_of_image(c, &c->table.images[number]);

		if (memcmp(&key, &other, sizeof(key)) == 0)
			return number;
	}
}

static bool has_frame_name(const struct frame *frame)
{
	return frame->name && *frame->name;
}

/* @frame has its new image. */
static struct coarse_key coarse_key_of(struct coarse *c, const struct frame *frame)
{
	const bool is_by_name = (c->keep & COARSE_NAMES_ONLY) && has_frame_name(frame);
	struct coarse_key key = {
		.kind = frame->kind,
		.image = is_by_name ? NO_IMAGE : frame->image,
		.name = coarse_text(c, has_frame_name(frame) ? frame->name : NULL),
		.module = coarse_text(c, frame->module),
	};

	if (!is_by_name)
		key.kind |= (uint64_t)frame->code << 8 | (uint64_t)frame->is_inlined << 16 |
			    (uint64_t)frame->is_machinery << 17 |
			    (uint64_t)frame->is_in_file << 18 | (uint64_t)frame->has_start << 19;
	if (!has_frame_name(frame) && frame->has_start)
		key.start = frame->module_offset - frame->offset;
	if (c->keep & KEEP_LINES) {
		key.file = coarse_text(c, frame->file);
		key.line = frame->line;
	}
	if (c->keep & (KEEP_OFFSETS | KEEP_ADDRESSES) && !frame->is_inlined)
		key.offset = frame->offset;
	if (c->keep & KEEP_ADDRESSES) {
		key.addr = frame->addr;
		key.module_offset = frame->module_offset;
		key.file_offset = frame->file_offset;
	}
	return key;
}

/* The address that @addr of the file in @from has in @to, if both mappings are known. */
static uint64_t move_addr(uint64_t addr, const struct frame_image *from,
			  const struct frame_image *to)
{
	if (!from->limit || !to->limit)
		return addr;
	return addr - (from->start - from->offset) + (to->start - to->offset);
}

static uint32_t coarse_number_of(struct coarse *c, const struct frame *frame)
{
	const struct coarse_key key = coarse_key_of(c, frame);

	for (uint64_t hash = hash_bytes(&key, sizeof(key));; hash++) {
		bool is_new;
		const uint32_t number =
			*u64_map_put(&c->numbers, hash, (uint32_t)c->table.n, &is_new);

		if (is_new) {
			array_push(c->keys, c->n_keys, c->key_capacity, key);
			array_push(c->table.frames, c->table.n, c->table.capacity, *frame);
			return number;
		}
		if (memcmp(&key, &c->keys[number], sizeof(key)) == 0) {
			c->table.frames[number].is_inlined &= frame->is_inlined;
			return number;
		}
	}
}

static uint32_t *add_images(struct coarse *c, const struct frame_table *from)
{
	uint32_t *images = xcalloc(from->n_images + 1, sizeof(*images));

	for (size_t i = 0; i < from->n_images; i++)
		images[i] = number_of_image(c, &from->images[i]);
	return images;
}

uint32_t *coarse_add(struct coarse *c, const struct frame_table *from)
{
	uint32_t *images = add_images(c, from);
	uint32_t *numbers = xcalloc(from->n + 1, sizeof(*numbers));

	for (size_t i = 0; i < from->n; i++) {
		struct frame frame = from->frames[i];

		if (frame.image < from->n_images) {
			const struct frame_image *old = &from->images[frame.image];

			frame.image = images[frame.image];
			frame.addr = move_addr(frame.addr, old, &c->table.images[frame.image]);
		} else {
			frame.image = NO_IMAGE;
		}
		if (!(c->keep & KEEP_LINES)) {
			frame.file = NULL;
			frame.line = 0;
		}
		numbers[i] = coarse_number_of(c, &frame);
	}
	free(images);
	return numbers;
}
