/* rooms: elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Source lines and inlined calls of every byte of a program's functions, held against what
 * addr2line(1) says of it.
 */
#include "test.h"

#include "elf_files.h"

#include <elf.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "elf/debug.h"
#include "elf/image.h"

static const char source[] = "#define INLINE inline __attribute__((always_inline))\n"
			     "volatile int sink;\n"
			     "INLINE void leaf(int n)\n{\n"
			     "	sink += n;\n"
			     "	sink *= 3;\n"
			     "}\n"
			     "INLINE void branch(int n)\n{\n"
			     "	if (n > 5)\n"
			     "		leaf(n);\n"
			     "	leaf(n + 1);\n"
			     "}\n"
			     "__attribute__((noinline)) void sell(int n) { branch(n * n); }\n"
			     "int main(int n, char **v)\n{\n"
			     "	(void)v;\n"
			     "	sell(n);\n"
			     "	branch(n);\n"
			     "	return 0;\n"
			     "}\n";

static int make_files(void **state)
{
	assert_int_equal(scratch_make(state), 0);
	scratch_write("p.c", source);
	return scratch_run(
		"cp p.c p.cc; cc='gcc -O2 -Wl,--build-id=0x0123456789abcdef'; "
		"$cc -g -gdwarf-5 p.c -o five && $cc -g -gdwarf-4 p.c -o four && "
		"$cc -g -gz=zlib p.c -o packed && $cc -g -gz=zlib-gnu p.c -o packed_gnu && "
		"for v in 4 5; do\n"
		"	gcc -O2 -g -gdwarf-$v -gsplit-dwarf p.c -o split_gcc_$v || exit\n"
		"	clang -O2 -g -gdwarf-$v -gsplit-dwarf -fsplit-dwarf-inlining p.c "
		"		-o split_clang_$v || exit\n"
		"done && "
		"clang -O2 -g p.c -o clang && "
		"g++ -O2 -g p.cc -o cxx && g++ -O2 -g -gdwarf-3 p.cc -o cxx_3 && $cc p.c -o none && "
		"objcopy --compress-debug-sections=zstd five zstd && "
		"objcopy --only-keep-debug five five.debug && strip -o apart five && "
		"echo 'int other(int n) { return n * n * n + 7 * n; }' | $cc -g -c -x c - -o other.o && "
		"echo '.section .debug_info; .zero 64' | as - -o pad.o && "
		"$cc -g other.o pad.o p.c -o padded 2>padded.err");
}

/* "leaf p.c:4, main p.c:27" of ours. */
static void put_ours(struct image *im, uint64_t vaddr, char *to, size_t size)
{
	struct image_call calls[16];
	struct image_symbol s = { .name = "??" };
	size_t n = image_calls_at(im, vaddr, calls, ARRAY_SIZE(calls));

	(void)image_function_at(im, vaddr, &s);
	to[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const char *name = calls[i].name ? calls[i].name : s.name;
		const char *slash = calls[i].file ? strrchr(calls[i].file, '/') : NULL;
		size_t at = strlen(to);

		(void)snprintf(to + at, size - at, "%s%s %s:%u", i ? ", " : "", name,
			       slash           ? slash + 1
			       : calls[i].file ? calls[i].file
					       : "?",
			       calls[i].line);
	}
}

/*
 * The same of addr2line's, of the next address: "0x0000000000001139", and pairs of lines like
 * "leaf", "/tmp/x/p.c:4 (discriminator 2)". @name: the line before, and the one that follows.
 */
static void put_theirs(FILE *lines, char name[256], char *to, size_t size)
{
	char place[512];

	assert_memory_equal(name, "0x", 2);
	to[0] = '\0';
	while (fgets(name, 256, lines) && strncmp(name, "0x", 2) != 0 &&
	       fgets(place, sizeof(place), lines)) {
		const char *slash = strrchr(place, '/');
		size_t at = strlen(to);

		name[strcspn(name, "\n")] = '\0';
		place[strcspn(place, " \n")] = '\0';
		(void)snprintf(to + at, size - at, "%s%s %s", at ? ", " : "", name,
			       slash ? slash + 1 : place);
	}
}

/* Of @function's bytes each. Returns how many had inlined calls. */
static size_t check_function(struct image *im, const char *oracle, const char *function)
{
	cleanup(image_freep) struct image *of = open_image(oracle);
	const struct image_symbol f = find(of, function).symbol;
	cleanup_strbuf struct strbuf command = {};
	char name[256] = "";
	size_t n_inlined = 0;

	assert_true(f.size > 10);
	strbuf_printf(&command, "addr2line -a -i -f -e %s/%s", scratch, oracle);
	for (uint64_t at = f.vaddr; at < f.vaddr + f.size; at++)
		strbuf_printf(&command, " %#lx", (unsigned long)at);

	FILE *lines = popen(command.text, "r");

	assert_non_null(fgets(name, sizeof(name), lines));
	for (uint64_t at = f.vaddr; at < f.vaddr + f.size; at++) {
		char ours[1024], theirs[1024];

		put_ours(im, at, ours, sizeof(ours));
		put_theirs(lines, name, theirs, sizeof(theirs));
		if (strcmp(ours, theirs) != 0)
			fail_msg("%s, %s+%#lx: '%s', not '%s'", oracle, function,
				 (unsigned long)(at - f.vaddr), ours, theirs);
		n_inlined += strchr(ours, ',') != NULL;
	}
	assert_int_equal(pclose(lines), 0);
	return n_inlined;
}

TEST(lines_and_inlined_calls_are_those_of_addr2line)
{
	static const struct {
		const char *name, *debug, *whole, *function;
	} rows[] = {
		{ "five", NULL, "five", "main" },
		{ "five", NULL, "five", "sell" },
		{ "four", NULL, "four", "main" },
		{ "four", NULL, "four", "sell" },
		{ "packed", NULL, "packed", "main" },
		{ "packed_gnu", NULL, "packed_gnu", "main" },
		{ "cxx", NULL, "cxx", "_Z4selli" }, /* mangled names */
		{ "cxx_3", NULL, "cxx_3", "_Z4selli" },
		{ "apart", "five.debug", "five", "main" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(image_freep) struct image *im = open_image(rows[i].name);

		if (rows[i].debug)
			image_set_debug(im, open_image(rows[i].debug));
		assert_true(check_function(im, rows[i].whole, rows[i].function) > 5);
	}
}

TEST(without_dwarf_nothing_is_said)
{
	cleanup(image_freep) struct image *im = open_image("none");
	struct image_call calls[4];
	uint64_t vaddr = find(im, "main").symbol.vaddr;

	assert_int_equal(image_calls_at(im, vaddr, calls, 4), 0);
	assert_int_equal(image_calls_at(im, 0, calls, 4), 0);
}

/* It depends on the libelf of this machine. */
TEST(what_is_packed_by_zstd_has_lines_or_gives_the_reason)
{
	cleanup(image_freep) struct image *im = open_image("zstd");
	struct image_call calls[4];
	cleanup_strbuf struct strbuf why = {};

	log_hold(&why);

	const size_t n = image_calls_at(im, find(im, "main").symbol.vaddr, calls, 4);

	log_hold(NULL);
	assert_int_equal(n > 0, why.n == 0);
	assert_true(n > 0 ||
		    strstr(why.text,
			   "zstd: cannot read all of .debug_info: its compression is not known"));
}

/*
 * The functions are in another file, whose path is a foreign one. With the lines that are here, the
 * function itself would seem to be where an inlined one is.
 */
TEST(units_whose_functions_are_in_another_file_give_nothing)
{
	static const char *const names[] = { "split_gcc_4", "split_gcc_5", "split_clang_4",
					     "split_clang_5" };
	struct image_call calls[4];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup(image_freep) struct image *im = open_image(names[i]);
		const struct image_symbol s = find(im, "main").symbol;

		assert_true(s.size > 10);
		for (uint64_t at = s.vaddr; at < s.vaddr + s.size; at++)
			if (image_calls_at(im, at, calls, 4) != 0)
				fail_msg("%s: %s:%u", names[i], calls[0].file, calls[0].line);
	}
}

/* As addr2line has it. Each 4 zeros are a unit to libdw, and a hole has any number of them. */
TEST(behind_zeros_no_unit_is_read)
{
	cleanup(image_freep) struct image *im = open_image("padded");
	struct image_call calls[4];

	assert_int_equal(image_calls_at(im, find(im, "main").symbol.vaddr, calls, 4), 0);
	assert_true(check_function(im, "padded", "other") == 0);
	assert_true(image_calls_at(im, find(im, "other").symbol.vaddr, calls, 4) > 0);
}

/* Unlike gcc, clang does not say where the sibling of an entry is. */
TEST(inlined_functions_are_found_without_siblings)
{
	cleanup(image_freep) struct image *im = open_image("clang");
	const struct image_symbol f = find(im, "main").symbol;
	struct image_call calls[4];
	size_t n_inlined = 0;

	for (uint64_t at = f.vaddr; at < f.vaddr + f.size; at++)
		n_inlined +=
			image_calls_at(im, at, calls, 4) > 1 && strcmp(calls[0].name, "leaf") == 0;
	assert_true(n_inlined > 0);
}

/* The innermost ones are kept, and the function itself. */
TEST(no_more_than_there_is_room_for)
{
	cleanup(image_freep) struct image *im = open_image("cxx");
	struct wanted w = find(im, "_Z4selli");
	struct image_call all[16], few[2];

	for (uint64_t at = w.symbol.vaddr; at < w.symbol.vaddr + w.symbol.size; at++) {
		size_t n = image_calls_at(im, at, all, 16);

		assert_int_equal(image_calls_at(im, at, few, 0), 0);
		if (n <= 2)
			continue;
		assert_int_equal(image_calls_at(im, at, few, 2), 2);
		assert_string_equal(few[0].name, all[0].name);
		return;
	}
	fail_msg("nothing is inlined twice");
}

TEST_MAIN(make_files, scratch_remove)
