// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A parser opens the files that it needs, gives up all rights, and reads them then. If somebody
 * cuts a file short meanwhile, SIGBUS ends the parser, and the file gets no table or names.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "elf/debug.h"
#include "elf/demangle.h"
#include "elf/frames.h"
#include "elf/image.h"
#include "files/files.h"
#include "files/zygote.h"
#include "unwind/table.h"

/* --- tables --- */

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

static void append_data(struct child *c, const void *data, size_t n_bytes)
{
	if (n_bytes)
		memcpy(c->data + c->answer->n_bytes, data, n_bytes);
	c->answer->n_bytes += n_bytes;
}

/* The other parts of an answer take less than 4 KiB. */
static size_t most_table_bytes(const struct child *c)
{
	const size_t most = c->n_data - 4096;

	return most < MAX_TABLE_BYTES ? most : MAX_TABLE_BYTES;
}

static void answer_table(struct child *c, struct image *im)
{
	struct range_fact ranges[MOST_RANGES] = {};
	struct unwind_table table = {};
	struct table_fact fact = { .n_ranges = put_ranges(im, ranges) };
	struct error e;

	fact.result = unwind_table_make(im, most_table_bytes(c), &table, &e);
	if (fact.result) {
		(void)snprintf(c->answer->words, sizeof(c->answer->words), "%.95s", e.text);
	} else {
		fact.base = table.base;
		fact.n_pages = table.n_pages;
		fact.n_entries = table.n_entries;
		fact.n_rules = table.n_rules;
	}
	append_data(c, &fact, sizeof(fact));
	append_data(c, ranges, fact.n_ranges * sizeof(*ranges));
	if (!fact.result) {
		append_data(c, table.pages, (table.n_pages + 1UL) * sizeof(*table.pages));
		append_data(c, table.entries, table.n_entries * sizeof(*table.entries));
		append_data(c, table.rules, table.n_rules * sizeof(*table.rules));
	}
	unwind_table_fini(&table);
}

/* Open the mapped file for reading, if it is in the state that the question expects. */
static int open_expected(struct child *c, int *ret_fd, struct error *e)
{
	cleanup_close int handle = -1;
	struct file_fact fact;
	int err = find_wanted(c, &handle, &fact, e);

	if (!err && memcmp(&fact, &c->question.expected, sizeof(fact)) != 0)
		err = error_set(e, -ESTALE, "another file is there");
	if (err)
		return err;
	child_note_step(c, STEP_OPEN, 0);
	return mapping_reopen(handle, ret_fd, e);
}

/* The vdso of this process, *@ret_bytes of it; NULL: there is none. */
static const void *own_vdso(size_t *ret_bytes)
{
	const uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	cleanup(mapping_list_fini) struct mapping_list own = {};
	struct error none;
	const struct mapping *m;

	if (!start || mapping_list_read((uint32_t)getpid(), &own, &none))
		return NULL;
	m = mapping_list_at(&own, start);
	if (!m || m->start != start || strcmp(m->path, "[vdso]") != 0)
		return NULL;
	*ret_bytes = m->end - m->start;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives it as a number */
	return (const void *)start;
}

/*
 * Give up all rights, and open the question's file as an image: @fds[0], or with OF_VDSO our vdso,
 * beside which there are no files.
 */
static int open_image(struct child *c, int *fds, size_t n_fds, struct image **ret, struct error *e)
{
	const bool is_vdso = c->question.flags & OF_VDSO;
	size_t n_vdso = 0;
	const void *vdso = is_vdso ? own_vdso(&n_vdso) : NULL;
	const int err = child_confine(c, fds, n_fds, e);

	if (err)
		return err;
	c->answer->n = 1;
	return is_vdso ? image_open_memory(vdso, n_vdso, "[vdso]", ret, e)
		       : image_open_fd(fds[0], c->name, ret, e);
}

static int make_table(struct child *c, struct error *e)
{
	const bool is_vdso = c->question.flags & OF_VDSO;
	cleanup(image_freep) struct image *im = NULL;
	int fd = -1;
	int err = is_vdso ? 0 : open_expected(c, &fd, e);

	if (!err)
		err = open_image(c, &fd, is_vdso ? 0 : 1, &im, e);
	if (!err)
		answer_table(c, im);
	return err;
}

/* --- names --- */

/* The most calls at an offset. Of a longer chain, outer inlined functions are left out. */
#define MOST_CALLS 64

/* An answer of this many bytes gets no further names. No name has more than 64 KiB. */
#define MANY_ANSWER_BYTES (8UL << 20)

/* Candidates below two roots, a fetched file, and the file itself. */
_Static_assert(2 * DEBUG_CANDIDATES + 2 <= CHILD_MOST_FILES, "descriptors");

/* A question for names, and what was opened for it. */
struct naming {
	const struct names_payload *payload;
	int fds[CHILD_MOST_FILES]; /* the file itself, or none for the vdso, and candidates */
	size_t n_fds;
	struct symbols_fact fact;
	struct image *image;
	bool is_complete; /* it needs no debug file */
	uint64_t flags;
	struct name_fact *facts; /* behind @fact in the answer, with calls and text */
	struct call_fact *calls;
	size_t n_facts, cap_facts, n_calls, cap_calls;
	struct strbuf text;
	struct u64_map put; /* names in @text: address of the symbol -> offset */
};

static int open_file(struct child *c, struct naming *n, struct error *e)
{
	struct file_fact fact = {};

	child_note_step(c, STEP_OPEN, 0);
	if (!find_fact(c->question.handle, &fact) ||
	    !file_fact_is_equal(&fact, &c->question.expected))
		return error_set(e, -ESTALE, "another file is there");
	return mapping_reopen(c->question.handle, &n->fds[n->n_fds++], e);
}

static void open_candidates(struct child *c, struct naming *n, int root)
{
	bool is_missed = false;

	for (unsigned i = 0; i < DEBUG_CANDIDATES; i++) {
		cleanup_free char *path = debug_hint_path(&n->payload->hint, n->payload->path, i);

		if (path)
			n->fds[n->n_fds] = find_debug(c, c->question.user, root, path, &is_missed);
		n->n_fds += path && n->fds[n->n_fds] >= 0;
	}
	n->fact.is_debug_missed |= is_missed;
}

static bool is_hint(const struct debug_hint *hint)
{
	return hint->n_build_id || hint->link[0];
}

static void open_debug_files(struct child *c, struct naming *n)
{
	bool is_missed = false; /* a fetched file is not looked for again */

	if (!is_hint(&n->payload->hint))
		return;
	n->fact.is_debug_missed = (c->question.flags & SKIP_DEBUG) != 0;
	if (n->fact.is_debug_missed)
		return;
	if (c->question.root != HANDLE_NONE)
		open_candidates(c, n, c->question.root);
	open_candidates(c, n, HANDLE_NONE);
	if (!n->payload->fetched[0])
		return;
	n->fds[n->n_fds] = find_debug(c, 0, HANDLE_NONE, n->payload->fetched, &is_missed);
	n->n_fds += n->fds[n->n_fds] >= 0;
}

/* Take the symbols of the first candidate that is of the file's build, or else embedded ones. */
static void add_debug(struct naming *n)
{
	struct image *debug = NULL;
	struct error e;
	int err = -ENOENT;

	for (size_t i = 1; i < n->n_fds && err; i++)
		err = debug_file_take(n->image, n->fds[i], &debug, &e);
	n->fact.source = DEBUG_FILE;
	if (err) {
		err = image_open_embedded(n->image, &debug, &e);
		n->fact.source = err ? DEBUG_NONE : DEBUG_EMBEDDED;
		if (err == -E2BIG)
			log_warn("%s", e.text);
	}
	if (!err)
		image_set_debug(n->image, debug);
	n->fact.is_debug_missed &= n->fact.source == DEBUG_NONE;
}

static void note_image(struct naming *n)
{
	const uint8_t *told;
	const size_t n_told = image_reported_build_id(n->image, &told);

	n->fact.has_symtab = image_has_symtab(n->image);
	image_debug_hint(n->image, &n->fact.hint);

	const bool may_have_debug = n->payload->n_offsets && !(n->flags & OF_VDSO) &&
				    !is_hint(&n->payload->hint) && is_hint(&n->fact.hint);

	n->is_complete = may_have_debug && n->fact.has_symtab && !(n->flags & NAMES_LINES) &&
			 image_has_all(n->image);
	n->fact.wants_debug = may_have_debug && !n->is_complete;
	if (n_told && n_told <= sizeof(n->fact.build_id)) {
		memcpy(n->fact.build_id, told, n_told);
		n->fact.n_build_id = (uint32_t)n_told;
	}
}

/* Returns the offset of @text in the answer. */
static uint32_t put_text(struct naming *n, const char *text)
{
	const uint32_t at = (uint32_t)n->text.n;

	if (!text)
		return NO_TEXT;
	strbuf_put(&n->text, text, strlen(text) + 1);
	return at;
}

static size_t names_bytes(const struct naming *n)
{
	return sizeof(n->fact) + n->n_facts * sizeof(*n->facts) + n->n_calls * sizeof(*n->calls) +
	       n->text.n;
}

/* Add the name in the form for output. A name that several offsets share is added once. */
static uint32_t put_name(struct naming *n, const char *symbol)
{
	bool is_new = true;
	uint32_t *at = symbol ? u64_map_put(&n->put, (uintptr_t)symbol, 0, &is_new) : NULL;

	if (at && is_new) {
		cleanup_free char *plain =
			n->flags & NAMES_RAW ? name_without_number(symbol) : demangle(symbol);

		*at = put_text(n, plain ? plain : symbol);
	}
	return at ? *at : NO_TEXT;
}

static void put_calls(struct naming *n, struct name_fact *fact)
{
	struct image_call calls[MOST_CALLS];
	const size_t n_calls = image_calls_at(n->image, fact->vaddr, calls, MOST_CALLS);

	fact->call = (uint32_t)n->n_calls;
	fact->n_calls = (uint16_t)n_calls;
	for (size_t i = 0; i < n_calls; i++) {
		const struct call_fact call = {
			.name = put_name(n, calls[i].name),
			.file = put_text(n, calls[i].file),
			.line = calls[i].line,
		};

		array_push(n->calls, n->n_calls, n->cap_calls, call);
	}
}

static void look_up_offset(struct naming *n, uint64_t offset)
{
	struct name_fact fact = { .function = NO_TEXT };
	struct image_symbol symbol;
	struct image_frame frame;

	if (image_offset_to_vaddr(n->image, offset, &fact.vaddr)) {
		fact.has = NAME_HAS_PLACE;
		if (image_function_at(n->image, fact.vaddr, &symbol)) {
			fact.function = put_name(n, symbol.name);
			fact.start = symbol.vaddr;
			fact.has |= NAME_HAS_START;
			if (fact.vaddr - symbol.vaddr + 1 == symbol.size)
				fact.has |= NAME_IS_LAST;
		} else if (image_frame_at(n->image, fact.vaddr, &frame)) {
			fact.start = frame.start;
			fact.has |= NAME_HAS_START;
		}
		if (fact.start == fact.vaddr && image_is_behind_call(n->image, fact.vaddr))
			fact.has |= NAME_IS_BEHIND_CALL;
		if (n->flags & NAMES_LINES)
			put_calls(n, &fact);
	}
	array_push(n->facts, n->n_facts, n->cap_facts, fact);
}

/* Has somebody written to the file since the question expected it? */
static bool is_changed(const struct child *c, const struct naming *n)
{
	const struct file_fact *before = &c->question.expected;
	struct stat now;

	return !(n->flags & OF_VDSO) &&
	       (fstat(n->fds[0], &now) < 0 || (uint64_t)now.st_size != before->size ||
		(uint64_t)now.st_mtim.tv_sec != before->changed ||
		(uint32_t)now.st_mtim.tv_nsec != before->changed_ns);
}

static int answer_names(struct child *c, struct naming *n, struct error *e)
{
	n->payload = (const void *)c->payload;

	const uint32_t n_offsets = n->fact.wants_debug ? 0 : n->payload->n_offsets;
	const size_t most = c->n_data / 2 < MANY_ANSWER_BYTES ? c->n_data / 2 : MANY_ANSWER_BYTES;

	n->n_facts = n->n_calls = 0;
	strbuf_clear(&n->text);
	u64_map_clear(&n->put);
	for (uint32_t i = 0; i < n_offsets && names_bytes(n) <= most; i++)
		look_up_offset(n, n->payload->offsets[i]);
	if (names_bytes(n) > c->n_data)
		return error_set(e, -E2BIG, "%s", error_words(-E2BIG));
	n->fact.n = (uint32_t)n->n_facts;
	n->fact.n_calls = (uint32_t)n->n_calls;
	n->fact.n_text = n->text.n;
	n->fact.is_changed = is_changed(c, n);
	append_data(c, &n->fact, sizeof(n->fact));
	append_data(c, n->facts, n->n_facts * sizeof(*n->facts));
	append_data(c, n->calls, n->n_calls * sizeof(*n->calls));
	append_data(c, n->text.text, n->text.n);
	return 0;
}

static int name_offsets(struct child *c, struct error *e)
{
	struct naming n = { .flags = c->question.flags, .payload = (const void *)c->payload };
	int err = 0;

	child_set_name(c, n.payload->path);
	if (!(n.flags & OF_VDSO))
		err = open_file(c, &n, e);
	if (err)
		return err;
	open_debug_files(c, &n);
	err = open_image(c, n.fds, n.n_fds, &n.image, e);
	if (err)
		return err == -ESTALE ? -ENOEXEC : err;
	note_image(&n);
	if (n.payload->n_offsets && !n.fact.wants_debug && !n.is_complete)
		add_debug(&n);
	err = answer_names(c, &n, e);
	/* A debug file that was missed may be there later. */
	while (!n.fact.wants_debug && !n.fact.is_debug_missed && child_next(c, err, e))
		err = answer_names(c, &n, e);
	return err;
}

/* --- perf maps --- */

static int read_perf_map(struct child *c, struct error *e)
{
	const struct question *q = &c->question;
	cleanup_close int handle = -1, fd = -1;
	struct file_fact fact = {};
	int err;

	child_note_step(c, STEP_PERF, 0);
	err = perf_file_find(q->root, q->n, q->user, &handle, &fact, e);

	const bool wants_text = !file_fact_is_equal(&fact, &q->expected);

	if (!err && wants_text)
		err = mapping_reopen(handle, &fd, e);
	if (err)
		return err;
	append_data(c, &fact, sizeof(fact));
	if (wants_text && fact.size <= PERF_TEXT_BYTES) {
		const size_t room = c->n_data - sizeof(fact);
		const ssize_t n =
			pread(fd, c->data + sizeof(fact), room < fact.size ? room : fact.size, 0);

		c->answer->n_bytes += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int parser_work(struct child *c, struct error *e)
{
	int err;

	switch (c->question.what) {
	case QUESTION_TABLE:
		err = make_table(c, e);
		(void)child_next(c, err, e); /* the asker need not wait for our exit */
		return err;
	case QUESTION_NAMES:
		return name_offsets(c, e);
	case QUESTION_PERF_MAP:
		return read_perf_map(c, e);
	default:
		return error_set(e, -EINVAL, "no such question");
	}
}
