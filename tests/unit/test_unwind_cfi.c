/* rooms: unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What CFI means, operation by operation, and what becomes of CFI that makes no sense. Sections
 * are written here byte by byte; those of real files are in test_unwind_rows.c.
 */
#include "test.h"

#include "arch/arch.h"
#include "base/strbuf.h"
#include "elf_files.h"
#include "rules.h"

#define CODE (MADE_VADDR + 0x1000) /* where the functions are */
#define N_CODE 0x60000
#define BUDGET (64UL << 20)

static void put_number(struct strbuf *s, uint64_t value, size_t n)
{
	strbuf_put(s, (const char *)&value, n);
}

static void put_uleb(struct strbuf *s, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_number(s, (value & 0x7f) | 0x80, 1);
	put_number(s, value, 1);
}

/* Write the length of the entry that begins at @at, and fill it up. */
static void end_entry(struct strbuf *s, size_t at)
{
	uint32_t length;

	while ((s->n - at) % 4)
		put_number(s, 0, 1);
	length = (uint32_t)(s->n - at - 4);
	memcpy(s->text + at, &length, sizeof(length));
}

/* "def_cfa rsp 8; offset rip cfa-8", code factor 1, data factor -8, and what @letters stand for. */
static size_t put_cie(struct strbuf *s, const char *letters, uint8_t encoding)
{
	size_t at = s->n;

	put_number(s, 0, 8);
	put_number(s, 1, 1);
	strbuf_put(s, letters, strlen(letters) + 1);
	strbuf_put(s, "\x01\x78\x10", 3);
	put_uleb(s, strchr(letters, 'R') ? 1 : 0);
	if (strchr(letters, 'R'))
		put_number(s, encoding, 1);
	strbuf_put(s, "\x0c\x07\x08\x90\x01", 5);
	end_entry(s, at);
	return at;
}

static void put_fde(struct strbuf *s, size_t cie, uint64_t start, uint64_t size,
		    const void *program, size_t n)
{
	size_t at = s->n;

	put_number(s, 0, 4);
	put_number(s, at + 4 - cie, 4);
	put_number(s, start, 8);
	put_number(s, size, 8);
	put_number(s, 0, 1);
	strbuf_put(s, program, n);
	end_entry(s, at);
}

/* The table of a file with these sections. */
static void make_table_of(const struct made_section *sections, size_t n, struct unwind_table *ret)
{
	cleanup(image_freep) struct image *im = open_made(sections, n, N_CODE);

	assert_int_equal(unwind_table_make(im, BUDGET, ret, NULL), 0);
}

/* Likewise of code at MADE_VADDR + MADE_HEAD. */
static void make_with_text(const void *text, size_t n, const struct strbuf *cfi,
			   struct unwind_table *ret)
{
	const struct made_section sections[] = { { ".text", text, n },
						 { ".eh_frame", cfi->text, cfi->n } };

	make_table_of(sections, 2, ret);
}

static void make_table(const struct strbuf *s, struct unwind_table *ret)
{
	make_table_of(&(const struct made_section){ ".eh_frame", s->text, s->n }, 1, ret);
}

#define NO_RULE                     \
	{                           \
		.how = UNWIND_UNFIT \
	}

static struct strbuf s;
static struct unwind_table t;

static int begin_again(void **state)
{
	strbuf_fini(&s);
	unwind_table_fini(&t);
	t = (struct unwind_table){};
	return 0;
}

#define TEST_OF_CFI(name) TEST_WITH(name, NULL, begin_again)

struct program {
	const char *name;
	struct unwind_rule rule;
	size_t n;
	const char *bytes;
};

#define P(name, bytes, ...)                                 \
	{                                                   \
		name, __VA_ARGS__, sizeof(bytes) - 1, bytes \
	}

static const struct program programs[] = {
	P("nothing", "", RULE(UNWIND_IS, UNWIND_RSP, 8, 0, 0)),
	P("def_cfa", "\x0c\x06\x10", RULE(UNWIND_IS, UNWIND_RBP, 16, 0, 0)),
	P("def_cfa_sf", "\x12\x06\x7e", RULE(UNWIND_IS, UNWIND_RBP, 16, 0, 0)),
	P("def_cfa_register", "\x0e\x18\x0d\x03", RULE(UNWIND_IS, UNWIND_RBX, 24, 0, 0)),
	P("def_cfa_offset", "\x0e\x88\x01", RULE(UNWIND_IS, UNWIND_RSP, 136, 0, 0)),
	P("def_cfa_offset_sf", "\x13\x7d", RULE(UNWIND_IS, UNWIND_RSP, 24, 0, 0)),
	P("negative CFA", "\x13\x02", RULE(UNWIND_IS, UNWIND_RSP, -16, 0, 0)),
	P("offset", "\x86\x02\x83\x03", RULE(UNWIND_IS, UNWIND_RSP, 8, -2, -3)),
	P("offset_extended", "\x05\x06\x02", RULE(UNWIND_IS, UNWIND_RSP, 8, -2, 0)),
	P("offset_extended_sf", "\x11\x06\x02", RULE(UNWIND_IS, UNWIND_RSP, 8, -2, 0)),
	P("above the CFA", "\x11\x06\x7e", RULE(UNWIND_IS, UNWIND_RSP, 8, 2, 0)),
	P("negative_offset_extended", "\x2f\x06\x02", RULE(UNWIND_IS, UNWIND_RSP, 8, 2, 0)),
	P("restore", "\x86\x02\xc6", RULE(UNWIND_IS, UNWIND_RSP, 8, 0, 0)),
	P("restore_extended", "\x83\x02\x06\x03", RULE(UNWIND_IS, UNWIND_RSP, 8, 0, 0)),
	P("same_value", "\x86\x02\x08\x06", RULE(UNWIND_IS, UNWIND_RSP, 8, 0, 0)),
	P("undefined", "\x07\x06\x07\x03",
	  RULE(UNWIND_IS, UNWIND_RSP, 8, UNWIND_FP_LOST, UNWIND_THIRD_LOST)),
	P("outermost", "\x07\x10", RULE(UNWIND_OUTERMOST, 0, 0, 0, 0)),
	P("remember, restore", "\x86\x02\x0a\x0c\x06\x30\xc6\x0b",
	  RULE(UNWIND_IS, UNWIND_RSP, 8, -2, 0)),
	P("args_size", "\x2e\x88\x01\x0e\x10", RULE(UNWIND_IS, UNWIND_RSP, 16, 0, 0)),
	P("others' registers", "\x8c\x04\x07\x0d\x10\x00\x01\x70",
	  RULE(UNWIND_IS, UNWIND_RSP, 8, 0, 0)),
	P("realigned", "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00\x10\x03\x02\x76\x68",
	  RULE(UNWIND_AT_BY_FP, UNWIND_RBP, -8, 0, -3)),
	P("being realigned", "\x0c\x0a\x00\x10\x06\x02\x76\x00",
	  RULE(UNWIND_IS_BY_FP, 10, 0, 0, 0)),
	P("deref", "\x0f\x03\x77\x10\x06", RULE(UNWIND_AT, UNWIND_RSP, 16, 0, 0)),
	P("deref + 8", "\x0f\x05\x77\x38\x06\x23\x08", RULE(UNWIND_AT_8, UNWIND_RSP, 56, 0, 0)),
	P("deref + 56", "\x0f\x05\x77\x38\x06\x23\x38", NO_RULE),
	P("register behind an expression", "\x0e\x30\x0f\x05\x77\x38\x06\x23\x08\x0d\x07",
	  RULE(UNWIND_IS, UNWIND_RSP, 48, 0, 0)),
	P("stubs", "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22",
	  RULE(UNWIND_PLT, UNWIND_RSP, 8, 11, 0)),
	P("stubs with endbr64", "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x22",
	  RULE(UNWIND_PLT, UNWIND_RSP, 8, 9, 0)),
	P("a stub that saves rbp", "\x86\x02\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22",
	  NO_RULE),
	P("more than a stub", "\x0f\x0c\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22\x96", NO_RULE),
	P("a sum", "\x0f\x04\x77\x08\x23\x08", RULE(UNWIND_IS, UNWIND_RSP, 16, 0, 0)),
	P("deref + 2^32 + 8",
	  "\x0f\x11\x77\x38\x06\x23\xff\xff\xff\xff\x07\x23\xff\xff\xff\xff\x07\x23\x0a", NO_RULE),
	P("nearly a stub", "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2b\x33\x24\x22", NO_RULE),
	P("return address in rdi", "\x0e\x00\x09\x10\x05", RULE(UNWIND_PC_IN, UNWIND_RDI, 0, 0, 0)),
	P("CFA in a register that is none", "\x0c\x11\x08", NO_RULE),
	P("CFA of 2^40", "\x0e\x80\x80\x80\x80\x80\x20", NO_RULE),
	P("return address elsewhere", "\x90\x02", NO_RULE),
	P("rsp elsewhere", "\x87\x03", NO_RULE),
	P("rsp by val_offset", "\x14\x07\x02", NO_RULE),
	P("rsp by val_offset_sf", "\x15\x07\x00", RULE(UNWIND_IS, UNWIND_RSP, 8, 0, 0)),
	P("rbp in a register", "\x09\x06\x0b", NO_RULE),
	P("rbp at the CFA", "\x86\x00", NO_RULE),
	P("rbp misaligned", "\x10\x06\x02\x76\x04", NO_RULE),
	P("return address in rdi, CFA by rbp", "\x0c\x06\x08\x09\x10\x05", NO_RULE),
	P("rbx too far above", "\x11\x03\xff\x7e",
	  RULE(UNWIND_IS, UNWIND_RSP, 8, 0, UNWIND_THIRD_LOST)),
	P("rbp too far", "\x05\x06\x80\x80\x02", NO_RULE),
	P("rbx too far", "\x83\x80\x01", RULE(UNWIND_IS, UNWIND_RSP, 8, 0, UNWIND_THIRD_LOST)),
	P("rbx just not too far", "\x83\x7f", RULE(UNWIND_IS, UNWIND_RSP, 8, 0, -127)),
	P("an unknown operation", "\x3f\x00", NO_RULE),
	P("restore_state of nothing", "\x0b", NO_RULE),
	P("def_cfa_offset of an expression", "\x0f\x03\x77\x10\x06\x0e\x08", NO_RULE),
	P("remember_state without end",
	  "\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a", NO_RULE),
};

TEST_OF_CFI(every_operation)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const struct program *p = &programs[i];
		begin_again(NULL);

		put_fde(&s, put_cie(&s, "z", 0), CODE, 0x20, p->bytes, p->n);
		make_table(&s, &t);
		expect_rule(&t, CODE, p->rule, p->name);
		expect_rule(&t, CODE + 0x1f, p->rule, p->name);
		expect_rule(&t, CODE - 1, (struct unwind_rule){}, p->name);
		expect_rule(&t, CODE + 0x20, (struct unwind_rule){}, p->name);
	}
}

/* An operand that reaches behind the entry's end. */
TEST_OF_CFI(operands_that_are_cut)
{
	static const char *const cut[] = { "\x0c\x06",     "\x0e",     "\x0f\x05\x77", "\x86\x80",
					   "\x10\x06\x7f", "\x04\x01", "\x09\x06",     "\x2e" };

	for (size_t i = 0; i < ARRAY_SIZE(cut); i++) {
		begin_again(NULL);

		size_t cie = put_cie(&s, "z", 0);
		size_t at = s.n, n = strlen(cut[i]) + 1;
		uint32_t length;

		put_fde(&s, cie, CODE, 0x20, cut[i], n - 1);
		s.n = at + 25 + n - 1; /* without what fills it up */
		length = (uint32_t)(s.n - at - 4);
		memcpy(s.text + at, &length, sizeof(length));
		make_table(&s, &t);
		expect_rule(&t, CODE, (struct unwind_rule)NO_RULE, cut[i]);
	}
}

TEST_OF_CFI(rows_begin_where_the_address_has_advanced_to)
{
	static const uint8_t program[] = { 0x41, 0x0e, 16,   0x02, 2,    0x0e, 24, 0x03,
					   3,    0,    0x0e, 32,   0x04, 4,    0,  0,
					   0,    0x0e, 40,   0x40, 0x0e, 48 };
	static const uint64_t at[] = { 0, 1, 3, 6, 10 };
	static const int offset[] = { 8, 16, 24, 32, 48 };

	put_fde(&s, put_cie(&s, "z", 0), CODE, 0x20, program, sizeof(program));
	make_table(&s, &t);
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		const struct unwind_rule rule = RULE(UNWIND_IS, UNWIND_RSP, offset[i], 0, 0);
		uint64_t last = i + 1 < ARRAY_SIZE(at) ? at[i + 1] - 1 : 0x1f;

		expect_rule(&t, CODE + at[i], rule, "first");
		expect_rule(&t, CODE + last, rule, "last");
	}
}

static void put_offset_fde(struct strbuf *to, size_t cie, uint64_t start, uint64_t size, uint8_t n)
{
	const uint8_t program[] = { 0x0e, n };

	put_fde(to, cie, start, size, program, sizeof(program));
}

static void expect_offset(const struct unwind_table *in, uint64_t vaddr, int offset)
{
	const struct unwind_rule none = {};
	const struct unwind_rule rule = RULE(UNWIND_IS, UNWIND_RSP, offset, 0, 0);

	expect_rule(in, vaddr, offset ? rule : none, "rule");
}

TEST_OF_CFI(unsorted_overlapping_double_empty_and_outside)
{
	size_t cie = put_cie(&s, "z", 0);

	put_offset_fde(&s, cie, CODE + 0x100, 0x10, 16);
	put_fde(&s, cie, CODE, 0x80, "\x0e\x18\x02\x60\x0e\x48\x41\x0e\x50",
		9); /* reaches into the next */
	put_offset_fde(&s, cie, CODE + 0x40, 0x10, 32);
	put_offset_fde(&s, cie, CODE + 0x40, 0x20, 40);        /* begins there too */
	put_offset_fde(&s, cie, CODE + 0x50, 0, 48);           /* about nothing */
	put_offset_fde(&s, cie, 0x10, 0x10, 56);               /* no code */
	put_offset_fde(&s, cie, CODE + 0x110, ~0ULL, 64);      /* an end that overflows */
	put_offset_fde(&s, cie, CODE + 0x110, 1ULL << 40, 64); /* cut to the code */
	make_table(&s, &t);
	expect_offset(&t, CODE, 24);
	expect_offset(&t, CODE + 0x3f, 24);
	expect_offset(&t, CODE + 0x40, 32);
	expect_offset(&t, CODE + 0x4f, 32);
	expect_offset(&t, CODE + 0x50, 0);
	expect_offset(&t, CODE + 0xff, 0);
	expect_offset(&t, CODE + 0x100, 16);
	expect_offset(&t, CODE + 0x110, 64);
	expect_offset(&t, CODE + N_CODE - 0x1000, 64);
	expect_offset(&t, CODE + N_CODE + 0x1000, 0);
	/* The one before all, five rules, a gap, and the end. */
	assert_int_equal(t.n_entries, 1 + 2 + 1 + 2 + 1);
}

TEST_OF_CFI(addresses_in_every_encoding)
{
	static const struct {
		uint8_t encoding;
		bool is_taken;
		size_t n; /* bytes */
	} rows[] = { { 0x00, true, 8 },  { 0x04, true, 8 },  { 0x0c, true, 8 },  { 0x03, true, 4 },
		     { 0x0b, true, 4 },  { 0x1b, true, 4 },  { 0x10, true, 8 },  { 0x1c, true, 8 },
		     { 0x13, true, 4 },  { 0x9b, false, 4 }, { 0x3b, false, 4 }, { 0x50, false, 8 },
		     { 0x05, false, 8 }, { 0xff, false, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		begin_again(NULL);

		size_t cie = put_cie(&s, "zR", rows[i].encoding);
		size_t at = s.n;
		uint64_t here = MADE_VADDR + MADE_HEAD + at + 8;
		bool is_relative = (rows[i].encoding & 0x70) == 0x10;

		put_number(&s, 0, 4);
		put_number(&s, at + 4 - cie, 4);
		put_number(&s, is_relative ? CODE - here : CODE, rows[i].n);
		put_number(&s, 0x20, rows[i].n);
		put_number(&s, 0, 1);
		end_entry(&s, at);
		make_table(&s, &t);
		expect_offset(&t, CODE, rows[i].is_taken ? 8 : 0);
	}
}

TEST_OF_CFI(a_cie_that_cannot_be_read_takes_its_entries_with_it)
{
	static const struct {
		size_t at; /* in the CIE */
		uint8_t byte;
	} rows[] = { { 8, 2 },   /* version */
		     { 9, 'e' }, /* augmentation */
		     { 10, 'X' },
		     { 13, 15 }, /* the return address's register */
		     { 15, 0x41 } /* an advance in its program */ };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		begin_again(NULL);

		size_t cie = put_cie(&s, "z", 0);

		put_offset_fde(&s, cie, CODE, 0x10, 16);
		s.text[rows[i].at] = rows[i].byte;
		cie = put_cie(&s, "z", 0);
		put_offset_fde(&s, cie, CODE + 0x20, 0x10, 24);
		make_table(&s, &t);
		expect_offset(&t, CODE, 0);
		expect_offset(&t, CODE + 0x20, 24);
	}
}

/* An entry that is too short for one ends the reading; that is counted. */
TEST_OF_CFI(what_stands_behind_nonsense_is_not_read)
{
	size_t cie = put_cie(&s, "z", 0);

	put_offset_fde(&s, cie, CODE, 0x10, 16);
	put_number(&s, 0, 8); /* but zeros are passed over */
	put_offset_fde(&s, cie, CODE + 0x10, 0x10, 24);
	put_number(&s, 3, 4);
	put_number(&s, 1, 3);
	put_offset_fde(&s, cie, CODE + 0x20, 0x10, 32);
	make_table(&s, &t);
	expect_offset(&t, CODE, 16);
	expect_offset(&t, CODE + 0x10, 24);
	expect_offset(&t, CODE + 0x20, 0);
	/* Nor is an entry that goes on behind the section. */
	begin_again(NULL);
	cie = put_cie(&s, "z", 0);
	put_offset_fde(&s, cie, CODE, 0x10, 16);
	put_offset_fde(&s, cie, CODE + 0x10, 0x10, 24);
	s.n--;
	make_table(&s, &t);
	expect_offset(&t, CODE, 16);
	expect_offset(&t, CODE + 0x10, 0);
}

/* Lengths of 64 bits: in .eh_frame references stay at 4 bytes, in .debug_frame they have 8. */
TEST_OF_CFI(entries_in_the_64_bit_format)
{
	cleanup_strbuf struct strbuf debug = {};

	strbuf_put(&s,
		   "\xff\xff\xff\xff\x10\0\0\0\0\0\0\0\0\0\0\0\x01\0\x01\x78\x10\x0c\x07\x08"
		   "\x90\x01\0\0",
		   28);
	strbuf_put(&s, "\xff\xff\xff\xff\x18\0\0\0\0\0\0\0\x28\0\0\0", 16);
	put_number(&s, CODE, 8);
	put_number(&s, 0x10, 8);
	strbuf_put(&s, "\x0e\x10\0\0", 4);
	strbuf_put(&debug,
		   "\xff\xff\xff\xff\x14\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"
		   "\x01\0\x01\x78\x10\x0c\x07\x08\x90\x01\0\0",
		   32);
	strbuf_put(&debug, "\xff\xff\xff\xff\x1c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	put_number(&debug, CODE + 0x10, 8);
	put_number(&debug, 0x10, 8);
	strbuf_put(&debug, "\x0e\x18\0\0", 4);

	const struct made_section sections[] = { { ".eh_frame", s.text, s.n },
						 { ".debug_frame", debug.text, debug.n } };

	make_table_of(sections, 2, &t);
	expect_offset(&t, CODE, 16);
	expect_offset(&t, CODE + 0x10, 24);
}

/* Else many entries could name CIEs that overlap, each with a program as long as the file. */
TEST_OF_CFI(an_entry_may_not_name_what_is_no_entry)
{
	size_t cie = put_cie(&s, "z", 0);

	put_offset_fde(&s, cie, CODE, 0x10, 16);
	put_offset_fde(&s, cie + 4, CODE + 0x20, 0x10, 16);
	put_offset_fde(&s, s.n + 4000, CODE + 0x40, 0x10, 16);
	make_table(&s, &t);
	expect_offset(&t, CODE, 16);
	expect_offset(&t, CODE + 0x20, 0);
	expect_offset(&t, CODE + 0x40, 0);
}

/* @n rows of one byte of code each, all different. */
static void put_many_rows(struct strbuf *to, uint32_t n)
{
	cleanup_strbuf struct strbuf program = {};

	for (uint32_t i = 0; i < n; i++) {
		put_number(&program, 0x0e, 1);
		put_uleb(&program, 8ULL * i);
		put_number(&program, 0x41, 1);
	}
	put_fde(to, put_cie(to, "z", 0), CODE, n, program.text, program.n);
}

TEST_OF_CFI(rows_beyond_a_page_and_rules_beyond_16_bits)
{
	const uint32_t n = 70000;
	const uint32_t n_fit = 65536 - 2; /* numbers of other rules than "none" and "unfit" */

	put_many_rows(&s, n);
	make_table(&s, &t);
	for (uint32_t i = 0; i < n; i++) {
		const struct unwind_rule rule = RULE(UNWIND_IS, UNWIND_RSP, (int)(8 * i), 0, 0);
		const struct unwind_rule none = NO_RULE;

		expect_rule(&t, CODE + i, i < n_fit ? rule : none, "row");
	}
	expect_offset(&t, CODE + n, 0);
}

TEST_OF_CFI(a_table_beyond_its_budget_is_not_made)
{
	struct error e;

	put_many_rows(&s, 1000);

	const struct made_section section = { ".eh_frame", s.text, s.n };
	cleanup(image_freep) struct image *im = open_made(&section, 1, N_CODE);

	assert_int_equal(unwind_table_make(im, 12000, &t, &e), -E2BIG);
	assert_string_equal(e.text, "its unwind table takes more than 12000 bytes");
	assert_null(t.entries);
	assert_int_equal(unwind_table_make(im, BUDGET, &t, &e), 0);

	size_t bytes = unwind_table_bytes(&t);

	unwind_table_fini(&t);
	assert_int_equal(unwind_table_make(im, bytes - 1, &t, &e), -E2BIG);
	assert_int_equal(unwind_table_make(im, bytes, &t, &e), 0);
	unwind_table_fini(&t);
}

/* Nor is anything kept of what is too far. */
TEST_OF_CFI(a_table_holds_to_its_budget_far_away_too)
{
	size_t cie = put_cie(&s, "z", 0);

	put_offset_fde(&s, cie, CODE, 0x10, 8);
	for (uint64_t i = 0; i < 100; i++)
		put_offset_fde(&s, cie, MADE_FAR + 0x1000 + 0x10 * i, 0x10, (uint8_t)i);
	make_table(&s, &t);
	assert_int_equal(t.n_rules, 2);
	assert_int_equal(t.n_entries, 3);
}

/* Pages without an entry of their own; addresses that are too far from the first. */
TEST_OF_CFI(code_that_is_far_apart)
{
	size_t cie = put_cie(&s, "z", 0);

	put_offset_fde(&s, cie, CODE + 4, 0x48000, 16); /* five pages, one row */
	put_offset_fde(&s, cie, CODE + 0x50000, 0x10, 24);
	put_offset_fde(&s, cie, MADE_FAR + 0x1000, 0x10, 32); /* 4 GiB behind the first page */
	make_table(&s, &t);
	expect_offset(&t, CODE + 3, 0);
	for (uint64_t at = 4; at < 0x48004; at += 0x7fc)
		expect_offset(&t, CODE + at, 16);
	expect_offset(&t, CODE + 0x48003, 16);
	expect_offset(&t, CODE + 0x48004, 0);
	expect_offset(&t, CODE + 0x50000, 24);
	expect_offset(&t, CODE + 0x50010, 0);
	expect_offset(&t, MADE_FAR + 0x1000, 0);
	expect_offset(&t, 0, 0);
	expect_offset(&t, UINT64_MAX, 0);
}

TEST_OF_CFI(signal_frames_are_linuxs_or_unfit)
{
	/* CFA = *(rsp + 160); rip, rsp, rbp and rbx at rsp + 168, 160, 120, 128 */
	uint8_t program[] = { 0x0f, 4,    0x77, 0xa0, 1,    0x06, 0x10, 0x10, 3,    0x77,
			      0xa8, 1,    0x10, 7,    3,    0x77, 0xa0, 1,    0x10, 6,
			      3,    0x77, 0xf8, 0,    0x10, 3,    3,    0x77, 0x80, 1 };

	for (size_t changed = 0; changed <= sizeof(program); changed++) {
		static const struct unwind_rule is = { .how = UNWIND_SIGNAL };
		begin_again(NULL);

		if (changed < sizeof(program))
			program[changed] ^= 8;
		put_fde(&s, put_cie(&s, "zS", 0), CODE, 0x20, program, sizeof(program));
		put_fde(&s, put_cie(&s, "z", 0), CODE + 0x20, 0x20, program, sizeof(program));
		if (changed < sizeof(program))
			program[changed] ^= 8;
		make_table(&s, &t);
		if (changed == sizeof(program))
			expect_rule(&t, CODE, is, "signal");
		else
			assert_int_not_equal(unwind_table_at(&t, CODE).how, UNWIND_SIGNAL);
		assert_int_not_equal(unwind_table_at(&t, CODE + 0x20).how, UNWIND_SIGNAL);
	}
}

TEST_OF_CFI(both_sections_and_stubs_without_cfi)
{
	static const char plt[48] = "\xff\x35";
	static const char tracked[32] = "\xff\x35\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf3\x0f\x1e\xfa";
	static const char other[16] = "\xff\x25";
	cleanup_strbuf struct strbuf debug = {};
	const uint64_t at = MADE_VADDR + MADE_HEAD;

	put_offset_fde(&s, put_cie(&s, "z", 0), CODE, 0x10, 16);
	/* .debug_frame: 0xffffffff in CIEs, their offset in FDEs, no augmentation */
	strbuf_put(&debug, "\x10\0\0\0\xff\xff\xff\xff\x01\0\x01\x78\x10\x0c\x07\x08\x90\x01\0\0",
		   20);
	for (uint64_t i = 0; i < 2; i++) {
		strbuf_put(&debug, "\x18\0\0\0\0\0\0\0", 8);
		put_number(&debug, CODE + 0x10 * i, 8);
		put_number(&debug, 0x10, 8);
		strbuf_put(&debug, "\x0e\x20\0\0", 4);
	}

	const struct made_section sections[] = { { ".plt", plt, 48 },
						 { ".plt.got", other, 16 },
						 { ".iplt", tracked, 32 },
						 { ".eh_frame", s.text, s.n },
						 { ".debug_frame", debug.text, debug.n } };

	make_table_of(sections, ARRAY_SIZE(sections), &t);
	expect_offset(&t, CODE, 16);        /* .eh_frame goes first */
	expect_offset(&t, CODE + 0x10, 32); /* .debug_frame where that says nothing */
	expect_offset(&t, at, 16);
	expect_offset(&t, at + 6, 24);
	expect_rule(&t, at + 16, RULE(UNWIND_PLT, UNWIND_RSP, 8, 11, 0), ".plt");
	expect_offset(&t, at + 48, 8);
	expect_rule(&t, at + 80, RULE(UNWIND_PLT, UNWIND_RSP, 8, 9, 0), ".iplt");
	expect_offset(&t, at + 96, 0);
}

/*
 * The table of 512 bytes of code with @n bytes of @code at @where, of which an entry is about
 * @n_covered from @covered on.
 */
static void make_with_code(uint64_t where, const char *code, size_t n, uint64_t covered,
			   uint64_t n_covered, struct unwind_table *ret)
{
	cleanup_strbuf struct strbuf cfi = {};
	uint8_t text[512] = {};

	memcpy(text + where, code, n);
	put_offset_fde(&cfi, put_cie(&cfi, "z", 0), MADE_VADDR + MADE_HEAD + covered, n_covered,
		       16);
	make_with_text(text, sizeof(text), &cfi, ret);
}

/* The return of a signal: mov $15, %rax; syscall. The thread: xor %ebp, %ebp; pop %rdi; call *%r9
 */
TEST_OF_CFI(signals_return_and_threads_begin_where_nothing_is_said_of_it)
{
	static const struct {
		const char *code;
		size_t n;
		uint64_t where, first; /* from @first on there is the rule, up to the code's end */
		struct unwind_rule rule;
	} cases[] = {
		{ "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9, 33, 32, { .how = UNWIND_SIGNAL } },
		{ "\x31\xed\x5f\x41\xff\xd1", 6, 101, 106, { .how = UNWIND_OUTERMOST } },
	};
	const uint64_t at = MADE_VADDR + MADE_HEAD;

	for (size_t i = 0; i < 2 * 16; i++) {
		const uint64_t n_covered = 8 + i / 2 * 8;
		const uint64_t first = cases[i % 2].first;
		const uint64_t end = cases[i % 2].where + cases[i % 2].n;
		begin_again(NULL);

		make_with_code(cases[i % 2].where, cases[i % 2].code, cases[i % 2].n, 0, n_covered,
			       &t);
		expect_offset(&t, at + n_covered - 1, 16);
		if (n_covered > cases[i % 2].where - 1)
			continue;
		if (i % 2 == 0 && n_covered < first)
			expect_rule(&t, at + first - 1, (struct unwind_rule){}, "before");
		expect_rule(&t, at + first, cases[i % 2].rule, "from where it is looked up");
		expect_rule(&t, at + end - 1, cases[i % 2].rule, "its end");
		expect_rule(&t, at + end, (struct unwind_rule){}, "behind");
	}
}

/* glibc's clone(), in the gap between its own entry and the entry where a thread begins. */
TEST_OF_CFI(clone_has_no_entry_behind_its_system_call)
{
	static const struct {
		const char *code;
		size_t n; /* from the first entry to the root's */
		int cloned_at;
		const char *program;
		size_t n_program;
	} cases[] = {
		{ "\x0f\x05\x48\x85\xc0\x7c\x13\x74\x01\xc3", 10, 0, "\x07\x10", 2 },
		{ "\x0f\x05\x85\xc0\x75\x0f", 6, 0, "\x07\x10", 2 },
		{ "\x90\x0f\x05\x48\x85\xc0\x74\x01\xc3", 9, 1, "\x07\x10\x41\x0e\x10", 5 },
		{ "\x0f\x05\x48\x85\xc0\x7c\x13\x74\x01\xc3", 10, -1, "", 0 }, /* no root */
		{ "\x0f\x05\x48\x85\xc0\x7c\x13\x74\x01\xc3", 10, -1, "\x41\x07\x10", 3 },
		{ "\x0f\x34\x48\x85\xc0\x7c\x13\x74\x01\xc3", 10, -1, "\x07\x10", 2 },
		{ "\x0f\x05\x48\x89\xc7\x7c\x13\x74\x01\xc3", 10, -1, "\x07\x10", 2 },
	};
	const struct unwind_rule cloned = RULE(UNWIND_CLONED, UNWIND_RSP, 8, 0, 0);
	const uint64_t at = MADE_VADDR + MADE_HEAD + 0x40;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin_again(NULL);

		const size_t cie = put_cie(&s, "z", 0), n = cases[i].n;
		uint8_t text[512] = {};

		memcpy(text + 0x40, cases[i].code, n);
		put_offset_fde(&s, cie, at - 0x30, 0x30, 16);
		put_fde(&s, cie, at + n, 0x10, cases[i].program, cases[i].n_program);
		make_with_text(text, sizeof(text), &s, &t);
		expect_offset(&t, at - 1, 16);
		for (int k = 0; k < (int)n; k++)
			expect_rule(&t, at + (uint64_t)k,
				    cases[i].cloned_at >= 0 && k >= cases[i].cloned_at
					    ? cloned
					    : (struct unwind_rule){},
				    "the gap");
	}
}

/* musl's clone(), without any entry: instructions show where its thread begins. */
TEST_OF_CFI(clone_that_no_entry_is_about_at_all)
{
	static const char code[] = "\x0f\x05\x85\xc0\x75\x0f\x31\xed\x5f\x41\xff\xd1"
				   "\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4\xc3";
	const struct unwind_rule cloned = RULE(UNWIND_CLONED, UNWIND_RSP, 8, 0, 0);
	const struct unwind_rule root = { .how = UNWIND_OUTERMOST };
	const uint64_t at = MADE_VADDR + MADE_HEAD + 100;

	make_with_code(100, code, sizeof(code) - 1, 300, 10, &t);
	expect_rule(&t, at - 1, (struct unwind_rule){}, "before");
	expect_rule(&t, at, cloned, "system call");
	expect_rule(&t, at + 4, cloned, "jump");
	expect_rule(&t, at + 6, root, "thread");
	expect_rule(&t, at + 20, root, "the thread's end");
	expect_rule(&t, at + 21, (struct unwind_rule){}, "behind");
}

/*
 * LuaJIT's interpreter has one entry with one row. To where compiled code leaves, rsp is that
 * code's.
 */
TEST_OF_CFI(where_compiled_code_leaves_the_interpreters_row_is_wrong)
{
	static const char exit[] = "\x41\x55\x41\x54\x41\x53\x41\x52\x41\x51\x41\x50"
				   "\x57\x56\x55\x48\x8d\x6c\x24\x58\x55\x53\x52\x51\x50";
	static const char one_row[72] = "\x0e\x50", two_rows[] = "\x0e\x50\x41\x0e\x50";
	static const struct {
		uint64_t size; /* of the entry */
		const char *program;
		size_t n_program;
		bool is_cut;
	} cases[] = {
		{ 0x2000, one_row, 48, true },
		{ 0x2000, two_rows, 5, true },
		{ 0x2000, one_row, 72, false }, /* may be a compiler's, as the next one */
		{ 0xe00, one_row, 48, false },
	};
	const uint64_t at = MADE_VADDR + MADE_HEAD;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin_again(NULL);

		uint8_t text[0x2000] = {};

		memset(text, 0x90, sizeof(text));
		memcpy(text + 0x800, exit, sizeof(exit) - 1);
		put_fde(&s, put_cie(&s, "z", 0), at, cases[i].size, cases[i].program,
			cases[i].n_program);
		make_with_text(text, sizeof(text), &s, &t);
		expect_offset(&t, at + 0x7ff, 80);
		expect_offset(&t, at + 0x800, cases[i].is_cut ? 0 : 80);
		expect_offset(&t, at + cases[i].size - 1, cases[i].is_cut ? 0 : 80);
		expect_offset(&t, at + cases[i].size, 0);
	}
}

TEST_OF_CFI(files_without_cfi_are_refused)
{
	const struct made_section section = { ".text", "", 1 };
	cleanup(image_freep) struct image *im = open_made(&section, 1, N_CODE);
	struct error e;

	assert_int_equal(unwind_table_make(im, BUDGET, &t, &e), -ENOENT);
	assert_string_equal(e.text, "no unwind information in the file");
	assert_null(t.entries);
}

TEST_MAIN(NULL, NULL)
