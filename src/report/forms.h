/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/forms.h - every form of output, once. A row has the form's name, the ending of its files,
 * the function, and what else it sets in struct renderer (render.h). The renderers, the
 * declarations of their functions, and the words behind --format are made of these rows. It needs
 * no other header, so scripts/completions/generate.c has the words without the functions.
 */
#pragma once

#define FORMS(FORM)                                                                   \
	FORM(text, ".txt", render_text, .shows_addresses = true)                      \
	FORM(folded, ".folded", render_folded, .is_bare = true, .is_alone = true)     \
	FORM(pprof, ".pb.gz", render_pprof, .is_whole = true, .wants_places = true,   \
	     .shows_addresses = true, .is_alone = true)                               \
	FORM(html, ".html", render_html, .is_whole = true, .wants_places = true,      \
	     .shows_addresses = true, .begins_inverted = true, .is_alone = true)      \
	FORM(tree, ".tree", render_tree, .begins_inverted = true, .leaves_out = true) \
	FORM(json, ".json", render_json, .is_whole = true, .shows_addresses = true,   \
	     .is_alone = true)
