/*
 * elf/debug.h - the symbols of a stripped file are elsewhere: in a debug file of its
 * own, or compressed in its section .gnu_debugdata ("MiniDebugInfo").
 *
 * A debug file belongs to a file if both have the same build ID. Where one of them has
 * none, the checksum in the file's .gnu_debuglink decides. Nothing else is taken: what
 * another build calls its functions would be wrong names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

/* The bytes of its build ID, lent by @im; 0 where it has none that could be told apart. */
size_t image_build_id(const struct image *im, const uint8_t **ret);

/*
 * The one that the kernel tells of it where it is mapped: it looks through segments only, and takes
 * what is as short as a byte ("ld --build-id=0x12"), but none of more than 20. For comparing with
 * what it told; 0 where it tells none.
 */
size_t image_told_build_id(const struct image *im, const uint8_t **ret);

/* Has it functions in a .symtab of its own? It may not have all of them. */
bool image_has_symtab(const struct image *im);

/*
 * Unpack .gnu_debugdata.
 * Errors: -ENOENT it has none; -EBADMSG it makes no sense, or is of another build; -E2BIG it would
 * take too much memory; those of image_open_memory().
 */
must_check int image_open_embedded(const struct image *im, struct image **ret, struct error *e);

#define MOST_BUILD_ID 64
#define MOST_DEBUG_LINK 256

/* What leads to the debug file of an image. Plain bytes: it may come from another process. */
struct debug_hint {
	uint8_t build_id[MOST_BUILD_ID];
	uint32_t n_build_id;        /* 0: none */
	char link[MOST_DEBUG_LINK]; /* the name in .gnu_debuglink; "": none */
};

void image_debug_hint(const struct image *im, struct debug_hint *ret);

/* Is it one that image_debug_hint() could give? */
bool debug_hint_is_sound(const struct debug_hint *hint);

/*
 * Where gdb looks for the debug file of a file at @path: below /usr/lib/debug by build ID, then by
 * the link's name beside @path, in .debug/ there, and at the same place below /usr/lib/debug. The
 * path of candidate @number, to free(); NULL: the hint gives none. There are DEBUG_CANDIDATES.
 */
#define DEBUG_CANDIDATES 5
char *debug_hint_path(const struct debug_hint *hint, const char *path, unsigned number);

/*
 * The open file @fd (borrowed) if it is the debug file of @im.
 * Errors: -ENOENT it has no symbols, or is of another build; those of image_open_fd().
 */
must_check int debug_file_take(const struct image *im, int fd, struct image **ret, struct error *e);

/* Is @debug of the same build, by build ID? */
bool image_is_same_build(const struct image *im, const struct image *debug);

/*
 * Have @im use the .symtab of @debug too, which is @im's from now on. Its sections are taken for
 * those of @im of the same name and size, wherever they have been moved to.
 */
void image_set_debug(struct image *im, struct image *debug);
