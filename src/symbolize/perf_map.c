// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A perf map, /tmp/perf-PID.map: start and size, hexadecimal, and a name up to the line's end.
 *
 *	7f31c0000b40 1c4 JS:*fib /srv/app.js:3:13            node --perf-basic-prof
 *	0x00007fc5a8b2f0c0 0x00000060 I2C/C2I adapters       jcmd PID Compiler.perfmap
 *	7F9C2A4B1230 5a [Tier0] void [app] Main::Run()       .NET, DOTNET_PerfMapEnabled=1
 */
#include "symbolize/perf_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/read.h"

#define MOST_LINE_BYTES 4096
#define MOST_LINES (1U << 20)

void perf_map_fini(struct perf_map *m)
{
	free(m->text);
	free(m->lines);
	free(m->bounds);
	free(m->owners);
	*m = (struct perf_map){};
}

/* With or without 0x, and a blank behind it. */
static bool parse_hex_field(const char **at, uint64_t *ret)
{
	if ((*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
		*at += 2;
	if (!take_hex(at, ret) || (**at != ' ' && **at != '\t'))
		return false;
	*at += strspn(*at, " \t");
	return true;
}

/* @line ends with a NUL, but may have others. */
static bool parse_line(char *line, struct perf_line *ret)
{
	const char *at = line + strspn(line, " \t");
	uint64_t size;

	if (!parse_hex_field(&at, &ret->start) || !parse_hex_field(&at, &size))
		return false;
	if (size == 0 || size > UINT64_MAX - ret->start)
		return false;

	char *name = line + (at - line);
	size_t n = strlen(name);

	while (n && strchr(" \t\r", name[n - 1]))
		n--;
	name[n] = '\0';
	ret->end = ret->start + size;
	ret->name = name;
	return n > 0;
}

static void parse_lines(struct perf_map *m, size_t n)
{
	char *at = m->text, *const end = at + n, *newline;
	struct perf_line line;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))) != NULL; at = newline + 1) {
		m->is_full = m->n == MOST_LINES;
		if (m->is_full)
			return;
		*newline = '\0';
		if (newline - at <= MOST_LINE_BYTES && parse_line(at, &line))
			array_push(m->lines, m->n, m->capacity, line);
		else
			m->n_garbage++;
	}
	m->n_garbage += end - at > MOST_LINE_BYTES;
}

static void sort_bounds(struct perf_map *m)
{
	m->bounds = xcalloc(2 * m->n, sizeof(*m->bounds));
	for (size_t i = 0; i < m->n; i++) {
		m->bounds[2 * i] = m->lines[i].start;
		m->bounds[2 * i + 1] = m->lines[i].end;
	}
	qsort(m->bounds, 2 * m->n, sizeof(*m->bounds), array_compare_u64);
}

/* The first bound at or behind @i that has no owner. Shortens the way for later questions. */
static uint32_t find_unowned(uint32_t *next, uint32_t i)
{
	while (next[i] != i)
		i = next[i] = next[next[i]];
	return i;
}

/* From the last line to the first: each gets what no later one has. */
static void give_owners(struct perf_map *m)
{
	cleanup_free uint32_t *next = xcalloc(2 * m->n, sizeof(*next));

	m->owners = xcalloc(2 * m->n, sizeof(*m->owners));
	for (uint32_t i = 0; i < 2 * m->n; i++)
		next[i] = i;
	for (size_t i = m->n; i-- > 0;) {
		uint32_t at = (uint32_t)array_count_below(m->bounds, 2 * m->n, sizeof(*m->bounds),
							  m->lines[i].start);

		/* The last bound is an end, so nobody owns what follows it. */
		while (m->bounds[at = find_unowned(next, at)] < m->lines[i].end) {
			m->owners[at] = (uint32_t)i + 1;
			next[at] = at + 1;
		}
	}
}

void perf_map_read(char *text, size_t n, struct perf_map *ret)
{
	*ret = (struct perf_map){ .text = text };
	parse_lines(ret, n);
	sort_bounds(ret);
	give_owners(ret);
	ret->n_bytes = n + ret->capacity * sizeof(*ret->lines) +
		       2 * ret->n * (sizeof(*ret->bounds) + sizeof(*ret->owners));
}

const struct perf_line *perf_map_at(const struct perf_map *m, uint64_t addr)
{
	/* No line has the last address, because ends are exclusive: no bound is below 0. */
	const size_t n = array_count_below(m->bounds, 2 * m->n, sizeof(*m->bounds), addr + 1);
	const uint32_t owner = n ? m->owners[n - 1] : 0;

	return owner ? &m->lines[owner - 1] : NULL;
}
