/* report/json.h - the parts of JSON (RFC 8259) that need care. Pure. */
#pragma once

#include "base/strbuf.h"

/*
 * Append @text as a JSON string, its quotes included. Names come from foreign files: what
 * could drive a terminal or break a line is written by number (\u001b), and each byte that is
 * no part of a valid UTF-8 character as the replacement character U+FFFD, since a JSON text is
 * UTF-8 throughout.
 */
void json_put_string(struct strbuf *to, const char *text);
