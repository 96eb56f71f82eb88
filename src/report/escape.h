/* report/escape.h - foreign text made safe to show. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * Append @text with nothing in it that could drive a terminal or break a line:
 *
 *	control characters (C0, DEL, C1)   \x1b, \xc2\x9b: byte by byte
 *	line and paragraph separators,
 *	format characters: marks that turn
 *	writing around, what has no width  \xe2\x80\xae, \xef\xbb\xbf
 *	what is not valid UTF-8            \xff
 *	a '\' before an 'x'                \x5c
 *
 * All other text stays as it is, so that "\x" and two digits are always a byte, and any other '\'
 * is itself (App\User, /a\.b/): the text can be had back. With @is_folded a ';' and a newline,
 * which would end a frame and a line, become '_'.
 */
void escape_put(struct strbuf *to, const char *text, bool is_folded);

/*
 * The name of a function, program or file: as escape_put(), and what reads like a mark of ours
 * ("[unknown]", "[cut: depth]", "[no stack]"), or like a function without a name
 * ("[libx.so+0x1200]"), begins with \x5b.
 */
void escape_put_name(struct strbuf *to, const char *name, bool is_folded);

/*
 * A file's name within the latter's brackets: no ']' or "+0x" of its own stays, and none of the
 * marks comes of it.
 */
void escape_put_file(struct strbuf *to, const char *name, bool is_folded);
