/* rooms: unwind arch elf base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel's own unwind tables: each entry means the same to us as to the kernel.
 *
 *	test_orc FILE...    likewise for every entry of kernels (vmlinux) and modules
 *
 * The judge is evaluate(), which follows the kernel's Documentation/arch/x86/orc-unwinder.rst and
 * the comments of its orc_types.h, entry by entry, without rules. Registers and memory are made up,
 * so that any other place would give another value.
 */
#include "test.h"

#include <elf.h>

#include "arch/arch.h"
#include "arch/kernel_step.h"
#include "base/hash.h"
#include "elf_files.h"
#include "table_reading.h"

#define SP 0xffffc90000003e00ULL
#define FP 0xffffc90000003f80ULL
#define PC 0xffffffff81234567ULL

/* What the code before execution was: the kernel's own registers of an entry. */
enum named { NONE, PREV_SP, NAMED_SP, NAMED_BP, SP_INDIRECT, BP_INDIRECT, ANOTHER, BAD };

static enum named name_of(enum orc_layout layout, unsigned number)
{
	static const enum named older[16] = { NONE,        PREV_SP,     ANOTHER, ANOTHER,
					      NAMED_BP,    NAMED_SP,    ANOTHER, ANOTHER,
					      BP_INDIRECT, SP_INDIRECT, BAD,     BAD,
					      BAD,         BAD,         BAD,     BAD };
	static const enum named of_7_1[16] = { NONE,     ANOTHER,     ANOTHER,     NAMED_SP,
					       NAMED_BP, ANOTHER,     ANOTHER,     ANOTHER,
					       PREV_SP,  SP_INDIRECT, BP_INDIRECT, BAD,
					       BAD,      BAD,         BAD,         BAD };

	return (layout == ORC_OF_7_1 ? of_7_1 : older)[number];
}

/* Memory: a hash of the address, so each word differs. @cs: that of interrupted code. */
struct memory {
	uint64_t at_cs, cs;
};

static uint64_t word_at(const struct memory *m, uint64_t at)
{
	if (at == m->at_cs)
		return m->cs;
	return SP - 0x4000 + (hash_mix(at) & 0x7fff); /* above the stack, or below */
}

static bool read_word(void *from, __u64 at, __u64 *ret)
{
	*ret = word_at(from, at);
	return true;
}

struct outcome {
	enum kernel_end end;
	struct kernel_regs regs;
};

enum { CALL, REGS, IRET, UNDEFINED, END };

static int type_of(enum orc_layout layout, unsigned flags)
{
	static const int newer[] = { UNDEFINED, END, CALL, REGS, IRET, -1, -1, -1 };
	static const int older[] = { CALL, REGS, IRET, -1 };
	const unsigned end_bit = layout == ORC_OF_4_14 ? 10 : 11;

	if (layout >= ORC_OF_6_4)
		return newer[flags >> 8 & 7];
	if (!(flags & 15))
		return flags >> end_bit & 1 ? END : UNDEFINED;
	return older[flags >> 8 & 3];
}

static bool is_signal(enum orc_layout layout, unsigned flags)
{
	if (layout == ORC_OF_4_14)
		return (flags >> 8 & 3) != 0;
	return flags >> (layout == ORC_OF_6_3 ? 10 : 11) & 1;
}

/* The place of the caller's frame; false: none that we follow. */
static bool previous_sp(enum named reg, int16_t offset, const struct kernel_regs *r,
			const struct memory *m, uint64_t *ret)
{
	switch (reg) {
	case NAMED_SP:
		*ret = r->sp + (uint64_t)offset;
		return true;
	case NAMED_BP:
		*ret = r->fp + (uint64_t)offset;
		return true;
	case SP_INDIRECT:
		*ret = word_at(m, r->sp) + (uint64_t)offset;
		return true;
	case BP_INDIRECT:
		*ret = word_at(m, r->fp + (uint64_t)offset);
		return true;
	default:
		return false;
	}
}

static struct outcome evaluate(enum orc_layout layout, const uint8_t *bytes,
			       const struct kernel_regs *r, const struct memory *m)
{
	int16_t offset, fp_offset;
	uint16_t flags;
	uint64_t prev, iret;

	memcpy(&offset, bytes, 2);
	memcpy(&fp_offset, bytes + 2, 2);
	memcpy(&flags, bytes + 4, 2);

	const enum named sp = name_of(layout, flags & 15), fp = name_of(layout, flags >> 4 & 15);
	const int type = type_of(layout, flags);
	struct outcome ret = { KERNEL_GOES_ON, *r };

	if (type == END)
		return (struct outcome){ .end = KERNEL_END_ROOT };
	if (type == UNDEFINED || type < 0 || sp == NONE || sp == PREV_SP || sp == BAD ||
	    (fp != NONE && fp != PREV_SP && fp != NAMED_BP))
		return (struct outcome){ .end = KERNEL_END_UNDEFINED };
	if (!previous_sp(sp, offset, r, m, &prev))
		return (struct outcome){ .end = KERNEL_END_UNFIT };
	if (type == CALL) {
		ret.regs.pc = word_at(m, prev - 8);
		ret.regs.sp = prev;
	} else {
		iret = type == REGS ? prev + 16 * 8 : prev;
		if (word_at(m, iret + 8) & 3) /* user_mode() */
			return (struct outcome){ .end = KERNEL_END_ROOT };
		ret.regs.pc = word_at(m, iret);
		ret.regs.sp = word_at(m, iret + 24);
	}
	if (fp == NONE && type == REGS)
		ret.regs.fp = word_at(m, prev + 4 * 8);
	else if (fp != NONE)
		ret.regs.fp = word_at(m, (fp == PREV_SP ? prev : r->fp) + (uint64_t)fp_offset);
	ret.regs.is_exact = is_signal(layout, flags);
	if (type == CALL && (sp == NAMED_SP || sp == NAMED_BP) && ret.regs.sp <= r->sp)
		ret.end = KERNEL_END_NOT_ADVANCING;
	return ret;
}

/* Where the interrupted code's cs lies, if the entry has such a place. */
static uint64_t place_of_cs(enum orc_layout layout, const uint8_t *bytes,
			    const struct kernel_regs *r)
{
	const struct memory none = {};
	int16_t offset;
	uint16_t flags;
	uint64_t prev;

	memcpy(&offset, bytes, 2);
	memcpy(&flags, bytes + 4, 2);
	if (!previous_sp(name_of(layout, flags & 15), offset, r, &none, &prev))
		return 0;
	switch (type_of(layout, flags)) {
	case REGS:
		return prev + 17 * 8;
	case IRET:
		return prev + 8;
	default:
		return 0;
	}
}

static void expect_same(const struct outcome *ours, const struct outcome *judged,
			const uint8_t *bytes, enum orc_layout layout)
{
	if (ours->end == judged->end &&
	    (ours->end || memcmp(&ours->regs, &judged->regs, sizeof(ours->regs)) == 0))
		return;
	fail_msg("layout %d, entry %02x%02x %02x%02x %02x%02x: end %d pc %llx sp %llx fp %llx, not "
		 "%d %llx %llx %llx",
		 layout, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], ours->end,
		 ours->regs.pc, ours->regs.sp, ours->regs.fp, judged->end, judged->regs.pc,
		 judged->regs.sp, judged->regs.fp);
}

static void check_quick(uint64_t rule, const struct kernel_regs *r, const struct memory *m,
			const struct outcome *ours)
{
	struct kernel_regs quick = *r;

	if (kernel_is_entry(r, rule, read_word, (void *)m))
		assert_int_equal(ours->end, KERNEL_END_ROOT);
	if (!kernel_quickly(&quick, rule, read_word, (void *)m)) {
		assert_memory_equal(&quick, r, sizeof(quick));
		return;
	}
	assert_int_equal(ours->end, KERNEL_GOES_ON);
	assert_memory_equal(&quick, &ours->regs, sizeof(quick));
}

/* In the kernel, from the user, and as for a return address and as interrupted. */
static void check_entry(enum orc_layout layout, const uint8_t *bytes)
{
	for (unsigned i = 0; i < 4; i++) {
		const struct kernel_regs r = { PC, SP, FP, i & 1 };
		const struct memory m = { place_of_cs(layout, bytes, &r), i & 2 ? 0x33 : 0x10 };
		const uint64_t rule = orc_rule_of(layout, bytes);
		const struct outcome judged = evaluate(layout, bytes, &r, &m);
		struct outcome ours = { .regs = r };

		ours.end = kernel_step(&ours.regs, rule, read_word, (void *)&m);
		expect_same(&ours, &judged, bytes, layout);
		check_quick(rule, &r, &m, &ours);
	}
}

TEST(every_register_and_type_means_what_the_kernel_says)
{
	for (int layout = ORC_OF_4_14; layout <= ORC_OF_7_1; layout++)
		for (unsigned flags = 0; flags < 0x1000; flags++)
			for (unsigned i = 0; i < 4; i++) {
				const int16_t offset = (int16_t)(i * 24 + 16 - 48 * (i == 3));
				const int16_t fp = (int16_t) - (16 + 8 * (int)i);
				uint8_t bytes[ORC_ENTRY_BYTES];

				memcpy(bytes, &offset, 2);
				memcpy(bytes + 2, &fp, 2);
				bytes[4] = (uint8_t)flags;
				bytes[5] = (uint8_t)(flags >> 8);
				check_entry((enum orc_layout)layout, bytes);
			}
}

static bool read_up_to(void *from, __u64 at, __u64 *ret)
{
	int *n = from;
	const struct memory none = {};

	*ret = word_at(&none, at);
	return (*n)-- > 0;
}

/* Registers: pc, cs, sp, then the frame pointer. */
TEST(a_word_that_cannot_be_read_ends_the_walk)
{
	const uint8_t regs[] = { 0, 0, 0, 0, 5, 0x0b }; /* REGS, base sp */

	for (int n = 0; n <= 4; n++) {
		struct kernel_regs r = { PC, SP, FP, 0 };
		int left = n;
		const enum kernel_end end =
			kernel_step(&r, orc_rule_of(ORC_OF_6_4, regs), read_up_to, &left);

		if (end != KERNEL_END_ROOT) /* made-up bits of cs */
			assert_int_equal(end, n < 4 ? KERNEL_END_UNREADABLE : KERNEL_GOES_ON);
	}
}

static bool refuse_read(void *from, __u64 at, __u64 *ret)
{
	fail_msg("reads at %llx", (unsigned long long)at);
	return false;
}

/* Any other address may be a device's. */
TEST(nothing_is_read_where_the_frame_pointer_cannot_lead)
{
	const uint8_t by_fp[] = { 16, 0, 0xf0, 0xff, 0x14, 2 }; /* CALL, base bp, bp at the CFA */
	const uint8_t in_fp[] = { 16, 0, 0xf0, 0xff, 0x18, 2 }; /* CALL, base [bp + offset] */
	const uint64_t fps[] = { 0, 0xfeb00000, SP - 8, SP + 16384, 0xffffc90000f00000 };
	const uint64_t rules[] = { orc_rule_of(ORC_OF_6_4, by_fp), orc_rule_of(ORC_OF_6_4, in_fp) };

	for (size_t i = 0; i < ARRAY_SIZE(fps); i++)
		for (size_t j = 0; j < ARRAY_SIZE(rules); j++) {
			struct kernel_regs r = { PC, SP, fps[i], 0 };

			assert_int_equal(kernel_step(&r, rules[j], refuse_read, NULL),
					 KERNEL_END_NOT_ADVANCING);
		}
}

TEST(only_known_headers_give_a_layout)
{
	uint8_t header[ORC_HEADER_BYTES] = { 0xfe, 0x5d, 0x32, 0xbf, 0x58, 0x1b, 0xd6,
					     0x3b, 0x2c, 0xa9, 0xa5, 0xc6, 0x5b, 0xa5,
					     0xa6, 0x25, 0xea, 0xb3, 0xfe, 0x24 };
	const uint8_t bytes[ORC_ENTRY_BYTES] = { 8, 0, 0, 0, 5, 2 };

	assert_int_equal(orc_layout_of(header), ORC_OF_6_4);
	header[19]++;
	assert_int_equal(orc_layout_of(header), ORC_UNKNOWN);
	assert_int_equal(orc_rule_of(ORC_UNKNOWN, bytes), 0);
	assert_int_equal(orc_layout_by_members(true, false, true), ORC_OF_4_14);
	assert_int_equal(orc_layout_by_members(true, true, true), ORC_OF_6_3);
	assert_int_equal(orc_layout_by_members(true, true, false), ORC_OF_6_4);
	assert_int_equal(orc_layout_by_members(true, false, false), ORC_UNKNOWN);
	assert_int_equal(orc_layout_by_members(false, true, true), ORC_UNKNOWN);
}

/* --- tables --- */

#define START 0xffffffff81000040ULL
#define CODE_BYTES 0x50000U

struct row {
	uint64_t addr, rule;
};

static uint64_t find_slowly(const struct row *rows, size_t n, uint64_t addr)
{
	uint64_t rule = 0;

	for (size_t i = 0; i < n && rows[i].addr <= addr; i++)
		rule = rows[i].rule;
	return rule;
}

static void check_image(const struct kernel_table *t)
{
	const struct unwind_table *made = &t->made.table;
	struct kernel_image image;
	cleanup_free uint64_t *words = calloc(1, kernel_table_bytes(t));

	kernel_table_write(t, words, &image);
	assert_int_equal(image.start, START);
	assert_int_equal(image.bytes, CODE_BYTES);
	assert_int_equal(image.n_rules, made->n_rules);
	assert_memory_equal((char *)words + image.pages, made->pages, made->n_pages + 1);
	assert_memory_equal((char *)words + image.rules, made->rules, 8 * made->n_rules);
}

TEST(a_table_gives_the_last_row_before_an_address)
{
	const uint64_t replaced[] = { START + 0x2001, START + 0x1fff, START + 0x30000 };
	struct row rows[3000];
	cleanup(kernel_table_fini) struct kernel_table t;
	uint64_t addr = START - 64;

	assert_true(kernel_table_begin(&t, START, START + CODE_BYTES));
	for (size_t i = 0; i < ARRAY_SIZE(replaced); i++)
		kernel_table_replaced(&t, replaced[i]);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rows[i] = (struct row){ addr, 0x10 + hash_mix(i) % 50 };
		addr += hash_mix(i * 7) % 4 ? hash_mix(i) % 300 : 0; /* gaps, and none */
		assert_true(kernel_table_add(&t, rows[i].addr, rows[i].rule));
	}
	assert_true(kernel_table_end(&t));
	assert_int_equal(kernel_table_find(&t, START - 1), 0);
	assert_int_equal(kernel_table_find(&t, START + CODE_BYTES), 0);
	for (addr = START; addr < START + CODE_BYTES; addr++) {
		uint64_t expected = find_slowly(rows, ARRAY_SIZE(rows), addr);

		for (size_t i = 0; i < ARRAY_SIZE(replaced); i++)
			if (addr == replaced[i] - 1)
				expected = KERNEL_RULE_REPLACED;
		if (kernel_table_find(&t, addr) != expected)
			fail_msg("at %llx", (unsigned long long)addr);
	}
	check_image(&t);
}

TEST(a_table_refuses_what_it_cannot_hold)
{
	cleanup(kernel_table_fini) struct kernel_table t;

	assert_false(kernel_table_begin(&t, START, START));
	assert_false(kernel_table_begin(&t, START, START + (UINT64_C(1) << 31) + 1));
	assert_true(kernel_table_begin(&t, START, START + CODE_BYTES));
	assert_true(kernel_table_add(&t, START + 16, 0x40));
	assert_false(kernel_table_add(&t, START + 15, 0x41));
	for (uint64_t i = 0; i < UINT16_MAX - 1; i++)
		assert_true(kernel_table_add(&t, START + 16 + i, 0x100 + i));
	assert_false(kernel_table_add(&t, START + CODE_BYTES - 1, 1));
}

/* --- the entries of files --- */

static const Elf64_Shdr *section(const uint8_t *file, size_t bytes, const char *name)
{
	const Elf64_Ehdr *h = (const void *)file;
	const Elf64_Shdr *all = (const void *)(file + h->e_shoff);

	for (size_t i = 0; h->e_shoff + h->e_shentsize <= bytes && i < h->e_shnum; i++)
		if (strcmp((const char *)file + all[h->e_shstrndx].sh_offset + all[i].sh_name,
			   name) == 0)
			return &all[i];
	return NULL;
}

/* Files without a header are of Linux before 6.3 here. */
static size_t check_entries(const uint8_t *file, size_t bytes)
{
	const Elf64_Shdr *entries = section(file, bytes, ".orc_unwind");
	const Elf64_Shdr *header = section(file, bytes, ".orc_header");
	enum orc_layout layout = ORC_OF_4_14;

	if (!entries)
		return 0;
	if (header)
		layout = orc_layout_of(file + header->sh_offset);
	assert_int_not_equal(layout, ORC_UNKNOWN);
	for (size_t i = 0; i < entries->sh_size / ORC_ENTRY_BYTES; i++)
		check_entry(layout, file + entries->sh_offset + i * ORC_ENTRY_BYTES);
	return entries->sh_size / ORC_ENTRY_BYTES;
}

static int check_files(char **paths)
{
	for (; *paths; paths++) {
		size_t n;
		cleanup_free uint8_t *file = read_file(*paths, &n);

		printf("%s: %zu entries\n", *paths, check_entries(file, n));
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return check_files(argv + 1);
	return run_all_tests(NULL, NULL);
}
