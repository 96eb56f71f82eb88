/* rooms: match elf kernel processes files unwind arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which places of a file's functions and probes are traced: see match/user.c. */
#include "test.h"

#include "scratch.h"

#include "arch/arch.h"
#include "elf/image.h"
#include "match/match.h"

/* --- verdicts --- */

TEST(what_the_kernel_mistakes_is_known)
{
	static const struct {
		const char *bytes, *text;
		enum uprobe_verdict verdict; /* in 64-bit mode */
		enum uprobe_verdict verdict_32;
	} rows[] = {
		{ "\x62\xe2\x7d\x28\x7a\xce", "vpbroadcastb", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc5\xf9\x74\xc1\x90\x90", "vpcmpeqb", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc5\xf8\x77\x90\x90\x90", "vzeroupper", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc5\xf9\x70\xc0\x20\x90", "vpshufd", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc5\xf8\x90\x0f\x90\x90", "kmovw", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc4\xe2\xf1\x9d\xc2\x90", "vfnmadd132sd", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc4\xe2\x71\x9a\xc2\x90", "vfmsub132ps", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc5\xf1\xc2\xc2\x01\x90", "vcmpltpd", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc5\xf9\xe8\xc1\x90\x90", "vpsubsb", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc5\xf9\xe9\xc1\x90\x90", "vpsubsw", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc5\xf9\xea\xc1\x90\x90", "vpminsw", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc5\xf9\xeb\xc1\x90\x90", "vpor", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xc4\xe2\x79\xe8\x02\x90", "cmpsxadd", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\x64\xc5\xf9\x74\x00\x90", "fs vpcmpeqb", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\x8f\xe8\x78\xc2\xc8\x07", "vprotd", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\x49\x90\x90\x90\x90\x90", "xchg %rax,%r8", UPROBE_MISTAKEN, UPROBE_FINE },
		{ "\x66\x41\x90\x90\x90\x90", "xchg %ax,%r8w", UPROBE_MISTAKEN, UPROBE_FINE },
		{ "\xf3\xaa\x90\x90\x90\x90", "rep stosb", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\xf3\x48\xa5\x90\x90\x90", "rep movsq", UPROBE_REFUSED, UPROBE_FINE },
		{ "\xf0\x83\x07\x01\x90\x90", "lock addl", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\x3e\xff\xe0\x90\x90\x90", "notrack jmp", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\x2e\xb8\x07\x00\x00\x00", "cs mov", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\x2e\x0f\xb6\x07\x90\x90", "cs movzbl", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\x2e\x90\x90\x90\x90\x90", "cs nop", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\x2e\x0f\x1f\x40\x00\x90", "cs nopl", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\x66\x2e\x48\x0f\x1f\xc0", "data16 cs nopq", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\x2e\xc5\xf9\xef\xc1\x90", "cs vpxor", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\x3e\xc5\xf8\x28\xc1\x90", "ds vmovaps", UPROBE_REFUSED, UPROBE_REFUSED },
		{ "\xf4\x90\x90\x90\x90\x90", "hlt", UPROBE_REFUSED, UPROBE_FINE },
		{ "\xcc\x90\x90\x90\x90\x90", "int3", UPROBE_REFUSED, UPROBE_FINE },
		{ "\xf3\xc3\x90\x90\x90\x90", "rep ret", UPROBE_FINE, UPROBE_FINE },
		{ "\xd5\x08\xa1\x90\x90\x90", "REX2", UPROBE_MISTAKEN, UPROBE_FINE },
		{ "\xc5\xf9\xef\xc0\x90\x90", "vpxor", UPROBE_REFUSED, UPROBE_FINE },
		{ "\xc5\xfe\x6f\x06\x90\x90", "vmovdqu", UPROBE_REFUSED, UPROBE_FINE },
		{ "\xc5\xf9\x6e\xc6\x90\x90", "vmovd", UPROBE_REFUSED, UPROBE_FINE },
		{ "\xc5\xf8\x57\xc0\x90\x90", "vxorps", UPROBE_FINE, UPROBE_FINE },
		{ "\xc5\xfc\x10\x07\x90\x90", "vmovups", UPROBE_FINE, UPROBE_FINE },
		{ "\xc4\xe2\x60\xf2\xc8\x90", "andn", UPROBE_FINE, UPROBE_FINE },
		{ "\xf3\x0f\x1e\xfa\x90\x90", "endbr64", UPROBE_FINE, UPROBE_FINE },
		{ "\x90\x90\x90\x90\x90\x90", "nop", UPROBE_FINE, UPROBE_FINE },
		{ "\x48\x90\x90\x90\x90\x90", "nop with REX.W", UPROBE_FINE, UPROBE_FINE },
		{ "\x74\x10\x90\x90\x90\x90", "je", UPROBE_FINE, UPROBE_FINE },
		{ "\xe8\x10\x90\x90\x90\x90", "call", UPROBE_FINE, UPROBE_FINE },
		{ "\x66\x0f\x74\xc1\x90\x90", "pcmpeqb", UPROBE_FINE, UPROBE_FINE },
		{ "\x8f\x00\x90\x90\x90\x90", "pop", UPROBE_FINE, UPROBE_FINE },
		{ "\x41\x8f\x00\x90\x90\x90", "pop (%r8)", UPROBE_FINE, UPROBE_FINE },
		{ "\x67\xc5\xf9\x74\x00\x90", "addr32 vpcmpeqb", UPROBE_MISTAKEN, UPROBE_MISTAKEN },
		{ "\xf3\x90\x90\x90\x90\x90", "pause", UPROBE_FINE, UPROBE_FINE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint8_t *bytes = (const uint8_t *)rows[i].bytes;

		if (arch_uprobe_verdict(bytes, 6, true) != rows[i].verdict)
			fail_msg("%s", rows[i].text);
		if (arch_uprobe_verdict(bytes, 6, false) != rows[i].verdict_32)
			fail_msg("%s in 32-bit mode", rows[i].text);
	}
	assert_int_equal(arch_uprobe_verdict((const uint8_t *)"\xc5\xf9", 2, true),
			 UPROBE_MISTAKEN);
	/* A memory operand where VEX has register bits: these are les, lds and bound. */
	assert_int_equal(arch_uprobe_verdict((const uint8_t *)"\xc4\x74\x90\x90", 4, false),
			 UPROBE_FINE);
	assert_int_equal(arch_uprobe_verdict((const uint8_t *)"\xc5\x10\x74\x90", 4, false),
			 UPROBE_FINE);
	assert_int_equal(arch_uprobe_verdict((const uint8_t *)"\x62\x10\x74\x90\x7a", 5, false),
			 UPROBE_FINE);
}

/* --- places --- */

/*
 * One function after the other, each with room around it, so that none of its neighbours'
 * bytes is a short jump to it.
 */
static const char functions[] =
	".macro begin name\n"
	"	.p2align 9, 0xcc\n"
	"	.type \\name, @function\n"
	"\\name:\n"
	".endm\n"
	".macro end name\n"
	"	ret\n"
	"	.size \\name, . - \\name\n"
	".endm\n"
	".text\n"
	/* Nothing is to be done. */
	"begin plain; mov %edi, %eax; end plain\n"
	"begin plain_cet; endbr64; vpcmpeqb %xmm0, %xmm0, %xmm1; end plain_cet\n"
	"begin stays_vxorps; vxorps %xmm0, %xmm0, %xmm0; mov %edi, %eax; end stays_vxorps\n"
	/* Behind one to four. */
	"begin to4_compare; vpcmpeqb %xmm0, %xmm0, %xmm1; mov %edi, %eax; end to4_compare\n"
	".type to4_again, @function; .set to4_again, to4_compare\n"
	"begin to4_refused; vpxor %xmm0, %xmm0, %xmm0; mov %edi, %eax; end to4_refused\n"
	"begin to6_evex; vpbroadcastb %esi, %ymm17; mov %edi, %eax; end to6_evex\n"
	"begin to3_zeroupper; vzeroupper; end to3_zeroupper\n"
	"begin to5_bits; vmovq %xmm0, %rcx; mov %rcx, %rdx; end to5_bits\n"
	"begin to14_fs; vpcmpeqb %xmm0, %xmm0, %xmm1; vpor %fs:0, %xmm0, %xmm0; end to14_fs\n"
	"begin to8_rip; vpcmpeqb plain(%rip), %xmm0, %xmm1; mov %edi, %eax; end to8_rip\n"
	"begin to4_bmi; vpcmpeqb %xmm0, %xmm0, %xmm1; andn %eax, %ebx, %ecx; end to4_bmi\n"
	"begin to5_cs; .byte 0x2e, 0x0f, 0x1f, 0x40, 0; mov %edi, %eax; end to5_cs\n"
	"begin to5_nop5; .byte 0x0f, 0x1f, 0x44, 0, 0; mov %edi, %eax; end to5_nop5\n"
	"begin to16_four; .rept 4; vpcmpeqb %xmm0, %xmm0, %xmm1; .endr\n"
	"	push %rbp; end to16_four\n"
	/* Its ModRM byte would be a jump over nothing, if 74 were one. */
	"begin to4_modrm; vpcmpeqb (%rax), %xmm0, %xmm0; mov %edi, %eax; end to4_modrm\n"
	/* vzeroupper; ret, at the distance at which 77 c3 would be a jump. */
	"begin to4_tail; vpcmpeqb %xmm0, %xmm0, %xmm1\n"
	"	mov %edi, %eax; .skip 54, 0x90; .byte 0xc5, 0xf8, 0x77; end to4_tail\n"
	/* 62 e1 85 28 d4 c0, at the distance at which e1 85 would be loope. */
	"begin to4_prefix; vpcmpeqb %xmm0, %xmm0, %xmm1\n"
	"	mov %edi, %eax; .skip 118, 0x90; vpaddq %ymm0, %ymm15, %ymm16; end to4_prefix\n"
	/* Nowhere to go. */
	"begin no_five; .rept 5; vpcmpeqb %xmm0, %xmm0, %xmm1; .endr\n"
	"	mov %edi, %eax; end no_five\n"
	"begin no_general; vcvttss2usi %xmm0, %eax; mov %edi, %eax; end no_general\n"
	"begin no_stack; vmovq %xmm0, %rsp; mov %edi, %eax; end no_stack\n"
	"begin no_xop; vprotd $7, %xmm0, %xmm1; mov %edi, %eax; end no_xop\n"
	"begin no_xchg; vpcmpeqb %xmm0, %xmm0, %xmm1; xchg %rax, %r8; end no_xchg\n"
	"begin no_xchg_first; xchg %rax, %r8; end no_xchg_first\n"
	/* A loop begins there, by each kind of jump. */
	"begin no_loop; vpcmpeqb %xmm0, %xmm0, %xmm1\n"
	"1:	dec %edi; jne 1b; end no_loop\n"
	"begin no_loop_between; .rept 2; vpcmpeqb %xmm0, %xmm0, %xmm1; .endr\n"
	"	dec %edi; jne no_loop_between + 4; end no_loop_between\n"
	"begin no_rcx_loop; vpcmpeqb %xmm0, %xmm0, %xmm1\n"
	"1:	inc %eax; loop 1b; end no_rcx_loop\n"
	/* Behind a byte 62 that is no prefix. */
	"begin no_loope; vpcmpeqb %xmm0, %xmm0, %xmm1\n"
	"1:	mov $0x62000000, %edx; loope 1b; end no_loope\n"
	"begin no_long_loop; vpcmpeqb %xmm0, %xmm0, %xmm1\n"
	"1:	dec %edi; .skip 200, 0x90; jne 1b; end no_long_loop\n"
	"begin no_called; vpcmpeqb %xmm0, %xmm0, %xmm1; mov %edi, %eax; end no_called\n"
	"begin plain_caller; push %rax; call no_called + 4; pop %rax; end plain_caller\n"
	"begin no_jumped; vpcmpeqb %xmm0, %xmm0, %xmm1; mov %edi, %eax; end no_jumped\n"
	/* A second function begins there. */
	"begin no_inner; vpcmpeqb %xmm0, %xmm0, %xmm1\n"
	".type plain_inner, @function; plain_inner: mov %edi, %eax; ret\n"
	".size plain_inner, . - plain_inner; end no_inner\n"
	/* So does a loop at the entry, but that is the entry. */
	"begin to4_outer; vpcmpeqb %xmm0, %xmm0, %xmm1\n"
	"	dec %edi; jne to4_outer; end to4_outer\n"
	/* Not mistaken but refused. */
	"begin out_refused; vpxor %xmm0, %xmm0, %xmm0\n"
	"1:	dec %edi; jne 1b; end out_refused\n"
	/* Sites of USDT probes. */
	"begin plain_sites; mov %rdi, -8(%rsp)\n"
	"site_nop5:	.byte 0x0f, 0x1f, 0x44, 0, 0; mov -8(%rsp), %rax\n"
	"site_cs:	.byte 0x2e, 0x0f, 0x1f, 0x40, 0; nop; mov -8(%rsp), %rax\n"
	"site_vector:	.byte 0x0f, 0x1f, 0x44, 0, 0; vpcmpeqb %xmm0, %xmm0, %xmm1\n"
	"site_loop:	.byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"1:	dec %edi; jne 1b; end plain_sites\n"
	/* Far away, in a section of its own, as compilers put what is seldom run. */
	".section .text.unlikely, \"ax\"\n"
	"begin plain_cold; jmp no_jumped + 4; end plain_cold\n"
	".section .note.stapsdt, \"\", \"note\"\n"
	".macro probe name, place\n"
	"	.balign 4; .4byte 8, 9f - 8f, 3; .asciz \"stapsdt\"\n"
	"8:	.8byte \\place, _.stapsdt.base, 0; .asciz \"shop\"; .asciz \"\\name\"; .asciz \"\"\n"
	"9:\n"
	".endm\n"
	"probe at_nop, plain\n"
	"probe at_vector, to4_compare\n"
	"probe at_refused, to4_refused\n"
	"probe at_nop5, site_nop5\n"
	"probe at_cs, site_cs\n"
	"probe at_nop5_vector, site_vector\n"
	"probe at_nop5_loop, site_loop\n"
	".section .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	"_.stapsdt.base: .space 1\n"
	".section .note.GNU-stack, \"\", @progbits\n";

static const char functions_32[] = ".text\n"

				   ".type sse, @function\n"
				   "sse:	pcmpeqb %xmm0, %xmm0; ret\n"
				   ".size sse, . - sse\n"
				   ".type avx, @function\n"
				   "avx:	vpcmpeqb %xmm0, %xmm0, %xmm1; mov %edi, %eax; ret\n"
				   ".size avx, . - avx\n"
				   ".type load, @function\n"
				   "load:	les 0x74(%eax), %esi; ret\n"
				   ".size load, . - load\n";

static int make_files(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	scratch_write("f.s", functions);
	scratch_write("narrow.s", functions_32);
	scratch_run("as -o f.o f.s && ld -shared -o f f.o && nm f >f.nm && "
		    "as --32 -o narrow.o narrow.s && ld -m elf_i386 -shared -o narrow narrow.o");
	return 0;
}

/* What @pattern, in @file, adds to @list. */
static void match_file(const char *file, const char *pattern, struct target_list *list)
{
	cleanup(host_freep) struct host *host = host_new();
	cleanup(probe_spec_fini) struct probe_spec spec = {};
	cleanup_free char *path = scratch_path(file);
	bool is_usdt = strncmp(pattern, "u:", 2) == 0;
	cleanup_free char *text =
		xasprintf("%s%s:%s", is_usdt ? "u:" : "", path, is_usdt ? pattern + 2 : pattern);
	const struct match_scope scope = { .limit = 1000, .kernel_calls_at_nop5 = true };

	assert_works(probe_spec_parse(text, false, &spec, &e));
	assert_works(match_targets(&spec, host, &scope, list, &e));
}

/* Of a symbol in f. */
static uint64_t entry_of(const char *name)
{
	cleanup_free char *path = scratch_path("f.nm");
	FILE *f = fopen(path, "r");
	unsigned long long vaddr = 0;
	char found[64] = "";

	assert_non_null(f);
	while (strcmp(found, name) != 0)
		assert_int_equal(fscanf(f, "%llx %*c %63s", &vaddr, found), 2);
	(void)fclose(f);
	return vaddr; /* ld lays the file out like the memory */
}

/* The functions' names say what is expected. */
TEST(a_probe_goes_behind_what_uprobes_cannot_do)
{
	cleanup(target_list_fini) struct target_list list = {};
	size_t n_moved = 0, n_left_out = 0;

	match_file("f", "*", &list);
	for (size_t i = 0; i < list.n; i++) {
		const struct target *t = &list.targets[i];
		uint64_t wanted = 0;
		enum target_obstacle obstacle = strncmp(t->name, "no_", 3) == 0 ? OBSTACLE_MISTAKEN
						: strncmp(t->name, "out_", 4) == 0
							? OBSTACLE_REFUSED
							: OBSTACLE_NONE;

		if (strncmp(t->name, "to", 2) == 0)
			wanted = strtoull(t->name + 2, NULL, 10);
		if (t->offset != entry_of(t->symbol) + wanted)
			fail_msg("%s: %lld bytes behind the entry, not %llu", t->name,
				 (long long)(t->offset - entry_of(t->symbol)),
				 (unsigned long long)wanted);
		if (t->obstacle != obstacle)
			fail_msg("%s: obstacle %d", t->name, (int)t->obstacle);
		n_moved += wanted != 0;
		n_left_out += obstacle != OBSTACLE_NONE;
	}
	assert_int_equal(n_moved, 15);
	assert_int_equal(n_left_out, 15);
}

/* By one name, then another, then all: by the entry, not by where the probe is. */
TEST(names_of_a_function_whose_probe_has_moved_are_one_target)
{
	cleanup(target_list_fini) struct target_list list = {};

	match_file("f", "to4_again", &list);
	match_file("f", "to4_compare", &list);
	match_file("f", "to4_[ac]*", &list);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.targets[0].offset, entry_of("to4_again") + 4);
}

TEST(a_usdt_probe_goes_behind_nops_alone)
{
	static const struct {
		const char *name, *site;
		uint64_t moved;
		enum target_obstacle obstacle;
	} wanted[] = {
		{ "shop:at_nop", "plain", 0, OBSTACLE_NONE },
		{ "shop:at_vector", "to4_compare", 0, OBSTACLE_MISTAKEN },
		{ "shop:at_refused", "to4_refused", 0, OBSTACLE_REFUSED },
		{ "shop:at_nop5", "site_nop5", 5, OBSTACLE_NONE },
		{ "shop:at_cs", "site_cs", 6, OBSTACLE_NONE },
		{ "shop:at_nop5_vector", "site_vector", 0, OBSTACLE_OVERWRITES },
		{ "shop:at_nop5_loop", "site_loop", 0, OBSTACLE_OVERWRITES },
	};
	cleanup(target_list_fini) struct target_list list = {};

	match_file("f", "u:at_*", &list);
	assert_int_equal(list.n, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < list.n; i++) {
		const struct target *t = &list.targets[i];

		assert_string_equal(t->name, wanted[i].name);
		assert_int_equal(t->offset, entry_of(wanted[i].site) + wanted[i].moved);
		assert_int_equal(t->obstacle, wanted[i].obstacle);
	}
}

TEST(of_32_bit_code_none_is_moved)
{
	cleanup(target_list_fini) struct target_list list = {};

	match_file("narrow", "*", &list);
	assert_int_equal(list.n, 3);
	for (size_t i = 0; i < list.n; i++) {
		assert_int_equal(list.targets[i].obstacle, strcmp(list.targets[i].name, "avx") == 0
								   ? OBSTACLE_MISTAKEN
								   : OBSTACLE_NONE);
	}
}

TEST_MAIN(make_files, scratch_remove)
