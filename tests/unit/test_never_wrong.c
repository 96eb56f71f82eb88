/* rooms: elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Never a wrong name: what the image says of the first byte of every function, of its last one
 * and of the byte behind it is held against what readelf(1) lists, for libraries of this machine
 * and for files made in all the ways in which files are made.
 */
#include "test.h"

#include "elf_files.h"

#include <elf.h>
#include <sys/auxv.h>

#include "debug_files.h"
#include "elf/debug.h"

/* What readelf lists: functions, and what ends one that says no size. */
struct listed {
	uint64_t start; /* the first member: array_compare_u64() */
	uint64_t size;
	bool is_function;
	char *name;
};

struct oracle {
	struct listed *list;
	size_t n, capacity;
	uint64_t *longest; /* of each: the furthest end of those up to it */
};

/* "  14: 00000000000a4b20   512 FUNC    GLOBAL DEFAULT   15 malloc@@GLIBC_2.2.5 (2)" */
static void take_line(struct oracle *o, const char *line)
{
	char size[32], type[32], section[32];
	static char name[65536];
	struct listed s = {};

	if (sscanf(line, " %*[0-9]: %" SCNx64 " %31s %31s %*s %*s %31s %65535s", &s.start, size,
		   type, section, name) != 5 ||
	    section[0] < '0' || section[0] > '9')
		return;
	s.size = strtoull(size, NULL, 0);
	s.is_function = strcmp(type, "FUNC") == 0 || strcmp(type, "IFUNC") == 0;
	if (!s.is_function && strcmp(type, "NOTYPE") != 0)
		return;
	name[strcspn(name, "@")] = '\0';
	s.name = xstrdup(name);
	array_push(o->list, o->n, o->capacity, s);
}

static void list_symbols(struct oracle *o, const char *path)
{
	cleanup_free char *command = xasprintf("readelf -sW '%s' 2>&1", path);
	FILE *lines = popen(command, "r");
	char *line = NULL;
	size_t room = 0;

	assert_non_null(lines);
	while (getline(&line, &room, lines) > 0)
		take_line(o, line);
	free(line);
	assert_int_equal(pclose(lines), 0);
}

static void sort_symbols(struct oracle *o)
{
	qsort(o->list, o->n, sizeof(*o->list), array_compare_u64);
	o->longest = xcalloc(o->n + 1, sizeof(*o->longest));
	for (size_t i = 0; i < o->n; i++) {
		uint64_t end = o->list[i].start + o->list[i].size;

		o->longest[i] = i && o->longest[i - 1] > end ? o->longest[i - 1] : end;
	}
}

static void oracle_fini(struct oracle *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->list[i].name);
	free(o->list);
	free(o->longest);
}

/* How many begin at @vaddr or before. */
static size_t count_until(const struct oracle *o, uint64_t vaddr)
{
	return array_count_below(o->list, o->n, sizeof(*o->list), vaddr + 1);
}

/* Where the innermost function that says its size and holds @vaddr begins; false: none does. */
static bool is_in_sized(const struct oracle *o, uint64_t vaddr, uint64_t *ret_start)
{
	for (size_t i = count_until(o, vaddr); i-- > 0 && o->longest[i] > vaddr;) {
		*ret_start = o->list[i].start;
		if (o->list[i].is_function && vaddr - o->list[i].start < o->list[i].size)
			return true;
	}
	return false;
}

static bool is_listed(const struct oracle *o, const char *name, uint64_t start, uint64_t vaddr,
		      bool with_size)
{
	for (size_t i = count_until(o, start); i-- > 0 && o->list[i].start == start;) {
		const struct listed *s = &o->list[i];

		if (s->is_function && strcmp(s->name, name) == 0 &&
		    (with_size ? vaddr - start < s->size : s->size == 0))
			return true;
	}
	return false;
}

/* What the file calls @vaddr, if anything, is what is listed there. */
static void check_name(const struct oracle *o, struct image *im, uint64_t vaddr, bool must_have)
{
	struct image_symbol s = {};
	uint64_t start = 0;
	bool is_found = image_function_at(im, vaddr, &s);
	bool is_sized = is_in_sized(o, vaddr, &start);

	if (is_sized && !is_found && must_have)
		fail_msg("%#lx has no name", (unsigned long)vaddr);
	if (!is_found || (s.name && strstr(s.name, "@plt")))
		return;
	if (is_sized && is_listed(o, s.name, s.vaddr, vaddr, true) && s.vaddr == start)
		return;
	/* One without a size, and no other symbol between. */
	if (is_listed(o, s.name, s.vaddr, vaddr, false) && (!is_sized || s.vaddr >= start) &&
	    count_until(o, vaddr) == count_until(o, s.vaddr))
		return;
	fail_msg("%#lx is called %s (%#lx)", (unsigned long)vaddr, s.name, (unsigned long)s.vaddr);
}

/* Every function's first byte, last byte, and the one behind. Returns how many functions. */
static size_t check_places(const struct oracle *o, struct image *im, bool must_have)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++) {
		const struct listed *s = &o->list[i];

		if (!s->is_function)
			continue;
		n++;
		check_name(o, im, s->start, must_have);
		check_name(o, im, s->start + s->size, must_have);
		check_name(o, im, s->start + (s->size ? s->size - 1 : 0), must_have);
	}
	return n;
}

/* The machine's debug files, if there are any, are the oracle's too. */
static void list_debug_file(struct oracle *o, struct image *im)
{
	const uint8_t *id;
	size_t n = image_build_id(im, &id);
	char path[256] = "/usr/lib/debug/.build-id/";

	for (size_t i = 0; i < n; i++)
		(void)snprintf(path + strlen(path), 4, "%02x%s", id[i], i ? "" : "/");
	strcat(path, ".debug");
	if (n && access(path, R_OK) == 0)
		list_symbols(o, path);
}

static size_t check_library(const char *path)
{
	cleanup(image_freep) struct image *im = open_image(path);
	cleanup(oracle_fini) struct oracle o = {};
	struct image *debug = NULL;
	struct error e;

	if (!image_has_symtab(im) && debug_file_find(im, path, &debug, &e) == 0)
		image_set_debug(im, debug);
	list_symbols(&o, path);
	list_debug_file(&o, im);
	sort_symbols(&o);
	return check_places(&o, im, true);
}

TEST(functions_of_libraries_have_their_names_and_ends)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libelf.so.1",
		"/usr/bin/perl",
		"/bin/bash",
	};
	size_t n_checked = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (access(paths[i], R_OK) != 0)
			continue;
		assert_true(check_library(paths[i]) > 0);
		n_checked++;
	}
	assert_true(n_checked >= 4); /* what every machine has that can build this */
}

TEST(functions_of_the_vdso_have_their_names_and_ends)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);

	assert_non_null(header);
	scratch_write_bytes("vdso.so", header,
			    header->e_shoff + header->e_shnum * header->e_shentsize);
	assert_true(check_library(scratch_lent("vdso.so")) >= 4);
}

/*
 * A program of every kind of function: of several sizes, without a size and with labels, ending
 * in a call that does not return, in sections of their own, and padding between all.
 */
static const char source[] =
	"#include <stdlib.h>\n"
	"#define KEEP __attribute__((noinline, used))\n"
	"KEEP static int small(int n) { return n + 1; }\n"
	"KEEP static int larger(int n) { return small(n) * small(n + 7) / 3; }\n"
	"KEEP __attribute__((noreturn)) static void ends(void) { abort(); }\n"
	"KEEP __attribute__((section(\".odd\"))) int apart(int n) { return larger(n); }\n"
	"KEEP __attribute__((section(\".odd\"))) static int apart_too(int n) { return n * n; }\n"
	"__asm__(\".text; .type bare, @function; bare: nop; nop; ret\\n.skip 61, 0xcc\\n\"\n"
	"        \".globl label; label: nop; ret; .skip 30, 0xcc\\n\"\n"
	"        \".type bare2, @function; bare2: nop; bare2.loop: ret; .skip 13, 0xcc\\n\"\n"
	"        \".type framed, @function; framed: .cfi_startproc; nop; ret; .cfi_endproc\\n\"\n"
	"        \".skip 40, 0xcc\\n\"\n"
	"        \".globl bare_out; .type bare_out, @function; bare_out: nop; nop; ret\\n\"\n"
	"        \".type behind, @function; behind: nop; nop; ret; .size behind, 3\\n\"\n"
	"        \".globl framed_out; .type framed_out, @function; framed_out:\\n\"\n"
	"        \".cfi_startproc; nop; nop; ret; .cfi_endproc\\n\"\n"
	"        \".type behind2, @function; behind2: nop; nop; ret; .size behind2, 3\\n\"\n"
	"        \".cfi_startproc; nop; .globl inside_out; .type inside_out, @function\\n\"\n"
	"        \"inside_out: nop; ret; .type behind3, @function; behind3: nop; ret\\n\"\n"
	"        \".size behind3, 2; .cfi_endproc; .skip 9, 0xcc\\n\"\n"
	"        \".globl untyped; untyped: .cfi_startproc; nop; nop; ret; .cfi_endproc\\n\"\n"
	"        \"nop; ret; .skip 9, 0xcc\\n\");\n"
	"extern const char __start_marked[];\n"
	"__attribute__((section(\"marked\"), used)) static int first(void) { return 7; }\n"
	"KEEP const void *mark(void) { return __start_marked; }\n"
	"KEEP int exported(int n) { if (n > 9999) ends(); return apart(n) + apart_too(n); }\n"
	"#ifndef LIBRARY\n"
	"int main(int n, char **v) { (void)v; return exported(n) == 77; }\n"
	"#endif\n";

/* Two executable segments, the second one at an address that is far and odd. */
static const char script[] =
	"PHDRS { headers PT_LOAD FILEHDR PHDRS FLAGS(4); first PT_LOAD FLAGS(5);\n"
	"        data PT_LOAD FLAGS(6); second PT_LOAD FLAGS(5); dyn PT_DYNAMIC FLAGS(6); }\n"
	"SECTIONS { . = SIZEOF_HEADERS; .note.gnu.build-id : { *(.note.gnu.build-id) } :headers\n"
	" .hash : { *(.hash) } .dynsym : { *(.dynsym) } .dynstr : { *(.dynstr) }\n"
	" .rela : { *(.rela*) } .eh_frame_hdr : { *(.eh_frame_hdr) } .eh_frame : { *(.eh_frame) }\n"
	" . = 0x5230; .plt : { *(.plt*) } :first .text : { *(.text*) } :first\n"
	" . = 0x8450; .dynamic : { *(.dynamic) } :data :dyn .got : { *(.got*) } :data\n"
	" .data : { *(.data*) } .bss : { *(.bss*) }\n"
	" . = 0x7e0b70; .odd : { *(.odd) } :second\n"
	" /DISCARD/ : { *(.comment) *(.note.GNU-stack) *(.gnu.hash) *(.note.gnu.property) } }\n";

/* NAME is made as it would be installed; NAME.full is what it was made of. */
static int make_files(void **state)
{
	assert_int_equal(scratch_make(state), 0);
	scratch_write("all.c", source);
	scratch_write("script", script);
	return scratch_run(
		"cc='gcc -O1 -fcf-protection=none -Wl,--build-id'; "
		"$cc all.c -o plain.full && "
		"$cc -static-pie all.c -o static.full && "
		"$cc -shared -fPIC -DLIBRARY all.c -o library.full && "
		"$cc -fPIC -DLIBRARY -c all.c -o all.o && "
		"ld -shared --hash-style=sysv --build-id --eh-frame-hdr -T script all.o -o segments.full && "
		"gcc -O1 -no-pie -Wl,--build-id=none all.c -o link.full && "
		"for f in plain static library segments link; do "
		"  strip -o $f $f.full && objcopy --only-keep-debug $f.full $f.debug && "
		"  cp $f $f.mini && cp $f.debug m && strip -g m && xz -9 <m >m.xz && "
		"  objcopy --add-section .gnu_debugdata=m.xz $f.mini || exit 1; done && "
		"here='-Wl,--build-id=0x0123456789abcdef0123'; "
		"$cc -shared -fPIC -DLIBRARY $here all.c -o before && "
		"$cc -shared -fPIC -DLIBRARY $here all.c -Wl,-Ttext-segment=0x21371000 -o moved.full && "
		"strip -o moved moved.full && "
		"for f in plain library; do "
		"  strip -s -K exported -K bare -K framed -o $f.some $f.full || exit 1; done && "
		"mkdir .debug && cp link.debug .debug/ && "
		"objcopy --add-gnu-debuglink=link.debug link");
}

/* By what the file @full lists. */
static void check_made(const char *full, struct image *im, bool must_have)
{
	cleanup(oracle_fini) struct oracle o = {};

	list_symbols(&o, scratch_lent(full));
	sort_symbols(&o);
	assert_true(check_places(&o, im, must_have) >= 8);
}

static bool has_name(struct image *im, const char *name)
{
	return find(im, name).n_seen > 0;
}

enum symbols { EXPORTED, OF_DEBUG_FILE, PACKED, WHOLE };

static struct image *open_with(enum symbols symbols, const char *name)
{
	static const char *const endings[] = { "", "", ".mini", ".full" };
	cleanup_free char *own = xasprintf("%s%s", name, endings[symbols]);
	cleanup_free char *other = xasprintf("%s.debug", name);
	struct image *im = open_image(own), *debug = NULL;

	assert_int_equal(image_has_symtab(im), symbols == WHOLE);
	if (symbols == OF_DEBUG_FILE)
		debug = open_image(other);
	else if (symbols == PACKED)
		assert_works(image_open_embedded(im, &debug, &e));
	if (debug)
		image_set_debug(im, debug);
	return im;
}

TEST(no_name_is_wrong_wherever_symbols_are_and_none_is_missing_but_in_stripped_files)
{
	static const char *const made[] = { "plain", "static", "library", "segments", "link" };

	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		cleanup_free char *full = xasprintf("%s.full", made[i]);

		for (enum symbols symbols = EXPORTED; symbols <= WHOLE; symbols++) {
			cleanup(image_freep) struct image *im = open_with(symbols, made[i]);

			check_made(full, im, symbols != EXPORTED);
			if (symbols != EXPORTED)
				assert_true(has_name(im, "apart_too") && has_name(im, "ends"));
		}
	}
}

/* That readelf lists, as what is no function is not listed otherwise: any symbol's. */
static uint64_t address_of(const char *file, const char *name)
{
	cleanup(oracle_fini) struct oracle o = {};

	list_symbols(&o, scratch_lent(file));
	for (size_t i = 0; i < o.n; i++)
		if (strcmp(o.list[i].name, name) == 0)
			return o.list[i].start;
	fail_msg("%s has no %s", file, name);
	return 0;
}

/*
 * Behind a function without a size there may be any number of others that a stripped file does not
 * name: only its first instruction is sure, or what .eh_frame says. "strip -K" leaves a .symtab,
 * but that tells no more.
 */
TEST(code_without_a_size_goes_as_far_as_is_sure)
{
	static const struct {
		const char *file, *whole, *symbol;
		uint64_t offset;
		const char *name; /* NULL: none */
		uint64_t size;    /* 0: not compared */
	} rows[] = {
		{ "library", "library.full", "bare_out", 0, "bare_out", 1 },
		{ "library", "library.full", "bare_out", 1, NULL, 0 },
		{ "library", "library.full", "framed_out", 2, "framed_out", 3 },
		{ "library", "library.full", "framed_out", 3, NULL, 0 },
		{ "library", "library.full", "inside_out", 1, NULL, 0 },
		{ "library.full", "library.full", "bare_out", 2, "bare_out", 0 },
		{ "library.full", "library.full", "bare_out", 3, "behind", 0 },
		{ "plain.full", "plain.full", "bare", 63, "bare", 0 },
		{ "plain.full", "plain.full", "bare", 64, NULL, 0 }, /* no function: "label" */
		{ "plain.full", "plain.full", "bare2", 14, "bare2", 0 },
		{ "plain.full", "plain.full", "framed", 1, "framed", 0 },
		{ "plain.full", "plain.full", "framed", 2, NULL, 0 },
		{ "plain.some", "plain.full", "bare", 0, "bare", 0 },
		{ "plain.some", "plain.full", "bare", 1, NULL, 0 },
		/* A label names nothing, even where .eh_frame begins a function. */
		{ "library", "library.full", "untyped", 2, NULL, 0 },
		{ "library", "library.full", "label", 0, NULL, 0 },
		{ "library", "library.full", "__start_marked", 0, NULL, 0 },
		{ "library.full", "library.full", "untyped", 2, NULL, 0 },
		{ "library.full", "library.full", "label", 0, NULL, 0 },
		{ "library.full", "library.full", "__start_marked", 0, "first", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(image_freep) struct image *im = open_image(rows[i].file);
		const uint64_t at = address_of(rows[i].whole, rows[i].symbol) + rows[i].offset;
		struct image_symbol s = {};
		const bool is_found = image_function_at(im, at, &s);

		if (is_found != (rows[i].name != NULL) ||
		    (is_found && strcmp(s.name, rows[i].name) != 0))
			fail_msg("%s, %s+%lu: %s", rows[i].file, rows[i].symbol, rows[i].offset,
				 is_found ? s.name : "none");
		assert_true(!rows[i].size || s.size == rows[i].size);
	}
}

/* Where debug files are looked for, and which are taken. */

static int find_debug(const char *name, struct image **im, struct image **debug)
{
	struct error e;

	*im = open_image(name);
	return debug_file_find(*im, scratch_lent(name), debug, &e);
}

TEST(by_debuglink_a_file_of_that_checksum_is_taken)
{
	cleanup(image_freep) struct image *im = NULL, *debug = NULL;

	assert_int_equal(find_debug("link", &im, &debug), 0);
	image_set_debug(im, TAKE(debug));
	check_made("link.full", im, true);
	image_freep(&im);

	scratch_run("mv link.debug away");
	assert_int_equal(find_debug("link", &im, &debug), 0); /* in .debug */
	image_freep(&debug);
	image_freep(&im);
	scratch_run("printf x >>.debug/link.debug");
	assert_int_equal(find_debug("link", &im, &debug), -ENOENT);
	assert_null(debug);
	scratch_run("mv away link.debug && cp link.debug .debug/");
}

/* The names are right, but the files of these names are those of other programs since. */
TEST(a_debug_file_of_another_build_is_not_taken)
{
	cleanup(image_freep) struct image *im = NULL, *debug = NULL;

	scratch_run("cp plain.debug by_id.debug && cp link.debug by_sum.debug && "
		    "objcopy --add-gnu-debuglink=by_id.debug plain by_id && "
		    "objcopy -R .gnu_debuglink link no_link && "
		    "objcopy --add-gnu-debuglink=by_sum.debug no_link by_sum");
	assert_int_equal(find_debug("by_id", &im, &debug), 0);
	image_freep(&im);
	image_freep(&debug);
	assert_int_equal(find_debug("by_sum", &im, &debug), 0);
	image_freep(&im);
	image_freep(&debug);
	scratch_run("cp library.debug by_id.debug && cp library.debug by_sum.debug");
	assert_int_equal(find_debug("by_id", &im, &debug), -ENOENT);
	image_freep(&im);
	assert_int_equal(find_debug("by_sum", &im, &debug), -ENOENT);
}

/* As prelink(8) did: the file was moved after its debug file was split off. */
TEST(a_debug_file_with_the_code_elsewhere_is_not_taken)
{
	cleanup(image_freep) struct image *im = open_image("moved"), *debug = NULL;
	cleanup_close int fd = open(scratch_lent("before"), O_RDONLY);
	cleanup_close int same = open(scratch_lent("moved.full"), O_RDONLY);
	struct error e;

	assert_int_equal(debug_file_take(im, fd, &debug, &e), -ENOENT);
	assert_non_null(strstr(e.text, "its debug file has other code sections"));
	assert_int_equal(debug_file_take(im, same, &debug, &e), 0);
}

/* .gnu_debugdata */

static int open_with_data(const char *command, struct error *e)
{
	cleanup_free char *line = xasprintf("%s >d && cp plain data && objcopy --add-section "
					    ".gnu_debugdata=d data",
					    command);
	cleanup(image_freep) struct image *im = NULL, *debug = NULL;

	scratch_run(line);
	im = open_image("data");
	return image_open_embedded(im, &debug, e);
}

TEST(bad_minidebuginfo_is_refused_with_the_reason)
{
	cleanup(image_freep) struct image *im = open_image("plain"), *debug = NULL;
	struct error e;

	assert_int_equal(image_open_embedded(im, &debug, &e), -ENOENT);
	assert_int_equal(open_with_data("head -c 300 m.xz", &e), -EBADMSG);
	assert_non_null(strstr(e.text, "is not valid xz data"));
	assert_int_equal(open_with_data("echo text", &e), -EBADMSG);
	assert_int_equal(open_with_data("echo text | xz", &e), -ENOEXEC);
	assert_int_equal(open_with_data("head -c 65M /dev/zero | xz -0", &e), -E2BIG);
	assert_non_null(strstr(e.text, "too much memory"));
	assert_int_equal(open_with_data("echo text | xz --lzma2=dict=512MiB", &e), -E2BIG);
}

/* Sections are copied from one program to another; the build ID, or else the code, tells. */
TEST(minidebuginfo_of_another_build_is_refused)
{
	struct error e;

	assert_int_equal(open_with_data("xz <plain.debug", &e), 0);
	assert_int_equal(open_with_data("xz <static.debug", &e), -EBADMSG);
	assert_non_null(strstr(e.text, "another build"));
	scratch_run("objcopy -R .note.gnu.build-id plain.debug no_id && "
		    "objcopy -R .note.gnu.build-id static.debug other_no_id");
	assert_int_equal(open_with_data("xz <no_id", &e), 0);
	assert_int_equal(open_with_data("xz <other_no_id", &e), -EBADMSG);
	assert_non_null(strstr(e.text, "another file"));
}

/* Stubs: "0000000000001030 <abort@plt>:" of objdump. */
static size_t check_stubs(const char *name)
{
	cleanup(image_freep) struct image *im = open_image(name);
	cleanup_free char *command =
		xasprintf("objdump -d -j .plt -j .plt.sec -j .plt.got '%s' 2>&1 | grep '@plt>:$'",
			  name[0] == '/' ? name : scratch_lent(name));
	FILE *lines = popen(command, "r");
	char line[1024], stub[1024];
	unsigned long vaddr;
	struct image_symbol s;
	size_t n = 0;

	while (fgets(line, sizeof(line), lines)) {
		if (sscanf(line, "%lx <%1000[^>]>", &vaddr, stub) != 2 || stub[0] == '*')
			continue;
		if (!image_function_at(im, vaddr, &s) || strcmp(s.name, stub) != 0)
			fail_msg("%s: at %#lx is %s, not %s", name, vaddr, s.name, stub);
		assert_true(image_function_at(im, vaddr + s.size - 1, &s));
		assert_string_equal(s.name, stub);
		assert_true(!image_function_at(im, vaddr + s.size, &s) ||
			    strcmp(s.name, stub) != 0);
		n++;
	}
	(void)pclose(lines);
	return n;
}

TEST(stubs_have_the_names_that_objdump_gives_them)
{
	scratch_run("gcc -m64 -fcf-protection all.c -Wl,-z,ibtplt -o ibt && "
		    "gcc -Wl,-z,now all.c -o now");
	assert_true(check_stubs("plain") >= 1);
	assert_true(check_stubs("library") >= 1);
	assert_true(check_stubs("segments") >= 1);
	assert_true(check_stubs("ibt") >= 1);
	assert_true(check_stubs("now") >= 1);
	assert_true(check_stubs("/bin/bash") >= 100);
	assert_true(check_stubs("/lib/x86_64-linux-gnu/libc.so.6") >= 1);
}

/* "slot resolver stub" of each function that a static program chooses at run time. */
static const char resolvers[] =
	"cd %s && readelf -rW %s | awk '/IRELATIVE/ { sub(/^0+/, \"\", $1); print $1, $4 }' | sort >s && "
	"objdump -d -j .plt %s | "
	"sed -n 's/^ *\\([0-9a-f]*\\):.*jmp.*# \\([0-9a-f]*\\) .*/\\2 \\1/p' | sort >j && join s j";

static void check_resolvers(const char *name)
{
	cleanup(image_freep) struct image *im = open_image(name);
	cleanup_free char *command = xasprintf(resolvers, scratch, name, name);
	FILE *lines = popen(command, "r");
	unsigned long at, vaddr;
	size_t n = 0;

	while (fscanf(lines, "%*x %lx %lx", &at, &vaddr) == 2) {
		struct image_symbol s, resolver;

		assert_true(image_function_at(im, vaddr, &s));
		assert_int_equal(s.vaddr, vaddr);
		assert_true(image_function_at(im, at, &resolver));
		assert_true(resolver.is_indirect && resolver.vaddr == at);
		assert_int_equal(strncmp(s.name, resolver.name, strlen(resolver.name)), 0);
		assert_string_equal(s.name + strlen(resolver.name), "@plt");
		n++;
	}
	assert_int_equal(pclose(lines), 0);
	assert_true(n > 5);
}

/* Stubs of 16 bytes, and of 8. */
TEST(stubs_of_static_programs_are_named_by_the_resolver)
{
	scratch_run("gcc -static all.c -o fixed");
	check_resolvers("static.full");
	check_resolvers("fixed");
}

TEST_MAIN(make_files, scratch_remove)
