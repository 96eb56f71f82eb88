/* rooms: unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a Go program's own table says of its functions, and what becomes of tables that are none. */
#include "test.h"

#include "arch/arch.h"
#include "elf_files.h"
#include "made_go.h"
#include "rules.h"

#define BUDGET (64UL << 20)
#define cleanup_image cleanup(image_freep)

static const struct unwind_rule none = {};
static const struct unwind_rule first = { .how = UNWIND_OUTERMOST };
static const struct unwind_rule signal_return = { .how = UNWIND_SIGNAL };

struct program {
	uint8_t text[GO_TEXT_BYTES];
	uint8_t table[GO_TABLE_BYTES];
	struct made_section more[3]; /* behind them */
	size_t n_more;
	const char *name; /* of the table's section */
};

static void make(struct program *p, int format)
{
	*p = (struct program){ .name = ".gopclntab" };
	make_go_text(p->text);
	make_go_table(p->table, format, GO_TEXT);
}

/* The first @n_table bytes of the table are there. */
static struct image *open_cut(const struct program *p, size_t n_table)
{
	struct made_section sections[5] = { { ".text", p->text, sizeof(p->text) },
					    { p->name, p->table, n_table } };

	for (size_t i = 0; i < p->n_more; i++)
		sections[2 + i] = p->more[i];
	return open_made(sections, 2 + p->n_more, 64);
}

static struct image *open_program(const struct program *p)
{
	return open_cut(p, sizeof(p->table));
}

static struct unwind_table table_of(const struct program *p)
{
	cleanup_image struct image *im = open_program(p);
	struct unwind_table t;

	assert_works(unwind_table_make(im, BUDGET, &t, &e));
	return t;
}

static uint64_t vaddr_of(size_t i)
{
	return GO_TEXT + i * GO_FUNCTION_BYTES;
}

static uint64_t vaddr_named(const char *name)
{
	for (size_t i = 0; i < GO_N; i++)
		if (strcmp(made_functions[i].name, name) == 0)
			return vaddr_of(i);
	fail_msg("no %s", name);
	return 0;
}

static void expect_names(struct image *im)
{
	struct image_symbol s;

	for (size_t i = 0; i < GO_N; i++) {
		const struct made_function *f = &made_functions[i];

		assert_true(image_function_at(im, vaddr_of(i), &s));
		assert_string_equal(s.name, f->name);
		assert_int_equal(s.vaddr, vaddr_of(i));
		assert_int_equal(s.size, f->size);
		assert_true(image_function_at(im, vaddr_of(i) + f->size - 1, &s));
		if (f->size < GO_FUNCTION_BYTES)
			assert_false(image_function_at(im, vaddr_of(i) + f->size, &s));
	}
	assert_false(image_function_at(im, GO_TEXT - 1, &s));
	assert_false(image_function_at(im, vaddr_of(GO_N), &s));
}

static int count(void *context, const struct image_symbol *symbol)
{
	assert_string_equal(symbol->name, made_functions[(*(size_t *)context)++].name);
	return 0;
}

TEST(functions_of_every_format)
{
	for (int format = 0; format < GO_FORMATS; format++) {
		struct program p;
		size_t n = 0;

		make(&p, format);

		cleanup_image struct image *im = open_program(&p);

		expect_names(im);
		assert_int_equal(image_each_function(im, count, &n), 0);
		assert_int_equal(n, GO_N);
	}
}

static void expect_none(const struct program *p, const char *what)
{
	cleanup_image struct image *im = open_program(p);
	struct go_table t;

	if (go_table_of(im, &t))
		fail_msg("%s: taken", what);
}

/* --- where the code begins --- */

/* In position-independent programs: a relocation says it. */
TEST(text_by_a_relocation)
{
	const Elf64_Rela relocations[] = {
		{ GO_TABLE + 16, ELF64_R_INFO(0, R_X86_64_RELATIVE), 1 },
		{ GO_TABLE + 24, ELF64_R_INFO(0, R_X86_64_64), 1 },
		{ GO_TABLE + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE), GO_TEXT },
	};
	struct program p;

	make(&p, GO_1_18);
	make_go_table(p.table, GO_1_18, 0);
	p.name = ".data.rel.ro.gopclntab";
	expect_none(&p, "without a relocation");
	p.more[p.n_more++] = (struct made_section){ ".rela.dyn", relocations, sizeof(relocations) };

	cleanup_image struct image *im = open_program(&p);

	expect_names(im);
}

/* From Go 1.26 on the runtime's moduledata alone does. */
TEST(text_by_the_module)
{
	uint64_t module[24] = { GO_TABLE, [22] = GO_TEXT };
	struct program p;

	make(&p, GO_1_20);
	make_go_table(p.table, GO_1_20, 0);
	expect_none(&p, "without a module");
	p.more[p.n_more++] = (struct made_section){ ".go.module", module, sizeof(module) };

	cleanup_image struct image *im = open_program(&p);

	expect_names(im);
	module[0]++;
	expect_none(&p, "another table's module");
	module[0]--;
	p.more[0].size = 22 * 8;
	module[22] = 0;
	expect_none(&p, "a module that is cut");
}

/* Linkers other than Go's put it behind other things. */
TEST(a_table_within_a_section)
{
	uint8_t data[0x20 + GO_TABLE_BYTES] = {};
	const uint64_t at = GO_TEXT + GO_TEXT_BYTES;
	const size_t before = 0x10 + (size_t)(-at % 16); /* it is aligned */
	struct program p;

	make(&p, GO_1_18);
	memcpy(data + before, p.table, sizeof(p.table));

	const struct made_section sections[] = { { ".text", p.text, sizeof(p.text) },
						 { ".data.rel.ro", data, sizeof(data) },
						 { ".go.buildinfo", "x", 1 } };
	cleanup_image struct image *other = open_made(sections, 2, 64);
	cleanup_image struct image *im = open_made(sections, 3, 64);
	struct go_table t;

	assert_false(go_table_of(other, &t));
	expect_names(im);
}

/* --- tables that make no sense --- */

TEST(what_is_no_table_is_refused)
{
	static const struct {
		const char *what;
		size_t at;
		uint64_t value;
		size_t n;
	} changes[] = {
		{ "a format that is not known", 0, 0xfffffff2, 4 },
		{ "not x86-64's", 6, 4, 1 },
		{ "a machine of 32 bits", 7, 4, 1 },
		{ "no functions", 8, 0, 8 },
		{ "more functions than there is room for", 8, 0x1000, 8 },
		{ "more functions than there can be", 8, UINT64_MAX / 8, 8 },
		{ "code that is not there", 24, GO_TEXT + (1 << 20), 8 },
		{ "functions beyond the table", 64, GO_TABLE_BYTES - 8, 8 },
		{ "functions beyond all", 64, UINT64_MAX - 8, 8 },
		{ "out of order", GO_FUNCTIONS_AT + 3 * 8, GO_FUNCTION_BYTES * 5, 4 },
		{ "an end beyond the code", GO_FUNCTIONS_AT + GO_N * 8, 1 << 20, 4 },
	};
	struct program p;

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		make(&p, GO_1_20);
		put_at(p.table, changes[i].at, changes[i].value, changes[i].n);
		expect_none(&p, changes[i].what);
	}
}

/* A sanitizer sees that nothing behind the file is read. fuzz_go.c checks the functions. */
TEST(a_table_that_is_cut_anywhere)
{
	struct program p;
	size_t n_taken = 0;

	for (int format = 0; format < GO_FORMATS; format++) {
		make(&p, format);
		for (size_t n = 1; n < sizeof(p.table); n += n < 128 ? 1 : 7) {
			cleanup_image struct image *im = open_cut(&p, n);
			cleanup(unwind_table_fini) struct unwind_table table = {};
			struct image_symbol s;
			struct go_table t = {};
			struct error e;

			n_taken += go_table_of(im, &t);
			for (uint32_t i = 0; i < t.n; i++)
				(void)image_function_at(im, vaddr_of(i), &s);
			assert_int_equal(unwind_table_make(im, BUDGET, &table, &e),
					 t.n ? 0 : -ENOENT);
		}
	}
	assert_true(n_taken > 0);
}

/* As far as they make sense; then a function ends where the next one begins. */
TEST(steps_that_make_no_sense)
{
	static const struct {
		const char *steps;
		size_t n, size;
	} cases[] = {
		{ "\x02\x04\x10\x00\x10\x04", 6, 4 },             /* no byte on */
		{ "\x02\x04\x10\x7f", 4, 4 },                     /* beyond the next function */
		{ "\x02\x04\x80\x80\x80\x80\x80\x01\x01", 9, 4 }, /* more than 32 bits */
		{ "\x02\x04\xff\xff\xff\xff\x1f\x01", 8, 4 },
		{ "\x02\x40", 2, GO_FUNCTION_BYTES },
		{ "\x02\x00", 2, GO_FUNCTION_BYTES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct image_symbol s;
		struct program p;

		make(&p, GO_1_20);
		memset(p.table + 0x780, 0, 16);
		memcpy(p.table + 0x780, cases[i].steps, cases[i].n);
		put_at(p.table, GO_RECORDS_AT + GO_RECORD_BYTES + 16, 0x780 - GO_STEPS_AT, 4);

		cleanup_image struct image *im = open_program(&p);

		assert_true(image_function_at(im, vaddr_named("main.main"), &s));
		assert_int_equal(s.size, cases[i].size);
	}
}

/* --- beside symbols --- */

static int count_all(void *context, const struct image_symbol *symbol)
{
	++*(size_t *)context;
	return 0;
}

TEST(symbols_go_before)
{
	static const char strings[] = "\0main.main.abi0\0x";
	const Elf64_Sym symbols[] = {
		{},
		{ .st_name = 1,
		  .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		  .st_shndx = 1,
		  .st_value = vaddr_named("main.main"),
		  .st_size = 13 },
	};
	struct program p;
	struct image_symbol s;
	size_t size, n = 0;

	make(&p, GO_1_18);

	const struct made_section sections[] = { { ".text", p.text, sizeof(p.text) },
						 { ".gopclntab", p.table, sizeof(p.table) },
						 { ".symtab", symbols, sizeof(symbols) },
						 { ".strtab", strings, sizeof(strings) } };
	cleanup_free uint8_t *file = made_elf(sections, 4, 64, &size);

	made_symtab(file);

	cleanup_image struct image *im = open_memory(file, size);

	assert_true(image_function_at(im, vaddr_named("main.main") + 12, &s));
	assert_string_equal(s.name, "main.main.abi0");
	assert_true(image_function_at(im, vaddr_named("main.assembly"), &s));
	assert_string_equal(s.name, "main.assembly");
	assert_int_equal(image_each_function(im, count_all, &n), 0);
	assert_int_equal(n, 1); /* those that have symbols, and no other names of them */
}

/* --- rows --- */

#define BY_RSP(kind, offset, bp) RULE(kind, UNWIND_RSP, offset, bp, UNWIND_THIRD_LOST)
#define MOVED(offset, bp) BY_RSP(UNWIND_IS, offset, bp)

static void expect(const struct unwind_table *t, const char *name, uint64_t at,
		   struct unwind_rule wanted)
{
	expect_rule(t, vaddr_named(name) + at, wanted, name);
}

static void expect_rows(const struct unwind_table *t)
{
	const struct unwind_rule popped = { .third = UNWIND_THIRD_LOST,
					    .how = UNWIND_HOW(UNWIND_PC_IN, 12) };
	static const char *const framed[] = { "main.main", "main.assembly" };

	for (size_t i = 0; i < ARRAY_SIZE(framed); i++) {
		const int16_t fp = i ? UNWIND_FP_LOST : -2;

		expect(t, framed[i], 0, MOVED(8, 0));
		expect(t, framed[i], 3, MOVED(8, 0));
		expect(t, framed[i], 4, MOVED(24, fp));
		expect(t, framed[i], 11, MOVED(24, fp));
		expect(t, framed[i], 12, MOVED(8, 0));
	}
	expect(t, "syscall.popped", 1, MOVED(8, 0));
	expect(t, "syscall.popped", 2, popped);
	expect(t, "syscall.popped", 4, MOVED(8, 0));
	expect(t, "runtime.systemstack", 0, UNWIND_FRAME_POINTERS);
	expect(t, "runtime.mcall", 0, MOVED(8, 0));
	expect(t, "runtime.mcall", 1, first);
	expect(t, "runtime.clone", 4, MOVED(8, 0));
	expect(t, "runtime.clone", 5, BY_RSP(UNWIND_CLONED, 8, 0));
	expect(t, "runtime.clone", 12, BY_RSP(UNWIND_CLONED, 8, 0));
	expect(t, "runtime.clone", 13, first);
	expect(t, "runtime.sigreturn", -1, signal_return);
	expect(t, "runtime.sigreturn", 0, signal_return);
	expect(t, "runtime.sigreturn", 15, signal_return);
	expect(t, "runtime.sigpanic", 0, BY_RSP(UNWIND_PUSHED, 8, 0));
	expect(t, "runtime.sigpanic", 4, BY_RSP(UNWIND_PUSHED, 24, -2));
	expect(t, "runtime.goexit", 1, first);
	expect(t, "runtime.sigtramp", 0, MOVED(8, 0));
	expect(t, "runtime.sigtramp", 4, MOVED(24, UNWIND_FP_LOST));
	expect(t, "_rt0_amd64_linux", 0, first);
}

/* C code at @at behind where c_code begins, which moves rsp but keeps no frame pointer. */
static void put_code(struct program *p, size_t at, const char *code, size_t n)
{
	memcpy(p->text + vaddr_named("c_code") - GO_TEXT + at, code, n);
}

#define SAVED(offset, bp, bx) RULE(UNWIND_IS, UNWIND_RSP, offset, bp, bx)

static void make_with_c_code(struct program *p, int format)
{
	/* push %rbp;  push %rbx;  sub $8,%rsp;  mov (%rdi),%rbp;  call ...;
	   add $8,%rsp;  pop %rbx;  pop %rbp;  ret */
	static const char caller[] = "\x55\x53\x48\x83\xec\x08\x48\x8b\x2f\xe8\x32\0\0\0"
				     "\x48\x83\xc4\x08\x5b\x5d\xc3";
	static const char callee[] = "\x50\x58\xc3"; /* push %rax;  pop %rax;  ret */
	static const char unsure[] = "\x48\x83\xec\x08\x58\xff\xe0"; /* ... jmp *%rax */

	make(p, format);
	memset(p->text + vaddr_named("c_code") - GO_TEXT, 0xcc,
	       GO_TEXT + GO_TEXT_BYTES - vaddr_named("c_code"));
	put_code(p, 0, caller, sizeof(caller) - 1);
	put_code(p, 0x40, callee, sizeof(callee) - 1);
	put_code(p, 0x80, unsure, sizeof(unsure) - 1);
}

/* Its linker drops their entries. Go's table has their names, but not how far they move rsp. */
TEST(c_code_of_gos_linker_has_rows_by_its_instructions)
{
	for (int format = 0; format < GO_FORMATS; format++) {
		struct program p;

		make_with_c_code(&p, format);

		cleanup(unwind_table_fini) struct unwind_table t = table_of(&p);

		expect_rows(&t);
		expect(&t, "c_code", 0, SAVED(8, 0, 0));
		expect(&t, "c_code", 1, SAVED(16, -2, 0));
		expect(&t, "c_code", 6, SAVED(32, -2, -3));
		expect(&t, "c_code", 13, SAVED(32, -2, -3)); /* the call's last byte */
		expect(&t, "c_code", 20, SAVED(8, 0, 0));
		expect(&t, "c_code", 0x41, SAVED(16, 0, 0));
		expect(&t, "c_code", 0x80, none);
		expect(&t, "c_code", 0x84, none);
	}
}

/* As before Go 1.18. */
TEST(code_of_an_unknown_format_has_no_rows)
{
	cleanup(unwind_table_fini) struct unwind_table t = {};
	struct program p;
	struct error e;

	make_with_c_code(&p, GO_1_18);
	put_at(p.table, 0, 0xfffffffa, 4);

	cleanup_image struct image *im = open_program(&p);

	assert_true(image_is_go(im));
	assert_int_equal(unwind_table_make(im, BUDGET, &t, &e), -ENOENT);
}

/* Without steps Go's table may be damaged: then nothing is known of the code. */
TEST(code_without_steps_has_no_frame_pointers)
{
	cleanup(unwind_table_fini) struct unwind_table t = {};
	struct program p;
	struct error e;

	make(&p, GO_1_20);
	put_at(p.table, GO_RECORDS_AT + GO_RECORD_BYTES + 16, 0, 4); /* main.main's */

	cleanup_image struct image *im = open_program(&p);

	assert_int_equal(unwind_table_make(im, BUDGET, &t, &e), 0);
	expect(&t, "main.main", 0, none);
	expect(&t, "main.main", 13, none);
	expect(&t, "main.assembly", 0, MOVED(8, 0));
}

/* An entry says "CFA = rsp + 32" of @size bytes of code from @start on. */
static struct unwind_table table_with_entry(uint64_t start, uint64_t size)
{
	uint8_t frames[] = { 0x14, 0, 0,    0, 0,    0, 0, 0, 1, 'z',  0,  1, 0x78, 0x10, 0, 0x0c,
			     7,    8, 0x90, 1, 0,    0, 0, 0, /* the CIE */
			     0x1c, 0, 0,    0, 0x1c, 0, 0, 0, 0, 0,    0,  0, 0,    0,    0, 0,
			     0,    0, 0,    0, 0,    0, 0, 0, 0, 0x0e, 32, 0, 0,    0,    0, 0 };
	struct program p;

	make(&p, GO_1_20);
	put_at(frames, 32, start, 8);
	put_at(frames, 40, size, 8);
	p.more[p.n_more++] = (struct made_section){ ".eh_frame", frames, sizeof(frames) };
	return table_of(&p);
}

static const struct unwind_rule of_c = { .offset = 32, .how = UNWIND_HOW(UNWIND_IS, UNWIND_RSP) };

TEST(entries_are_of_c_code)
{
	cleanup(unwind_table_fini) struct unwind_table t =
		table_with_entry(vaddr_named("c_code") + 2, 4);

	expect(&t, "c_code", 1, none);
	expect(&t, "c_code", 2, of_c);
	expect(&t, "c_code", 5, of_c);
	expect(&t, "c_code", 6, none);
	expect_rows(&t);
}

/* As they may be in .debug_frame, which knows less of it. */
TEST(entries_are_not_of_gos_own_code)
{
	const uint64_t start = vaddr_named("main.main") - 1;
	cleanup(unwind_table_fini) struct unwind_table t =
		table_with_entry(start, vaddr_named("main.assembly") + 1 - start);

	expect_rows(&t);
	expect(&t, "main.main", -1UL, of_c); /* between the functions */
	expect(&t, "main.main", 13, of_c);
	expect(&t, "main.main", 31, of_c);
	expect(&t, "main.assembly", 13, none);
}

TEST_MAIN(NULL, NULL)
