// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The part of a parser that finds names. It keeps files open, and closes the least recently used
 * ones. If the main process needs such a file again, it has it sent again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "elf/debug.h"
#include "elf/demangle.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "reader/name_block.h"
#include "reader/parser.h"

#define MAX_IMAGES 200
#define MAX_IMAGE_BYTES (12ULL << 20)

/* The most calls at an offset. Of a longer chain, outer inlined functions are left out. */
#define MOST_CALLS 64

/* An answer of this many bytes gets no further names. No name has more than 64 KiB. */
#define MANY_ANSWER_BYTES (8UL << 20)

struct symbols {
	uint32_t number;
	struct image *image;
	int fd; /* -1: in memory */
	struct stat opened;
	uint64_t bytes; /* of its memory */
	uint64_t last_used;
};

struct parser_names {
	struct symbols *list;
	size_t n, capacity;
	uint64_t clock, bytes;
};

struct parser_names *parser_names_new(void)
{
	return xcalloc(1, sizeof(struct parser_names));
}

static void drop_symbols(struct parser_names *p, struct symbols *s)
{
	image_close(s->image);
	cleanup_close_fd(&s->fd);
	p->bytes -= s->bytes;
	*s = p->list[--p->n];
}

static struct symbols *find_symbols(struct parser_names *p, uint32_t number)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->list[i].number == number)
			return &p->list[i];
	return NULL;
}

/* Drop the least recently used files, but not @number, whose memory may have grown. */
static void bound_open_images(struct parser_names *p, uint32_t number)
{
	struct symbols *used = find_symbols(p, number);

	p->bytes -= used->bytes;
	used->bytes = image_bytes(used->image);
	p->bytes += used->bytes;
	while (p->n > 1 && (p->n > MAX_IMAGES || p->bytes > MAX_IMAGE_BYTES)) {
		struct symbols *least = NULL;

		for (size_t i = 0; i < p->n; i++)
			if (p->list[i].number != number &&
			    (!least || p->list[i].last_used < least->last_used))
				least = &p->list[i];
		drop_symbols(p, least);
	}
}

/* -- A file. -- */

static struct symbols *add_symbols(struct parser_names *p, uint32_t number, struct image *image,
				   int fd)
{
	struct symbols *former = find_symbols(p, number);
	struct symbols s = { .number = number, .image = image, .fd = fd, .last_used = ++p->clock };

	if (fd >= 0 && fstat(fd, &s.opened) < 0)
		s.opened = (struct stat){};
	if (former)
		drop_symbols(p, former);
	array_push(p->list, p->n, p->capacity, s);
	bound_open_images(p, number);
	return find_symbols(p, number);
}

static void put_fact(struct seat *seat, const struct image *im, struct answer *answer)
{
	struct symbols_fact fact = { .has_symtab = image_has_symtab(im), .is_go = image_is_go(im) };
	const uint8_t *told;
	const size_t n = image_reported_build_id(im, &told);

	if (n && n <= sizeof(fact.build_id)) {
		memcpy(fact.build_id, told, n);
		fact.n_build_id = (uint32_t)n;
	}
	image_debug_hint(im, &fact.hint);
	memcpy(seat->area, &fact, sizeof(fact));
	answer->n_bytes = sizeof(fact);
}

/* Sparse files may use up all addresses. Then close other files. */
static int open_parsed_image(struct parser_names *p, int fd, const char *name, struct image **ret,
			     struct error *e)
{
	int err = image_open_fd(fd, name, ret, e);

	while (err == -ENOMEM && p->n) {
		drop_symbols(p, &p->list[p->n - 1]);
		err = image_open_fd(fd, name, ret, e);
	}
	return err;
}

void parser_answer_symbols(struct parser_names *p, struct seat *seat, const struct ask *ask,
			   const void *payload, struct answer *answer)
{
	cleanup(image_freep) struct image *im = NULL;
	cleanup_close int fd = -1;
	char name[64] = "";
	struct error e = {};

	if (ask->what == ASK_SYMBOLS_OF_MEMORY) {
		answer->result = image_open_memory(payload, ask->n_bytes, "[vdso]", &im, &e);
	} else {
		memcpy(name, payload,
		       ask->n_bytes < sizeof(name) ? ask->n_bytes : sizeof(name) - 1);
		answer->result = parser_take_file(seat, ask->file, &fd);
		if (!answer->result) {
			answer->result = open_parsed_image(p, fd, name, &im, &e);
			if (answer->result == -ESTALE)
				answer->result = -ENOEXEC;
		}
	}
	if (!im) {
		(void)snprintf(answer->words, sizeof(answer->words), "%.95s", e.text);
		return;
	}
	put_fact(seat, im, answer);
	add_symbols(p, ask->file, TAKE(im), TAKE_FD(fd));
}

void parser_answer_debug(struct parser_names *p, struct seat *seat, const struct ask *ask,
			 struct answer *answer)
{
	const struct symbols *s = find_symbols(p, ask->file);
	cleanup_close int fd = -1;
	struct image *debug = NULL;
	struct error e = {};

	answer->result = s ? 0 : -ESTALE;
	if (s && ask->root)
		answer->result = parser_take_file(seat, ask->root, &fd);
	if (answer->result)
		return;
	answer->result = ask->root ? debug_file_take(s->image, fd, &debug, &e)
				   : image_open_embedded(s->image, &debug, &e);
	if (answer->result == -ESTALE)
		answer->result = -ENOENT;
	(void)snprintf(answer->words, sizeof(answer->words), "%.95s", e.text);
	if (answer->result)
		return;
	image_set_debug(s->image, debug);
	bound_open_images(p, ask->file);
}

/* -- Names. -- */

/* Has somebody written to the file or cut it short since we opened it? */
static bool is_file_changed(const struct symbols *s)
{
	struct stat now;

	if (image_is_damaged(s->image))
		return true;
	return s->fd >= 0 && (fstat(s->fd, &now) < 0 || now.st_size != s->opened.st_size ||
			      now.st_mtim.tv_sec != s->opened.st_mtim.tv_sec ||
			      now.st_mtim.tv_nsec != s->opened.st_mtim.tv_nsec);
}

struct naming {
	struct image *image;
	uint64_t flags;
	struct name_block block;
	struct u64_map put; /* names in the block: address of the symbol -> offset in the text */
};

/* Add the name in the form for output. A name that several offsets share is added once. */
static uint32_t put_name(struct naming *n, const char *symbol)
{
	bool is_new = true;
	uint32_t *at = symbol ? u64_map_put(&n->put, (uintptr_t)symbol, 0, &is_new) : NULL;

	if (at && is_new) {
		cleanup_free char *plain =
			n->flags & NAMES_RAW ? name_without_number(symbol) : demangle(symbol);

		*at = name_block_text(&n->block, plain ? plain : symbol);
	}
	return at ? *at : NO_TEXT;
}

static void put_calls(struct naming *n, struct name_fact *fact)
{
	struct image_call calls[MOST_CALLS];
	const size_t n_calls = image_calls_at(n->image, fact->vaddr, calls, MOST_CALLS);

	fact->call = (uint32_t)n->block.n_calls;
	fact->n_calls = (uint16_t)n_calls;
	for (size_t i = 0; i < n_calls; i++) {
		const struct call_fact call = {
			.name = put_name(n, calls[i].name),
			.file = name_block_text(&n->block, calls[i].file),
			.line = calls[i].line,
		};

		name_block_add_call(&n->block, &call);
	}
}

static void look_up_offset(struct naming *n, uint64_t offset)
{
	struct name_fact fact = { .function = NO_TEXT };
	struct image_symbol symbol;

	if (image_offset_to_vaddr(n->image, offset, &fact.vaddr)) {
		fact.has = NAME_HAS_PLACE;
		if (image_function_at(n->image, fact.vaddr, &symbol)) {
			fact.function = put_name(n, symbol.name);
			fact.start = symbol.vaddr;
			fact.has |= NAME_HAS_START;
			if (fact.vaddr - symbol.vaddr + 1 == symbol.size)
				fact.has |= NAME_IS_LAST;
		} else if (image_function_start(n->image, fact.vaddr, &fact.start)) {
			fact.has |= NAME_HAS_START;
		}
		if (fact.start == fact.vaddr && image_is_behind_call(n->image, fact.vaddr))
			fact.has |= NAME_IS_BEHIND_CALL;
		if (n->flags & NAMES_LINES)
			put_calls(n, &fact);
	}
	name_block_add(&n->block, &fact);
}

void parser_answer_names(struct parser_names *p, struct seat *seat, const struct ask *ask,
			 const void *payload, struct answer *answer)
{
	struct symbols *s = find_symbols(p, ask->file);
	struct names_head head = {};

	answer->result = s ? 0 : -ESTALE;
	if (!s || ask->n > ask->n_bytes / sizeof(uint64_t))
		return;

	struct naming n = { .image = s->image, .flags = ask->flags };

	n.block.size = seat->n_area / 2 < MANY_ANSWER_BYTES ? seat->n_area / 2 : MANY_ANSWER_BYTES;
	for (uint32_t i = 0; i < ask->n && name_block_fits(&n.block); i++) {
		uint64_t offset;

		memcpy(&offset, (const char *)payload + i * sizeof(offset), sizeof(offset));
		look_up_offset(&n, offset);
	}
	s->last_used = ++p->clock;
	head.is_changed = is_file_changed(s);
	n.block.size = seat->n_area;
	if (name_block_fits(&n.block))
		answer->n_bytes = name_block_put(&n.block, head, seat->area);
	else
		answer->result = -E2BIG;
	name_block_fini(&n.block);
	u64_map_fini(&n.put);
	bound_open_images(p, ask->file);
}
