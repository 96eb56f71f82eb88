// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>

#include "base/text.h"
#include "report/render.h"

void render_losses(const struct profile_loss *losses, size_t n, struct strbuf *to)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += losses[i].n;
	if (total == 0)
		return;
	strbuf_printf(to, "Lost %" PRIu64 " hit%s: ", total, text_plural(total));

	const char *comma = "";

	for (size_t i = 0; i < n; i++) {
		if (losses[i].n == 0)
			continue;
		strbuf_printf(to, "%s%" PRIu64 " %s", comma, losses[i].n, losses[i].reason);
		comma = ", ";
	}
	strbuf_putc(to, '\n');
}
