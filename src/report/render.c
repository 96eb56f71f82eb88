// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/render.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/writer.h"

#define RENDERER(its_name, its_ending, function, ...) \
	{ .name = #its_name, .ending = (its_ending), .render = (function), __VA_ARGS__ },

const struct renderer renderers[] = { FORMS(RENDERER){ .name = NULL } };

const struct renderer *renderer_find(const char *name)
{
	for (const struct renderer *r = renderers; r->name; r++)
		if (strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

const struct renderer *renderer_of_file(const char *file)
{
	const size_t n = strlen(file);

	for (const struct renderer *r = renderers; r->name; r++) {
		const size_t n_ending = strlen(r->ending);

		if (n > n_ending && strcmp(file + n - n_ending, r->ending) == 0)
			return r;
	}
	return NULL;
}

/* --- losses --- */

/* Append the reasons with @is_not_paired, and their numbers. */
static void put_reasons(const struct profile_loss *losses, size_t n, bool is_not_paired,
			struct strbuf *to)
{
	const char *comma = "";

	for (size_t i = 0; i < n; i++) {
		if (losses[i].n == 0 || text_is_not_paired(losses[i].reason) != is_not_paired)
			continue;
		strbuf_printf(to, "%s%" PRIu64 " ", comma, losses[i].n);
		escape_put(to, losses[i].reason + (is_not_paired ? strlen(NOT_PAIRED) : 0), false);
		comma = ", ";
	}
	strbuf_putc(to, '\n');
}

void render_losses(const struct profile_loss *losses, size_t n, uint64_t hits, struct strbuf *to)
{
	uint64_t lost = 0, not_paired = 0;

	for (size_t i = 0; i < n; i++)
		*(text_is_not_paired(losses[i].reason) ? &not_paired : &lost) += losses[i].n;
	if (lost) {
		strbuf_printf(to, "Lost %" PRIu64 " hit%s", lost, text_plural(lost));
		if (hits && lost * 49 >= hits)
			strbuf_printf(to, " (%.1f%%)",
				      100 * (double)lost / ((double)lost + (double)hits));
		strbuf_puts(to, ": ");
		put_reasons(losses, n, false, to);
	}
	if (not_paired) {
		strbuf_puts(to, "Not paired: ");
		put_reasons(losses, n, true, to);
	}
}
