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

/*
 * Find the debug file of @im as gdb does, below /usr/lib/debug by build ID, then by the name in
 * .gnu_debuglink beside @path, in .debug/ there, and at the same place below /usr/lib/debug.
 * @root is a directory in which all paths are taken, links too (a container's); -1 is our own.
 * Regular files only, and nothing blocks. Errors: -ENOENT there is none that belongs to it.
 */
must_check int debug_file_find(const struct image *im, int root, const char *path,
			       struct image **ret, struct error *e);

/* Is @debug of the same build, by build ID? */
bool image_is_same_build(const struct image *im, const struct image *debug);

/*
 * Have @im use the .symtab of @debug too, which is @im's from now on. Its sections are taken for
 * those of @im of the same name and size, wherever they have been moved to.
 */
void image_set_debug(struct image *im, struct image *debug);
