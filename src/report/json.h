/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/json.h - the parts of JSON (RFC 8259) that need care. Pure. */
#pragma once

#include "base/strbuf.h"

/*
 * Append @text as a JSON string, with its quotes. Names come from foreign files. Characters that
 * could drive a terminal or break a line become escapes (\u001b). Each byte that is no part of a
 * valid UTF-8 character becomes the replacement character U+FFFD, because JSON is UTF-8.
 */
void json_put_string(struct strbuf *to, const char *text);
