/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/text.h - texts in messages, and texts that may be missing (NULL). */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Two missing texts are the same. */
static inline bool text_is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* A missing text begins with nothing. */
static inline bool text_begins_with(const char *text, const char *with)
{
	return text && strncmp(text, with, strlen(with)) == 0;
}

#define TEXT_UNIT_BYTES 24 /* of the longest unit that is shown */

/* Can @text be shown as a unit? It has letters, digits and a few signs, and needs no escapes. */
static inline bool text_is_unit(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-/%.";
	const size_t n = strlen(text);

	return n && n <= TEXT_UNIT_BYTES && strspn(text, allowed) == n;
}

/* Take a number at *@at, as C and assemblers write it, and move *@at behind it. False: none is
 * there. */
static inline bool text_take_number(const char **at, int64_t *ret)
{
	const bool is_negative = **at == '-';
	const char *digits = *at + is_negative;
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;

	const uint64_t number = strtoull(digits, &end, 0);

	*ret = (int64_t)(is_negative ? -number : number);
	*at = end;
	return !errno;
}

/*
 * Reasons of losses that begin so lose no hit: events whose beginning or end is missing. Files of
 * results have them among the losses.
 */
#define NOT_PAIRED "not paired: "

static inline bool text_is_not_paired(const char *reason)
{
	return text_begins_with(reason, NOT_PAIRED);
}

/* The end of a word that is counted: "1 hit", "2 hits". */
static inline const char *text_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}
