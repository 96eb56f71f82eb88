/* Files of the same build as one that cannot be had: see images_next_twin(). */
#include <string.h>

#include "processes/images_internal.h"

/* Was only the other one's build not told, its name must be the same. */
static bool may_be_twin(const struct entry *entry, const struct entry *other)
{
	if (other == entry || other->kind != IMAGE_FILE || !is_open(other))
		return false;
	return other->stamp.n ? stamp_is_same(&other->stamp, &entry->stamp)
			      : strcmp(other->module, entry->module) == 0;
}

bool images_next_twin(struct images *im, uint32_t image, uint32_t since, uint32_t *at,
		      struct remote_handle *ret)
{
	const struct entry *entry = images_entry(im, image);

	if (!entry || entry->kind != IMAGE_FILE || !entry->stamp.n)
		return false;
	for (size_t i = im->n; i-- > 0 && im->entries[i]->number > since;) {
		const struct entry *other = im->entries[i];

		if (other->number >= *at || !may_be_twin(entry, other))
			continue;
		*at = other->number;
		*ret = other->file;
		return true;
	}
	return false;
}

bool images_open_ours(struct images *im, uint32_t image, struct remote_handle *ret)
{
	const struct entry *entry = images_entry(im, image);
	struct error e;

	return entry && entry->kind == IMAGE_FILE && entry->stamp.n &&
	       remote_open_ours(im->files, &entry->where, ret, &e) == 0;
}

void images_take_twin(struct images *im, uint32_t image, const struct remote_handle *twin)
{
	struct entry *entry = images_entry(im, image);

	if (entry && !is_open(entry))
		images_take_file(im, entry, twin);
	else
		remote_close(im->files, twin->handle);
}
