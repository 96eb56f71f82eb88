#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "elf/image.h"
#include "processes/images_internal.h"

/* Is the open file @fd of the build that @entry is of? */
static bool take_twin(struct images *im, struct entry *entry, int fd)
{
	cleanup_close int own = fd;
	cleanup(image_freep) struct image *image = NULL;
	struct error e;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || image_open_fd(fd, entry->module, &image, &e) != 0 ||
	    !stamp_is_of(&entry->stamp, image))
		return false;
	images_hold_file(im, entry, TAKE_FD(own), &st);
	log_debug("%s is gone: another file of its build is taken", entry->where.path);
	return true;
}

/* Was only the other one's build not told, its name must be the same. */
static bool may_be_twin(const struct entry *entry, const struct entry *other)
{
	if (other == entry || other->kind != IMAGE_FILE || other->fd < 0 || images_is_stale(other))
		return false;
	return other->stamp.n ? stamp_is_same(&other->stamp, &entry->stamp)
			      : other->module == entry->module;
}

bool images_find_twin(struct images *im, struct entry *entry)
{
	struct error e;
	int fd = -1;

	if (entry->kind != IMAGE_FILE || !entry->stamp.n || entry->n_asked == im->n_made)
		return false;
	for (size_t i = im->n; i-- > 0;)
		if (im->entries[i].serial > entry->n_asked && may_be_twin(entry, &im->entries[i]) &&
		    take_twin(im, entry, fcntl(im->entries[i].fd, F_DUPFD_CLOEXEC, 0)))
			return true;
	if (!entry->n_asked && mapping_open_ours(&entry->where, &fd, &e) == 0 &&
	    take_twin(im, entry, fd))
		return true;
	entry->n_asked = im->n_made;
	return false;
}
