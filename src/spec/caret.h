/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* spec/caret.h - errors that show the place in the text which the user typed. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Fail by -EINVAL with "'TEXT': @reason". */
must_check int caret_refuse(const char *text, const char *reason, struct error *e);

/*
 * Fail likewise, and show byte @at:
 *
 *	'x:y:z': too many ':'
 *	  x:y:z
 *	     ^
 *
 * The first line is complete without the others, which are left out if they do not fit.
 */
must_check int caret_refuse_at(const char *text, size_t at, const char *reason, struct error *e);

/* Show byte @at of @text below the message of a failure, if both fit. Returns e->code. */
must_check int caret_add(const char *text, size_t at, struct error *e);
