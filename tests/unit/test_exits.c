/* rooms: unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The exits of functions: of assembly in this file, and of all functions of real files. */
#include "test.h"

#include "arch/arch.h"
#include "elf/gopclntab.h"
#include "elf_files.h"
#include "unwind/exits.h"

/* Before each exit of a function that has no doubts stands EXIT, which notes its address. */
__asm__(".macro EXIT code:vararg\n"
	".Lexit\\@: .pushsection noted_exits, \"aw\"\n .quad .Lexit\\@\n .popsection\n"
	"\\code\n .endm\n");
#define FUNCTION(name, code)                                                                     \
	__asm__(".text\n.p2align 4\n.type " name ", @function\n" name ":\n" code "\n.size " name \
		", . - " name "\n")
#define PART(name, code)                                                               \
	__asm__(".section .text.unlikely\n.type " name ", @function\n" name ":\n" code \
		"\n.size " name ", . - " name "\n.text\n")

FUNCTION("callee", "EXIT ret");
FUNCTION("two", "test %edi, %edi\n jz 1f\n EXIT ret\n 1: mov $1, %eax\n EXIT ret");
FUNCTION("prefixed", "test %edi, %edi\n jz 1f\n EXIT rep ret\n 1: EXIT bnd ret");
FUNCTION("tail", "push %rbx\n call callee\n pop %rbx\n EXIT jmp callee");
FUNCTION("pointer", "mov (%rdi), %rax\n EXIT jmp *8(%rax)");
FUNCTION("by_register", "push %rbx\n mov (%rdi), %rax\n pop %rbx\n EXIT jmp *%rax");
FUNCTION("argument", "EXIT jmp *%rsi");
FUNCTION("recursive", "sub $8, %rsp\n test %edi, %edi\n jz 1f\n dec %edi\n call recursive\n"
		      "1: add $8, %rsp\n EXIT ret");
FUNCTION("itself", "dec %edi\n jz 1f\n jmp itself\n 1: EXIT ret");
FUNCTION("never", "sub $8, %rsp\n call abort");
FUNCTION("dead_call", "test %edi, %edi\n jz 1f\n push %rax\n call abort\n .p2align 4\n"
		      "1: ret");
FUNCTION("split", "push %rbx\n test %edi, %edi\n jz split.cold\n split_back: pop %rbx\n"
		  "EXIT ret");
PART("split.cold", "cmp $3, %esi\n je split_back\n pop %rbx\n EXIT ret");
FUNCTION("of_switch", "cmp $2, %edi\n ja 1f\n mov %edi, %edi\n lea table(%rip), %rdx\n"
		      "movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n"
		      "of_switch_a: EXIT ret\n of_switch_b: EXIT jmp callee\n"
		      "1: EXIT ret");
__asm__(".section .rodata\n.p2align 2\n table: .long of_switch_a - table, of_switch_b - table,"
	" of_switch_b - table\n.text");
/* No comparison gives the length of the table. */
FUNCTION("of_open_switch", "lea open_table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n"
			   "add %rdx, %rax\n jmp *%rax\n .p2align 4\n"
			   "open_a: EXIT ret\n open_b: EXIT ret");
__asm__(".section .rodata\n.p2align 2\n open_table: .long open_a - open_table, open_b - open_table"
	"\n.text");
FUNCTION("frame", "push %rbp\n mov %rsp, %rbp\n sub %rdi, %rsp\n leave\n EXIT ret");
FUNCTION("local_call", "call 1f\n EXIT ret\n 1: nop\n ret");
FUNCTION("conditional", "test %edi, %edi\n jz callee\n ret");
FUNCTION("pushed", "push %rdi\n ret");
FUNCTION("tail_with_frame", "push %rdi\n jmp callee");
FUNCTION("unsure", "mov (%rdi), %rax\n jmp *%rax\n .p2align 4\n mov $1, %eax\n ret");
FUNCTION("runs_on", "test %edi, %edi\n jz 1f\n ret\n 1: nop");
FUNCTION("with_data", "EXIT ret\n .byte 0xc3, 0xc3, 0xc3");
FUNCTION("ret_more", "ret $8");
/* As mempcpy and memmove of glibc. Bytes within an instruction that look like a jump are none. */
FUNCTION("into_middle", "add %rdx, %rax\n jmp middle");
FUNCTION("entered", "mov %rdi, %rax\n middle: cmp $64, %rdx\n ret");
FUNCTION("not_entered", "mov %rdi, %rax\n no_middle: EXIT ret");
FUNCTION("no_jump", "movabs $0, %rax\n .byte 0x48, 0xb8, 0xe9\n .long no_middle - . - 4\n"
		    ".byte 0, 0, 0\n EXIT ret");

static const struct middles none;

static struct exits find_exits_of(struct image *im, const char *name)
{
	const uint64_t vaddr = find(im, name).symbol.vaddr;
	struct code_range function = { vaddr, function_end_of(im, vaddr) };
	struct middles middles;
	struct exits exits;

	if (!vaddr)
		fail_msg("no symbol %s", name);
	middles_find(im, &function, 1, false, &middles);
	exits_find(im, NULL, &middles, vaddr, &exits);
	middles_fini(&middles);
	return exits;
}

/* As linked they are as far from "callee" as at run time. */
extern const char callee[] __attribute__((visibility("hidden")));
extern const uint64_t __start_noted_exits[], __stop_noted_exits[];

static bool is_noted(uint64_t distance)
{
	for (const uint64_t *at = __start_noted_exits; at < __stop_noted_exits; at++)
		if (*at - (uintptr_t)callee == distance)
			return true;
	return false;
}

TEST(all_exits_are_found)
{
	static const char *const names[] = {
		"callee",      "two",         "prefixed",       "tail",   "pointer",
		"by_register", "argument",    "recursive",      "itself", "never",
		"split",       "of_switch",   "of_open_switch", "frame",  "local_call",
		"with_data",   "not_entered", "no_jump",
	};
	cleanup(image_freep) struct image *im = open_image("/proc/self/exe");
	const uint64_t from = find(im, "callee").symbol.vaddr;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup(exits_fini) struct exits exits = find_exits_of(im, names[i]);

		if (exits.doubt)
			fail_msg("%s: %s at 0x%lx", names[i], exits.doubt, exits.doubt_at);
		for (size_t k = 0; k < exits.n; k++)
			if (!is_noted(exits.places[k].vaddr - from))
				fail_msg("%s: 0x%lx is none", names[i], exits.places[k].vaddr);
		n += exits.n;
	}
	/* Functions do not overlap, so each was found once. */
	assert_int_equal(n, __stop_noted_exits - __start_noted_exits);
}

TEST(a_doubt_leaves_no_exits)
{
	static const struct {
		const char *name, *doubt;
	} rows[] = {
		{ "conditional", "it jumps to another function by a condition" },
		{ "pushed", "its frame is not known at a return" },
		{ "dead_call", "its frame is not known at a return" },
		{ "tail_with_frame", "it jumps into other code with a frame on the stack" },
		{ "unsure", "it may jump within itself or to another function" },
		{ "runs_on", "it goes on into other code" },
		{ "ret_more", "its frame cannot be followed" },
		{ "entered", "another function jumps into it" },
	};
	cleanup(image_freep) struct image *im = open_image("/proc/self/exe");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(exits_fini) struct exits exits = find_exits_of(im, rows[i].name);

		if (!exits.doubt)
			fail_msg("%s: no doubt", rows[i].name);
		assert_string_equal(exits.doubt, rows[i].doubt);
		assert_int_equal(exits.n, 0);
	}
}

/* --- files that no compiler makes --- */

#define FRAMES_AT (MADE_VADDR + MADE_HEAD)

/* Add an entry of .eh_frame at @at: of function [start, end). */
static size_t put_frame(uint8_t *frames, size_t at, uint64_t start, uint64_t end)
{
	const uint32_t words[] = { 16, (uint32_t)at + 4, (uint32_t)(start - (FRAMES_AT + at + 8)),
				   (uint32_t)(end - start), 0 };

	memcpy(frames + at, words, sizeof(words));
	return at + sizeof(words);
}

/* A file with @code: a function of @n_own bytes, and one behind it of @n_other. */
static struct image *open_code(const void *code, size_t n_code, uint32_t n_own, uint32_t n_other,
			       uint64_t *ret_vaddr)
{
	static const uint8_t cie[] = { 16,  0, 0, 0, 0,    0, 0,    0, 1, 'z',
				       'R', 0, 1, 8, 0x10, 1, 0x1b, 0, 0, 0 };
	uint8_t frames[64] = {};
	const struct made_section section = { ".eh_frame", frames, sizeof(frames) };
	size_t size, at = sizeof(cie);
	uint8_t *file = made_elf(&section, 1, n_code, &size);
	const uint64_t vaddr = MADE_VADDR + size - n_code;

	memcpy(frames, cie, sizeof(cie));
	at = put_frame(frames, at, vaddr, vaddr + n_own);
	(void)put_frame(frames, at, vaddr + n_own, vaddr + n_own + n_other);
	memcpy(file + MADE_HEAD, frames, sizeof(frames));
	memcpy(file + size - n_code, code, n_code);
	*ret_vaddr = vaddr;

	struct image *im = open_memory(file, size);

	free(file);
	return im;
}

TEST(a_part_that_the_file_lacks_is_none)
{
	/* test %edi, %edi; jz into the middle of the other function; ret */
	static const uint8_t code[32] = { 0x85, 0xff, 0x74, 13, [4 ... 31] = 0xc3 };
	static const struct {
		uint32_t n_other;
		const char *doubt;
	} rows[] = {
		{ 16, "it shares code with another function" },
		{ 17, "it jumps to another function by a condition" },
		{ 65536, "it jumps to another function by a condition" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t vaddr;
		struct exits exits;
		cleanup(image_freep) struct image *im =
			open_code(code, sizeof(code), 16, rows[i].n_other, &vaddr);

		exits_find(im, NULL, &none, vaddr, &exits);
		assert_non_null(exits.doubt);
		assert_string_equal(exits.doubt, rows[i].doubt);
		exits_fini(&exits);
	}
}

/* Each return is a case of its own, and each takes a pass over the function. */
TEST(a_function_of_too_many_cases_is_left_out)
{
	static const uint8_t jump[] = { 0xff, 0x24, 0xc5, 0, 0, 0, 0 }; /* jmp *0(,%rax,8) */
	const size_t n_code = 64 << 10;
	cleanup_free uint8_t *code = xmalloc(n_code);
	uint64_t vaddr;
	cleanup(exits_fini) struct exits exits;

	memset(code, 0xc3, n_code);
	memcpy(code, jump, sizeof(jump));

	cleanup(image_freep) struct image *im =
		open_code(code, n_code, (uint32_t)n_code, 1, &vaddr);

	exits_find(im, NULL, &none, vaddr, &exits);
	assert_non_null(exits.doubt);
	assert_string_equal(exits.doubt, "it is too large");
}

/* --- real files --- */

struct sweep {
	struct image *im;
	size_t n, n_known, n_returns;
};

static bool has_place(const struct exits *exits, uint64_t at)
{
	for (size_t i = 0; i < exits->n; i++)
		if (exits->places[i].vaddr == at)
			return true;
	return false;
}

/*
 * Decode the function in a straight line. Compilers put no data there, and few instructions that
 * are never reached, so its returns are its exits.
 */
static int compare_function(void *context, const struct image_symbol *s)
{
	struct sweep *sweep = context;
	struct exits exits;

	if (s->is_indirect || !s->size)
		return 0;
	exits_find(sweep->im, NULL, &none, s->vaddr, &exits);
	sweep->n++;
	sweep->n_known += !exits.doubt;
	for (uint64_t at = s->vaddr; !exits.doubt && at < s->vaddr + s->size;) {
		const struct slice code = image_code(sweep->im, at, ARCH_INSTRUCTION_BYTES);
		const struct instruction i = instruction_at(code.data, code.size, at);

		if (i.kind == INSTRUCTION_RETURN) {
			sweep->n_returns++;
			if (!has_place(&exits, at))
				fail_msg("%s: 0x%lx is no exit", s->name, (unsigned long)at);
		}
		at += i.length ? i.length : 1;
	}
	exits_fini(&exits);
	return 0;
}

TEST(no_return_instruction_is_missed_in_real_files)
{
	static const char *const files[] = {
		"/usr/lib/" ARCH_TRIPLET "/libc.so.6",
		"/usr/lib/" ARCH_TRIPLET "/libstdc++.so.6",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct sweep sweep = { .im = open_image(files[i]) };

		(void)image_each_function(sweep.im, compare_function, &sweep);
		print_message("%s: exits of %zu of %zu functions, %zu returns\n", files[i],
			      sweep.n_known, sweep.n, sweep.n_returns);
		assert_true(sweep.n > 1000 && sweep.n_known > sweep.n * 98 / 100);
		image_close(sweep.im);
	}
}

TEST_MAIN(NULL, NULL)
