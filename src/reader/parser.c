// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A parser reads files that openers send, and makes unwind tables of them. A file may be cut short
 * meanwhile. The missing part then reads as zeros (elf/image.c), and the file gets no table.
 * parser_names.c has the part that finds names.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "elf/image.h"
#include "reader/parser.h"
#include "reader/roles.h"
#include "unwind/table.h"

int parser_take_file(const struct seat *seat, uint32_t number, int *ret_fd)
{
	struct passed_file file;
	int fd = -1, err;

	while ((err = seat_take(seat, &file, &fd)) != -EAGAIN) {
		if (err == -EPIPE)
			break;
		if (!err && file.number == number) {
			*ret_fd = fd;
			return 0;
		}
		cleanup_close_fd(&fd);
	}
	return -ESTALE;
}

static uint32_t put_ranges(const struct image *im, struct range_fact *ret)
{
	struct code_range ranges[MOST_RANGES];
	const size_t n = image_code_ranges(im, ranges, MOST_RANGES);
	uint32_t n_put = 0;

	for (size_t i = 0; i < n; i++) {
		struct range_fact range = { .vaddr = ranges[i].start,
					    .n_bytes = ranges[i].end - ranges[i].start };

		if (image_vaddr_to_offset(im, range.vaddr, &range.offset))
			ret[n_put++] = range;
	}
	return n_put;
}

static void append_to_area(struct seat *seat, uint64_t *at, const void *data, size_t n_bytes)
{
	if (n_bytes)
		memcpy(seat->area + *at, data, n_bytes);
	*at += n_bytes;
}

/* The other parts of an answer take less than 4 KiB. */
static size_t most_table_bytes(const struct seat *seat)
{
	const size_t most = seat->n_area - 4096;

	return most < MAX_TABLE_BYTES ? most : MAX_TABLE_BYTES;
}

static void answer_table(struct seat *seat, struct image *im, struct answer *answer)
{
	struct range_fact ranges[MOST_RANGES] = {};
	struct unwind_table table = {};
	struct table_fact fact = { .n_ranges = put_ranges(im, ranges) };
	uint64_t n = sizeof(fact);
	struct error e;

	fact.result = unwind_table_make(im, most_table_bytes(seat), &table, &e);
	if (!fact.result && image_is_damaged(im)) {
		unwind_table_fini(&table);
		fact.result = error_set(&e, -ENODATA, "it was cut short");
	}
	append_to_area(seat, &n, ranges, fact.n_ranges * sizeof(*ranges));
	if (fact.result) {
		(void)snprintf(answer->words, sizeof(answer->words), "%.95s", e.text);
	} else {
		fact.base = table.base;
		fact.n_pages = table.n_pages;
		fact.n_entries = table.n_entries;
		fact.n_rules = table.n_rules;
		append_to_area(seat, &n, table.pages, (table.n_pages + 1UL) * sizeof(*table.pages));
		append_to_area(seat, &n, table.entries, table.n_entries * sizeof(*table.entries));
		append_to_area(seat, &n, table.rules, table.n_rules * sizeof(*table.rules));
		unwind_table_fini(&table);
	}
	memcpy(seat->area, &fact, sizeof(fact));
	answer->n_bytes = n;
}

static void open_for_table(struct seat *seat, const struct ask *ask, const void *payload,
			   struct answer *answer)
{
	cleanup(image_freep) struct image *im = NULL;
	cleanup_close int fd = -1;
	char name[64] = "";
	struct error e = {};

	answer->result = -EINVAL;
	if (ask->what == ASK_TABLE) {
		memcpy(name, payload,
		       ask->n_bytes < sizeof(name) ? ask->n_bytes : sizeof(name) - 1);
		answer->result = parser_take_file(seat, ask->file, &fd);
		answer->n = !answer->result;
		if (answer->n)
			answer->result = image_open_fd(fd, name, &im, &e);
	}
	if (ask->what == ASK_MEMORY)
		answer->result = image_open_memory(payload, ask->n_bytes, "[vdso]", &im, &e);
	if (im)
		answer_table(seat, im, answer);
	else
		(void)snprintf(answer->words, sizeof(answer->words), "%.95s", e.text);
}

/*
 * To make a table takes some times its size, and libc keeps that. After a table of this size give
 * it back: the next such file may come in hours.
 */
#define LARGE_TABLE_BYTES (64U << 10)

static void make_table(struct seat *seat, const struct ask *ask, const void *payload,
		       struct answer *answer)
{
	open_for_table(seat, ask, payload, answer);
	if (answer->n_bytes > LARGE_TABLE_BYTES)
		(void)malloc_trim(0);
}

void parser_answer(void *state, struct seat *seat, const struct ask *ask, const void *payload,
		   struct answer *answer)
{
	answer->result = -EINVAL;
	if (ask->what == ASK_TABLE || ask->what == ASK_MEMORY)
		make_table(seat, ask, payload, answer);
	else if (ask->what == ASK_SYMBOLS || ask->what == ASK_SYMBOLS_OF_MEMORY)
		parser_answer_symbols(state, seat, ask, payload, answer);
	else if (ask->what == ASK_DEBUG)
		parser_answer_debug(state, seat, ask, answer);
	else if (ask->what == ASK_NAMES)
		parser_answer_names(state, seat, ask, payload, answer);
	if (!answer->words[0])
		log_take(answer->words, sizeof(answer->words));
}
