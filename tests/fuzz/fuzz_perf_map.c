// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any text as a perf map. Read at once, or in pieces as it grows, or byte by byte, it gives the
 * same names: of each address that of the last line that has it, as that line alone gives it. What
 * was told of a time is never another name later on. Memory is bounded by the size of the text.
 * Input: the text; a byte 1 ends a reading, a byte 2 has the file begin anew.
 */
#include "fuzz.h"

#include "symbolize/perf_map.h"

#define MOST_ASKED 192
#define MOST_LINES 64
#define MOST_READINGS 8

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

static const char *name_at(const struct perf_map *m, uint64_t addr, uint64_t time)
{
	struct perf_map_function function = {};

	if (!perf_map_at(m, addr, time, &function))
		return NULL;
	require(function.name[0] != '\0' && function.start <= addr);
	require(strchr(function.name, '\n') == NULL);
	return function.name;
}

static int is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_order(const struct perf_map *m, const struct asked *a, const char *text, size_t n)
{
	struct perf_map *lines[MOST_LINES];
	size_t n_lines = 0;

	for (const char *newline; (newline = memchr(text, '\n', n)) != NULL;) {
		size_t length = (size_t)(newline - text) + 1;

		if (n_lines == MOST_LINES)
			break;
		lines[n_lines] = perf_map_new();
		perf_map_add(lines[n_lines], text, length);
		(void)perf_map_settle(lines[n_lines++], 1, 2);
		text += length;
		n -= length;
	}
	for (size_t i = 0; i < a->n && !memchr(text, '\n', n); i++) {
		const char *last = NULL;

		for (size_t k = n_lines; k-- > 0 && !last;)
			last = name_at(lines[k], a->addrs[i], 0);
		require(is_same(name_at(m, a->addrs[i], 0), last));
	}
	for (size_t k = 0; k < n_lines; k++)
		perf_map_free(lines[k]);
}

static void check_whole(const struct perf_map *pieces, const struct asked *a, const char *text,
			size_t n)
{
	struct perf_map *whole = perf_map_new(), *bytes = perf_map_new();

	perf_map_add(whole, text, n);
	(void)perf_map_settle(whole, 1, 2);
	for (size_t i = 0; i < n; i++)
		perf_map_add(bytes, text + i, 1);
	(void)perf_map_settle(bytes, 1, 2);
	require(perf_map_garbage(whole) == perf_map_garbage(bytes));
	for (size_t i = 0; i < a->n; i++) {
		const char *name = name_at(whole, a->addrs[i], 0);

		require(is_same(name, name_at(pieces, a->addrs[i], 0)));
		require(is_same(name, name_at(bytes, a->addrs[i], 0)));
	}
	check_order(whole, a, text, n);
	perf_map_free(whole);
	perf_map_free(bytes);
}

/* What each reading told, at the time when it was over. */
struct told {
	const char *names[MOST_READINGS][MOST_ASKED];
	uint64_t times[MOST_READINGS];
	size_t n;
};

static void settle(struct perf_map *m, const struct asked *a, uint64_t *time, struct told *told)
{
	(void)perf_map_settle(m, *time > 15 ? *time - 15 : 0, *time);
	if (told->n < MOST_READINGS) {
		for (size_t i = 0; i < a->n; i++)
			told->names[told->n][i] = name_at(m, a->addrs[i], *time);
		told->times[told->n++] = *time;
	}
	*time += 10;
}

static void check_told(const struct perf_map *m, const struct asked *a, const struct told *told)
{
	for (size_t k = 0; k < told->n; k++)
		for (size_t i = 0; i < a->n; i++) {
			const char *now = name_at(m, a->addrs[i], told->times[k]);

			require(!now || !told->names[k][i] || is_same(now, told->names[k][i]));
		}
	require(perf_map_epoch(m, 1) <= perf_map_epoch(m, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map *m = perf_map_new();
	struct asked *a = calloc(1, sizeof(*a));
	struct told *told = calloc(1, sizeof(*told));
	char *text = malloc(size + 1);
	uint64_t time = 100;
	size_t n = 0;

	require(a && told && text);
	collect((const char *)data, size, a);
	for (size_t i = 0; i < size; i++) {
		if (data[i] == 2) {
			perf_map_restart(m);
			n = 0;
		} else if (data[i] == 1) {
			settle(m, a, &time, told);
		} else {
			text[n] = (char)data[i];
			perf_map_add(m, &text[n++], 1);
		}
	}
	settle(m, a, &time, told);
	require(perf_map_bytes(m) < (256U << 10) + size * 512);
	check_whole(m, a, text, n);
	check_told(m, a, told);
	perf_map_free(m);
	free(a);
	free(told);
	free(text);
	return 0;
}
