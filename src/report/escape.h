/* report/escape.h - foreign text made safe to show. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * Append @text with nothing in it that could drive a terminal or break a line:
 *
 *	control characters (C0, DEL, C1)   \x1b, \xc2\x9b: byte by byte
 *	line and paragraph separators,
 *	format characters (bidirectional
 *	marks, zero width)                 \xe2\x80\xae, \xef\xbb\xbf
 *	invalid UTF-8                      \xff
 *	a '\' before an 'x'                \x5c
 *
 * All other text stays as it is. So "\x" and two digits are always a byte, and any other '\' is
 * itself (App\User, /a\.b/): a reader can recover the text. With @is_folded a ';' and a newline
 * become '_', because they would end a frame or a line.
 */
void escape_put(struct strbuf *to, const char *text, bool is_folded);

/*
 * Append the name of a function, program or file: as escape_put(). A name that reads like a mark of
 * ours ("[unknown]", "[cut: depth]", "[no stack]") or like a function without a symbol
 * ("[libx.so+0x1200]") begins with \x5b.
 */
void escape_put_name(struct strbuf *to, const char *name, bool is_folded);

/*
 * Append a file's name within the brackets of a function without a symbol. Its own ']' and "+0x"
 * are escaped, and it cannot become a mark.
 */
void escape_put_file(struct strbuf *to, const char *name, bool is_folded);
