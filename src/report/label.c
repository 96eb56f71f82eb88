// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Labels:
 *
 *	vfs_read                  a name
 *	vfs_read+0x1f             with offsets
 *	[libx.so+0x1200]          no symbol: the beginning of the function, for addr2line
 *	[libx.so]                 no symbol, and the beginning is not known
 *	[vdso+0x780]              no symbol, in the vdso
 *	[unknown]                 in no file
 *	[libx.so+0x1200] libx.so+0x1234  with places: file and address as linked
 *	read libc.so.6+0x1234     with places, a name: in text, for user frames
 *	read [inlined] file.c:12  with source lines: inlined into the next frame
 *	[cut: depth]              the outermost frames are missing
 *	[unverified: 32-bit program]  frames of the stack may be wrong or missing
 */
#include "report/label.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/writer.h"

#define UNKNOWN "[unknown]"

void labels_init(struct labels *l, const struct frame_table *frames,
		 const struct render_style *style, enum label_form form)
{
	*l = (struct labels){ .frames = frames,
			      .style = { style->offsets, style->addresses, form } };
	l->places = xcalloc(frames->n + 1, sizeof(*l->places));
}

void labels_fini(struct labels *l)
{
	strbuf_fini(&l->text);
	free(l->places);
	*l = (struct labels){};
}

/* Folded has a part "-" between user and kernel frames, so a function "-" becomes "_". */
static void put_label_name(struct strbuf *to, const char *name, enum label_form form)
{
	if (form == LABEL_FOLDED && strcmp(name, "-") == 0)
		name = "_";
	escape_put_name(to, name, form == LABEL_FOLDED);
}

/* " libc.so.6+0x1234" */
static void put_label_place(struct strbuf *to, const struct label_style *style,
			    const struct frame *frame)
{
	if (!style->places || !has_text(frame->module))
		return;
	strbuf_putc(to, ' ');
	if (frame->is_in_file)
		escape_put_name(to, frame->module, style->form == LABEL_FOLDED);
	else /* "[vdso]", "[anon]" */
		escape_put(to, frame->module, style->form == LABEL_FOLDED);
	if (frame->module_offset != NO_OFFSET)
		strbuf_printf(to, "+0x%" PRIx64, frame->module_offset);
}

/* "[libx.so+0x1200]", "[libx.so]", "[vdso+0x780]": a function without a name. */
static void put_unnamed(struct strbuf *to, const struct label_style *style,
			const struct frame *frame)
{
	if (has_text(frame->module) && frame->is_in_file) {
		strbuf_putc(to, '[');
		escape_put_file(to, frame->module, style->form == LABEL_FOLDED);
	} else if (has_text(frame->module) && strcmp(frame->module, "[vdso]") == 0) {
		strbuf_puts(to, "[vdso");
	} else {
		strbuf_puts(to, UNKNOWN);
		return;
	}
	if (frame->has_start)
		strbuf_printf(to, "+0x%" PRIx64, frame->module_offset - frame->offset);
	strbuf_putc(to, ']');
	if (frame->has_start && style->offsets)
		strbuf_printf(to, "+0x%" PRIx64, frame->offset);
}

void label_put(struct strbuf *to, const struct label_style *style, const struct frame *frame)
{
	const bool is_folded = style->form == LABEL_FOLDED;

	if (frame_is_mark(frame)) {
		strbuf_puts(to, frame->kind == FRAME_CUT ? "[cut: " : "[unverified: ");
		escape_put(to, has_text(frame->name) ? frame->name : "unknown", is_folded);
		strbuf_putc(to, ']');
	} else if (has_text(frame->name)) {
		put_label_name(to, frame->name, style->form);
		if (frame->is_inlined)
			strbuf_puts(to, " [inlined]");
		else if (style->offsets && frame->offset != NO_OFFSET)
			strbuf_printf(to, "+0x%" PRIx64, frame->offset);
		if (style->form == LABEL_TEXT && frame->kind == FRAME_USER)
			put_label_place(to, style, frame);
	} else {
		put_unnamed(to, style, frame);
		put_label_place(to, style, frame);
	}
	if (frame->file) {
		strbuf_putc(to, ' ');
		escape_put(to, frame->file, is_folded);
		strbuf_printf(to, ":%" PRIu32, frame->line);
	}
}

void label_put_address(struct strbuf *to, const struct frame *frame)
{
	if (frame_is_mark(frame))
		strbuf_printf(to, "%-16s ", "");
	else
		strbuf_printf(to, "%-16" PRIx64 " ", frame->addr);
}

void labels_put(struct strbuf *to, struct labels *l, uint32_t number)
{
	assert(number < l->frames->n);

	struct label_place *place = &l->places[number];
	const struct frame *frame = &l->frames->frames[number];

	if (!place->n) {
		place->at = l->text.n;
		if (l->style.form == LABEL_TEXT)
			strbuf_puts(&l->text, "  ");
		if (l->style.form == LABEL_TEXT && l->style.places)
			label_put_address(&l->text, frame);
		label_put(&l->text, &l->style, frame);
		place->n = l->text.n - place->at;
	}
	strbuf_put(to, l->text.text + place->at, place->n);
}

void label_put_comm(struct strbuf *to, const char *comm, enum label_form form)
{
	if (has_text(comm))
		put_label_name(to, comm, form);
	else
		strbuf_puts(to, UNKNOWN);
}
