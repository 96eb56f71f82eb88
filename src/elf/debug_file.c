/*
 * Where distributions put debug files, for /usr/lib/x86_64-linux-gnu/libc.so.6:
 *
 *	/usr/lib/debug/.build-id/93/ac61ec5a8eb1396f9fbd350e3169a558528a40.debug
 *	/usr/lib/x86_64-linux-gnu/NAME                  NAME is what .gnu_debuglink says
 *	/usr/lib/x86_64-linux-gnu/.debug/NAME
 *	/usr/lib/debug/usr/lib/x86_64-linux-gnu/NAME
 *	/usr/lib/debug/lib/x86_64-linux-gnu/NAME        packed before /lib became a link
 */
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/debug.h"
#include "elf/internal.h"

#define FOLDER "/usr/lib/debug"
#define cleanup_image cleanup(image_freep)

/* Sections are compared with each other; no linker makes so many of code. */
#define MOST_SECTIONS 1024
/* A checksum takes seconds for each gigabyte, and a file can be long without taking any room. */
#define MAX_CRC_BYTES (1UL << 30)

struct search {
	const struct image *im;
	int root;
	const char *link; /* the name in .gnu_debuglink; NULL: none */
	uint32_t crc;     /* of the file of that name */
	struct image **ret;
};

/* .gnu_debuglink: a name, zeros up to a multiple of four, its CRC-32. */
static void read_link(struct search *s)
{
	for (size_t i = 0; i < s->im->n_sections; i++) {
		const struct section *section = &s->im->sections[i];
		struct slice bytes;

		if (strcmp(section->name, ".gnu_debuglink") != 0)
			continue;
		bytes = section_bytes(s->im, section);

		size_t n = bytes.size ? strnlen((const char *)bytes.data, bytes.size) : 0;
		size_t at = (n + 4) & ~(size_t)3;

		if (n == 0 || at + sizeof(s->crc) > bytes.size || memchr(bytes.data, '/', n))
			continue;
		s->link = (const char *)bytes.data;
		memcpy(&s->crc, bytes.data + at, sizeof(s->crc));
		return;
	}
}

/* O_PATH does not open what is there: it may be a FIFO, or a device. */
static int find_path(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	if (root < 0)
		return open(path, O_PATH | O_CLOEXEC);
	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int open_regular(int root, const char *path)
{
	cleanup_close int handle = find_path(root, path);
	char self[64];
	struct stat st;

	if (handle < 0 || fstat(handle, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	return open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* The checksum is asked last: it takes reading all of the file. */
static bool belongs(const struct search *s, const struct image *debug)
{
	const uint8_t *id;

	if (image_build_id(s->im, &id) && image_build_id(debug, &id))
		return image_is_same_build(s->im, debug);
	return s->link && debug->size <= MAX_CRC_BYTES &&
	       lzma_crc32(debug->data, debug->size, 0) == s->crc;
}

/* Is the debug file at @path? The path is freed. */
static bool try(const struct search *s, char *path)
{
	cleanup_free char *guard = path;
	cleanup_close int fd = open_regular(s->root, path);
	cleanup_image struct image *debug = NULL;
	struct error e;

	if (fd < 0)
		return false;
	if (image_open_fd(fd, path, &debug, &e) != 0) {
		log_debug("no debug file: %s", e.text);
		return false;
	}
	if (!image_has_symtab(debug)) /* the file itself, where it is named like its debug file */
		return false;
	if (!belongs(s, debug)) {
		log_debug("%s is of another build than %s", path, s->im->name);
		return false;
	}
	log_debug("%s: symbols of %s", s->im->name, path);
	*s->ret = TAKE(debug);
	return true;
}

static bool try_build_id(const struct search *s)
{
	const uint8_t *id;
	size_t n = image_build_id(s->im, &id);
	char hex[2 * 64 + 1];

	if (!n)
		return false;
	for (size_t i = 0; i < n; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", id[i]);
	return try(s, xasprintf(FOLDER "/.build-id/%.2s/%s.debug", hex, hex + 2));
}

static bool try_link(const struct search *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = s->link;

	if (!name || !slash || path[0] != '/')
		return false;

	cleanup_free char *folder = xstrndup(path, (size_t)(slash - path));
	bool is_in_usr = strncmp(folder, "/usr/", 5) == 0;

	return try(s, xasprintf("%s/%s", folder, name)) ||
	       try(s, xasprintf("%s/.debug/%s", folder, name)) ||
	       try(s, xasprintf(FOLDER "%s/%s", folder, name)) ||
	       try(s, xasprintf(FOLDER "%s%s/%s", is_in_usr ? "" : "/usr",
				is_in_usr ? folder + 4 : folder, name));
}

int debug_file_find(const struct image *im, int root, const char *path, struct image **ret,
		    struct error *e)
{
	struct search s = { .im = im, .root = root, .ret = ret };

	read_link(&s);
	if (try_build_id(&s) || try_link(&s, path))
		return 0;
	return error_set(e, -ENOENT, "%s: no debug file", im->name);
}

/* --- whose section is whose --- */

static bool is_code(const struct section *s)
{
	return s->flags & SHF_EXECINSTR && s->size;
}

/* Without sections a file cannot have been moved in a way that could be told. */
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

		if (!is_code(own) || own->size != s->size || strcmp(own->name, s->name) != 0)
			continue;
		if (own->vaddr == s->vaddr)
			return (struct shift){ .is_known = true };
		if (found.is_known)
			return (struct shift){}; /* it could be either */
		found = (struct shift){ .by = own->vaddr - s->vaddr, .is_known = true };
	}
	return found;
}

bool image_has_code_of(const struct image *im, const struct image *debug)
{
	size_t n = 0;

	for (size_t i = 0; i < debug->n_sections; i++) {
		const struct section *s = &debug->sections[i];

		if (is_code(s) && (++n > MOST_SECTIONS || !find_shift(im, s).is_known))
			return false;
	}
	return true;
}

void image_set_debug(struct image *im, struct image *debug)
{
	size_t n = 0;

	assert(!debug->debug); /* its own would not be asked */
	symbol_index_free(im->index);
	im->index = NULL;
	lines_free(im->lines);
	im->lines = NULL;
	image_close(im->debug);
	free(im->shifts);
	im->debug = debug;
	im->shifts = xcalloc(debug->n_sections, sizeof(*im->shifts));
	for (size_t i = 0; i < debug->n_sections && n < MOST_SECTIONS; i++) {
		if (!is_code(&debug->sections[i]))
			continue;
		im->shifts[i] = find_shift(im, &debug->sections[i]);
		n++;
	}
}
