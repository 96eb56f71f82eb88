// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Set @e, with ": " and @reason (NULL: none) after the text. What does not fit ends in "...". */
static void set_error(struct error *e, int code, const char *format, va_list args,
		      const char *reason)
{
	const size_t size = sizeof(e->text);
	const int n = vsnprintf(e->text, size, format, args);
	size_t used = n < 0 ? 0 : (size_t)n;

	e->code = code;
	e->has_lines = false;
	if (n < 0)
		e->text[0] = '\0';
	if (reason && used < size)
		used += (size_t)snprintf(e->text + used, size - used, ": %s", reason);
	if (used >= size)
		memcpy(e->text + size - 4, "...", 4);
}

int error_set(struct error *e, int code, const char *format, ...)
{
	va_list args;

	assert(code < 0);
	if (!e)
		return code;
	va_start(args, format);
	set_error(e, code, format, args, NULL);
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
	va_start(args, format);
	set_error(e, code, format, args, error_words(code));
	va_end(args);
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
	set_error(e, inner.code, format, args, inner.text);
	va_end(args);
	return e->code;
}
