/* rooms: elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "elf_files.h"

#include <elf.h>

#include "base/log.h"
#include "elf/debug.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

/* Addresses are fixed by .org, so that the answers can be written down: text is at @text. */
static const char functions_source[] =
	".text\n"
	"text: .globl text\n"
	".macro function name at size\n"
	".org text + \\at\n"
	".globl \\name\n"
	".type \\name, @function\n"
	"\\name:\n"
	".size \\name, \\size\n"
	".endm\n"
	"function plain 0x100 0x40\n"
	"function malloc 0x200 0x40\n"
	".set __libc_malloc, malloc\n"
	".globl __libc_malloc; .type __libc_malloc, @function; .size __libc_malloc, 0x40\n"
	".set __GI_malloc, malloc; .type __GI_malloc, @function; .size __GI_malloc, 0x40\n"
	".set a, malloc; .type a, @function; .size a, 0x40\n" /* local, though short */
	".set malloc_unsized, malloc; .globl malloc_unsized; .type malloc_unsized, @function\n"
	"function _Exit 0x280 0x20\n"
	".set _exit, _Exit; .globl _exit; .type _exit, @function; .size _exit, 0x20\n"
	"function outer 0x300 0x80\n"
	"function inner 0x320 8\n"
	"function unsized_inside 0x360 0\n"
	"function wide 0x400 0x80\n"
	".set narrow, wide; .globl narrow; .type narrow, @function; .size narrow, 0x10\n"
	"function unsized 0x500 0\n"
	"function crossing 0x540 0x40\n"
	"function crossed 0x560 0x40\n"
	"function huge 0x600 0x7fffffffffff\n"
	"function versioned_1 0x640 0x10\n"
	".symver versioned_1, versioned@@V1\n"
	"function last 0x680 0\n"
	".weak weak; .type weak, @function; weak:\n"
	".globl chosen; .type chosen, @gnu_indirect_function; .org text + 0x6c0\n"
	"chosen: .size chosen, 4\n"
	".org text + 0x6e0\n"
	"label_without_type: .globl label_without_type\n"
	".org text + 0x700\n"
	".data\n"
	".globl data_function; .type data_function, @function; data_function: .quad 1\n"
	".size data_function, 8\n";

static const char probes_source[] =
	"#include <sys/sdt.h>\n"
	"__attribute__((noinline)) void sell(int n) { STAP_PROBE1(shop, buy, n); }\n"
	"int main(int c, char **v) { (void)v; sell(c); STAP_PROBE1(shop, buy, c);\n"
	"	STAP_PROBE(house, door); return 0; }\n";

static int make_files(void **state)
{
	static const char map[] = "V1 { global: versioned; };\n";

	assert_int_equal(scratch_make(state), 0);
	scratch_write("functions.s", functions_source);
	scratch_write("map", map);
	scratch_write("probes.c", probes_source);
	return scratch_run(
		"as functions.s -o functions.o && "
		"ld -shared --version-script=map functions.o -o functions.so && "
		"echo 'f: .globl f; .type f, @function; .org 0x20; .size f, .-f' > narrow.s && "
		"as --32 narrow.s -o narrow.o && ld -m elf_i386 -shared narrow.o -o narrow.so && "
		"echo 'int main(void) { return 0; }' > fixed.c && gcc -no-pie fixed.c -o fixed && "
		"gcc -O1 -w probes.c -o probes && gcc -O1 -w -no-pie probes.c -o probes_fixed");
}

/* opening */

TEST(what_is_no_program_is_refused_with_the_reason)
{
	static const struct {
		const char *name;
		int code;
		const char *why; /* behind its path */
	} rows[] = {
		{ "nothing", -ENOENT, ": No such file or directory" },
		{ ".", -ENOEXEC, ": not a regular file" },
		{ "fifo", -ENOEXEC, ": not a regular file" },
		{ "empty", -ENOEXEC, ": not an ELF file: it is empty" },
		{ "functions.s", -ENOEXEC, ": not an ELF file" },
		{ "functions.o", -ENOEXEC, ": neither a program nor a library (an object file)" },
	};

	scratch_run("touch empty && mkfifo fifo");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const bool is_there = rows[i].code != -ENOENT;
		cleanup_free char *expected = xasprintf("%s%s/%s%s", is_there ? "" : "open ",
							scratch, rows[i].name, rows[i].why);
		struct image *im = NULL;
		struct error e = {};

		assert_int_equal(image_open(scratch_lent(rows[i].name), &im, &e), rows[i].code);
		assert_string_equal(e.text, expected);
		assert_null(im);
	}
}

TEST(a_header_that_does_not_fit_is_refused_with_the_reason)
{
	static const struct {
		size_t at, n; /* bytes of the file; 0: all */
		uint8_t byte;
		const char *why;
	} rows[] = {
		{ 0, 0, 'x', "x: not an ELF file" },
		{ 0, 3, 0x7f, "x: not an ELF file" },
		{ 0, 63, 0x7f, "x: too short for an ELF file" },
		{ EI_CLASS, 51, ELFCLASS32, "x: too short for an ELF file" },
		{ EI_CLASS, 0, 7, "x: neither a 32-bit nor a 64-bit ELF file" },
		{ EI_DATA, 0, ELFDATA2MSB, "x: its byte order is not this machine's" },
		{ offsetof(Elf64_Ehdr, e_type), 0, ET_CORE,
		  "x: neither a program nor a library (a core dump)" },
		{ offsetof(Elf64_Ehdr, e_type), 0, 77, "x: neither a program nor a library" },
		{ offsetof(Elf64_Ehdr, e_machine), 0, EM_S390,
		  "x: built for another processor (machine 22)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n;
		cleanup_free uint8_t *data = read_file("functions.so", &n);
		struct image *im = NULL;
		struct error e = {};

		data[rows[i].at] = rows[i].byte;
		n = rows[i].n ? rows[i].n : n;
		assert_int_equal(image_open_memory(data, n, "x", &im, &e), -ENOEXEC);
		assert_string_equal(e.text, rows[i].why);
		assert_null(im);
	}
}

TEST(a_descriptor_stays_the_callers)
{
	cleanup_close int fd = open(scratch_lent("functions.so"), O_RDONLY);
	struct image *im = NULL;
	struct image_symbol symbol;

	assert_int_equal(image_open_fd(fd, "x", &im, NULL), 0);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	close(TAKE_FD(fd));
	assert_false(image_function_at(im, 0, &symbol)); /* lives without it */
	image_freep(&im);
	assert_null(im);
	image_close(NULL);
	assert_int_equal(image_open_fd(-1, "x", &im, NULL), -EBADF);
}

/* What is at an offset of the text of functions.so: "name offset-in-it/size", or "". */
TEST(a_function_goes_as_far_as_is_known)
{
	static const struct {
		uint64_t offset;
		const char *is;
	} rows[] = {
		{ 0, "" },
		{ 0xff, "" },
		{ 0x100, "plain 0/0x40" },
		{ 0x13f, "plain 0x3f/0x40" },
		{ 0x140, "" },
		{ 0x1ff, "" },
		{ UINT64_MAX, "" },
		/* Of aliases, the one that a person writes. */
		{ 0x200, "malloc 0/0x40" },
		{ 0x23f, "malloc 0x3f/0x40" },
		{ 0x240, "" },
		{ 0x280, "_exit 0/0x20" },
		/* One in another, and behind it the other. */
		{ 0x31f, "outer 0x1f/0x80" },
		{ 0x320, "inner 0/0x8" },
		{ 0x327, "inner 0x7/0x8" },
		{ 0x328, "outer 0x28/0x80" },
		{ 0x360, "unsized_inside 0/0x20" }, /* no further than what it is in */
		{ 0x37f, "unsized_inside 0x1f/0x20" },
		{ 0x380, "" },
		{ 0x400, "narrow 0/0x10" },
		{ 0x410, "wide 0x10/0x80" },
		{ 0x55f, "crossing 0x1f/0x40" },
		{ 0x560, "crossed 0/0x40" },
		{ 0x59f, "crossed 0x3f/0x40" },
		{ 0x5a0, "" },
		/* Without a size: up to the next, or to the section's end. */
		{ 0x500, "unsized 0/0x40" },
		{ 0x53f, "unsized 0x3f/0x40" },
		{ 0x67f, "huge 0x7f/0x100" }, /* cut at its section's end */
		{ 0x680, "last 0/0x40" },
		{ 0x6bf, "last 0x3f/0x40" },
		{ 0x6c0, "chosen 0/0x4" },
		{ 0x6ff, "huge 0xff/0x100" },
		{ 0x700, "" },
	};
	cleanup(image_freep) struct image *im = open_image("functions.so");
	const uint64_t text = find(im, "plain").symbol.vaddr - 0x100;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint64_t at = text + rows[i].offset;
		struct image_symbol s = {};
		char is[128] = "";

		if (image_function_at(im, at, &s))
			(void)snprintf(is, sizeof(is), "%s %#lx/%#lx", s.name, at - s.vaddr,
				       s.size);
		if (strcmp(is, rows[i].is) != 0)
			fail_msg("at %#lx: '%s', not '%s'", rows[i].offset, is, rows[i].is);
	}
}

TEST(functions_are_listed_with_what_is_known_of_them)
{
	cleanup(image_freep) struct image *im = open_image("functions.so");
	struct wanted w = find(im, "plain");

	assert_int_equal(w.n_seen, 2); /* .symtab and .dynsym */
	assert_int_equal(w.symbol.size, 0x40);
	assert_true(w.symbol.is_global);
	assert_false(w.symbol.is_indirect);
	assert_int_equal(find(im, "a").n_seen, 1);
	assert_false(find(im, "a").symbol.is_global);
	assert_true(find(im, "weak").symbol.is_global);
	assert_true(find(im, "chosen").symbol.is_indirect);
	assert_int_equal(find(im, "unsized").symbol.size, 0);
	assert_int_equal(find(im, "versioned").n_seen, 2);
	assert_int_equal(find(im, "label_without_type").n_seen, 0);
	assert_int_equal(find(im, "data_function").n_seen, 0);

	cleanup(image_freep) struct image *libc = open_image(LIBC);

	assert_int_equal(find(libc, "malloc").n_seen, 1);
	assert_true(find(libc, "memcpy").symbol.is_indirect);
}

TEST(a_32_bit_image_is_read_too)
{
	cleanup(image_freep) struct image *im = open_image("narrow.so");
	struct wanted w = find(im, "f");
	struct image_symbol s;

	assert_false(image_is_64_bit(im));
	assert_int_equal(w.n_seen, 2);
	assert_int_equal(w.symbol.size, 0x20);
	assert_true(image_function_at(im, w.symbol.vaddr + 0x1f, &s));
	assert_string_equal(s.name, "f");
	assert_false(image_function_at(im, w.symbol.vaddr + 0x20, &s));
}

TEST(a_compressed_table_of_symbols_is_skipped_and_told)
{
	scratch_run("eu-elfcompress --force --permissive --type=zlib --name=.symtab "
		    "-o table fixed && eu-elfcompress --force --permissive --type=zlib "
		    "--name=.strtab -o names fixed");

	for (unsigned i = 0; i < 2; i++) {
		cleanup_strbuf struct strbuf why = {};

		log_hold(&why);

		cleanup(image_freep) struct image *im = open_image(i ? "names" : "table");

		assert_int_equal(find(im, "main").n_seen, 0);
		log_hold(NULL);
		assert_non_null(strstr(why.text, "skipping .symtab: it is compressed"));
	}
}

/* .dynsym without what sections tell */

/* "objcopy -R" numbers the sections behind anew, but not in .dynsym. */
TEST(symbols_whose_sections_were_moved_are_found_by_address)
{
	scratch_run("ld -shared --build-id --version-script=map functions.o -o id.so && "
		    "objcopy --strip-all id.so stripped.so && "
		    "objcopy -R .note.gnu.build-id stripped.so moved.so");

	cleanup(image_freep) struct image *im = open_image("moved.so");
	struct wanted plain = find(im, "plain");
	struct image_symbol s;

	assert_int_equal(plain.n_seen, 1);
	assert_true(image_function_at(im, plain.symbol.vaddr + 0x3f, &s));
	assert_string_equal(s.name, "plain");
	assert_false(image_function_at(im, plain.symbol.vaddr + 0x40, &s));
	assert_int_equal(find(im, "data_function").n_seen, 0);
}

/* The dynamic linker finds the symbols of such a file, but no distribution has any. */
TEST(without_section_headers_nothing_is_named)
{
	size_t size;
	cleanup_free uint8_t *data = read_file("functions.so", &size);
	cleanup(image_freep) struct image *whole = open_memory(data, size);
	Elf64_Ehdr *head = (Elf64_Ehdr *)data;
	struct image_symbol s;

	head->e_shoff = head->e_shnum = head->e_shstrndx = 0;

	cleanup(image_freep) struct image *im = open_memory(data, size);

	assert_int_equal(find(im, "plain").n_seen, 0);
	assert_false(image_function_at(im, find(whole, "plain").symbol.vaddr, &s));
}

/* The kernel tells each of 1 to 20 bytes; files that it does not tell apart have no debug file. */
TEST(a_build_id_is_what_the_kernel_tells)
{
	static const struct {
		int bytes;
		size_t told, own;
	} rows[] = { { 1, 1, 0 }, { 2, 2, 0 },    { 4, 4, 0 },  { 7, 7, 0 },
		     { 8, 8, 8 }, { 20, 20, 20 }, { 21, 0, 21 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint8_t *told = NULL, *own = NULL;
		cleanup_free char *command = xasprintf(
			"ld -shared --build-id=0x%0*d --version-script=map functions.o -o id.so",
			2 * rows[i].bytes, 12);

		scratch_run(command);

		cleanup(image_freep) struct image *im = open_image("id.so");
		size_t n_told = image_reported_build_id(im, &told);

		assert_int_equal(n_told, rows[i].told);
		assert_int_equal(image_build_id(im, &own), rows[i].own);
		if (n_told)
			assert_int_equal(told[n_told - 1], 0x12);
	}
}

/* segments */

TEST(offsets_and_addresses_are_each_others_inverse)
{
	cleanup(image_freep) struct image *im = open_image("fixed");
	uint64_t vaddr = find(im, "main").symbol.vaddr;
	uint64_t offset = 0;
	uint64_t back = 0;
	const struct slice code = image_code(im, vaddr, 16);
	size_t size;
	cleanup_free uint8_t *data = read_file("fixed", &size);

	assert_true(image_vaddr_to_offset(im, vaddr, &offset));
	assert_true(offset < size && vaddr >= 0x400000);
	assert_true(image_offset_to_vaddr(im, offset, &back));
	assert_true(back == vaddr);
	assert_int_equal(code.size, 16);
	assert_memory_equal(code.data, data + offset, 16);

	assert_false(image_vaddr_to_offset(im, 0, &offset));
	assert_false(image_vaddr_to_offset(im, UINT64_MAX, &offset));
	assert_false(image_offset_to_vaddr(im, size, &back));
	assert_false(image_offset_to_vaddr(im, UINT64_MAX, &back));
	assert_int_equal(image_code(im, 0, 16).size, 0);
	assert_int_equal(image_code(im, 0x400000, 16).size, 0); /* headers: no code */

	/* The segment ends where the section does, at 0x700. */
	cleanup(image_freep) struct image *other = open_image("functions.so");
	uint64_t end = find(other, "huge").symbol.vaddr + 0x100;

	assert_int_equal(image_code(other, end - 5, 16).size, 5);
	assert_int_equal(image_code(other, end, 16).size, 0);
}

/* USDT probes */

struct seen_probes {
	struct image_usdt probes[8];
	size_t n;
};

static int see_probe(void *context, const struct image_usdt *probe)
{
	struct seen_probes *seen = context;

	assert_true(seen->n < ARRAY_SIZE(seen->probes));
	seen->probes[seen->n++] = *probe;
	return 0;
}

TEST(an_image_without_probes_says_so)
{
	cleanup_free char *expected = xasprintf("%s/functions.so has no USDT probes", scratch);
	cleanup(image_freep) struct image *im = open_image("functions.so");
	struct error e = {};

	assert_int_equal(image_each_usdt(im, see_probe, NULL, &e), -ENOENT);
	assert_string_equal(e.text, expected);
}

/* The first note of "probes" in @data: the description's three addresses begin here. */
static uint8_t *find_note(uint8_t *data, size_t size)
{
	return (uint8_t *)memmem(data, size, "\x03\0\0\0stapsdt", 12) + 12;
}

static struct seen_probes probes_in(const uint8_t *data, size_t size)
{
	cleanup(image_freep) struct image *im = open_memory(data, size);
	struct seen_probes seen = {};

	assert_int_equal(image_each_usdt(im, see_probe, &seen, NULL), 0);
	return seen;
}

TEST(probes_move_with_what_was_moved)
{
	size_t size;
	cleanup_free uint8_t *data = read_file("probes_fixed", &size);
	const struct seen_probes before = probes_in(data, size);

	uint64_t base;

	/* The note was written when everything was 4 bytes further up. */
	memcpy(&base, find_note(data, size) + 8, sizeof(base));
	base += 4;
	memcpy(find_note(data, size) + 8, &base, sizeof(base));

	const struct seen_probes after = probes_in(data, size);

	assert_int_equal(after.n, before.n);
	assert_int_equal(after.probes[0].offset, before.probes[0].offset - 4);
	assert_int_equal(after.probes[1].offset, before.probes[1].offset);
}

/* A note is: sizes of owner and description, type; 8 bytes "stapsdt"; the description. */
TEST(notes_that_make_no_sense_are_refused)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *why;
	} rows[] = {
		{ 0, UINT32_MAX, "one goes beyond the section" },
		{ 4, UINT32_MAX, "one goes beyond the section" },
		{ 4, 100000, "one goes beyond the section" },
		{ 4, 23, "one is too short" },
		{ 4, 28, "one has no name" },
		{ 20 + 24, 0, "one has no name" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t size;
		cleanup_free uint8_t *data = read_file("probes", &size);
		cleanup_free char *expected =
			xasprintf("made: invalid notes of USDT probes (%s)", rows[i].why);
		struct seen_probes seen = {};
		struct error e = {};

		memcpy(find_note(data, size) - 20 + rows[i].at, &rows[i].value, 4);

		cleanup(image_freep) struct image *im = open_memory(data, size);

		assert_int_equal(image_each_usdt(im, see_probe, &seen, &e), -ENOEXEC);
		assert_string_equal(e.text, expected);
	}
}

TEST_MAIN(make_files, scratch_remove)
