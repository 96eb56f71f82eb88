// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/strtab.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* Of each string, what malloc(3) takes for itself and to round up. */
#define EXTRA_BYTES 24

struct strtab {
	size_t bytes; /* of strings */
	char **slots; /* open addressing, at most half full */
	size_t n, n_slots;
};

struct strtab *strtab_new(void)
{
	return xcalloc(1, sizeof(struct strtab));
}

void strtab_free(struct strtab *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_slots; i++)
		free(t->slots[i]);
	free(t->slots);
	free(t);
}

void strtab_freep(struct strtab **t)
{
	strtab_free(*t);
	*t = NULL;
}

static char **find_string_slot(char **slots, size_t n_slots, const char *text, size_t n)
{
	size_t i = hash_bytes(text, n) & (n_slots - 1);

	while (slots[i] && (strncmp(slots[i], text, n) != 0 || slots[i][n] != '\0'))
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static void grow_string_slots(struct strtab *t)
{
	size_t n_slots = t->n_slots ? t->n_slots * 2 : 256;
	char **slots = xcalloc(n_slots, sizeof(*slots));

	for (size_t i = 0; i < t->n_slots; i++)
		if (t->slots[i])
			*find_string_slot(slots, n_slots, t->slots[i], strlen(t->slots[i])) =
				t->slots[i];
	free(t->slots);
	t->slots = slots;
	t->n_slots = n_slots;
}

const char *strtab_add_n(struct strtab *t, const char *text, size_t n)
{
	n = strnlen(text, n);
	if (t->n * 2 >= t->n_slots)
		grow_string_slots(t);

	char **slot = find_string_slot(t->slots, t->n_slots, text, n);

	if (!*slot) {
		*slot = xstrndup(text, n);
		t->bytes += n + EXTRA_BYTES;
		t->n++;
	}
	return *slot;
}

const char *strtab_add(struct strtab *t, const char *text)
{
	return strtab_add_n(t, text, strlen(text));
}

const char *strtab_add_or_null(struct strtab *t, const char *text)
{
	return text ? strtab_add(t, text) : NULL;
}

size_t strtab_bytes(const struct strtab *t)
{
	return sizeof(*t) + t->bytes + t->n_slots * sizeof(*t->slots);
}
