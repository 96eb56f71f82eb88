// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 *	          self          change            total          change  function
 *	        30 -> 10           -20          30 -> 10           -20 * parse
 *	         0 -> 5             +5 *         0 -> 15           +15 * hash
 *	* beyond noise: by more than three standard errors, known from slices ... (20 before, 20
 *after).
 */
#include "report/render_changes.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/saturated.h"
#include "report/json.h"
#include "report/label.h"

static bool has_changed(const struct changed_value *v)
{
	return v->after != v->before;
}

static void put_changed_value(struct strbuf *to, const struct changed_value *v)
{
	strbuf_printf(to, "%12" PRId64 " -> %-12" PRId64 " %+12" PRId64 " %c ", v->before, v->after,
		      subtract_saturated(v->after, v->before), v->is_beyond_noise ? '*' : ' ');
}

static void put_changed_function(struct strbuf *to, const struct change *change)
{
	const struct label_style style = { .form = LABEL_TREE };

	put_changed_value(to, &change->self);
	put_changed_value(to, &change->total);
	label_put(to, &style, change->frame);
	strbuf_putc(to, '\n');
}

static void put_legend(struct strbuf *to, const struct changes *c)
{
	if (c->n_after)
		strbuf_printf(to,
			      "* beyond noise: by more than three standard errors, known from "
			      "slices of time (%zu before, %zu after).\n",
			      c->n_before, c->n_after);
	else
		strbuf_puts(to, "No claim about noise: that takes 20 slices of time before and "
				"after.\n");
}

void changes_put_text(struct strbuf *to, const struct changes *c, size_t most)
{
	strbuf_printf(to, "%18s %-11s %11s %19s %-11s %13s   %s\n", "self", "", "change", "total",
		      "", "change", "function");
	for (size_t i = 0, n = 0; i < c->n && n < most; i++) {
		if (!has_changed(&c->rows[i].self) && !has_changed(&c->rows[i].total))
			continue;
		put_changed_function(to, &c->rows[i]);
		n++;
	}
	put_legend(to, c);
}

/* --- JSON --- */

static void put_json_text(struct strbuf *to, const char *key, const char *text)
{
	strbuf_printf(to, "\"%s\":", key);
	if (text)
		json_put_string(to, text);
	else
		strbuf_puts(to, "null");
}

static void put_json_value(struct strbuf *to, const char *key, const struct changed_value *v)
{
	strbuf_printf(to,
		      ",\"%s\":{\"before\":%" PRId64 ",\"after\":%" PRId64 ",\"beyond_noise\":%s}",
		      key, v->before, v->after, v->is_beyond_noise ? "true" : "false");
}

static void put_json_change(struct strbuf *to, const struct change *change)
{
	const struct label_style style = { .form = LABEL_TREE };
	const struct frame *frame = change->frame;
	cleanup_strbuf struct strbuf label = {};

	label_put(&label, &style, frame);
	strbuf_putc(to, '{');
	put_json_text(to, "name", frame->name && *frame->name ? frame->name : NULL);
	strbuf_putc(to, ',');
	put_json_text(to, "module", frame->module);
	strbuf_printf(to, ",\"kind\":\"%s\",", frame->kind == FRAME_KERNEL ? "kernel" : "user");
	put_json_text(to, "label", label.text);
	put_json_value(to, "self", &change->self);
	put_json_value(to, "total", &change->total);
	strbuf_putc(to, '}');
}

/* A '<' is in strings only, where it may be an escape. */
static void put_without_tags(struct strbuf *to, const struct strbuf *json)
{
	size_t from = 0;

	for (size_t i = 0; i < json->n; i++) {
		if (json->text[i] != '<')
			continue;
		strbuf_put(to, json->text + from, i - from);
		strbuf_puts(to, "\\u003c");
		from = i + 1;
	}
	strbuf_put(to, json->text + from, json->n - from);
}

void changes_put_json(struct strbuf *to, const struct changes *c, size_t most)
{
	cleanup_strbuf struct strbuf json = {};

	strbuf_printf(&json,
		      "{\"basis\":\"%s\",\"n_before\":%zu,\"n_after\":%zu,\"normalized\":%s,"
		      "\"functions\":[",
		      c->n_after ? "slices" : "none", c->n_before, c->n_after,
		      c->of->is_normalized ? "true" : "false");
	for (size_t i = 0; i < c->n && i < most; i++) {
		if (i)
			strbuf_putc(&json, ',');
		put_json_change(&json, &c->rows[i]);
	}
	strbuf_puts(&json, "]}");
	put_without_tags(to, &json);
}
