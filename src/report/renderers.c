// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "report/render.h"

const struct renderer renderers[] = {
	{ .name = "text",
	  .render = render_text,
	  .shows_offsets = true,
	  .shows_addresses = true,
	  .shows_pids = true,
	  .shows_losses = true },
	{ .name = "folded", .render = render_folded, .shows_offsets = true, .is_alone = true },
	{ .name = NULL },
};

const struct renderer *renderer_find(const char *name)
{
	for (const struct renderer *r = renderers; r->name; r++)
		if (strcmp(r->name, name) == 0)
			return r;
	return NULL;
}
