/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/live.h - --live: a text on the whole terminal of standard output, drawn anew. */
#pragma once

#include <stddef.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "tool/output.h"

/*
 * Can standard output show pictures? Errors: -ENOTTY  it is no terminal
 *                                            -EINVAL  $TERM says that it cannot move the cursor
 */
must_check int live_check(struct error *e);

/*
 * Append a picture that replaces a screen of @columns and @lines. Each line of @text ends in '\n',
 * and is escaped already. It may have colours ("\x1b[..m"), which take no room. Lines are cut at
 * the width. If there are too many, the last line of the picture tells how many are not shown.
 */
void live_put(struct strbuf *to, const char *text, size_t columns, size_t lines);

/* 80 columns and 24 lines if it is not known. */
struct winsize live_size(void);

/* Draw @text with the size that the terminal has now. Errors: those of output_put(). */
must_check int live_draw(struct output *o, const char *text, struct error *e);

/* Erase the last picture. Errors: likewise. */
must_check int live_end(struct output *o, struct error *e);
