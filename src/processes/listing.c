// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/listing.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/strtab.h"

/* A region whose image was forgotten is a mapping of nothing known, and is left out. */
static void add_mapping(const struct images *images, const struct region *region,
			struct remote_list *to)
{
	struct mapping_list *list = &to->list;
	struct image_about about;

	if (!images_about(images, region->image, &about))
		return;

	const bool is_file = about.kind == IMAGE_FILE;
	const struct mapping m = { .start = region->start,
				   .end = region->end,
				   .offset = region->offset,
				   .dev = is_file ? about.state.dev : 0,
				   .inode = is_file ? about.state.inode : 0,
				   .path = strtab_add(list->strings, about.path) };

	to->states[list->n] = about.state;
	list->mappings[list->n++] = m;
	image_about_fini(&about);
}

void listing_make(const struct images *images, const struct space *space, uint64_t time,
		  struct remote_list *ret)
{
	cleanup_free struct region *regions = NULL;
	const size_t n = space_regions(space, time, &regions);

	*ret = (struct remote_list){ .list = { .strings = strtab_new() } };
	ret->list.mappings = xcalloc(n + 1, sizeof(*ret->list.mappings));
	ret->list.capacity = n + 1;
	ret->states = xcalloc(n + 1, sizeof(*ret->states));
	for (size_t i = 0; i < n; i++)
		add_mapping(images, &regions[i], ret);
}
