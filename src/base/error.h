/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/error.h - the reason of a failure, in words that are ready to print. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#define must_check __attribute__((warn_unused_result))
#define printf_like(text, first) __attribute__((format(printf, text, first)))

/*
 * Lives on the caller's stack; nothing to free. It is valid only after a function
 * that takes it has returned a negative code. The text is one line in lower case,
 * without a full stop, and names the thing and the reason. A text that is too long
 * for the buffer ends in "...". match/spec.h adds lines.
 */
struct error {
	int code; /* negative errno */
	char text[512];
	bool has_lines; /* match/spec.h: all newlines of the text are its own */
};

/* Record the failure and return @code, which must be negative. @e may be NULL. */
must_check printf_like(3, 4) int error_set(struct error *e, int code, const char *format, ...);

/* The words for negative errno @code. Valid until the next call. */
const char *error_words(int code);

/* Likewise, for the code of a failure to start a process or thread. */
const char *error_start_words(int code);

/* As error_set(), with code -errno, and with ": " and the words for it after the text. */
must_check printf_like(2, 3) int error_errno(struct error *e, const char *format, ...);

/*
 * Put "context: " in front of the text of a failure that the caller passes on. Returns e->code, or
 * -EIO if @e is NULL: a caller that chooses by the code passes an error.
 */
must_check printf_like(2, 3) int error_within(struct error *e, const char *format, ...);
