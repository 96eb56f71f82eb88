/* rooms: unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rows of code without entries: equal to the compiler's .debug_frame.
 *
 * With arguments, these files are compared and no others, each with and without its symbols:
 *
 *	build/unit/test_derive musl/lib/libc.so
 */
#include "test.h"

#include <elf.h>

#include "arch/arch.h"
#include "elf_files.h"
#include "unwind/table.h"

#define LEAVE 0xc9

struct rows {
	struct cfi_row *rows;
	size_t n, capacity;
};

static int take_row(void *context, const struct cfi_row *row)
{
	struct rows *r = context;

	array_push(r->rows, r->n, r->capacity, *row);
	return 0;
}

static struct rows rows_of(struct image *im)
{
	struct rows r = {};
	struct error e = {};

	if (cfi_each_row(im, NULL, take_row, &r, &e) != 0)
		fail_msg("%s", e.text);
	return r;
}

/* The row that holds at @vaddr; a gap before all. */
static const struct cfi_row *row_at(const struct rows *r, uint64_t vaddr)
{
	static const struct cfi_row gap = { .kind = CFI_GAP };
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->rows[middle].vaddr <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &r->rows[low - 1] : &gap;
}

struct file {
	uint8_t *bytes;
	size_t size;
};

/* Make section @name one that nobody asks for. */
static void hide(struct file *file, const char *name)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)file->bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(file->bytes + head->e_shoff);
	char *names = (char *)file->bytes + sections[head->e_shstrndx].sh_offset;

	for (unsigned i = 1; i < head->e_shnum; i++) {
		if (strcmp(names + sections[i].sh_name, name) != 0)
			continue;
		sections[i].sh_type = SHT_PROGBITS;
		sections[i].sh_name = 0;
	}
}

struct compared {
	struct image *im;
	const struct rows *is, *wanted;
	size_t n_functions, n_with_rows, n_bytes, n_bytes_with_rows, n_wrong;
};

static bool is_same(const struct cfi_value *a, const struct cfi_value *b)
{
	return a->how == b->how && a->reg == b->reg && a->offset == b->offset;
}

static const struct cfi_value *value_of(const struct cfi_row *row, size_t offset)
{
	return (const struct cfi_value *)((const char *)row + offset);
}

/* The byte before @vaddr: all of "pop %rbx" and "pop %rbp". */
static uint8_t byte_before(const struct compared *c, uint64_t vaddr)
{
	const struct slice code = image_code(c->im, vaddr - 1, 1);

	return code.size ? *code.data : 0;
}

/*
 * Compilers give no row for a popped register: its place then lies below rsp, where the value still
 * is, as it is in the register. Rows are followed back to the pop.
 */
static bool is_popped(const struct compared *c, const struct cfi_row *is, size_t value, uint8_t pop)
{
	for (; is > c->is->rows && is->kind == CFI_ROW; is--) {
		const struct cfi_row *before = is - 1;

		if (value_of(before, value)->how == CFI_AT_CFA)
			return byte_before(c, is->vaddr) == pop ||
			       byte_before(c, is->vaddr) == LEAVE;
		if (value_of(before, value)->how != CFI_SAME)
			return false;
	}
	return false;
}

/* They say that registers were saved once all of them are. */
static bool is_said_later(const struct compared *c, const struct cfi_row *wanted, size_t value,
			  const struct cfi_value *is)
{
	for (; wanted < c->wanted->rows + c->wanted->n && wanted->kind == CFI_ROW; wanted++)
		if (value_of(wanted, value)->how != CFI_SAME)
			return is_same(value_of(wanted, value), is);
	return false;
}

static bool is_right_value(const struct compared *c, const struct cfi_row *is,
			   const struct cfi_row *wanted, size_t value, uint8_t pop)
{
	const struct cfi_value *a = value_of(is, value), *b = value_of(wanted, value);

	return is_same(a, b) ||
	       (a->how == CFI_SAME && b->how == CFI_AT_CFA && is_popped(c, is, value, pop)) ||
	       (a->how == CFI_AT_CFA && b->how == CFI_SAME && is_said_later(c, wanted, value, a));
}

static bool is_right(const struct compared *c, const struct cfi_row *is,
		     const struct cfi_row *wanted)
{
	return is->is_signal ||
	       (is_same(&is->cfa, &wanted->cfa) && is_same(&is->pc, &wanted->pc) &&
		is_right_value(c, is, wanted, offsetof(struct cfi_row, fp), 0x5d) &&
		is_right_value(c, is, wanted, offsetof(struct cfi_row, third), 0x5b));
}

/* Padding is never executed: length of the padding that begins, or goes on, at @vaddr. */
static size_t padding_at(const struct compared *c, uint64_t vaddr)
{
	for (uint64_t at = vaddr; at > vaddr - 12; at--) {
		const struct slice code = image_code(c->im, at, ARCH_INSTRUCTION_BYTES);
		const struct instruction i = instruction_at(code.data, code.size, at);

		if (row_at(c->is, at)->kind != CFI_ROW && i.kind == INSTRUCTION_NOP &&
		    at + i.length > vaddr)
			return 1;
	}
	return 0;
}

static int compare_function(void *context, const struct image_symbol *symbol)
{
	struct compared *c = context;
	size_t n_with_rows = 0, n_pad = 0;

	if (!symbol->size || row_at(c->wanted, symbol->vaddr)->kind != CFI_ROW)
		return 0;
	for (uint64_t at = symbol->vaddr; at < symbol->vaddr + symbol->size; at++) {
		const struct cfi_row *is = row_at(c->is, at);
		const struct cfi_row *wanted = row_at(c->wanted, at);

		c->n_bytes++;
		if (is->kind != CFI_ROW) {
			n_pad += padding_at(c, at);
			continue;
		}
		n_with_rows++;
		if (wanted->kind == CFI_ROW && is_right(c, is, wanted))
			continue;
		if (c->n_wrong++ < 20)
			print_error(
				"%s+%#lx (%#lx): cfa %u+%ld not %u+%ld, rbp %u %ld not %u %ld, rbx %u %ld not %u %ld\n",
				symbol->name, at - symbol->vaddr, at, is->cfa.reg, is->cfa.offset,
				wanted->cfa.reg, wanted->cfa.offset, is->fp.how, is->fp.offset,
				wanted->fp.how, wanted->fp.offset, is->third.how, is->third.offset,
				wanted->third.how, wanted->third.offset);
	}
	c->n_functions++;
	c->n_bytes_with_rows += n_with_rows;
	c->n_with_rows += n_with_rows + n_pad == symbol->size;
	if (n_with_rows + n_pad < symbol->size && getenv("V"))
		print_message("%s: %zu of %zu\n", symbol->name, n_with_rows + n_pad, symbol->size);
	return 0;
}

static struct compared compare_file(const char *path, bool has_symbols)
{
	struct file file = {};
	struct compared c = {};

	file.bytes = read_file(path, &file.size);

	struct image *whole = open_memory(file.bytes, file.size), *bare;
	struct rows wanted = rows_of(whole), is;

	hide(&file, ".debug_frame");
	if (!has_symbols)
		hide(&file, ".symtab");
	bare = open_memory(file.bytes, file.size);
	is = rows_of(bare);
	c.im = whole;
	c.is = &is;
	c.wanted = &wanted;
	(void)image_each_function(whole, compare_function, &c);
	print_message("%s%s: %zu functions, %zu with all rows, %zu of %zu bytes, %zu wrong\n", path,
		      has_symbols ? "" : " without symbols", c.n_functions, c.n_with_rows,
		      c.n_bytes_with_rows, c.n_bytes, c.n_wrong);
	image_close(whole);
	image_close(bare);
	free(file.bytes);
	free(is.rows);
	free(wanted.rows);
	return c;
}

/* --- by compilers --- */

/* Of functions, all of whose instructions have rows: several have a switch, whose cases have none.
 */
#define LEAST_PERCENT 75

static const struct flavour {
	const char *compiler;
	const char *flags;
} flavours[] = {
	{ "gcc", "-O0" },
	{ "gcc", "-O2" },
	{ "gcc", "-O3 -fstack-clash-protection -fstack-protector-strong" },
	{ "gcc", "-Os" },
	{ "clang", "-O2" },
};

#define SOURCES                                                                      \
	"unit/shapes.c ../src/unwind/cfi.c ../src/unwind/table.c ../src/elf/lines.c" \
	" ../src/elf/index.c ../src/match/expression.c ../src/profile/merge.c"

TEST(what_compilers_made_has_the_rows_that_they_tell)
{
	for (size_t i = 0; i < ARRAY_SIZE(flavours); i++) {
		const struct flavour *f = &flavours[i];
		cleanup_free char *path = scratch_path("shapes.so");
		cleanup_free char *command = xasprintf(
			"cd tests && %s -std=gnu17 -w -D_GNU_SOURCE -I../src %s -g -fPIC -shared "
			"-fno-asynchronous-unwind-tables -fno-unwind-tables -o %s " SOURCES,
			f->compiler, f->flags, path);

		assert_int_equal(system(command), 0);
		for (int has_symbols = 0; has_symbols < 2; has_symbols++) {
			const struct compared c = compare_file(path, has_symbols);

			assert_int_equal(c.n_wrong, 0);
			assert_true(c.n_functions > 40 &&
				    c.n_with_rows * 100 >= c.n_functions * LEAST_PERCENT);
		}
	}
}

/* --- by hand --- */

#define TEXT (MADE_VADDR + MADE_HEAD)

/* The rows of "call 0x40; hlt", @code at 0x40, "ret" at 0x80, a loop at 0x90, and @data behind. */
static struct rows rows_of_code(uint8_t text[0x1100], const char *code, size_t n,
				const struct made_section *data)
{
	struct made_section sections[2] = { { ".text", text, 0x1100 } };

	memset(text, 0xcc, 0x1100);
	memcpy(text, "\xe8\x3b\0\0\0\xf4", 6);
	memcpy(text + 0x40, code, n);
	text[0x80] = 0xc3;
	memcpy(text + 0x90, "\xeb\xfe", 2);
	if (data)
		sections[1] = *data;

	cleanup(image_freep) struct image *im = open_made(sections, data ? 2 : 1, 64);

	return rows_of(im);
}

/*
 *	0x40: cmp $2,%edi;  ja 0x5a;  lea table(%rip),%rdx;  movslq (%rdx,%rdi,4),%rax
 *	      add %rdx,%rax;  jmp *%rax
 *	0x55: push %rax;  pop %rax;  ret       0x58: ret       0x59: ret       0x5a: ret
 */
TEST(cases_of_a_switch_have_no_rows)
{
	static uint8_t text[0x1100];
	static const char code[] =
		"\x83\xff\x02\x77\x15\x48\x8d\x15\xb4\x10\0\0\x48\x63\x04\xba\x48\x01\xd0\xff\xe0"
		"\x50\x58\xc3\xc3\xc3\xc3";
	const int32_t table[] = { 0x55 - (int32_t)sizeof(text), 0x58 - (int32_t)sizeof(text),
				  0x59 - (int32_t)sizeof(text) };
	const struct made_section rodata = { ".rodata", table, sizeof(table) };
	struct rows r = rows_of_code(text, code, sizeof(code) - 1, &rodata);

	for (uint64_t at = 0x40; at <= 0x5a; at++) {
		const bool is_case = at >= 0x55 && at < 0x5a;

		assert_int_equal(row_at(&r, TEXT + at)->kind, is_case ? CFI_GAP : CFI_ROW);
		assert_int_equal(row_at(&r, TEXT + at)->cfa.offset, is_case ? 0 : 8);
	}
	free(r.rows);
}

/*
 *	0x40: sub $24,%rsp;  lea -4096(%rsp),%r11;  call 0x80;  cmp %r11,%rsp;  jne 0x5c
 *	0x56: call 0x90;  nop      0x5c: add $24,%rsp;  ret
 */
TEST(a_callee_may_change_the_end_of_a_loop_that_probes_the_stack)
{
	static uint8_t text[0x1100];
	static const char code[] =
		"\x48\x83\xec\x18\x4c\x8d\x9c\x24\0\xf0\xff\xff\xe8\x2f\0\0\0\x4c\x39\xdc"
		"\x75\x06\xe8\x35\0\0\0\x90\x48\x83\xc4\x18\xc3";
	struct rows r = rows_of_code(text, code, sizeof(code) - 1, NULL);

	assert_int_equal(row_at(&r, TEXT + 0x4c)->cfa.offset, 32);
	assert_int_equal(row_at(&r, TEXT + 0x56)->cfa.offset, 32);
	free(r.rows);
}

TEST(init_and_fini_have_rows)
{
	struct image *im = open_image("/proc/self/exe");
	struct rows r = rows_of(im);
	struct image_section s;

	for (int i = 0; i < 2; i++) {
		assert_true(image_section(im, i ? ".fini" : ".init", &s));
		for (size_t at = 0, depth = 8; at < s.size; at++) {
			assert_int_equal(row_at(&r, s.vaddr + at)->cfa.offset, depth);
			if (at >= 3 && memcmp(s.data + at - 3, "\x48\x83\xec\x08", 4) == 0)
				depth = 16;
			else if (at >= 3 && memcmp(s.data + at - 3, "\x48\x83\xc4\x08", 4) == 0)
				depth = 8;
		}
	}
	image_close(im);
	free(r.rows);
}

/* --- musl as installed: it has no .debug_frame to compare with, but rows can be counted --- */

struct functions {
	struct rows rows;
	size_t n, n_with_rows;
};

static int count_function(void *context, const struct image_symbol *symbol)
{
	struct functions *f = context;

	f->n++;
	f->n_with_rows += row_at(&f->rows, symbol->vaddr)->kind == CFI_ROW;
	return 0;
}

/* The functions that have symbols, and those of them that begin with a row. */
static struct functions functions_of(const char *path, bool has_symbols)
{
	struct file file = {};
	struct functions f = {};

	file.bytes = read_file(path, &file.size);

	struct image *whole = open_memory(file.bytes, file.size), *im;

	if (!has_symbols)
		hide(&file, ".symtab");
	im = open_memory(file.bytes, file.size);
	f.rows = rows_of(im);
	(void)image_each_function(whole, count_function, &f);
	print_message("%s%s: rows of %zu functions of %zu\n", path,
		      has_symbols ? "" : " without symbols", f.n_with_rows, f.n);
	image_close(im);
	image_close(whole);
	free(file.bytes);
	free(f.rows.rows);
	return f;
}

TEST(nearly_all_functions_of_musl_have_rows)
{
	const struct functions shared = functions_of("/lib/ld-musl-x86_64.so.1", true);

	assert_true(shared.n > 1000 && shared.n_with_rows * 100 >= shared.n * 95);
}

TEST(functions_of_a_static_program_are_found_with_and_without_symbols)
{
	cleanup_free char *path = scratch_path("static");
	cleanup_free char *command =
		xasprintf("echo 'int main(void) { return printf(\"%%d\", 1); }' | "
			  "musl-gcc -static -include stdio.h -o %s -x c -",
			  path);
	struct functions with, without;

	assert_int_equal(system(command), 0);
	with = functions_of(path, true);
	without = functions_of(path, false);
	assert_true(with.n > 40 && with.n_with_rows * 100 >= with.n * 90);
	assert_true(without.n_with_rows * 100 >= with.n_with_rows * 75);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		(void)compare_file(argv[i], true);
		(void)compare_file(argv[i], false);
	}
	return argc > 1 ? 0 : run_all_tests(scratch_make, scratch_remove);
}
