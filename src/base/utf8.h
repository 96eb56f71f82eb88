/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/utf8.h - text as characters. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Length in bytes of the character at @text, and what it is; 0 where there is none: overlong
 * forms, surrogates and numbers past U+10FFFF are no characters. @text ends with a NUL.
 */
size_t utf8_at(const unsigned char *text, uint32_t *ret);

/*
 * Does the character act on a terminal instead of being visible? These do: control characters
 * (C0, DEL, C1), line and paragraph separators, format characters (bidirectional marks, joiners).
 */
bool utf8_is_active(uint32_t c);
