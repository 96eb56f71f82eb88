// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any text as a perf map. Each address has the name of the last line that has it, as that line
 * alone gives it. Memory is bounded by the size of the text. Input: the text.
 */
#include "fuzz.h"

#include "symbolize/perf_map.h"

#define MOST_ASKED 192
#define MOST_LINES 64

/* Addresses at which something may begin or end: numbers, their sums, and what is beside them. */
struct asked {
	uint64_t addrs[MOST_ASKED];
	size_t n;
};

static void ask(struct asked *a, uint64_t addr)
{
	for (uint64_t at = addr - 1; at != addr + 1 && a->n < MOST_ASKED; at++)
		a->addrs[a->n++] = at;
}

static void collect(const char *text, size_t n, struct asked *ret)
{
	uint64_t before = 0;

	for (size_t i = 0; i < n; i++) {
		char digits[32] = "";
		size_t length = 0;

		while (i + length < n && length < 31 &&
		       strchr("0123456789abcdefABCDEFxX", text[i + length]) && text[i + length])
			length++;
		if (!length)
			continue;
		memcpy(digits, text + i, length);

		uint64_t value = strtoull(digits, NULL, 16);

		ask(ret, value);
		ask(ret, before + value);
		before = value;
		i += length;
	}
}

static void read_copy(const char *text, size_t n, struct perf_map *ret)
{
	char *copy = malloc(n + 1);

	require(copy != NULL);
	memcpy(copy, text, n);
	perf_map_read(copy, n, ret);
}

static const char *name_at(const struct perf_map *m, uint64_t addr)
{
	const struct perf_line *line = perf_map_at(m, addr);

	if (!line)
		return NULL;
	require(line->name[0] != '\0' && line->start <= addr && line->end > addr);
	require(strchr(line->name, '\n') == NULL);
	return line->name;
}

static int is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_order(const struct perf_map *m, const struct asked *a, const char *text, size_t n)
{
	struct perf_map lines[MOST_LINES];
	size_t n_lines = 0;

	for (const char *newline; (newline = memchr(text, '\n', n)) != NULL;) {
		size_t length = (size_t)(newline - text) + 1;

		if (n_lines == MOST_LINES)
			break;
		read_copy(text, length, &lines[n_lines++]);
		text += length;
		n -= length;
	}
	for (size_t i = 0; i < a->n && !memchr(text, '\n', n); i++) {
		const char *last = NULL;

		for (size_t k = n_lines; k-- > 0 && !last;)
			last = name_at(&lines[k], a->addrs[i]);
		require(is_same(name_at(m, a->addrs[i]), last));
	}
	for (size_t k = 0; k < n_lines; k++)
		perf_map_fini(&lines[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct asked a = {};
	struct perf_map m;

	collect(text, size, &a);
	read_copy(text, size, &m);
	require(m.n_bytes < (1U << 10) + size * 32);
	check_order(&m, &a, text, size);
	perf_map_fini(&m);
	return 0;
}
