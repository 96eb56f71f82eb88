// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/frame_images.h"

#include <stdio.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/host.h"

/* Beside a number of the table: its image is a Go program. */
#define IS_GO 0x80000000U

void frame_images_fini(struct frame_images *f)
{
	u64_map_fini(&f->numbers);
	u64_map_fini(&f->kernel);
	*f = (struct frame_images){};
}

static const char *keep_hex(struct strtab *strings, const uint8_t *bytes, size_t n)
{
	char hex[2 * MOST_BUILD_ID_BYTES + 1] = "";

	for (size_t i = 0; i < n && i < MOST_BUILD_ID_BYTES; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	return hex[0] ? strtab_add(strings, hex) : NULL;
}

static uint32_t push_image(struct frame_table *table, const struct frame_image *image)
{
	array_push(table->images, table->n_images, table->image_capacity, *image);
	return (uint32_t)(table->n_images - 1);
}

/*
 * Code in no file has no place that two processes share: its mapping says nothing. An image that
 * was forgotten has no path.
 */
static uint32_t add_user_image(struct frame_table *table, struct strtab *strings,
			       struct image_names *names, const struct user_place *p)
{
	struct image_build build;
	struct frame_image image = {};
	const uint64_t offset = p->where.offset - (p->at - p->where.start);
	char *path = image_names_about(names, p->where.image, &build);

	if (!path)
		return NO_IMAGE;
	image.path = strtab_add(strings, path);
	image.build_id = keep_hex(strings, build.id, build.n);
	free(path);
	if (p->has_places) {
		image.start = p->where.start;
		image.limit = p->where.limit;
		image.offset = offset;
	}
	return push_image(table, &image) | (build.is_go ? IS_GO : 0U);
}

uint32_t frame_images_of_user(struct frame_images *f, struct frame_table *table,
			      struct strtab *strings, struct image_names *names,
			      const struct user_place *p, bool *is_go)
{
	const uint64_t offset = p->has_places ? p->where.offset - (p->at - p->where.start) : 0;
	const uint64_t key = (uint64_t)p->where.image << 32 ^ hash_mix(offset);
	bool is_new;
	uint32_t *number = u64_map_put(&f->numbers, key, NO_IMAGE, &is_new);

	if (is_new) {
		const uint32_t made = add_user_image(table, strings, names, p);

		number = u64_map_put(&f->numbers, key, made, NULL);
		*number = made;
	}
	*is_go = *number != NO_IMAGE && *number & IS_GO;
	return *number == NO_IMAGE ? NO_IMAGE : *number & ~IS_GO;
}

uint32_t frame_images_of_kernel(struct frame_images *f, struct frame_table *table,
				struct strtab *strings, const char *module)
{
	uint8_t id[MOST_BUILD_ID_BYTES];
	char path[80];
	bool is_new;
	const uint32_t next = (uint32_t)table->n_images;
	const uint32_t number = *u64_map_put(&f->kernel, (uintptr_t)module, next, &is_new);

	if (!is_new)
		return number;
	(void)snprintf(path, sizeof(path), "[%s]", module ? module : "kernel");
	return push_image(table,
			  &(struct frame_image){
				  .path = strtab_add(strings, path),
				  .build_id = keep_hex(strings, id,
						       kernel_build_id(module, id, sizeof(id))) });
}
