/* rooms: reader helper unwind elf base */
/* Files that were stripped of some symbols alone, with what there is beside them. */
#include "elf_files.h"

#include "elf/debug.h"
#include "reader/debug_symbols.h"

static const char source[] =
	"#define KEEP __attribute__((noinline, used))\n"
	"KEEP static int small(int n) { return n + 1; }\n"
	"KEEP static int larger(int n) { return small(n) * small(n + 7) / 3; }\n"
	"KEEP int _taken(int n) { return larger(n) * n; }\n"
	"int taken(int n) __attribute__((alias(\"_taken\")));\n"
	"__asm__(\".text; .globl bare; .type bare, @function; bare: nop; nop; ret\\n\"\n"
	"        \".type behind, @function; behind: nop; ret; .size behind, 2\\n\");\n"
	"int main(void) { return taken(7); }\n";

/* Whole; with some symbols; and these with a debug file by its name, or packed into them. */
static int make_files(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	write_file("some.c", source, strlen(source));
	return run(
		"gcc -O1 -Wl,--build-id some.c -o full && "
		"mkdir .debug && objcopy --only-keep-debug full .debug/link.debug && "
		"strip -s -K main -K bare -K _taken -o some full && cp some link && cp full both && "
		"for f in link both; do "
		"  objcopy --add-gnu-debuglink=.debug/link.debug $f || exit 1; done && "
		"strip -g -o m .debug/link.debug && xz -9 m && "
		"objcopy --add-section .gnu_debugdata=m.xz some packed");
}

static struct image *open_with_debug(const char *name)
{
	struct debug_symbols *ds = debug_symbols_new(NULL);
	struct image *im = open_image(name);
	cleanup_free char *path = in_folder(name);

	debug_symbols_add(ds, im, -1, path, name);
	debug_symbols_free(ds);
	return im;
}

/* Every byte of @name's code has the function, from and to where, that the whole file says. */
static void check_like_whole(const char *name)
{
	cleanup(image_freep) struct image *full = open_image("full");
	cleanup(image_freep) struct image *im = open_with_debug(name);
	uint64_t from = find(full, "_init").symbol.vaddr;
	uint64_t to = find(full, "_fini").symbol.vaddr + 16;
	size_t n = 0;

	assert_true(from < to);
	for (uint64_t at = from; at < to; at++) {
		struct image_symbol a = {}, b = {};

		assert_int_equal(image_function_at(im, at, &a), image_function_at(full, at, &b));
		assert_string_equal(a.name ? a.name : "", b.name ? b.name : "");
		assert_true(a.vaddr == b.vaddr && a.size == b.size);
		n += b.name && strcmp(b.name, "taken") == 0;
	}
	assert_true(n > 0);
}

static void a_debug_file_names_what_a_symtab_has_not(void **state)
{
	(void)state;
	check_like_whole("link");
}

static void packed_symbols_name_what_a_symtab_has_not(void **state)
{
	(void)state;
	check_like_whole("packed");
}

static void what_the_file_and_its_debug_file_have_is_one_function(void **state)
{
	(void)state;
	check_like_whole("both");
}

static void own_symbols_stay_where_there_is_nothing_else(void **state)
{
	cleanup(image_freep) struct image *im = open_with_debug("some");

	(void)state;
	assert_true(find(im, "main").n_seen && find(im, "_taken").n_seen);
	assert_int_equal(find(im, "behind").n_seen, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_debug_file_names_what_a_symtab_has_not),
		cmocka_unit_test(packed_symbols_name_what_a_symtab_has_not),
		cmocka_unit_test(what_the_file_and_its_debug_file_have_is_one_function),
		cmocka_unit_test(own_symbols_stay_where_there_is_nothing_else),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
