// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/listing.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/strtab.h"

static void add_mapping(const struct region *region, struct remote_list *to)
{
	struct mapping_list *list = &to->list;
	const struct image_entry *image = region->image;
	const bool is_file = image->kind == IMAGE_FILE;

	to->states[list->n] = (struct file_state){ image->dev, image->inode, image->file.fact };
	list->mappings[list->n++] =
		(struct mapping){ .start = region->start,
				  .end = region->end,
				  .offset = region->offset,
				  .dev = is_file ? image->dev : 0,
				  .inode = is_file ? image->inode : 0,
				  .path = strtab_add(list->strings, image->path) };
}

void listing_make(const struct space *space, uint64_t time, struct remote_list *ret)
{
	cleanup_free struct region *regions = NULL;
	const size_t n = space_regions(space, time, &regions);

	*ret = (struct remote_list){ .list = { .strings = strtab_new() } };
	ret->list.mappings = xcalloc(n + 1, sizeof(*ret->list.mappings));
	ret->list.capacity = n + 1;
	ret->states = xcalloc(n + 1, sizeof(*ret->states));
	for (size_t i = 0; i < n; i++)
		add_mapping(&regions[i], ret);
}
