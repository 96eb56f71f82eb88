/* rooms: kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "scratch.h"

#include "kernel/kallsyms.h"

static const char no_modules[] = "";

static int try_read(const char *symbols, const char *modules, struct kallsyms **ret,
		    struct error *e)
{
	cleanup_free char *symbols_path = scratch_path("kallsyms");
	cleanup_free char *modules_path = scratch_path("modules");

	scratch_write("kallsyms", symbols);
	scratch_write("modules", modules);
	return kallsyms_read(symbols_path, modules_path, ret, e);
}

static struct kallsyms *read_ok(const char *symbols, const char *modules)
{
	struct kallsyms *k = NULL;

	assert_works(try_read(symbols, modules, &k, &e));
	return k;
}

/* "name+offset/size [module]" of what is at @addr, "-" if nothing. Static. */
static const char *at(const struct kallsyms *k, uint64_t addr)
{
	static char text[600];
	struct kernel_symbol s;

	if (!kallsyms_at(k, addr, &s))
		return "-";
	(void)snprintf(text, sizeof(text), "%s+%" PRIx64 "/%" PRIx64 "%s%s", s.name, addr - s.addr,
		       s.size, s.module ? " " : "", s.module ? s.module : "");
	return text;
}

TEST(a_function_ends_where_the_next_symbol_of_any_type_begins)
{
	cleanup(kallsyms_freep) struct kallsyms *k = read_ok("ffffffff81000000 T first\n"
							     "ffffffff81000100 t second\n"
							     "ffffffff81000180 D some_data\n"
							     "ffffffff81000200 W third\n"
							     "ffffffff81000300 T _etext\n",
							     no_modules);

	assert_int_equal(kallsyms_n(k), 3);
	assert_string_equal(at(k, 0xffffffff80ffffff), "-");
	assert_string_equal(at(k, 0xffffffff81000000), "first+0/100");
	assert_string_equal(at(k, 0xffffffff810000ff), "first+ff/100");
	assert_string_equal(at(k, 0xffffffff81000100), "second+0/80");
	assert_string_equal(at(k, 0xffffffff81000180), "-");
	assert_string_equal(at(k, 0xffffffff810001ff), "-");
	assert_string_equal(at(k, 0xffffffff810002ff), "third+ff/100");
	assert_string_equal(at(k, 0xffffffff81000300), "-");
}

TEST(a_module_function_ends_with_its_module_at_the_latest)
{
	cleanup(kallsyms_freep) struct kallsyms *k =
		read_ok("ffffffff81000000 T first\n"
			"ffffffff81001000 T _etext\n"
			"ffffffffc0401800 t ext4_last\t[ext4]\n"
			"ffffffffc0401000 t ext4_first\t[ext4]\n"
			"ffffffffc0501000 t other\t[loop]\n",
			"ext4 8192 1 - Live 0xffffffffc0400000\n"
			"loop 4096 1 ext4,xfs, Live 0xffffffffc0500800 (OE)\n");

	assert_string_equal(at(k, 0xffffffffc0401010), "ext4_first+10/800 ext4");
	assert_string_equal(at(k, 0xffffffffc0401fff), "ext4_last+7ff/800 ext4");
	assert_string_equal(at(k, 0xffffffffc0402000), "-");
	assert_string_equal(at(k, 0xffffffffc05017ff), "other+7ff/800 loop");
	assert_string_equal(at(k, 0xffffffffc0501800), "-");
}

TEST(the_last_function_does_not_reach_to_the_end_of_memory)
{
	cleanup(kallsyms_freep) struct kallsyms *k =
		read_ok("ffffffff81000000 T kernel_one\n"
			"ffffffffc0025b88 t bpf_prog_9cdff0440ff00d25_both\t[bpf]\n",
			no_modules);

	assert_string_equal(at(k, 0xffffffff81000010), "kernel_one+10/1000");
	assert_string_equal(at(k, 0xffffffff81001000), "-");
	assert_string_equal(at(k, 0xffffffffc0025b90), "bpf_prog_9cdff0440ff00d25_both+8/1000 bpf");
	assert_string_equal(at(k, 0xffffffffc0026b88), "-");
}

/* Where "gone" was, nothing is: not even its neighbours, whatever lies behind. */
TEST(what_no_module_holds_has_no_name)
{
	cleanup(kallsyms_freep) struct kallsyms *k =
		read_ok("ffffffff81000000 T kernel_one\n"
			"ffffffff81001000 T _etext\n"
			"ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]\n"
			"ffffffffc0400000 t a_first\t[a]\n"
			"ffffffffc0402000 t __pfx_a_second\t[a]\n"
			"ffffffffc0402010 t a_second\t[a]\n"
			"ffffffffc0500000 d a_data\t[a]\n"
			"ffffffffc0600000 t b_first\t[b]\n",
			"a 1048576 1 - Live 0xffffffffc0400000\n"
			"b 4096 1 - Live 0xffffffffc0600000\n");

	assert_string_equal(at(k, 0xffffffffc0201fff),
			    "ftrace_trampoline+fff/1000 __builtin__ftrace");
	assert_string_equal(at(k, 0xffffffffc0202000), "-");
	assert_string_equal(at(k, 0xffffffffc0401fff), "a_first+1fff/2000 a");
	assert_string_equal(at(k, 0xffffffffc040200f), "-");
	assert_string_equal(at(k, 0xffffffffc040300f), "a_second+fff/1000 a");
	assert_string_equal(at(k, 0xffffffffc0403010), "-");
	assert_string_equal(at(k, 0xffffffffc0600fff), "b_first+fff/1000 b");
	assert_string_equal(at(k, 0xffffffffc0601000), "-");
}

TEST(symbols_behind_each_other_in_any_order_are_sorted)
{
	cleanup(kallsyms_freep) struct kallsyms *k = read_ok("ffff800081000000 T kernel_one\n"
							     "ffff800081000100 T kernel_two\n"
							     "ffff800081000200 T _etext\n"
							     "ffff800000010100 t b\t[m]\n"
							     "ffff800000010000 t a\t[m]\n",
							     no_modules);
	const char *const order[] = { "a", "b", "kernel_one", "kernel_two" };

	assert_int_equal(kallsyms_n(k), 4);
	for (size_t i = 0; i < 4; i++) {
		struct kernel_symbol s;

		kallsyms_nth(k, i, &s);
		assert_string_equal(s.name, order[i]);
	}
	assert_string_equal(at(k, 0xffff800000010040), "a+40/100 m");
	assert_string_equal(at(k, 0xffff800081000040), "kernel_one+40/100");
}

TEST(among_aliases_the_name_that_one_would_write_is_taken)
{
	cleanup(kallsyms_freep) struct kallsyms *k =
		read_ok("ffffffff81000000 t __do_thing\n"
			"ffffffff81000000 T do_thing\n"
			"ffffffff81000000 t a\n"
			"ffffffff81000100 t write.cold\n"
			"ffffffff81000100 t __write_slowly\n"
			"ffffffff81000200 T __x64_sys_getpid\n"
			"ffffffff81000200 T __ia32_sys_getpid\n"
			"ffffffff81000200 T sys_getpid\n"
			"ffffffff81000300 T _etext\n",
			no_modules);

	assert_int_equal(kallsyms_n(k), 8); /* every alias can be walked */
	assert_string_equal(at(k, 0xffffffff81000000), "do_thing+0/100");
	assert_string_equal(at(k, 0xffffffff81000180), "__write_slowly+80/100");
	assert_string_equal(at(k, 0xffffffff81000200), "sys_getpid+0/100");
}

TEST(marks_of_sections_and_padding_are_no_functions)
{
	cleanup(kallsyms_freep) struct kallsyms *k =
		read_ok("ffffffff81000000 T _stext\n"
			"ffffffff81000000 T _text\n"
			"ffffffff81000000 T start\n"
			"ffffffff81000040 T __noinstr_text_end\n"
			"ffffffff81000050 t __pfx_work\n"
			"ffffffff81000060 t work\n"
			"ffffffff81000080 t __destroy_context\n"
			"ffffffff810000a0 T _etext\n",
			no_modules);

	assert_int_equal(kallsyms_n(k), 3);
	assert_string_equal(at(k, 0xffffffff81000000), "start+0/40");
	assert_string_equal(at(k, 0xffffffff81000055), "-");
	assert_string_equal(at(k, 0xffffffff81000060), "work+0/20");
	assert_string_equal(at(k, 0xffffffff81000080), "__destroy_context+0/20");
}

TEST(absolute_symbols_and_zero_addresses_are_no_boundaries)
{
	cleanup(kallsyms_freep) struct kallsyms *k = read_ok("0000000000000000 D per_cpu_start\n"
							     "ffffffff81000000 T work.isra.0\n"
							     "ffffffff81000010 A a_number\n"
							     "ffffffff81000010 a another\n"
							     "ffffffff81000100 d data\n",
							     no_modules);

	assert_int_equal(kallsyms_n(k), 1);
	assert_string_equal(at(k, 0xffffffff81000020), "work.isra.0+20/100");
}

TEST(malformed_lines_are_left_out)
{
	static const char text[] = "\n"
				   "zzzz T no_hex\n"
				   "ffffffff81000000\n"
				   "ffffffff81000000 T\n"
				   "ffffffff81000000 T \n"
				   "ffffffff81000000T joined\n"
				   "ffffffffffffffff81000000 T too_long_a_number\n"
				   "ffffffff81000000 T good\n"
				   "ffffffff81000040 t in_module\t[\n"
				   "ffffffff81000080 t last_line_without_newline";
	cleanup(kallsyms_freep) struct kallsyms *k = read_ok(text, "ext4\next4 x\n\next4 1 2 3\n");

	assert_int_equal(kallsyms_n(k), 3);
	assert_string_equal(at(k, 0xffffffff81000000), "good+0/40");
	assert_string_equal(at(k, 0xffffffff81000080), "last_line_without_newline+0/1000");
}

TEST(hidden_addresses_are_an_error_that_names_the_sysctl)
{
	struct kallsyms *k = NULL;
	struct error e;

	assert_int_equal(try_read("0000000000000000 T first\n0000000000000000 t second\n",
				  no_modules, &k, &e),
			 -EPERM);
	assert_non_null(strstr(e.text, "kernel.kptr_restrict"));
	assert_int_equal(try_read("", no_modules, &k, &e), -ENODATA);
	assert_int_equal(kallsyms_read("/nonexistent", "/nonexistent", &k, &e), -ENOENT);
	assert_string_equal(e.text, "open /nonexistent: No such file or directory");
}

TEST(a_kernel_without_modules_has_symbols_all_the_same)
{
	cleanup_free char *path = scratch_path("kallsyms");
	struct kallsyms *k = NULL;

	scratch_write("kallsyms", "ffffffff81000000 T first\n");
	assert_works(kallsyms_read(path, "/nonexistent", &k, &e));
	assert_int_equal(kallsyms_n(k), 1);
	kallsyms_freep(&k);
}

TEST_MAIN(scratch_make, scratch_remove)
