// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "elf/debug.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "elf/internal.h"

/* --- build IDs --- */

/*
 * The build ID is a note, in a section and in a segment:
 *
 *	GNU   20 bytes   NT_GNU_BUILD_ID   93ac61ec5a8eb1396f9fbd350e3169a558528a40
 */

int note_next(struct cursor *c, struct note *ret)
{
	Elf64_Nhdr h; /* the same in 32-bit files */

	if (cursor_left(c) < sizeof(h))
		return 0;
	memcpy(&h, cursor_skip(c, sizeof(h)), sizeof(h));

	const char *owner = (const char *)cursor_skip(c, (h.n_namesz + 3UL) & ~3UL);
	const size_t n_padding = -h.n_descsz & 3;

	ret->type = h.n_type;
	ret->text = (struct slice){ cursor_skip(c, h.n_descsz), h.n_descsz };
	if (c->is_spent)
		return -1;
	ret->owner = h.n_namesz && strnlen(owner, h.n_namesz) == h.n_namesz - 1 ? owner : "";
	(void)cursor_skip(c, n_padding < cursor_left(c) ? n_padding : cursor_left(c));
	return 1;
}

/* The first build ID of @least to @most bytes. Returns its size. */
static size_t find_build_id(struct slice notes, size_t least, size_t most, const uint8_t **ret)
{
	struct cursor c = { .at = notes.data, .end = notes.data + notes.size };
	struct note note;

	while (note_next(&c, &note) > 0) {
		if (note.type != NT_GNU_BUILD_ID || strcmp(note.owner, ELF_NOTE_GNU) != 0 ||
		    note.text.size < least || note.text.size > most)
			continue;
		*ret = note.text.data;
		return note.text.size;
	}
	return 0;
}

static size_t build_id_of(const struct image *im, bool has_sections, size_t least, size_t most,
			  const uint8_t **ret)
{
	size_t n = 0;

	/* Sections first: segments of a debug file may name places that it does not have. */
	for (size_t i = 0; has_sections && i < im->n_sections && !n; i++)
		if (im->sections[i].type == SHT_NOTE)
			n = find_build_id(section_bytes(im, &im->sections[i]), least, most, ret);
	for (size_t i = 0; i < im->n_notes && !n; i++)
		n = find_build_id(im->notes[i], least, most, ret);
	return n;
}

/* Fewer bytes would not tell all files of a machine apart. More are no hash. */
size_t image_build_id(const struct image *im, const uint8_t **ret)
{
	return build_id_of(im, true, 8, MOST_BUILD_ID, ret);
}

/* The sizes that lib/buildid.c of the kernel takes (BUILD_ID_SIZE_MAX). It skips others. */
size_t image_reported_build_id(const struct image *im, const uint8_t **ret)
{
	return build_id_of(im, false, 1, 20, ret);
}

/* --- debug files --- */

/*
 * Distributions put debug files here, for /usr/lib/x86_64-linux-gnu/libc.so.6:
 *
 *	/usr/lib/debug/.build-id/93/ac61ec5a8eb1396f9fbd350e3169a558528a40.debug
 *	/usr/lib/x86_64-linux-gnu/NAME                  NAME is in .gnu_debuglink
 *	/usr/lib/x86_64-linux-gnu/.debug/NAME
 *	/usr/lib/debug/usr/lib/x86_64-linux-gnu/NAME
 *	/usr/lib/debug/lib/x86_64-linux-gnu/NAME        packed before /lib became a link
 */
#define FOLDER "/usr/lib/debug"
#define cleanup_image cleanup(image_freep)

/* A checksum takes seconds for each gigabyte, and a sparse file can be long without taking room. */
#define MAX_CRC_BYTES (1UL << 30)

/* The name in .gnu_debuglink, before zeros up to a multiple of four, and its CRC-32. NULL: none. */
static const char *debug_link_of(const struct image *im, uint32_t *ret_crc)
{
	struct image_section section;

	if (!image_section(im, ".gnu_debuglink", &section))
		return NULL;

	const char *name = (const char *)section.data;
	const size_t n = strnlen(name, section.size), at = (n + 4) & ~(size_t)3;

	if (!n || n >= MOST_DEBUG_LINK || at + sizeof(*ret_crc) > section.size ||
	    memchr(name, '/', n))
		return NULL;
	memcpy(ret_crc, section.data + at, sizeof(*ret_crc));
	return name;
}

void image_debug_hint(const struct image *im, struct debug_hint *ret)
{
	uint32_t crc;
	const char *link = debug_link_of(im, &crc);
	const uint8_t *id;
	const size_t n = image_build_id(im, &id);

	*ret = (struct debug_hint){};
	if (n) {
		memcpy(ret->build_id, id, n);
		ret->n_build_id = (uint32_t)n;
	}
	if (link)
		(void)snprintf(ret->link, sizeof(ret->link), "%s", link);
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

/* Do both have a build ID? Then *@ret_is_same tells whether it is the same. */
static bool have_build_ids(const struct image *im, const struct image *debug, bool *ret_is_same)
{
	const uint8_t *a, *b;
	const size_t n = image_build_id(im, &a), n_debug = image_build_id(debug, &b);

	*ret_is_same = n && n == n_debug && memcmp(a, b, n) == 0;
	return n && n_debug;
}

static bool has_section_of(const struct image *im, const struct section *s)
{
	for (size_t i = 0; i < im->n_sections; i++) {
		const struct section *own = &im->sections[i];

		if (own->vaddr == s->vaddr && own->size == s->size && own->flags & SHF_EXECINSTR &&
		    strcmp(own->name, s->name) == 0)
			return true;
	}
	return false;
}

/* Does @im have each code section of @debug? Not if prelink(8) has moved it since. */
static bool has_code_of(const struct image *im, const struct image *debug)
{
	for (size_t i = 0; i < debug->n_sections; i++) {
		const struct section *s = &debug->sections[i];

		if (s->flags & SHF_EXECINSTR && s->size && !has_section_of(im, s))
			return false;
	}
	return true;
}

/* The checksum comes last, because it reads the whole file. */
static bool is_debug_file_of(const struct image *im, const struct image *debug)
{
	bool is_same;
	uint32_t crc;

	if (have_build_ids(im, debug, &is_same))
		return is_same;
	return debug_link_of(im, &crc) && debug->size <= MAX_CRC_BYTES &&
	       lzma_crc32(debug->data, debug->size, 0) == crc;
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
	if (!is_debug_file_of(im, debug))
		return error_set(e, -ENOENT, "%s: its debug file belongs to another build",
				 im->name);
	if (!has_code_of(im, debug))
		return error_set(e, -ENOENT, "%s: its debug file has other code sections",
				 im->name);
	*ret = TAKE(debug);
	return 0;
}

void image_set_debug(struct image *im, struct image *debug)
{
	assert(!debug->debug); /* look-ups would ignore a second one */
	symbol_index_free(im->index);
	im->index = NULL;
	lines_free(im->lines);
	im->lines = NULL;
	image_close(im->debug);
	im->debug = debug;
}

/* --- .gnu_debugdata --- */

/*
 * .gnu_debugdata is an ELF file, compressed by xz, with the symbols of the stripped file alone. A
 * few kilobytes of it can stand for gigabytes. So the decoder's memory and the output have bounds.
 */

#define SECTION ".gnu_debugdata"
#define MOST_UNPACKED_BYTES ((size_t)64 << 20)
/* xz -9 needs 65 MiB to unpack. */
#define MOST_DECODER_BYTES (80 << 20)

/* Unpack @in to @to, which has room for MOST_UNPACKED_BYTES. */
static int unpack_xz(const struct image *im, const struct image_section *in, uint8_t *to,
		     size_t *ret_n, struct error *e)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	lzma_ret code = lzma_stream_decoder(&xz, MOST_DECODER_BYTES, 0);

	xz.next_in = in->data;
	xz.avail_in = in->size;
	xz.next_out = to;
	xz.avail_out = MOST_UNPACKED_BYTES;
	if (code == LZMA_OK)
		code = lzma_code(&xz, LZMA_FINISH);
	*ret_n = xz.total_out;
	lzma_end(&xz);
	if (code == LZMA_STREAM_END)
		return 0;
	if (code == LZMA_MEMLIMIT_ERROR || code == LZMA_MEM_ERROR || !xz.avail_out)
		return error_set(e, -E2BIG,
				 "%s: " SECTION
				 " takes too much memory to unpack (more than %zu MiB)",
				 im->name, MOST_UNPACKED_BYTES >> 20);
	return error_set(e, -EBADMSG, "%s: " SECTION " is not valid xz data", im->name);
}

/* Somebody may have copied the section from another file. The symbols may have no build ID. */
static int check_build(const struct image *im, const struct image *debug, struct error *e)
{
	bool is_same;

	if (have_build_ids(im, debug, &is_same) && !is_same)
		return error_set(e, -EBADMSG, "%s: " SECTION " belongs to another build", im->name);
	if (!has_code_of(im, debug))
		return error_set(e, -EBADMSG,
				 "%s: " SECTION
				 " belongs to another file: its code sections differ",
				 im->name);
	return 0;
}

int image_open_embedded(const struct image *im, struct image **ret, struct error *e)
{
	struct image_section in;
	cleanup_free uint8_t *data = NULL;
	cleanup_image struct image *debug = NULL;
	size_t n = 0;
	int err;

	if (!image_section(im, SECTION, &in))
		return error_set(e, -ENOENT, "%s: no " SECTION, im->name);
	data = xmalloc(MOST_UNPACKED_BYTES); /* its pages come as they are written */
	err = unpack_xz(im, &in, data, &n, e);
	if (!err)
		err = image_open_memory(data, n, SECTION, &debug, e);
	if (!err)
		err = check_build(im, debug, e);
	if (!err)
		*ret = TAKE(debug);
	return err;
}
