// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "report/render.h"

const struct renderer renderers[] = {
	{ .name = "text",
	  .ending = ".txt",
	  .render = render_text,
	  .shows_offsets = true,
	  .shows_addresses = true,
	  .shows_pids = true,
	  .shows_losses = true },
	{ .name = "folded",
	  .ending = ".folded",
	  .render = render_folded,
	  .shows_offsets = true,
	  .is_alone = true },
	{ .name = "pprof",
	  .ending = ".pb.gz",
	  .render = render_pprof,
	  .wants_places = true,
	  .wants_processes = true,
	  .keeps_slices = true,
	  .shows_offsets = true,
	  .shows_addresses = true,
	  .shows_pids = true,
	  .shows_labels = true,
	  .shows_losses = true,
	  .is_alone = true },
	{ .name = "html",
	  .ending = ".html",
	  .render = render_html,
	  .wants_places = true,
	  .wants_processes = true,
	  .keeps_slices = true,
	  .shows_offsets = true,
	  .shows_addresses = true,
	  .begins_inverted = true,
	  .shows_pids = true,
	  .shows_labels = true,
	  .shows_losses = true,
	  .is_alone = true },
	{ .name = "tree",
	  .ending = ".tree",
	  .render = render_tree,
	  .shows_offsets = true,
	  .begins_inverted = true,
	  .leaves_out = true,
	  .shows_pids = true,
	  .shows_losses = true },
	{ .name = "json",
	  .ending = ".json",
	  .render = render_json,
	  .wants_processes = true,
	  .keeps_slices = true,
	  .shows_offsets = true,
	  .shows_addresses = true,
	  .shows_pids = true,
	  .shows_labels = true,
	  .shows_losses = true,
	  .is_alone = true },
	{ .name = "prom",
	  .ending = ".prom",
	  .render = render_prom,
	  .has_sums = true,
	  .shows_losses = true,
	  .is_alone = true },
	{ .name = NULL },
};

const struct renderer *renderer_find(const char *name)
{
	for (const struct renderer *r = renderers; r->name; r++)
		if (strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

static bool has_ending(const char *file, const char *ending)
{
	const size_t n = strlen(file), n_ending = strlen(ending);

	return n > n_ending && strcmp(file + n - n_ending, ending) == 0;
}

const struct renderer *renderer_of_file(const char *file)
{
	const struct renderer *best = NULL;

	for (const struct renderer *r = renderers; r->name; r++)
		if (has_ending(file, r->ending) &&
		    (!best || strlen(best->ending) < strlen(r->ending)))
			best = r;
	return best;
}
