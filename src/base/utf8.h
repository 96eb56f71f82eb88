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
 * Does it do something instead of being seen? Control characters (C0, DEL, C1), line and
 * paragraph separators, format characters: marks that turn writing around, and what has no width.
 */
bool utf8_is_active(uint32_t c);
