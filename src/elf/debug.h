/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/debug.h - find the symbols of a stripped file: in its debug file, or compressed
 * in its section .gnu_debugdata ("MiniDebugInfo").
 *
 * A debug file belongs to a file if both have the same build ID. If one of them has none,
 * the checksum in the file's .gnu_debuglink decides. We use no other file, because the
 * symbols of another build are wrong names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

/*
 * The build ID, lent by @im. Returns its size; 0: there is none, or none of 8 to 64 bytes. A
 * shorter one would not tell files apart.
 */
size_t image_build_id(const struct image *im, const uint8_t **ret);

/*
 * The build ID that the kernel reports for a mapping of @im, to compare it with a record. The
 * kernel reads notes of segments only, and takes build IDs of 1 byte ("ld --build-id=0x12") to 20
 * bytes. Returns its size; 0: the kernel reports none.
 */
size_t image_reported_build_id(const struct image *im, const uint8_t **ret);

/* Does the file's own .symtab have functions? Maybe not all of them. */
bool image_has_symtab(const struct image *im);

/*
 * Unpack .gnu_debugdata.
 * Errors: -ENOENT   the file has none
 *         -EBADMSG  it makes no sense, or is of another build
 *         -E2BIG    it would take too much memory
 *         those of image_open_memory()
 */
must_check int image_open_embedded(const struct image *im, struct image **ret, struct error *e);

#define MOST_BUILD_ID 64
#define MOST_DEBUG_LINK 256

/* The data that leads to an image's debug file. Plain bytes, because a parser may send it. */
struct debug_hint {
	uint8_t build_id[MOST_BUILD_ID];
	uint32_t n_build_id;        /* 0: none */
	char link[MOST_DEBUG_LINK]; /* the name in .gnu_debuglink; "": none */
};

void image_debug_hint(const struct image *im, struct debug_hint *ret);

/* Could image_debug_hint() have made this hint? If not, do not use it. */
bool debug_hint_is_sound(const struct debug_hint *hint);

/*
 * The path of candidate @number, below DEBUG_CANDIDATES, for the debug file of the file at @path.
 * These are the places where gdb looks: below /usr/lib/debug by build ID. Then, by the link's name,
 * beside @path, in .debug/ there, and at the same place below /usr/lib/debug. The caller frees the
 * path. NULL: the hint gives no such candidate.
 */
#define DEBUG_CANDIDATES 5
char *debug_hint_path(const struct debug_hint *hint, const char *path, unsigned number);

/*
 * Open @fd (borrowed) as the debug file of @im. The caller owns *@ret.
 * Errors: -ENOENT  it has no symbols, is of another build, or has its code elsewhere
 *         those of image_open_fd()
 */
must_check int debug_file_take(const struct image *im, int fd, struct image **ret, struct error *e);

/* Let @im use the .symtab of @debug, too. Hands @debug over to @im. */
void image_set_debug(struct image *im, struct image *debug);
