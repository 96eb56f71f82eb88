// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A probe is a nop in the code, and a note with its place:
 *
 *	stapsdt              0x00000044  NT_STAPSDT
 *	  Provider: libpthread   Name: pthread_create
 *	  Location: 0x1234, Base: 0x5678, Semaphore: 0x0
 *	  Arguments: -4@$7 (the constant 7, of 4 bytes)
 *
 * The description has three addresses of the file's class, then three strings: provider,
 * name, arguments. When prelink moves a file, it does not relocate notes, but the section
 * .stapsdt.base. So this section's address minus the note's "base" is the distance.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elf/internal.h"

#define NT_STAPSDT 3

struct walk {
	const struct image *im;
	const struct section *base; /* .stapsdt.base, or NULL */
	image_usdt_visit *visit;
	void *context;
	struct error *e;
	bool has_seen; /* there was a note of a probe */
	bool has_good; /* there was one with its place in the file */
};

static int refuse_notes(const struct walk *w, const char *why)
{
	return error_set(w->e, -ENOEXEC, "%s: invalid notes of USDT probes (%s)", w->im->name, why);
}

/* Return the string at *@at of @text, and move *@at past it. NULL: it does not end inside. */
static const char *read_string(struct slice text, size_t *at)
{
	const char *string = (const char *)text.data + *at;
	size_t n = strnlen(string, text.size - *at);

	if (n == text.size - *at)
		return NULL;
	*at += n + 1;
	return string;
}

/*
 * When a program starts, the kernel raises a semaphore in the first writable mapping that has its
 * page of the file (uprobe_mmap()). With lld, the data that becomes read-only after relocation ends
 * in the page in which other data begins. Its mapping comes first, and is writable at that time.
 */
static bool is_mistaken(const struct image *im, uint64_t semaphore)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < im->n_segments; i++) {
		const struct segment *s = &im->segments[i];
		const uint64_t end = s->offset + s->file_bytes;

		if (s->is_writable && s->offset / page <= semaphore / page &&
		    semaphore / page <= (end - 1) / page)
			return semaphore < s->offset || semaphore >= end;
	}
	return false;
}

/* Visit the probe of a note. Leaves out one if its place or semaphore is not in the file. */
static int visit_description(struct walk *w, struct slice text)
{
	const size_t word = w->im->is_64_bit ? 8 : 4;
	size_t at = 3 * word; /* after the addresses */
	struct image_usdt probe = {};

	if (text.size < at)
		return refuse_notes(w, "one is too short");
	probe.provider = read_string(text, &at);
	probe.name = probe.provider ? read_string(text, &at) : NULL;
	if (!probe.name || !probe.provider[0] || !probe.name[0])
		return refuse_notes(w, "one has no name");
	probe.arguments = read_string(text, &at);
	if (!probe.arguments)
		probe.arguments = "";

	uint64_t moved = w->base ? w->base->vaddr - uint_at(text.data + word, word) : 0;
	uint64_t place = uint_at(text.data, word) + moved;
	uint64_t semaphore = uint_at(text.data + 2 * word, word);

	if (!w->im->is_64_bit) {
		place = (uint32_t)place;
		moved = (uint32_t)moved;
	}
	if (!image_vaddr_to_offset(w->im, place, &probe.offset))
		return 0;
	if (semaphore) {
		semaphore += moved;
		if (!w->im->is_64_bit)
			semaphore = (uint32_t)semaphore;
		if (!image_vaddr_to_offset(w->im, semaphore, &probe.semaphore))
			return 0;
		probe.is_mistaken = is_mistaken(w->im, probe.semaphore);
	}
	w->has_good = true;
	return w->visit(w->context, &probe);
}

static int visit_notes(struct walk *w, struct slice notes)
{
	struct cursor c = { .at = notes.data, .end = notes.data + notes.size };
	struct note note;
	int more, err = 0;

	while (!err && (more = note_next(&c, &note)) != 0) {
		if (more < 0)
			return refuse_notes(w, "one goes beyond the section");
		if (note.type != NT_STAPSDT || strcmp(note.owner, "stapsdt") != 0)
			continue;
		w->has_seen = true;
		err = visit_description(w, note.text);
	}
	return err;
}

int image_each_usdt(struct image *im, image_usdt_visit *visit, void *context, struct error *e)
{
	struct walk w = { .im = im,
			  .base = section_named(im, ".stapsdt.base"),
			  .visit = visit,
			  .context = context,
			  .e = e };

	for (size_t i = 0; i < im->n_sections; i++) {
		const struct section *s = &im->sections[i];

		if (s->type != SHT_NOTE || strcmp(s->name, ".note.stapsdt") != 0)
			continue;

		int result = visit_notes(&w, section_bytes(im, s));
		if (result)
			return result;
	}
	if (!w.has_seen)
		return error_set(e, -ENOENT, "%s has no USDT probes", im->name);
	if (!w.has_good)
		return refuse_notes(&w, "no place is in the file");
	return 0;
}
