// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "report/forms.h"
#include "report/render.h"

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
