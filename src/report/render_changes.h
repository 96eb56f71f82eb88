/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/render_changes.h - the functions that changed most, as text and as JSON. Pure. */
#pragma once

#include <stddef.h>

#include "base/strbuf.h"
#include "profile/changes.h"

/*
 * Append a table of the @most functions that changed most, and a line that says what its marks
 * mean. Leaves out functions that did not change. render_changes.c has a sample.
 */
void changes_put_text(struct strbuf *to, const struct changes *c, size_t most);

/*
 * Append a JSON object with the @most functions that changed most. It has no '<', so it can stand
 * in a script element of a page. The schema is "changes" in doc/stackcount.schema.json.
 */
void changes_put_json(struct strbuf *to, const struct changes *c, size_t most);
