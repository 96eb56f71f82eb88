/* rooms: elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Files without symbols: _start of programs as each C library and linker makes them, where other
 * functions begin, and which instructions end at a return address.
 */
#include "test.h"

#include "elf/frames.h"
#include "elf_files.h"

static const char source[] =
	"#include <stdlib.h>\n"
	"static int n;\n"
	"__attribute__((noinline)) static int work(int i) { return rand() + i + n; }\n"
	"int main(void) { n = work(4); return work(n); }\n";

static const struct {
	const char *name, *compiler, *options;
} ways[] = {
	{ "pie", "gcc", "-pie -fPIE" },
	{ "fixed", "gcc", "-no-pie" },
	{ "static", "gcc", "-static" },
	{ "static-pie", "gcc", "-static-pie -fPIE" },
	{ "lld", "gcc", "-fuse-ld=lld -pie -fPIE" },
	{ "lld-fixed", "gcc", "-fuse-ld=lld -no-pie" },
	{ "unrelaxed", "gcc", "-no-pie -Wl,--no-relax" },
	{ "musl", "musl-gcc", "" },
	{ "musl-fixed", "musl-gcc", "-no-pie" },
	{ "musl-static", "musl-gcc", "-static" },
	{ "without", "gcc", "-static -fno-asynchronous-unwind-tables" },
};

static int make_files(void **state)
{
	assert_int_equal(scratch_make(state), 0);
	scratch_write("prog.c", source);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const char *name = ways[i].name;
		cleanup_free char *command =
			xasprintf("%s -O1 %s prog.c -o %s && strip -s %s -o %s.stripped",
				  ways[i].compiler, ways[i].options, name, name, name);

		scratch_run(command);
	}
	return scratch_run("gcc -O1 -shared -fPIC prog.c -o lib.so && strip -s lib.so");
}

static const char *name_at(struct image *im, uint64_t vaddr)
{
	struct image_symbol s;

	if (!image_function_at(im, vaddr, &s))
		return "";
	assert_true(s.vaddr <= vaddr && vaddr - s.vaddr < s.size);
	return s.name;
}

TEST(a_stripped_program_has_its_start)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		cleanup_free char *name = xasprintf("%s.stripped", ways[i].name);
		struct image *full = open_image(ways[i].name), *im = open_image(name);
		const uint64_t start = image_entry(full), main = find(full, "main").symbol.vaddr;

		print_message("%s\n", name);
		assert_string_equal(name_at(im, start), "_start");
		assert_string_not_equal(name_at(im, start - 1), "_start");
		assert_string_equal(name_at(full, start + 12), "_start"); /* musl's has no type */
		assert_string_equal(name_at(im, main), "");
		image_close(im);
		image_close(full);
	}
}

TEST(a_library_has_none)
{
	cleanup(image_freep) struct image *im = open_image("lib.so");

	assert_string_equal(name_at(im, image_entry(im)), "");
}

/* As ld.so's, behind whose call another function begins; and as other libraries' entries. */
TEST(a_dynamic_linker_has_its_start)
{
	static const struct {
		const char *code;
		size_t n_start; /* bytes of _start */
	} cases[] = {
		{ "mov %rsp, %rdi; call 1f", 8 },
		{ "endbr64; mov %rsp, %rdi; call 1f", 12 },
		{ "sub $8, %rsp; mov %rsp, %rdi; call 1f", 0 },
		{ "push %rax; mov %rsp, %rdi; call 1f", 0 },
		{ "mov %rsp, %rsi; call 1f", 0 },
		{ "mov %rsp, %rdi; jmp 1f", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_free char *code = xasprintf(
			".text; .globl begin; .hidden begin; nop; begin: %s; mov %%rax, %%r12; jmp *%%r12\n"
			"1: push %%rbp; xor %%eax, %%eax; pop %%rbp; ret\n",
			cases[i].code);

		print_message("%s\n", cases[i].code);
		scratch_write("linker.s", code);
		scratch_run("as linker.s -o linker.o && "
			    "ld -shared -e begin -s linker.o -o linker.so");

		cleanup(image_freep) struct image *im = open_image("linker.so");
		const uint64_t entry = image_entry(im);

		for (uint64_t at = 0; at < 20; at++)
			assert_string_equal(name_at(im, entry + at),
					    at < cases[i].n_start ? "_start" : "");
		assert_string_equal(name_at(im, entry - 1), "");
	}
}

TEST(a_function_without_a_name_begins_where_the_frames_say)
{
	struct image *full = open_image("pie"), *im = open_image("pie.stripped");
	const struct image_symbol work = find(full, "work").symbol,
				  main = find(full, "main").symbol;
	struct image_frame frame;

	assert_string_equal(name_at(im, work.vaddr), "");
	for (uint64_t at = 0; at < work.size; at++) {
		assert_true(image_frame_at(im, work.vaddr + at, &frame));
		assert_int_equal(frame.start, work.vaddr);
	}
	assert_true(image_frame_at(im, main.vaddr, &frame));
	assert_int_equal(frame.start, main.vaddr);
	assert_false(image_frame_at(im, 0, &frame));
	assert_false(image_frame_at(im, UINT64_MAX, &frame));
	image_close(im);
	image_close(full);
}

/* A place behind each instruction, and whether a return address can be that. */
TEST(calls_are_known_from_behind)
{
	static const char asm_source[] =
		".text; .globl _start; _start: .type _start, @function\n"
		"call _start; call *%rax; call *%r12; call *(%rax); call *(%rsp); call *8(%rbp)\n"
		"call *8(%rsp); call *_start(%rip); call *0x1000(%rax); call *0x1000(%rax,%rcx,8)\n"
		"call *0x1000(,%rcx,8); syscall; int $0x80\n"
		"not: nop; jmp *%rax; jmp _start; nop; ret; push %rax; mov %rax,%rbx; lea 8(%rax),%rdx\n"
		".nops 9; ud2; hlt; .fill 8, 1, 0xcc; .size _start, . - _start; end:\n";
	static const uint8_t calls[] = { 5, 2, 3, 2, 3, 3, 4, 6, 6, 7, 7, 2, 2 };
	static const uint8_t others[] = { 1, 2, 5, 1, 1, 1, 3, 4, 9, 2, 1, 8 };

	scratch_write("calls.s", asm_source);
	scratch_run("as calls.s -o calls.o && ld calls.o -o calls");

	cleanup(image_freep) struct image *im = open_image("calls");
	uint64_t at = image_entry(im);

	assert_false(image_is_behind_call(im, at));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_true(image_is_behind_call(im, at += calls[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(image_is_behind_call(im, at += others[i]));
	assert_false(image_is_behind_call(im, 0));
	assert_false(image_is_behind_call(im, 3));
	assert_false(image_is_behind_call(im, UINT64_MAX));
}

TEST_MAIN(make_files, scratch_remove)
