// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Distributions put debug files here, for /usr/lib/x86_64-linux-gnu/libc.so.6:
 *
 *	/usr/lib/debug/.build-id/93/ac61ec5a8eb1396f9fbd350e3169a558528a40.debug
 *	/usr/lib/x86_64-linux-gnu/NAME                  NAME is in .gnu_debuglink
 *	/usr/lib/x86_64-linux-gnu/.debug/NAME
 *	/usr/lib/debug/usr/lib/x86_64-linux-gnu/NAME
 *	/usr/lib/debug/lib/x86_64-linux-gnu/NAME        packed before /lib became a link
 */
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "elf/debug.h"
#include "elf/internal.h"

#define FOLDER "/usr/lib/debug"
#define cleanup_image cleanup(image_freep)

/* We compare each code section of a debug file with all of its file. No linker makes this many. */
#define MOST_SECTIONS 1024
/* A checksum takes seconds for each gigabyte, and a sparse file can be long without taking room. */
#define MAX_CRC_BYTES (1UL << 30)

/* .gnu_debuglink: a name, zeros up to a multiple of four, its CRC-32. */
struct link {
	const char *name; /* NULL: none */
	uint32_t crc;
};

static struct link debug_link_of(const struct image *im)
{
	struct link link = {};

	for (size_t i = 0; i < im->n_sections && !link.name; i++) {
		const struct section *section = &im->sections[i];
		struct slice bytes;

		if (strcmp(section->name, ".gnu_debuglink") != 0)
			continue;
		bytes = section_bytes(im, section);

		size_t n = bytes.size ? strnlen((const char *)bytes.data, bytes.size) : 0;
		size_t at = (n + 4) & ~(size_t)3;

		if (n == 0 || n >= MOST_DEBUG_LINK || at + sizeof(link.crc) > bytes.size ||
		    memchr(bytes.data, '/', n))
			continue;
		link.name = (const char *)bytes.data;
		memcpy(&link.crc, bytes.data + at, sizeof(link.crc));
	}
	return link;
}

void image_debug_hint(const struct image *im, struct debug_hint *ret)
{
	const struct link link = debug_link_of(im);
	const uint8_t *id;
	const size_t n = image_build_id(im, &id);

	*ret = (struct debug_hint){};
	if (n && n <= MOST_BUILD_ID) {
		memcpy(ret->build_id, id, n);
		ret->n_build_id = (uint32_t)n;
	}
	if (link.name)
		(void)snprintf(ret->link, sizeof(ret->link), "%s", link.name);
}

bool debug_hint_is_sound(const struct debug_hint *hint)
{
	return hint->n_build_id <= MOST_BUILD_ID && memchr(hint->link, 0, sizeof(hint->link)) &&
	       !strchr(hint->link, '/');
}

static char *build_id_path(const struct debug_hint *hint)
{
	char hex[2 * MOST_BUILD_ID + 1] = "";

	for (size_t i = 0; i < hint->n_build_id; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", hint->build_id[i]);
	return hex[0] ? xasprintf(FOLDER "/.build-id/%.2s/%s.debug", hex, hex + 2) : NULL;
}

char *debug_hint_path(const struct debug_hint *hint, const char *path, unsigned number)
{
	const char *slash = strrchr(path, '/'), *name = hint->link;

	if (number == 0)
		return build_id_path(hint);
	if (!name[0] || !slash || path[0] != '/')
		return NULL;

	cleanup_free char *folder = xstrndup(path, (size_t)(slash - path));
	const bool is_in_usr = strncmp(folder, "/usr/", 5) == 0;

	switch (number) {
	case 1:
		return xasprintf("%s/%s", folder, name);
	case 2:
		return xasprintf("%s/.debug/%s", folder, name);
	case 3:
		return xasprintf(FOLDER "%s/%s", folder, name);
	case 4:
		return xasprintf(FOLDER "%s%s/%s", is_in_usr ? "" : "/usr",
				 is_in_usr ? folder + 4 : folder, name);
	default:
		return NULL;
	}
}

/* Many files may name one debug file: the last checksum is kept. */
static uint32_t checksum_of(const struct image *debug, int fd)
{
	static struct stat last;
	static uint32_t crc;
	struct stat now = {};

	if (fstat(fd, &now) < 0 || !now.st_ino || now.st_ino != last.st_ino ||
	    now.st_dev != last.st_dev || now.st_size != last.st_size ||
	    now.st_ctim.tv_sec != last.st_ctim.tv_sec ||
	    now.st_ctim.tv_nsec != last.st_ctim.tv_nsec)
		crc = lzma_crc32(debug->data, debug->size, 0);
	last = now;
	return crc;
}

/* The checksum comes last, because it reads the whole file. */
static bool is_debug_file_of(const struct image *im, const struct image *debug, int fd)
{
	const uint8_t *id;

	if (image_build_id(im, &id) && image_build_id(debug, &id))
		return image_is_same_build(im, debug);

	const struct link link = debug_link_of(im);

	return link.name && debug->size <= MAX_CRC_BYTES && checksum_of(debug, fd) == link.crc;
}

int debug_file_take(const struct image *im, int fd, struct image **ret, struct error *e)
{
	cleanup_image struct image *debug = NULL;
	const int err = image_open_fd(fd, im->name, &debug, e);

	if (err)
		return err;
	/* The stripped file itself may have the name of its debug file. It has no symbols. */
	if (!image_has_symtab(debug))
		return error_set(e, -ENOENT, "%s: its debug file has no symbols", im->name);
	if (!is_debug_file_of(im, debug, fd))
		return error_set(e, -ENOENT, "%s: its debug file belongs to another build",
				 im->name);
	*ret = TAKE(debug);
	return 0;
}

/* --- matching the sections of both files --- */

static bool is_code_section(const struct section *s)
{
	return s->flags & SHF_EXECINSTR && s->size;
}

/* For a file without section headers. We cannot tell whether such a file has been moved. */
static bool is_in_code_segment(const struct image *im, const struct section *s)
{
	for (size_t i = 0; i < im->n_segments; i++) {
		const struct segment *segment = &im->segments[i];

		if (segment->is_executable && s->vaddr >= segment->vaddr &&
		    s->vaddr + s->size <= segment->vaddr + segment->file_bytes)
			return true;
	}
	return false;
}

static struct shift find_shift(const struct image *im, const struct section *s)
{
	struct shift found = {};

	if (im->n_sections <= 1)
		return (struct shift){ .is_known = is_in_code_segment(im, s) };
	for (size_t i = 0; i < im->n_sections; i++) {
		const struct section *own = &im->sections[i];

		if (!is_code_section(own) || own->size != s->size ||
		    strcmp(own->name, s->name) != 0)
			continue;
		if (own->vaddr == s->vaddr)
			return (struct shift){ .is_known = true };
		if (found.is_known)
			return (struct shift){}; /* ambiguous */
		found = (struct shift){ .by = own->vaddr - s->vaddr, .is_known = true };
	}
	return found;
}

bool image_has_code_of(const struct image *im, const struct image *debug)
{
	size_t n = 0;

	for (size_t i = 0; i < debug->n_sections; i++) {
		const struct section *s = &debug->sections[i];

		if (is_code_section(s) && (++n > MOST_SECTIONS || !find_shift(im, s).is_known))
			return false;
	}
	return true;
}

void image_set_debug(struct image *im, struct image *debug)
{
	size_t n = 0;

	assert(!debug->debug); /* look-ups would ignore a second one */
	symbol_index_free(im->index);
	im->index = NULL;
	lines_free(im->lines);
	im->lines = NULL;
	image_close(im->debug);
	free(im->shifts);
	im->debug = debug;
	im->shifts = xcalloc(debug->n_sections, sizeof(*im->shifts));
	for (size_t i = 0; i < debug->n_sections && n < MOST_SECTIONS; i++) {
		if (!is_code_section(&debug->sections[i]))
			continue;
		im->shifts[i] = find_shift(im, &debug->sections[i]);
		n++;
	}
}
