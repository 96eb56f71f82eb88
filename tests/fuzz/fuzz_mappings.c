// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any text is a line of /proc/PID/maps, or is not. What is taken from it is an executable mapping
 * that begins before it ends, with a path of one line's length at most; written as the kernel
 * writes it, it is the same mapping again.
 */
#include "fuzz.h"

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "files/mappings.h"

static void check_again(const struct mapping *m, struct strtab *strings)
{
	cleanup_strbuf struct strbuf line = {};
	struct mapping again;

	mapping_put(m, &line);
	require(mapping_parse(line.text, strings, &again));
	require(again.start == m->start && again.end == m->end && again.offset == m->offset);
	require(again.dev == m->dev && again.inode == m->inode);
	require(again.is_deleted == m->is_deleted && strcmp(again.path, m->path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *line = strndup((const char *)data, size);
	struct strtab *strings = strtab_new();
	struct mapping m;

	if (mapping_parse(line, strings, &m)) {
		require(m.start < m.end && strlen(m.path) <= strlen(line));
		require(m.inode || !m.dev);
		check_again(&m, strings);
	}
	strtab_free(strings);
	return 0;
}
