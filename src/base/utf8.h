/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/utf8.h - text as characters. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Return the length in bytes of the character at @text, and its code point in *@ret. Returns 0 if
 * there is no character: overlong forms, surrogates and numbers past U+10FFFF are none. The text
 * ends with a NUL, which is a character of length 1.
 */
size_t utf8_at(const unsigned char *text, uint32_t *ret);

/*
 * Does the terminal obey this character instead of showing it? Control characters (C0, DEL, C1),
 * line and paragraph separators, format characters (bidirectional marks, joiners).
 */
bool utf8_is_active(uint32_t c);
