/* rooms: symbolize kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files that were stripped of some symbols alone, with what there is beside them. */
#include "test.h"

#include "elf_files.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "files.h"
#include "processes/processes.h"
#include "symbolize/image_names.h"

static const char source[] =
	"#define KEEP __attribute__((noinline, used))\n"
	"KEEP static int small(int n) { return n + 1; }\n"
	"KEEP static int larger(int n) { return small(n) * small(n + 7) / 3; }\n"
	"KEEP int _taken(int n) { return larger(n) * n; }\n"
	"int taken(int n) __attribute__((alias(\"_taken\")));\n"
	"__asm__(\".text; .globl bare; .type bare, @function; bare: nop; nop; ret\\n\"\n"
	"        \".type behind, @function; behind: nop; ret; .size behind, 2\\n\");\n"
	"int main(void) { return taken(7); }\n";

/* Namespaces within one another, 3,000,000 of them. */
static const char deep[] = ".text; .globl main; .type main, @function; .size main, 1\n"
			   "main: nop\n"
			   "end:\n"
			   ".section .debug_abbrev\n"
			   ".byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0 # unit: low_pc, high_pc\n"
			   ".byte 2, 0x39, 1, 0, 0, 0                # namespace, with children\n"
			   ".section .debug_info\n"
			   ".long 3f - 1f\n"
			   "1: .value 4; .long .debug_abbrev; .byte 8\n"
			   ".byte 1; .quad main, end - main\n"
			   ".fill 3000000, 1, 2\n"
			   "3:\n";

/* Whole; with some symbols; and these with a debug file by its name, or packed into them. */
static int make_files(void **state)
{
	assert_int_equal(scratch_make(state), 0);
	scratch_write("some.c", source);
	scratch_write("deep.s", deep);
	return scratch_run(
		"gcc -O1 -Wl,--build-id some.c -o full && "
		"mkdir .debug && objcopy --only-keep-debug full .debug/link.debug && "
		"strip -s -K main -K bare -K _taken -o some full && cp some link && cp full both && "
		"for f in link both; do "
		"  objcopy --add-gnu-debuglink=.debug/link.debug $f || exit 1; done && "
		"gcc -nostdlib -shared deep.s -o deep && "
		"strip -g -o m .debug/link.debug && xz -9 m && "
		"objcopy --add-section .gnu_debugdata=m.xz some packed");
}

/* No process has this number: files are found by their paths. */
#define NOBODY 0x7000000u

struct named {
	struct processes *processes;
	struct image_names *names;
	uint32_t image;
};

static struct named open_named(const char *name, uint64_t flags)
{
	struct named n = { .processes = processes_new(files_of_test()) };
	cleanup_free char *path = scratch_path(name);
	struct process_event event = { .type = PROCESS_MAP,
				       .pid = NOBODY,
				       .time = clock_ns(CLOCK_MONOTONIC) + NS_PER_S,
				       .map = { .start = 0x10000, .end = 0x20000, .path = path } };
	struct held_file file;
	struct place place;
	struct stat st;
	bool is_twin;

	assert_int_equal(stat(path, &st), 0);
	event.map.dev = st.st_dev;
	event.map.inode = st.st_ino;
	n.names =
		image_names_new(processes_images(n.processes), files_of_test(), NULL, flags, false);
	(void)processes_event(n.processes, &event);
	assert_true(processes_at(n.processes, process_key(NOBODY, 0), 0, 0x10000, &place));
	n.image = place.image;
	/* This looks up the root that the path belongs to. */
	assert_true(images_open(processes_images(n.processes), n.image, &file, &is_twin));
	return n;
}

static void close_named(struct named *n)
{
	image_names_free(n->names);
	processes_free(n->processes);
}

/* All bytes from @from to @to, asked for at once. */
static void ask_for_all(struct named *n, const struct image *full, uint64_t from, uint64_t to)
{
	struct file_place place;
	uint64_t offset;

	for (uint64_t at = from; at < to; at++) {
		assert_true(image_vaddr_to_offset(full, at, &offset));
		assert_false(image_names_look_up(n->names, n->image, offset, &place));
	}
	assert_true(image_names_fetch(n->names));
	assert_false(image_names_fetch(n->names));
}

/* Every byte of @name's code has the function, from and to where, that the whole file says. */
static void check_like_whole(const char *name)
{
	cleanup(image_freep) struct image *full = open_image("full");
	cleanup(close_named) struct named named = open_named(name, 0);
	uint64_t from = find(full, "_init").symbol.vaddr;
	uint64_t to = find(full, "_fini").symbol.vaddr + 9;
	size_t n = 0;

	assert_true(from < to);
	ask_for_all(&named, full, from, to);
	for (uint64_t at = from; at < to; at++) {
		struct file_place a = {};
		struct image_symbol b = {};
		const bool is_found = image_function_at(full, at, &b);
		uint64_t offset;

		assert_true(image_vaddr_to_offset(full, at, &offset));
		assert_true(image_names_look_up(named.names, named.image, offset, &a));
		assert_int_equal(a.function != NULL, is_found);
		assert_int_equal(a.vaddr, at);
		if (!is_found)
			continue;
		assert_string_equal(a.function, b.name);
		assert_int_equal(a.start, b.vaddr);
		assert_int_equal(a.is_last, at - b.vaddr + 1 == b.size);
		n += strcmp(b.name, "taken") == 0;
	}
	assert_true(n > 0);
}

TEST(a_debug_file_and_packed_symbols_name_what_a_symtab_has_not_and_all_else_once)
{
	check_like_whole("link");
	check_like_whole("packed");
	check_like_whole("both");
}

static struct file_place place_at(struct named *n, const struct image *full, uint64_t vaddr)
{
	struct file_place place;
	uint64_t offset;

	assert_true(image_vaddr_to_offset(full, vaddr, &offset));
	if (!image_names_look_up(n->names, n->image, offset, &place)) {
		assert_true(image_names_fetch(n->names));
		assert_true(image_names_look_up(n->names, n->image, offset, &place));
	}
	return place;
}

static const char *name_at(struct named *n, const struct image *full, uint64_t vaddr)
{
	const struct file_place place = place_at(n, full, vaddr);

	return place.function ? place.function : "";
}

TEST(own_symbols_stay_where_there_is_nothing_else)
{
	cleanup(image_freep) struct image *full = open_image("full");
	cleanup(close_named) struct named named = open_named("some", 0);

	assert_string_equal(name_at(&named, full, find(full, "main").symbol.vaddr), "main");
	assert_string_equal(name_at(&named, full, find(full, "_taken").symbol.vaddr), "_taken");
	const uint64_t behind = find(full, "behind").symbol.vaddr;

	assert_string_equal(name_at(&named, full, behind), "");
	assert_false(place_at(&named, full, behind).is_missed); /* nor looked for again */
}

/* Debug files of root, or of the owner that a test file counts as, are not looked for. */
static void keep_silent(const struct named *n)
{
	static const uint32_t users[] = { 0, 65534 };
	struct image_about about;

	assert_true(images_about(processes_images(n->processes), n->image, &about));
	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		places_note_silence(places_of_test,
				    place_of(STEP_DEBUG, (uint32_t)about.root, users[i]), false);
	image_about_fini(&about);
}

TEST(a_debug_file_that_could_not_be_had_is_looked_for_again)
{
	cleanup(image_freep) struct image *full = open_image("full");
	const uint64_t behind = find(full, "behind").symbol.vaddr;
	cleanup(close_named) struct named named = open_named("link", 0);

	keep_silent(&named);
	assert_string_equal(name_at(&named, full, behind), "");
	assert_true(place_at(&named, full, behind).is_missed);
	image_names_refresh(named.names);
	assert_string_equal(name_at(&named, full, behind), "");
	/* After a pause, and in a later report. */
	for (int i = 0; i < 12000 && !*name_at(&named, full, behind); i++) {
		(void)usleep(10000);
		image_names_refresh(named.names);
	}
	assert_string_equal(name_at(&named, full, behind), "behind");
	assert_false(place_at(&named, full, behind).is_missed);
}

TEST(a_file_whose_lines_end_its_reader_has_names)
{
	cleanup(image_freep) struct image *full = open_image("deep");
	const uint64_t vaddr = find(full, "main").symbol.vaddr;
	cleanup(close_named) struct named named = open_named("deep", NAMES_LINES);
	cleanup_strbuf struct strbuf said = {};

	log_hold(&said);
	assert_string_equal(name_at(&named, full, vaddr), "main");
	log_hold(NULL);
	assert_non_null(strstr(said.text, "no source lines for deep: its reader was ended by "));
	assert_int_equal(place_at(&named, full, vaddr).n_calls, 0);
	image_names_refresh(named.names); /* they are not asked for again */
	strbuf_clear(&said);
	log_hold(&said);
	assert_string_equal(name_at(&named, full, vaddr), "main");
	log_hold(NULL);
	assert_int_equal(said.n, 0);
}

TEST_MAIN(make_files, scratch_remove)
