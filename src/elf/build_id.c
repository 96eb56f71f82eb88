// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The build ID is a note, in a section and in a segment:
 *
 *	GNU   20 bytes   NT_GNU_BUILD_ID   93ac61ec5a8eb1396f9fbd350e3169a558528a40
 */
#include <elf.h>
#include <string.h>

#include "elf/debug.h"
#include "elf/internal.h"

/* Fewer bytes would not tell all files of a machine apart. More are no hash. */
#define LEAST_BYTES 8
#define MOST_BYTES 64
/* The sizes that lib/buildid.c of the kernel takes (BUILD_ID_SIZE_MAX). It skips others. */
#define LEAST_TOLD_BYTES 1
#define MOST_TOLD_BYTES 20

/* A build ID of @least to @most bytes. */
struct note_kind {
	size_t least, most;
};

static const struct note_kind sure = { LEAST_BYTES, MOST_BYTES };
static const struct note_kind told = { LEAST_TOLD_BYTES, MOST_TOLD_BYTES };

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

/* The first note of the kind. */
static size_t find_in_notes(struct slice notes, const struct note_kind *kind, const uint8_t **ret)
{
	struct cursor c = { .at = notes.data, .end = notes.data + notes.size };
	struct note note;

	while (note_next(&c, &note) > 0) {
		if (note.type != NT_GNU_BUILD_ID || strcmp(note.owner, ELF_NOTE_GNU) != 0 ||
		    note.text.size < kind->least || note.text.size > kind->most)
			continue;
		*ret = note.text.data;
		return note.text.size;
	}
	return 0;
}

struct slice notes_within(struct slice notes, size_t *left)
{
	if (notes.size > *left)
		notes.size = *left;
	*left -= notes.size;
	return notes;
}

static size_t find_note(const struct image *im, const struct note_kind *kind, const uint8_t **ret)
{
	size_t n = 0, left = MOST_NOTES;

	/* Sections first: segments of a debug file may name places that it does not have. */
	for (size_t i = 0; i < im->n_sections && !n; i++)
		if (im->sections[i].type == SHT_NOTE)
			n = find_in_notes(notes_within(section_bytes(im, &im->sections[i]), &left),
					  kind, ret);
	for (size_t i = 0; i < im->n_notes && !n; i++)
		n = find_in_notes(notes_within(im->notes[i], &left), kind, ret);
	return n;
}

size_t image_build_id(const struct image *im, const uint8_t **ret)
{
	return find_note(im, &sure, ret);
}

size_t image_reported_build_id(const struct image *im, const uint8_t **ret)
{
	size_t n = 0, left = MOST_NOTES;

	for (size_t i = 0; i < im->n_notes && !n; i++)
		n = find_in_notes(notes_within(im->notes[i], &left), &told, ret);
	return n;
}

bool image_is_same_build(const struct image *im, const struct image *debug)
{
	const uint8_t *a, *b;
	size_t n = image_build_id(im, &a);

	return n && image_build_id(debug, &b) == n && memcmp(a, b, n) == 0;
}
