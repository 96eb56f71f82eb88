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
	{ "c4413d758978563412", "vpcmpeqw 0x12345678(%r9),%ymm8,%ymm9" },
	{ "c5f877", "vzeroupper" },
	{ "c5fe7f4417e0", "vmovdqu %ymm0,-0x20(%rdi,%rdx,1)" },
	{ "c5f96f2d00100000", "vmovdqa 0x1000(%rip),%xmm5" },
	{ "c5f97ec2", "vmovd %xmm0,%edx" },
	{ "c4e1f97ec1", "vmovq %xmm0,%rcx" },
	{ "c4c1f97ec4", "vmovq %xmm0,%r12" },
	{ "c5f970c820", "vpshufd $0x20,%xmm0,%xmm1" },
	{ "c5e173fa08", "vpslldq $0x8,%xmm2,%xmm3" },
	{ "c5f8ae542408", "vldmxcsr 0x8(%rsp)" },
	{ "c5fb2ac0", "vcvtsi2sd %eax,%xmm0,%xmm0" },
	{ "c5fb92c8", "kmovd %eax,%k1" },
	{ "c4e1f998c0", "kortestd %k0,%k0" },
	{ "c4e27d78c0", "vpbroadcastb %xmm0,%ymm0" },
	{ "c4e269900488", "vpgatherdd %xmm2,(%rax,%xmm1,4),%xmm0" },
	{ "c4e2f1a9c2", "vfmadd213sd %xmm2,%xmm1,%xmm0" },
	{ "c4e37905c801", "vpermilpd $0x1,%xmm0,%xmm1" },
	{ "c4e37d190701", "vextractf128 $0x1,%ymm0,(%rdi)" },
	{ "c4e3f922c201", "vpinsrq $0x1,%rdx,%xmm0,%xmm0" },
	{ "c4e3f16bc320", "vfmaddsd %xmm3,%xmm2,%xmm1,%xmm0" },
	{ "62e27d287ace", "vpbroadcastb %esi,%ymm17" },
	{ "62e17fc96f4f01", "vmovdqu8 0x40(%rdi),%zmm17{%k1}{z}" },
	{ "62e1fe486f8f41000000", "vmovdqu64 0x41(%rdi),%zmm17" },
	{ "62f16c1858d9", "vaddps {rn-sae},%zmm1,%zmm2,%zmm3" },
	{ "62f27d49a2448802", "vscatterdps %zmm0,0x8(%rax,%zmm1,4){%k1}" },
	{ "62f27d496307", "vpcompressb %zmm0,(%rdi){%k1}" },
	{ "62e1fd087ec0", "vmovq %xmm16,%rax" },
	{ "62f56c4858d9", "vaddph %zmm1,%zmm2,%zmm3" },
	{ "62f67d481308", "vcvtph2psx (%rax),%zmm1" },
	{ "c4e27b4b0c18", "tileloadd (%rax,%rbx,1),%tmm1" },
};

/* Whose result is a general register, or that are no vector instructions at all (0f 84: jkzd). */
static const struct row others[] = {
	{ "c4e1f97ec4", "vmovq %xmm0,%rsp" },
	{ "c5f97ec5", "vmovd %xmm0,%ebp" },
	{ "62e1fd087ec5", "vmovq %xmm16,%rbp" },
	{ "c5fdd7c0", "vpmovmskb %ymm0,%eax" },
	{ "c5f9c5c001", "vpextrw $0x1,%xmm0,%eax" },
	{ "c4e1fb2cc0", "vcvttsd2si %xmm0,%rax" },
	{ "62f17e0878c0", "vcvttss2usi %xmm0,%eax" },
	{ "c5fb93c0", "kmovd %k0,%eax" },
	{ "c4e37963c11a", "vpcmpistri $0x1a,%xmm1,%xmm0" },
	{ "c4e260f2c8", "andn %eax,%ebx,%ecx" },
	{ "c4e2e3f6c8", "mulx %rax,%rbx,%rcx" },
	{ "c4e3fbf0d805", "rorx $0x5,%rax,%rbx" },
	{ "c4e279e602", "cmpbexadd %eax,%eax,(%rdx)" },
	{ "8fe878c2c807", "vprotd $0x7,%xmm0,%xmm1" },
	{ "c5f88410000000", "jkzd of Xeon Phi" },
	{ "89f8", "mov %edi,%eax" },
	{ "f30f1efa", "endbr64" },
	{ "f30f6f07", "movdqu (%rdi),%xmm0" },
	{ "c4e07974c1", "a map of opcodes that does not exist" },
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

TEST(a_vector_instruction_is_known_by_its_encoding_and_one_that_is_cut_is_none)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		uint8_t bytes[2 * ARCH_INSTRUCTION_BYTES] = {};
		const size_t n = read_hex(vectors[i].bytes, bytes);
		const struct instruction is = instruction_at(bytes, sizeof(bytes), 0);

		if (!is.is_vector || is.length != n)
			fail_msg("%s: %u bytes, not %zu", vectors[i].text, is.length, n);
		for (size_t part = 0; part < n; part++) {
			/* On the heap, where one byte too far is seen. */
			cleanup_free uint8_t *cut = xmalloc(part ? part : 1);

			memcpy(cut, bytes, part);
			assert_false(instruction_at(cut, part, 0).is_vector);
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

TEST_MAIN(NULL, NULL)
