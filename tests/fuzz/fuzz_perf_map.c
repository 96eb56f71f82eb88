// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any text as a perf map. An address has the name of a line that has it, or none; which one, where
 * lines overlap, is in tests/unit/test_perf_map.c. Memory is bounded by the size of the text.
 * Input: the text.
 */
#include "fuzz.h"

#include "symbolize/jit.h"

static void ask(const struct perf_map *m, uint64_t addr)
{
	const struct perf_line *line = perf_map_at(m, addr);

	if (!line)
		return;
	require(line->name[0] != '\0' && line->start <= addr && line->end > addr);
	require(strchr(line->name, '\n') == NULL);
}

/* At the numbers of the text, and beside them. */
static void ask_all(const struct perf_map *m, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char digits[17] = "";

		memcpy(digits, text + i, n - i < 16 ? n - i : 16);

		const uint64_t value = strtoull(digits, NULL, 16);

		for (uint64_t at = value - 1; at != value + 2; at++)
			ask(m, at);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct perf_map m;

	require(text != NULL);
	memcpy(text, data, size);
	perf_map_read(text, size, &m);
	require(m.n_bytes < (1U << 10) + size * 32);
	ask_all(&m, (const char *)data, size);
	perf_map_fini(&m);
	return 0;
}
