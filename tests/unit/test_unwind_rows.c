/* rooms: unwind kernel processes files elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * At every address of what a distribution has: one step by the table gives what libdw gives by
 * evaluating the CFI in full, or the table says why it cannot.
 *
 * With arguments, these files and not the usual ones are held against libdw:
 *
 *	build/unit/test_unwind_rows /usr/bin/node
 */
#include "test.h"

#include "arch/arch.h"
#include "elf/image.h"
#include "files/mappings.h"
#include "oracle.h"
#include "table_reading.h"

#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#define BUDGET (64UL << 20)

/* Packages for testing, and what these need, bring all of these: not one may be missing. */
static const char *const usual[] = {
	LIBRARIES "libc.so.6",
	LIBRARIES "libstdc++.so.6",
	LIBRARIES "libcrypto.so.3",
	LIBRARIES "libm.so.6",
	LIBRARIES "libgcc_s.so.1",
	LIBRARIES "ld-linux-x86-64.so.2",
	"/usr/bin/bash",
	"/usr/bin/perl",
	"/usr/bin/python3",
};

struct compared {
	const char *name;
	const struct image *im;
	const struct unwind_table *table;
	Dwarf_CFI *cfi;       /* NULL: it has no .eh_frame */
	Dwarf_CFI *debug_cfi; /* of .debug_frame; NULL: none */
	size_t n_rows;
	size_t n_unfit;
	size_t n_no_cfa; /* libdw knows none: of the usual files, none */
	size_t n_wrong;
};

static void tell(struct compared *c, uint64_t vaddr, const char *what, uint64_t is, uint64_t wanted)
{
	if (c->n_wrong++ < 10)
		print_error("%s: at %#lx %s is %#lx, not %#lx\n", c->name, vaddr, what, is, wanted);
}

static void compare(struct compared *c, uint64_t vaddr, const char *what, uint64_t is,
		    uint64_t wanted)
{
	if (is != wanted)
		tell(c, vaddr, what, is, wanted);
}

static void compare_register(struct compared *c, const struct unwind_regs *regs, uint32_t reg,
			     const char *name, struct oracle_value wanted)
{
	compare(c, regs->pc, name, unwind_is_known(regs, reg), wanted.is_known);
	if (wanted.is_known)
		compare(c, regs->pc, name, regs->of[reg], wanted.value);
}

/*
 * Where it is need not be known. Where CFI says nothing of it, libdw has it undefined: its list of
 * registers that calls keep has 0 for rbx, which is rax (elfutils 0.188).
 */
static void compare_rbx(struct compared *c, const struct unwind_regs *regs,
			struct oracle_value wanted)
{
	if (!wanted.is_known)
		wanted = (struct oracle_value){ true, oracle_regs(regs->pc).of[UNWIND_RBX] };
	if (unwind_is_known(regs, UNWIND_RBX))
		compare_register(c, regs, UNWIND_RBX, "rbx", wanted);
}

static void compare_step(struct compared *c, uint64_t vaddr, Dwarf_Frame *frame,
			 struct unwind_rule rule, bool is_signal)
{
	const struct unwind_regs before = oracle_regs(vaddr);
	struct unwind_regs regs = before;
	enum unwind_end end = unwind_step(&regs, rule, oracle_read, NULL);
	struct oracle_value cfa = oracle_cfa(frame, &before);
	struct oracle_value pc = oracle_caller(frame, 16, &before, cfa.value);

	if (!cfa.is_known) {
		c->n_no_cfa++;
		return;
	}
	if (!pc.is_known) {
		compare(c, vaddr, "the end", end, UNWIND_END_ROOT);
		return;
	}
	compare(c, vaddr, "the end", end, UNWIND_GOES_ON);
	compare(c, vaddr, "whether it is a signal's frame", regs.is_exact, is_signal);
	compare(c, vaddr, "the return address", regs.pc, pc.value);
	regs.pc = vaddr; /* for messages */
	compare_register(c, &regs, UNWIND_RSP, "rsp", cfa);
	compare_register(c, &regs, UNWIND_RSP, "rsp by its own rule",
			 oracle_caller(frame, UNWIND_RSP, &before, cfa.value));
	compare_register(c, &regs, UNWIND_RBP, "rbp",
			 oracle_caller(frame, UNWIND_RBP, &before, cfa.value));
	compare_rbx(c, &regs, oracle_caller(frame, UNWIND_RBX, &before, cfa.value));
}

static Dwarf_Frame *frame_at(const struct compared *c, uint64_t vaddr)
{
	Dwarf_Frame *frame;

	if (c->cfi && dwarf_cfi_addrframe(c->cfi, vaddr, &frame) == 0)
		return frame;
	if (c->debug_cfi && dwarf_cfi_addrframe(c->debug_cfi, vaddr, &frame) == 0)
		return frame;
	return NULL;
}

/* A stub of a PLT, _init or _fini: of those without CFI the table knows more than libdw, as of
 * signals' returns. */
static bool is_stub(const struct compared *c, uint64_t vaddr)
{
	static const char *const names[] = { ".plt",  ".plt.sec", ".plt.got",
					     ".iplt", ".init",    ".fini" };
	struct image_section section;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (image_section(c->im, names[i], &section) && vaddr >= section.vaddr &&
		    vaddr - section.vaddr < section.size)
			return true;
	return false;
}

/* In code that no entry is about there may be rows by its instructions (test_derive.c). */
static bool may_be_derived(const struct compared *c, uint64_t vaddr)
{
	struct image_section text;

	return image_section(c->im, ".text", &text) && vaddr - text.vaddr < text.size;
}

static bool same_rule(struct unwind_rule a, struct unwind_rule b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Does a program begin here (near its entry point), or a thread of musl's: "xor %ebp, %ebp; pop
 * %rdi; call *%r9"? */
static bool is_beginning(const struct compared *c, uint64_t vaddr)
{
	const struct slice code = image_code(c->im, vaddr - 20, 32);

	return vaddr - image_entry(c->im) < 256 ||
	       memmem(code.data, code.size, "\x31\xed\x5f\x41\xff\xd1", 6);
}

/* In clone(): from "syscall; test %rax, %rax", or "%eax, %eax", on. */
static bool is_clone(const struct compared *c, uint64_t vaddr)
{
	const struct slice code = image_code(c->im, vaddr - 9, 16);

	return memmem(code.data, code.size, "\x0f\x05\x48\x85\xc0", 5) ||
	       memmem(code.data, code.size, "\x0f\x05\x85\xc0", 4);
}

/* Rules of code without entries. */
static bool is_known_without(const struct compared *c, uint64_t vaddr, struct unwind_rule rule)
{
	switch (rule.how & 15) {
	case UNWIND_FRAMES:
	case UNWIND_SIGNAL:
		return true;
	case UNWIND_OUTERMOST:
		return is_beginning(c, vaddr);
	case UNWIND_CLONED:
		return is_clone(c, vaddr);
	default:
		return is_stub(c, vaddr);
	}
}

/* The row at @vaddr by libdw; returns where the next begins. */
static uint64_t compare_row(struct compared *c, uint64_t vaddr, uint64_t segment_end)
{
	struct unwind_rule rule = unwind_table_at(c->table, vaddr);
	cleanup_free Dwarf_Frame *frame = frame_at(c, vaddr);
	Dwarf_Addr start, end;
	bool is_signal;

	if (!frame) {
		if (!is_known_without(c, vaddr, rule) && !may_be_derived(c, vaddr))
			compare(c, vaddr, "the kind of rule", rule.how & 15, UNWIND_NO_ROW);
		return vaddr + 1;
	}
	c->n_rows++;
	if (dwarf_frame_info(frame, &start, &end, &is_signal) < 0 || end <= vaddr)
		tell(c, vaddr, "libdw's row", start, end);
	if (end > segment_end)
		end = segment_end;
	if (!same_rule(rule, unwind_table_at(c->table, end - 1)))
		tell(c, vaddr, "the end of the row", 0, end);
	if ((rule.how & 15) == UNWIND_UNFIT)
		c->n_unfit++;
	else
		compare_step(c, vaddr, frame, rule, is_signal);
	return end > vaddr ? end : vaddr + 1;
}

static void compare_segments(struct compared *c, Elf *elf)
{
	size_t n;

	assert_int_equal(elf_getphdrnum(elf, &n), 0);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr h;

		assert_non_null(gelf_getphdr(elf, (int)i, &h));
		if (h.p_type != PT_LOAD || !(h.p_flags & PF_X))
			continue;
		for (uint64_t vaddr = h.p_vaddr; vaddr < h.p_vaddr + h.p_filesz;)
			vaddr = compare_row(c, vaddr, h.p_vaddr + h.p_filesz);
	}
}

static void say(const struct compared *c)
{
	const struct unwind_table *t = c->table;

	print_message("%s: %zu rows by libdw, %u entries, %u rules, %zu bytes; %zu rows unfit, no "
		      "CFA by libdw in %zu\n",
		      c->name, c->n_rows, t->n_entries, t->n_rules, unwind_table_bytes(t),
		      c->n_unfit, c->n_no_cfa);
}

/* Returns the number of rows for which libdw knows no CFA. */
static size_t compare_image(const char *name, struct image *im, Elf *elf)
{
	struct unwind_table table;
	struct compared c = { .name = name, .im = im, .table = &table };
	struct image_section section;
	struct error e = {};
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);

	if (unwind_table_make(im, BUDGET, &table, &e) != 0)
		fail_msg("%s: %s", name, e.text);
	c.cfi = dwarf_getcfi_elf(elf);
	/* Not one that is compressed: Go's programs have such, and frame pointers. */
	if (dwarf && image_section(im, ".debug_frame", &section))
		c.debug_cfi = dwarf_getcfi(dwarf);
	compare_segments(&c, elf);
	say(&c);
	assert_int_equal(c.n_wrong, 0);
	assert_true(c.n_rows > 0 && c.n_unfit * 1000 < c.n_rows);
	/* All in: 8 bytes a row, however few, and no entry for nothing. */
	assert_true(unwind_table_bytes(&table) <= 8 * c.n_rows + 256);
	unwind_table_fini(&table);
	if (c.cfi)
		dwarf_cfi_end(c.cfi);
	dwarf_end(dwarf);
	return c.n_no_cfa;
}

static size_t compare_file(const char *path)
{
	FILE *f = fopen(path, "r");
	struct image *im = NULL;
	struct error e = {};

	if (!f || image_open(path, &im, &e) != 0)
		fail_msg("%s: %s", path, f ? e.text : "cannot be opened");

	Elf *elf = elf_begin(fileno(f), ELF_C_READ, NULL);

	assert_non_null(elf);

	size_t n_no_cfa = compare_image(path, im, elf);

	elf_end(elf);
	image_close(im);
	fclose(f);
	return n_no_cfa;
}

TEST(every_row_of_usual_files_is_as_libdw_says)
{
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		assert_int_equal(compare_file(usual[i]), 0);
}

TEST(every_row_of_the_vdso_is_as_libdw_says)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	const struct mapping *vdso = NULL;
	struct image *im = NULL;

	assert_int_equal(mapping_list_read((uint32_t)getpid(), &list, NULL), 0);
	for (size_t i = 0; i < list.n; i++)
		if (strcmp(list.mappings[i].path, "[vdso]") == 0)
			vdso = &list.mappings[i];
	assert_non_null(vdso);

	char *data = (char *)vdso->start;
	size_t size = vdso->end - vdso->start;
	Elf *elf = elf_memory(data, size);

	assert_int_equal(image_open_memory(data, size, "[vdso]", &im, NULL), 0);
	assert_non_null(elf);
	assert_int_equal(compare_image("[vdso]", im, elf), 0);
	elf_end(elf);
	image_close(im);
}

/* What the budgets of speed and memory are reckoned with. */
TEST(libc_takes_less_than_256_KiB)
{
	cleanup(unwind_table_fini) struct unwind_table table;
	struct image *im = NULL;

	assert_int_equal(image_open(usual[0], &im, NULL), 0);
	assert_int_equal(unwind_table_make(im, 256UL << 10, &table, NULL), 0);
	assert_true(table.n_entries > 20000);
	image_close(im);
}

int main(int argc, char **argv)
{
	elf_version(EV_CURRENT);
	for (int i = 1; i < argc; i++)
		(void)compare_file(argv[i]);
	return argc > 1 ? 0 : run_all_tests(NULL, NULL);
}
