/* base/error.h - why something failed, in words that can be shown as they are. */
#pragma once

#include <stdarg.h>

#define must_check __attribute__((warn_unused_result))
#define printf_like(text, first) __attribute__((format(printf, text, first)))

/*
 * Lives on the caller's stack; nothing to free. @text is one line, lower case,
 * no full stop, and names the thing and the reason. It is valid only after a
 * function that takes it has returned a negative code. A text longer than the
 * buffer ends in "...".
 */
struct error {
	int code; /* negative errno */
	char text[512];
};

/* Record the failure and return @code, which must be negative. @e may be NULL. */
must_check printf_like(3, 4) int error_set(struct error *e, int code, const char *format, ...);

/* What negative errno @code means. Lent until the next call. */
const char *error_words(int code);

/* The same for what starting a process or thread returned. */
const char *error_start_words(int code);

/* As error_set(), with code -errno and ": " and its words behind the text. */
must_check printf_like(2, 3) int error_errno(struct error *e, const char *format, ...);

/* Put "context: " before the text of a failure that is being passed on; returns e->code. */
must_check printf_like(2, 3) int error_within(struct error *e, const char *format, ...);
