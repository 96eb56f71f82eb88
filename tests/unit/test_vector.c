/* rooms: arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which instructions have a vector's encoding and leave the general registers alone? They are
 * written as GNU as writes them and objdump reads them back.
 */
#include "test.h"

#include "arch/arch.h"

struct row {
	const char *bytes; /* in hex */
	const char *text;
};

/* clang-format off */
static const struct row vectors[] = {
	{ "c5f974d1", "vpcmpeqb %xmm1,%xmm0,%xmm2" },
	{ "c5fd740f", "vpcmpeqb (%rdi),%ymm0,%ymm1" },
	{ "c5e17664c810", "vpcmpeqd 0x10(%rax,%rcx,8),%xmm3,%xmm4" },
	{ "c4413d758978563412", "vpcmpeqw 0x12345678(%r9),%ymm8,%ymm9" },
	{ "c5f9efc0", "vpxor %xmm0,%xmm0,%xmm0" },
	{ "c4410defef", "vpxor %ymm15,%ymm14,%ymm13" },
	{ "c5f857c0", "vxorps %xmm0,%xmm0,%xmm0" },
	{ "c5f877", "vzeroupper" },
	{ "c5fc77", "vzeroall" },
	{ "c5fe6f06", "vmovdqu (%rsi),%ymm0" },
	{ "c5fe7f4417e0", "vmovdqu %ymm0,-0x20(%rdi,%rdx,1)" },
	{ "c5f96f2d00100000", "vmovdqa 0x1000(%rip),%xmm5" },
	{ "c5f8110424", "vmovups %xmm0,(%rsp)" },
	{ "c5f8114508", "vmovups %xmm0,0x8(%rbp)" },
	{ "c4c178100424", "vmovups (%r12),%xmm0" },
	{ "c4c178104500", "vmovups 0x0(%r13),%xmm0" },
	{ "c5f8100c8500000000", "vmovups 0x0(,%rax,4),%xmm1" },
	{ "c5f96ec6", "vmovd %esi,%xmm0" },
	{ "c5f97ec2", "vmovd %xmm0,%edx" },
	{ "c4e1f97ec1", "vmovq %xmm0,%rcx" },
	{ "c4c1f97ec0", "vmovq %xmm0,%r8" },
	{ "c4c1f97ec4", "vmovq %xmm0,%r12" },
	{ "c4e1f96ecf", "vmovq %rdi,%xmm1" },
	{ "c5fa7ec8", "vmovq %xmm0,%xmm1" },
	{ "c5f97e5c2404", "vmovd %xmm3,0x4(%rsp)" },
	{ "c5f970c820", "vpshufd $0x20,%xmm0,%xmm1" },
	{ "c5fb70081b", "vpshuflw $0x1b,(%rax),%xmm1" },
	{ "c5e171d204", "vpsrlw $0x4,%xmm2,%xmm3" },
	{ "c5e572f202", "vpslld $0x2,%ymm2,%ymm3" },
	{ "c5e173fa08", "vpslldq $0x8,%xmm2,%xmm3" },
	{ "c5f1c2c201", "vcmpltpd %xmm2,%xmm1,%xmm0" },
	{ "c5f2c2470401", "vcmpltss 0x4(%rdi),%xmm1,%xmm0" },
	{ "c5f1c4d003", "vpinsrw $0x3,%eax,%xmm1,%xmm2" },
	{ "c5e8c6d944", "vshufps $0x44,%xmm1,%xmm2,%xmm3" },
	{ "c5f8ae542408", "vldmxcsr 0x8(%rsp)" },
	{ "c5f8ae1c24", "vstmxcsr (%rsp)" },
	{ "c5fde707", "vmovntdq %ymm0,(%rdi)" },
	{ "c5fb2ac0", "vcvtsi2sd %eax,%xmm0,%xmm0" },
	{ "c5f92ec1", "vucomisd %xmm1,%xmm0" },
	{ "c5ec41d9", "kandw %k1,%k2,%k3" },
	{ "c5fb92c8", "kmovd %eax,%k1" },
	{ "c4e1f89017", "kmovq (%rdi),%k2" },
	{ "c4e1f998c0", "kortestd %k0,%k0" },
	{ "c5ed4bd9", "kunpckbw %k1,%k2,%k3" },
	{ "c4e27900c1", "vpshufb %xmm1,%xmm0,%xmm0" },
	{ "c4e27d78c0", "vpbroadcastb %xmm0,%ymm0" },
	{ "c4e2795807", "vpbroadcastd (%rdi),%xmm0" },
	{ "c4e27d182520000000", "vbroadcastss 0x20(%rip),%ymm4" },
	{ "c4e269900488", "vpgatherdd %xmm2,(%rax,%xmm1,4),%xmm0" },
	{ "c4e2ed9344c840", "vgatherqpd %ymm2,0x40(%rax,%ymm1,8),%ymm0" },
	{ "c4e2f1a9c2", "vfmadd213sd %xmm2,%xmm1,%xmm0" },
	{ "c4e2f19dc2", "vfnmadd132sd %xmm2,%xmm1,%xmm0" },
	{ "c4e2719d8200010000", "vfnmadd132ss 0x100(%rdx),%xmm1,%xmm0" },
	{ "c4e2758e07", "vpmaskmovd %ymm0,%ymm1,(%rdi)" },
	{ "c4e26947d9", "vpsllvd %xmm1,%xmm2,%xmm3" },
	{ "c4e27d17c0", "vptest %ymm0,%ymm0" },
	{ "c4e269dcd9", "vaesenc %xmm1,%xmm2,%xmm3" },
	{ "c4e27d13c8", "vcvtph2ps %xmm0,%ymm1" },
	{ "c4e37905c801", "vpermilpd $0x1,%xmm0,%xmm1" },
	{ "c4e36d0fd90f", "vpalignr $0xf,%ymm1,%ymm2,%ymm3" },
	{ "c4e3710b54241009", "vroundsd $0x9,0x10(%rsp),%xmm1,%xmm2" },
	{ "c4e375181001", "vinsertf128 $0x1,(%rax),%ymm1,%ymm2" },
	{ "c4e37d190701", "vextractf128 $0x1,%ymm0,(%rdi)" },
	{ "c4e3714cc230", "vpblendvb %xmm3,%xmm2,%xmm1,%xmm0" },
	{ "c4e36d46d931", "vperm2i128 $0x31,%ymm1,%ymm2,%ymm3" },
	{ "c4e3fd00d14e", "vpermq $0x4e,%ymm1,%ymm2" },
	{ "c4e37144561011", "vpclmulhqhqdq 0x10(%rsi),%xmm1,%xmm2" },
	{ "c4e3f922c201", "vpinsrq $0x1,%rdx,%xmm0,%xmm0" },
	{ "c4e37960c11a", "vpcmpestrm $0x1a,%xmm1,%xmm0" },
	{ "c4e379140701", "vpextrb $0x1,%xmm0,(%rdi)" },
	{ "c4e3f931d120", "kshiftrq $0x20,%k1,%k2" },
	{ "c4e3f16bc320", "vfmaddsd %xmm3,%xmm2,%xmm1,%xmm0" },
	{ "62e27d287ace", "vpbroadcastb %esi,%ymm17" },
	{ "62e27d487ac6", "vpbroadcastb %esi,%zmm16" },
	{ "62e27d087cd6", "vpbroadcastd %esi,%xmm18" },
	{ "62a1fd00efc0", "vpxorq %xmm16,%xmm16,%xmm16" },
	{ "62f37d4825c0ff", "vpternlogd $0xff,%zmm0,%zmm0,%zmm0" },
	{ "62e1fe286f07", "vmovdqu64 (%rdi),%ymm16" },
	{ "62e17fc96f4f01", "vmovdqu8 0x40(%rdi),%zmm17{%k1}{z}" },
	{ "62e1fe486f8f41000000", "vmovdqu64 0x41(%rdi),%zmm17" },
	{ "62e1fd487f0500100000", "vmovdqa64 %zmm16,0x1000(%rip)" },
	{ "62017c48117c6c01", "vmovups %zmm31,0x40(%r12,%r13,2)" },
	{ "62f175207407", "vpcmpeqb (%rdi),%ymm17,%k0" },
	{ "62f375223f0f04", "vpcmpneqb (%rdi),%ymm17,%k1{%k2}" },
	{ "62f37d203e4f0101", "vpcmpltub 0x20(%rdi),%ymm16,%k1" },
	{ "62e17520da5701", "vpminub 0x20(%rdi),%ymm17,%ymm18" },
	{ "62b27e2026c0", "vptestnmb %ymm16,%ymm16,%k0" },
	{ "62b1754072d003", "vpsrld $0x3,%zmm16,%zmm17" },
	{ "62f1f54872480207", "vprolq $0x7,0x80(%rax),%zmm1" },
	{ "62a17d4870c84e", "vpshufd $0x4e,%zmm16,%zmm17" },
	{ "62f16c48c2d900", "vcmpeqps %zmm1,%zmm2,%k3" },
	{ "62f36d4843d91b", "vshufi32x4 $0x1b,%zmm1,%zmm2,%zmm3" },
	{ "62f16c1858d9", "vaddps {rn-sae},%zmm1,%zmm2,%zmm3" },
	{ "62f16c585818", "vaddps (%rax){1to16},%zmm2,%zmm3" },
	{ "62f27d49a2448802", "vscatterdps %zmm0,0x8(%rax,%zmm1,4){%k1}" },
	{ "62f27d4990448802", "vpgatherdd 0x8(%rax,%zmm1,4),%zmm0{%k1}" },
	{ "62f27d496307", "vpcompressb %zmm0,(%rdi){%k1}" },
	{ "62f37d481d0f00", "vcvtps2ph $0x0,%zmm1,(%rdi)" },
	{ "62f37d4826d101", "vgetmantps $0x1,%zmm1,%zmm2" },
	{ "62f36d4842d902", "vdbpsadbw $0x2,%zmm1,%zmm2,%zmm3" },
	{ "62e17d086ec6", "vmovd %esi,%xmm16" },
	{ "62e1fd087ec0", "vmovq %xmm16,%rax" },
	{ "62e17d00c4c801", "vpinsrw $0x1,%eax,%xmm16,%xmm17" },
	{ "62f56c4858d9", "vaddph %zmm1,%zmm2,%zmm3" },
	{ "62f57d086e18", "vmovw (%rax),%xmm3" },
	{ "62f67d481308", "vcvtph2psx (%rax),%zmm1" },
	{ "62e67d40b84f01", "vfmadd231ph 0x40(%rdi),%zmm16,%zmm17" },
	{ "62f36c48c2c901", "vcmpltph %zmm1,%zmm2,%k1" },
	{ "c4e27b49c8", "tilezero %tmm1" },
	{ "c4e27b4b0c18", "tileloadd (%rax,%rbx,1),%tmm1" },
};

/* Whose result is a general register, or that are no vector instructions at all (0f 84: jkzd). */
static const struct row others[] = {
	{ "c4e1f97ec4", "vmovq %xmm0,%rsp" },
	{ "c5f97ec5", "vmovd %xmm0,%ebp" },
	{ "62e1fd087ec5", "vmovq %xmm16,%rbp" },
	{ "c5fdd7c0", "vpmovmskb %ymm0,%eax" },
	{ "c5f850c8", "vmovmskps %xmm0,%ecx" },
	{ "c5f9c5c001", "vpextrw $0x1,%xmm0,%eax" },
	{ "c4e3f916c001", "vpextrq $0x1,%xmm0,%rax" },
	{ "c4e37917c501", "vextractps $0x1,%xmm0,%ebp" },
	{ "c4e1fb2cc0", "vcvttsd2si %xmm0,%rax" },
	{ "c4e1fb2ce0", "vcvttsd2si %xmm0,%rsp" },
	{ "62f17e0878c0", "vcvttss2usi %xmm0,%eax" },
	{ "62f57d087ed8", "vmovw %xmm3,%eax" },
	{ "c5fb93c0", "kmovd %k0,%eax" },
	{ "c4e37963c11a", "vpcmpistri $0x1a,%xmm1,%xmm0" },
	{ "c4e260f2c8", "andn %eax,%ebx,%ecx" },
	{ "c4e270f3c8", "blsr %eax,%ecx" },
	{ "c4e278f5e3", "bzhi %eax,%ebx,%esp" },
	{ "c4e2e3f6c8", "mulx %rax,%rbx,%rcx" },
	{ "c4e279f7eb", "shlx %eax,%ebx,%ebp" },
	{ "c4e3fbf0d805", "rorx $0x5,%rax,%rbx" },
	{ "c4e279e602", "cmpbexadd %eax,%eax,(%rdx)" },
	{ "8fe878c2c807", "vprotd $0x7,%xmm0,%xmm1" },
	{ "8fe870a2c230", "vpcmov %xmm3,%xmm2,%xmm1,%xmm0" },
	{ "c5f88410000000", "jkzd of Xeon Phi" },
	{ "89f8", "mov %edi,%eax" },
	{ "55", "push %rbp" },
	{ "f30f1efa", "endbr64" },
	{ "f30f6f07", "movdqu (%rdi),%xmm0" },
	{ "8f00", "pop (%rax)" },
};
/* clang-format on */

static size_t read_hex(const char *text, uint8_t *to)
{
	size_t n = 0;
	unsigned byte;

	for (; sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
		to[n] = (uint8_t)byte;
	return n;
}

TEST(a_vector_instruction_is_known_by_its_encoding)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		uint8_t bytes[2 * ARCH_INSTRUCTION_BYTES] = {};
		const size_t n = read_hex(vectors[i].bytes, bytes);
		const struct instruction is = instruction_at(bytes, sizeof(bytes), 0);

		if (!is.is_vector || is.length != n)
			fail_msg("%s: %u bytes, not %zu", vectors[i].text, is.length, n);
	}
}

TEST(an_instruction_that_is_cut_is_none)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		uint8_t whole[ARCH_INSTRUCTION_BYTES];
		const size_t n = read_hex(vectors[i].bytes, whole);

		for (size_t part = 0; part < n; part++) {
			/* On the heap, where one byte too far is seen. */
			cleanup_free uint8_t *bytes = xmalloc(part ? part : 1);

			memcpy(bytes, whole, part);
			assert_false(instruction_at(bytes, part, 0).is_vector);
		}
	}
}

TEST(one_that_may_change_a_general_register_is_none)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		uint8_t bytes[2 * ARCH_INSTRUCTION_BYTES] = {};

		read_hex(others[i].bytes, bytes);
		if (instruction_at(bytes, sizeof(bytes), 0).is_vector)
			fail_msg("%s", others[i].text);
	}
}

/* Maps that do not exist (yet), and bits that are fixed (until APX). */
TEST(one_that_is_not_known_is_none)
{
	static const char *const unknown[] = { "c4e07974c1",   "c4e47974c1",   "c4e77974c1",
					       "c4ff7974c1",   "c4e17904c1",   "c4e2791bc1",
					       "62e0fd087ac1", "62e4fd087ac1", "62e7fd087ac1",
					       "62eafd087ac1", "62e2f9087ac1" };

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		uint8_t bytes[2 * ARCH_INSTRUCTION_BYTES] = {};

		read_hex(unknown[i], bytes);
		assert_false(instruction_at(bytes, sizeof(bytes), 0).is_vector);
	}
}

TEST(without_its_opcode_it_has_no_probe)
{
	static const char *const cut[] = { "",     "66",   "6641",   "48", "c5",       "8f",
					   "c5f9", "c4e2", "c4e27d", "62", "62e27d28", "8fe878" };

	for (size_t i = 0; i < ARRAY_SIZE(cut); i++) {
		uint8_t bytes[ARCH_INSTRUCTION_BYTES];
		const size_t n = read_hex(cut[i], bytes);

		assert_int_equal(arch_uprobe_verdict(bytes, n, true), UPROBE_MISTAKEN);
	}
}

TEST_MAIN(NULL, NULL)
