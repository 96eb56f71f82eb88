// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A text that does not fit ends in "...". */
static void set_text(struct error *e, const char *format, va_list args)
{
	const int n = vsnprintf(e->text, sizeof(e->text), format, args);

	e->has_lines = false;
	if (n < 0)
		e->text[0] = '\0';
	else if ((size_t)n >= sizeof(e->text))
		memcpy(e->text + sizeof(e->text) - 4, "...", 4);
}

/* Append ": " and @more. A text that does not fit ends in "...". */
static void append_reason(struct error *e, const char *more)
{
	size_t used = strlen(e->text);
	size_t left = sizeof(e->text) - used;

	if ((size_t)snprintf(e->text + used, left, ": %s", more) >= left)
		memcpy(e->text + sizeof(e->text) - 4, "...", 4);
}

int error_set(struct error *e, int code, const char *format, ...)
{
	va_list args;

	assert(code < 0);
	if (!e)
		return code;
	e->code = code;
	va_start(args, format);
	set_text(e, format, args);
	va_end(args);
	return code;
}

const char *error_words(int code)
{
	if (code == -EMFILE)
		return "too many open files (see ulimit -Hn)";
	if (code == -ENFILE)
		return "too many open files in the system";
	return strerror(-code);
}

const char *error_start_words(int code)
{
	return code == -EAGAIN ? "too many processes and threads of this user (see ulimit -u)"
			       : error_words(code);
}

int error_errno(struct error *e, const char *format, ...)
{
	int code = errno ? -errno : -EIO;
	va_list args;

	if (!e)
		return code;
	e->code = code;
	va_start(args, format);
	set_text(e, format, args);
	va_end(args);

	append_reason(e, error_words(code));
	return code;
}

int error_within(struct error *e, const char *format, ...)
{
	struct error inner;
	va_list args;

	if (!e)
		return -EIO;
	inner = *e;
	va_start(args, format);
	set_text(e, format, args);
	va_end(args);

	append_reason(e, inner.text);
	return e->code;
}
