#include "report/label.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/escape.h"

#define UNKNOWN "[unknown]"

void labels_init(struct labels *l, const struct frame_table *frames,
		 const struct render_style *style, enum label_form form)
{
	*l = (struct labels){ .frames = frames, .style = style, .form = form };
	l->places = xcalloc(frames->n + 1, sizeof(*l->places));
}

void labels_fini(struct labels *l)
{
	strbuf_fini(&l->text);
	free(l->places);
	*l = (struct labels){};
}

static bool is_named(const char *name)
{
	return name && name[0] != '\0';
}

/*
 * In folded a lone "-" stands between user and kernel frames, so that no
 * function may be called so.
 */
static void put_name(struct strbuf *to, const char *name, enum label_form form)
{
	if (form == LABEL_FOLDED && strcmp(name, "-") == 0)
		name = "_";
	escape_put_name(to, name, form == LABEL_FOLDED);
}

/* " libc.so.6+0x1234" */
static void put_place(struct labels *l, const struct frame *frame)
{
	if (!l->style->addresses || !is_named(frame->module))
		return;
	strbuf_putc(&l->text, ' ');
	escape_put(&l->text, frame->module, l->form == LABEL_FOLDED);
	strbuf_printf(&l->text, "+0x%" PRIx64, frame->module_offset);
}

/* In folded a function is one frame, wherever in it a call was; the kernel's has no place. */
static bool shows_place(const struct labels *l, const struct frame *frame)
{
	return l->form == LABEL_TEXT && frame->kind == FRAME_USER;
}

static void put_label(struct labels *l, const struct frame *frame)
{
	bool is_folded = l->form == LABEL_FOLDED;

	if (frame->kind == FRAME_CUT) {
		strbuf_puts(&l->text, "[cut: ");
		escape_put(&l->text, is_named(frame->name) ? frame->name : "unknown", is_folded);
		strbuf_putc(&l->text, ']');
	} else if (is_named(frame->name)) {
		put_name(&l->text, frame->name, l->form);
		if (frame->is_inlined)
			strbuf_puts(&l->text, " [inlined]");
		else if (l->style->offsets)
			strbuf_printf(&l->text, "+0x%" PRIx64, frame->offset);
		if (shows_place(l, frame))
			put_place(l, frame);
	} else {
		strbuf_puts(&l->text, UNKNOWN);
		put_place(l, frame);
	}
	if (frame->file) {
		strbuf_putc(&l->text, ' ');
		escape_put(&l->text, frame->file, is_folded);
		strbuf_printf(&l->text, ":%" PRIu32, frame->line);
	}
}

static void put_line(struct labels *l, const struct frame *frame)
{
	strbuf_puts(&l->text, "  ");
	if (l->style->addresses && frame->kind == FRAME_CUT)
		strbuf_printf(&l->text, "%-16s ", "");
	else if (l->style->addresses)
		strbuf_printf(&l->text, "%-16" PRIx64 " ", frame->addr);
	put_label(l, frame);
	strbuf_putc(&l->text, '\n');
}

const char *labels_get(struct labels *l, uint32_t number, size_t *n)
{
	assert(number < l->frames->n);

	struct label_place *place = &l->places[number];

	if (!place->n) {
		place->at = l->text.n;
		if (l->form == LABEL_TEXT)
			put_line(l, &l->frames->frames[number]);
		else
			put_label(l, &l->frames->frames[number]);
		place->n = l->text.n - place->at;
	}
	*n = place->n;
	return l->text.text + place->at;
}

void label_put_comm(struct strbuf *to, const char *comm, enum label_form form)
{
	if (is_named(comm))
		put_name(to, comm, form);
	else
		strbuf_puts(to, UNKNOWN);
}
