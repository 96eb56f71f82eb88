/* rooms: elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How many entries of DWARF are read for an answer: see elf/scopes.c. */
#include "test.h"

#include "elf_files.h"

#include <dwarf.h>

#include "elf/scopes.h"

#define N_LEVELS 250
#define N_LEAVES 20000
#define N_INLINED 300
#define N_COSTLY 100000

/* Without DW_AT_sibling. */
static const char head[] = ".globl main, sell\n"
			   ".type main, @function; .type sell, @function\n"
			   ".size main, 1; .size sell, 1\n"
			   "main: nop\n"
			   "sell: nop\n"
			   "end:\n"
			   ".section .debug_abbrev\n"
			   ".byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0 # unit: low_pc, high_pc\n"
			   ".byte 2, 0x2e, 1, 0x11, 1, 0x12, 7, 0, 0 # function: the same\n"
			   ".byte 3, 0x1d, 1, 0x11, 1, 0x12, 7, 0, 0 # inlined function: the same\n"
			   ".byte 4, 0x0b, 1, 0, 0                   # lexical block\n"
			   ".byte 5, 0x34, 0, 0, 0                   # variable\n"
			   ".byte 6, 0x34, 0                         # variable, many flags\n"
			   ".rept 100000; .byte 0x3f, 0x19; .endr; .byte 0, 0\n"
			   ".byte 0\n"
			   ".section .debug_info\n"
			   ".long 3f - 1f\n"
			   "1: .value 4; .long .debug_abbrev; .byte 8\n"
			   ".byte 1; .quad main, end - main\n";
static const char main_and_sell[] = ".byte 2; .quad main, sell - main\n"
				    "%s"
				    ".byte 0\n"
				    ".byte 2; .quad sell, end - sell; .byte 0\n"
				    ".byte 0\n"
				    "3:\n";

static const char source[] = "volatile int sink;\n"
			     "enum shape { ROUND, SQUARE };\n"
			     "struct size { int width; enum shape shape; };\n"
			     "static inline __attribute__((always_inline)) void leaf(int n)\n"
			     "{\n"
			     "	struct size size = { n, SQUARE };\n"
			     "	for (int i = 0; i < n; i++) {\n"
			     "		int k = i * size.width;\n"
			     "		sink += k + size.shape;\n"
			     "	}\n"
			     "}\n"
			     "int main(int n, char **v)\n"
			     "{\n"
			     "	leaf(n);\n"
			     "	if (v) {\n"
			     "		int twice = n * 2;\n"
			     "		leaf(twice);\n"
			     "	}\n"
			     "	return 0;\n"
			     "}\n"
			     "void sell(int n) { leaf(n); }\n";

static void write_assembled(const char *name, const char *entries)
{
	cleanup_free char *middle = xasprintf(main_and_sell, entries);
	cleanup_free char *text = xasprintf("%s%s", head, middle);

	write_file(name, text, strlen(text));
}

static int make_files(void **state)
{
	assert_non_null(mkdtemp(folder));
	write_file("p.c", source, strlen(source));
	write_assembled("nested.s", ".rept 250; .byte 4; .endr\n"
				    ".fill 20000, 1, 5\n"
				    ".zero 250\n"
				    ".byte 3; .quad main, sell - main\n"
				    ".byte 5\n"
				    ".byte 0\n");
	write_assembled("inlined.s", ".rept 300; .byte 3; .quad main, sell - main; .endr\n"
				     ".zero 300\n");
	write_assembled("costly.s", ".fill 100000, 1, 6\n");
	return run("for f in nested inlined costly; do\n"
		   "	gcc -nostdlib -shared $f.s -o $f 2>$f.err || exit\n"
		   "done\n"
		   "gcc -O2 -g -nostdlib -shared -fPIC p.c -o by_gcc &&\n"
		   "clang -O2 -g -nostdlib -shared -fPIC p.c -o by_clang");
}

/* The first unit of a file. */
struct opened {
	int fd;
	Dwarf *dwarf;
	Dwarf_Die unit;
	struct scopes scopes;
	struct scope_list list;
};

static void opened_fini(struct opened *o)
{
	scope_list_fini(&o->list);
	scopes_fini(&o->scopes);
	(void)dwarf_end(o->dwarf);
	(void)close(o->fd);
}

static struct opened open_dwarf(const char *name)
{
	cleanup_free char *path = in_folder(name);
	struct opened o = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	Dwarf_Off next;
	size_t n_header;

	o.dwarf = dwarf_begin(o.fd, DWARF_C_READ);
	assert_non_null(o.dwarf);
	assert_int_equal(dwarf_nextcu(o.dwarf, 0, &next, &n_header, NULL, NULL, NULL), 0);
	assert_non_null(dwarf_offdie(o.dwarf, n_header, &o.unit));
	return o;
}

static const char *ask(struct opened *o, uint64_t vaddr)
{
	scope_list_fini(&o->list);
	return scopes_at(&o->scopes, &o->unit, vaddr, &o->list);
}

static uint64_t vaddr_of(const char *file, const char *function)
{
	cleanup(image_freep) struct image *im = open_image(file);
	const struct wanted w = find(im, function);

	assert_true(w.n_seen > 0);
	return w.symbol.vaddr;
}

/* Below @die, children's children included. */
static uint64_t count_entries(Dwarf_Die *die)
{
	Dwarf_Die child;
	uint64_t n = 0;

	if (dwarf_child(die, &child) != 0)
		return 0;
	do
		n += 1 + count_entries(&child);
	while (dwarf_siblingof(&child, &child) == 0);
	return n;
}

TEST(an_entry_is_read_once_however_deep_it_is)
{
	cleanup(opened_fini) struct opened o = open_dwarf("nested");
	const uint64_t of_main = N_LEVELS + N_LEAVES + 2;

	assert_null(ask(&o, 1));
	assert_int_equal(o.list.n, 0);
	assert_int_equal(o.scopes.n_entries, 1 + of_main + 1);

	assert_null(ask(&o, vaddr_of("nested", "main")));
	assert_int_equal(o.list.n, 2);
	assert_int_equal(dwarf_tag(&o.list.dies[0]), DW_TAG_inlined_subroutine);
	assert_int_equal(dwarf_tag(&o.list.dies[1]), DW_TAG_subprogram);
	assert_int_equal(o.scopes.n_entries, 1 + 2 * of_main + 1);

	assert_null(ask(&o, vaddr_of("nested", "sell")));
	assert_int_equal(o.list.n, 1);
	assert_int_equal(o.scopes.n_entries, 1 + 2 * of_main + 1);
}

TEST(so_it_is_of_each_compiler)
{
	static const char *const names[] = { "by_gcc", "by_clang" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup(opened_fini) struct opened o = open_dwarf(names[i]);
		const uint64_t n_all = count_entries(&o.unit);

		assert_null(ask(&o, 1));
		assert_true(o.scopes.n_entries > 5);
		/* gcc says where siblings are, so entries between them are not read. */
		assert_true(i == 0 ? o.scopes.n_entries < n_all : o.scopes.n_entries == n_all);

		assert_null(ask(&o, vaddr_of(names[i], "sell")));
		assert_true(o.list.n >= 1);
		assert_string_equal(dwarf_diename(&o.list.dies[o.list.n - 1]), "sell");
		assert_null(ask(&o, vaddr_of(names[i], "main")));
		assert_string_equal(dwarf_diename(&o.list.dies[o.list.n - 1]), "main");
		assert_true(o.scopes.n_entries < 2 * n_all);
	}
}

TEST(too_many_inlined_functions_are_none)
{
	cleanup(opened_fini) struct opened o = open_dwarf("inlined");
	const char *why = ask(&o, vaddr_of("inlined", "main"));

	assert_string_equal(why, "more calls are inlined into one another than in any program");
	assert_null(ask(&o, vaddr_of("inlined", "sell")));
	assert_int_equal(o.list.n, 1);
}

/* To read them all takes half a minute. */
TEST(a_signal_ends_the_reading_of_a_unit)
{
	cleanup(opened_fini) struct opened o = open_dwarf("costly");
	const char *why = "interrupted by a signal";
	sigset_t set;
	int number;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	assert_int_equal(raise(SIGTERM), 0);
	assert_string_equal(ask(&o, 1), why);
	assert_int_equal(sigwait(&set, &number), 0);

	/* Nothing of the unit is known from then on. */
	assert_in_range(o.scopes.n_entries, 1, N_COSTLY - 1);
	assert_string_equal(ask(&o, 1), why);
	assert_string_equal(ask(&o, vaddr_of("costly", "main")), why);
	assert_string_equal(ask(&o, vaddr_of("costly", "sell")), why);
}

TEST_MAIN(make_files, remove_files)
