/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/escape.h - make foreign text safe to show. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * Append @text. Escapes everything that could drive a terminal or break a line:
 *
 *	control characters (C0, DEL, C1)   \x1b, \xc2\x9b: byte by byte
 *	line and paragraph separators,
 *	format characters (bidirectional
 *	marks, zero width)                 \xe2\x80\xae, \xef\xbb\xbf
 *	invalid UTF-8                      \xff
 *	a '\' before an 'x'                \x5c
 *
 * All other text stays. So "\x" and two digits always stand for a byte, and any other '\' stands
 * for itself (App\User, /a\.b/): a reader can recover the text. With @is_folded, ';' and newline
 * become '_', because they would end a frame or a line.
 */
void escape_put(struct strbuf *to, const char *text, bool is_folded);

/*
 * Append the name of a function, program or file, as escape_put() does. Our marks ("[unknown]",
 * "[cut: depth]") and functions without a symbol ("[libx.so+0x1200]") are in brackets. If the name
 * reads like one of these, its first '[' becomes \x5b.
 */
void escape_put_name(struct strbuf *to, const char *name, bool is_folded);

/*
 * Append a file's name that the caller puts in brackets, for a function without a symbol. Escapes
 * its own ']' and "+0x". Our marks in brackets begin with "unknown", "no stack", "vdso", "cut:" and
 * "unverified:". If the name does, too, its first byte is escaped.
 */
void escape_put_file(struct strbuf *to, const char *name, bool is_folded);

/*
 * Append @text as a JSON string, with its quotes. Names come from foreign files. Characters that
 * could drive a terminal or break a line become escapes (\u001b). Each byte that is no part of a
 * valid UTF-8 character becomes the replacement character U+FFFD, because JSON is UTF-8.
 */
void json_put_string(struct strbuf *to, const char *text);

/* Append @key, as it is, and @text as a JSON string. Nothing without a text. */
void put_json_member(struct strbuf *to, const char *key, const char *text);
