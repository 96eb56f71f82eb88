/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/text.h - compare texts that may be missing (NULL). */
#pragma once

#include <stdbool.h>
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
