// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "elf/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strtab.h"
#include "elf/internal.h"

#define cleanup_image cleanup(image_freep)

/* O_NONBLOCK, because the name may lead to a FIFO that nobody ever writes to. */
int image_open(const char *path, struct image **ret, struct error *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_errno(e, "open %s", path);
	return image_open_fd(fd, path, ret, e);
}

static struct image *image_new(const char *name)
{
	struct image *im = xcalloc(1, sizeof(*im));

	im->name = xstrdup(name);
	im->guard = GUARD_NONE;
	return im;
}

/*
 * The kernel puts breakpoints of uprobes, anybody's, into all private mappings of a file, ours too.
 * So map it shared. FUSE may refuse that.
 */
static void *map_image_file(int fd, size_t size)
{
	void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	return data == MAP_FAILED ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : data;
}

int image_open_fd(int fd, const char *name, struct image **ret, struct error *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return error_errno(e, "stat %s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(e, -ENOEXEC, "%s: not a regular file", name);
	if (st.st_size == 0)
		return error_set(e, -ENOEXEC, "%s: not an ELF file: it is empty", name);

	void *data = map_image_file(fd, (size_t)st.st_size);
	if (data == MAP_FAILED)
		return error_errno(e, "map %s", name);

	cleanup_image struct image *im = image_new(name);
	im->data = im->memory = data;
	im->size = (size_t)st.st_size;
	im->is_mapped = true;
	im->guard = guard_add(data, im->size);

	int err = image_read_headers(im, e);
	if (err)
		return err;

	*ret = TAKE(im);
	return 0;
}

int image_open_memory(const void *data, size_t size, const char *name, struct image **ret,
		      struct error *e)
{
	cleanup_image struct image *im = image_new(name);

	im->data = im->memory = xmalloc(size);
	im->size = size;
	memcpy(im->memory, data, size);

	int err = image_read_headers(im, e);
	if (err)
		return err;

	*ret = TAKE(im);
	return 0;
}

bool image_is_damaged(const struct image *im)
{
	return guard_is_hit(im->guard) || (im->debug && guard_is_hit(im->debug->guard));
}

static void release_image(struct image *im)
{
	guard_remove(im->guard);
	if (im->is_mapped)
		(void)munmap(im->memory, im->size);
	else
		free(im->memory);
	symbol_index_free(im->index);
	plt_free(im->plt);
	free(im->shifts);
	strtab_free(im->short_names);
	free(im->segments);
	free(im->sections);
	free(im->notes);
	free(im->name);
	free(im);
}

void image_close(struct image *im)
{
	if (!im)
		return;
	lines_free(im->lines); /* it uses the memory of both images */
	if (im->debug)
		release_image(im->debug);
	release_image(im);
}

void image_freep(struct image **im)
{
	image_close(*im);
	*im = NULL;
}

/*
 * Segments may share bytes of the file: a linker that packs them without padding maps
 * the same page twice. Callers nearly always look for code, so prefer an executable
 * segment.
 */
static const struct segment *prefer_executable(const struct segment *old, const struct segment *new)
{
	return old && (old->is_executable || !new->is_executable) ? old : new;
}

bool image_offset_to_vaddr(const struct image *im, uint64_t offset, uint64_t *ret_vaddr)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < im->n_segments; i++) {
		const struct segment *s = &im->segments[i];

		if (offset >= s->offset && offset - s->offset < s->file_bytes)
			found = prefer_executable(found, s);
	}
	if (!found)
		return false;
	*ret_vaddr = found->vaddr + (offset - found->offset);
	return true;
}

const struct segment *image_segment_of(const struct image *im, uint64_t vaddr)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < im->n_segments; i++) {
		const struct segment *s = &im->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->file_bytes)
			found = prefer_executable(found, s);
	}
	return found;
}

struct slice image_bytes_from(const struct image *im, uint64_t vaddr)
{
	const struct segment *s = vaddr ? image_segment_of(im, vaddr) : NULL;

	if (!s)
		return (struct slice){};

	const uint64_t skip = vaddr - s->vaddr;

	return (struct slice){ im->data + s->offset + skip, s->file_bytes - skip };
}

bool image_vaddr_to_offset(const struct image *im, uint64_t vaddr, uint64_t *ret_offset)
{
	const struct segment *s = image_segment_of(im, vaddr);

	if (!s)
		return false;
	*ret_offset = s->offset + (vaddr - s->vaddr);
	return true;
}

size_t image_code_at(const struct image *im, uint64_t vaddr, uint8_t *to, size_t n)
{
	const struct segment *s = image_segment_of(im, vaddr);

	if (!s || !s->is_executable)
		return 0;

	uint64_t skip = vaddr - s->vaddr;

	if (n > s->file_bytes - skip)
		n = s->file_bytes - skip;
	memcpy(to, im->data + s->offset + skip, n);
	return n;
}

bool image_section(const struct image *im, const char *name, struct image_section *ret)
{
	const struct section *s = section_named(im, name);

	if (!s)
		return false;

	struct slice bytes = section_bytes(im, s);

	*ret = (struct image_section){ bytes.data, bytes.size, s->vaddr };
	return bytes.size > 0;
}

size_t image_code_ranges(const struct image *im, struct code_range *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < im->n_segments && n < max; i++) {
		const struct segment *s = &im->segments[i];

		if (s->is_executable)
			ret[n++] = (struct code_range){ s->vaddr, s->vaddr + s->file_bytes };
	}
	return n;
}

uint64_t image_entry(const struct image *im)
{
	return im->entry;
}

bool image_is_64_bit(const struct image *im)
{
	return im->is_64_bit;
}

bool image_has_64_bit_code(const struct image *im)
{
	return im->has_64_bit_code;
}

/* Does not count mapped pages, which belong to the page cache. */
static size_t own_bytes(const struct image *im)
{
	return sizeof(*im) + strlen(im->name) + 1 + (im->is_mapped ? 0 : im->size) +
	       im->n_segments * sizeof(*im->segments) + im->n_sections * sizeof(*im->sections) +
	       im->n_notes * sizeof(*im->notes) + symbol_index_bytes(im->index) +
	       plt_bytes(im->plt) + (im->short_names ? strtab_bytes(im->short_names) : 0);
}

size_t image_bytes(const struct image *im)
{
	size_t bytes = own_bytes(im);

	if (im->debug)
		bytes += own_bytes(im->debug) + im->debug->n_sections * sizeof(*im->shifts);
	return bytes;
}
