// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/local_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "elf/debug.h"
#include "elf/demangle.h"
#include "elf/image.h"
#include "reader/debuginfod.h"

#define PAGE 4096

/* The build ID of an image. */
struct local_id {
	uint8_t bytes[MOST_BUILD_ID];
	size_t n;
	const char *go; /* NULL: @n bytes; else Go's */
};

/* False: the image has none, or none that we use. */
static bool parse_build_id(const char *text, struct local_id *ret)
{
	const size_t n = text ? strlen(text) / 2 : 0;

	*ret = (struct local_id){};
	if (text_begins_with(text, GO_BUILD_ID_PREFIX)) {
		ret->go = text + strlen(GO_BUILD_ID_PREFIX);
		return true;
	}
	if (!n || n > MOST_BUILD_ID || strlen(text) % 2 ||
	    text[strspn(text, "0123456789abcdef")] != '\0')
		return false;
	for (size_t i = 0; i < n; i++) {
		const char digits[] = { text[2 * i], text[2 * i + 1], '\0' };

		ret->bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	ret->n = n;
	return true;
}

/* The path may be that of a FIFO or a device, which must not hold us up. */
static int open_regular_file(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return TAKE_FD(fd);
}

static bool is_image_of_build(const struct image *im, const struct local_id *id)
{
	char go[GO_BUILD_ID + 1];
	const uint8_t *own;

	if (id->go)
		return image_go_build_id(im, go) && strcmp(go, id->go) == 0;
	return (image_build_id(im, &own) == id->n && memcmp(own, id->bytes, id->n) == 0) ||
	       (image_reported_build_id(im, &own) == id->n && memcmp(own, id->bytes, id->n) == 0);
}

static struct image *open_image_at(const char *path, const struct local_id *id)
{
	cleanup_close int fd = open_regular_file(path);
	cleanup(image_freep) struct image *im = NULL;
	struct error e;

	if (fd < 0 || image_open_fd(fd, path, &im, &e))
		return NULL;
	return is_image_of_build(im, id) ? TAKE(im) : NULL;
}

/* Let @im use the debug file at @path, if it belongs to it. */
static bool take_debug_file(struct image *im, const char *path)
{
	cleanup_close int fd = open_regular_file(path);
	struct image *debug;
	struct error e;

	if (fd < 0 || debug_file_take(im, fd, &debug, &e))
		return false;
	image_set_debug(im, debug);
	return true;
}

static bool find_debug_file(struct image *im, const char *path)
{
	struct debug_hint hint;

	image_debug_hint(im, &hint);
	for (unsigned i = 0; i < DEBUG_CANDIDATES; i++) {
		cleanup_free char *candidate = debug_hint_path(&hint, path, i);

		if (candidate && take_debug_file(im, candidate))
			return true;
	}
	return false;
}

static bool take_embedded(struct image *im)
{
	struct image *embedded;
	struct error e;

	if (image_open_embedded(im, &embedded, &e))
		return false;
	image_set_debug(im, embedded);
	return true;
}

/* The caller frees it. NULL: no server has it. Servers know no build IDs of Go. */
static char *ask_servers_for_image(const struct local_names_options *options,
				   const struct local_id *id, const char *name)
{
	struct error e;
	char *path;

	if (!options->servers || id->go ||
	    debuginfod_get_path(options->servers, id->bytes, id->n, name, &path, &e))
		return NULL;
	return path;
}

/* A debug file alone has addresses as linked, and symbols, but no contents. */
static struct image *open_debug_file_alone(const struct local_names_options *options,
					   const struct local_id *id, const char *name)
{
	struct debug_hint hint = { .n_build_id = (uint32_t)id->n };

	memcpy(hint.build_id, id->bytes, id->n);

	cleanup_free char *path = debug_hint_path(&hint, name, 0);
	struct image *im = path ? open_image_at(path, id) : NULL;

	if (im)
		return im;

	cleanup_free char *fetched = ask_servers_for_image(options, id, name);

	return fetched ? open_image_at(fetched, id) : NULL;
}

/* NULL: this machine has no file of the image's build. The caller closes it. */
static struct image *open_local_image(const struct frame_image *image,
				      const struct local_names_options *options)
{
	struct local_id id;

	if (!parse_build_id(image->build_id, &id) || !image->path || image->path[0] != '/')
		return NULL;

	struct image *im = open_image_at(image->path, &id);

	if (!im)
		return open_debug_file_alone(options, &id, image->path);
	if (find_debug_file(im, image->path) || take_embedded(im) || image_has_symtab(im))
		return im;

	cleanup_free char *fetched = ask_servers_for_image(options, &id, image->path);

	if (fetched)
		(void)take_debug_file(im, fetched);
	return im;
}

/*
 * The place of a return address is in the call before, and reports show the return address. Its
 * process may not be the one of the mapping, but both mappings begin at pages.
 */
static uint64_t shown_behind(const struct frame *frame, const struct frame_image *image)
{
	const uint64_t place = image->start + frame->file_offset - image->offset;

	return image->limit && (frame->addr - place) % PAGE == 1;
}

static void name_frame(struct frame *frame, const struct frame_image *of, struct image *im,
		       struct strtab *strings, bool is_raw)
{
	struct image_symbol symbol;
	uint64_t vaddr, start;

	if (!image_offset_to_vaddr(im, frame->file_offset, &vaddr))
		return;
	frame->module_offset = vaddr + shown_behind(frame, of);
	if (!image_function_at(im, vaddr, &symbol)) {
		frame->has_start = image_function_start(im, vaddr, &start);
		frame->offset = frame->has_start ? frame->module_offset - start : 0;
		return;
	}

	cleanup_free char *plain = is_raw ? NULL : demangle(symbol.name);

	frame->name = strtab_add(strings, plain ? plain : symbol.name);
	frame->raw_name = plain ? strtab_add(strings, symbol.name) : NULL;
	frame->offset = frame->module_offset - symbol.vaddr;
	frame->has_start = false;
}

static bool wants_name(const struct frame *frame)
{
	return frame->kind == FRAME_USER && !frame->name && frame->code != CODE_JIT;
}

void local_names_fill(struct frame_table *table, struct strtab *strings,
		      const struct local_names_options *options)
{
	for (size_t i = 0; i < table->n_images; i++) {
		cleanup(image_freep) struct image *im = NULL;
		bool is_tried = false;

		for (size_t k = 0; k < table->n; k++) {
			struct frame *frame = &table->frames[k];

			if (frame->image != i || !wants_name(frame))
				continue;
			if (!is_tried)
				im = open_local_image(&table->images[i], options);
			is_tried = true;
			if (!im)
				break;
			name_frame(frame, &table->images[i], im, strings, options->raw_names);
		}
	}
}
