// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a child answers may be any bytes: 'L' a list of mappings, 'T' a table, 'S' the fact about a
 * file's symbols and names. What is taken for one lies within the bytes, and is in
 * order; a list is the same again when it is sent once more.
 */
#include "fuzz.h"

#include "base/memory.h"
#include "base/strbuf.h"
#include "files/mappings.h"
#include "files/question.h"

static void check_list(const char *text, size_t n)
{
	cleanup(mapping_list_fini) struct mapping_list list = {}, again = {};
	cleanup_strbuf struct strbuf sent = {};
	uint64_t before = 0;

	if (!mapping_list_parse(text, &list))
		return;
	strbuf_puts(&sent, "");
	for (size_t i = 0; i < list.n; i++) {
		const struct mapping *m = &list.mappings[i];

		require(m->start >= before && m->end > m->start);
		require(strlen(m->path) < n && (m->inode || !m->dev));
		before = m->end;
		mapping_put(m, &sent);
	}
	require(mapping_list_parse(sent.text, &again) && mapping_list_is_equal(&again, &list));
}

static void check_table(const uint8_t *bytes, size_t n)
{
	const struct unwind_rule none = {};
	struct file_table t;
	unsigned sum = 0;

	if (!table_read(bytes, n, &t))
		return;
	require(t.fact.result <= 0 && t.fact.n_ranges <= MOST_RANGES);
	for (uint32_t i = 0; i < t.fact.n_ranges; i++)
		sum += t.ranges[i].n_bytes != 0;
	for (uint32_t i = 0; t.fact.result == 0 && i < t.fact.n_pages; i++)
		require(t.pages[i] <= t.pages[i + 1] && t.pages[i + 1] <= t.fact.n_entries);
	for (uint32_t i = 0; t.fact.result == 0 && i < t.fact.n_entries; i++)
		sum += memcmp(&t.rules[t.entries[i].rule], &none, sizeof(none)) != 0;
	require(sum <= n);
}

static size_t length(const struct file_names *v, uint32_t at)
{
	const char *text = names_text(v, at);

	return text ? strlen(text) : 0;
}

static void check_names(const struct file_names *v, size_t n, size_t n_asked)
{
	require(v->fact.n <= n_asked);
	for (uint32_t i = 0; i < v->fact.n; i++) {
		const struct name_fact *f = &v->facts[i];

		require(length(v, f->function) < n);
		for (uint32_t j = 0; j < f->n_calls; j++) {
			const struct call_fact *call = &v->calls[f->call + j];

			require(length(v, call->name) + length(v, call->file) < 2 * n);
		}
	}
}

static void check_symbols(const uint8_t *bytes, size_t n)
{
	struct file_names v;

	if (!names_read(bytes, n, n % 7, n % 2, &v))
		return;
	check_names(&v, n, n % 7);
	require(n % 7 == 0 || v.fact.n > 0 || (v.fact.wants_debug && n % 2 == 0));
	require(v.fact.n_build_id <= MOST_BUILD_ID_BYTES);
	for (unsigned i = 0; i < DEBUG_CANDIDATES; i++) {
		cleanup_free char *path = debug_hint_path(&v.fact.hint, "/usr/bin/program", i);

		require(!path || path[0] == '/');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;

	/* Without the byte that says which, it is aligned, and its end is found out. */
	cleanup_free uint8_t *bytes = xmalloc(size - 1);
	cleanup_free char *text = strndup((const char *)data + 1, size - 1);

	memcpy(bytes, data + 1, size - 1);
	if (data[0] == 'L')
		check_list(text, size - 1);
	else if (data[0] == 'T')
		check_table(bytes, size - 1);
	else if (data[0] == 'S')
		check_symbols(bytes, size - 1);
	return 0;
}
