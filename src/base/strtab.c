// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/strtab.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

/* Of each string, what malloc(3) takes for itself and to round up. */
#define EXTRA_BYTES 24

struct strtab {
	size_t bytes;           /* of strings */
	struct u64_map numbers; /* hash of a string -> its index in @strings */
	char **strings;
	size_t n, capacity;
};

struct strtab *strtab_new(void)
{
	return xcalloc(1, sizeof(struct strtab));
}

void strtab_free(struct strtab *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->strings[i]);
	free(t->strings);
	u64_map_fini(&t->numbers);
	free(t);
}

const char *strtab_add_n(struct strtab *t, const char *text, size_t n)
{
	bool is_new;

	n = strnlen(text, n);

	const uint32_t i = *u64_map_put(&t->numbers, hash_bytes(text, n), (uint32_t)t->n, &is_new);

	if (is_new) {
		array_push(t->strings, t->n, t->capacity, xstrndup(text, n));
		t->bytes += n + EXTRA_BYTES;
	}
	return t->strings[i];
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
	return sizeof(*t) + t->bytes + t->capacity * sizeof(*t->strings) +
	       t->numbers.n_slots * sizeof(*t->numbers.slots);
}
