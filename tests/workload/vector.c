// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * vector N - N calls each of functions that begin with a vector instruction, whose results must
 * be right: a probe on one must not keep it from taking place. Each is there twice. call() calls
 * v_NAME_vex (or _evex) if the CPU has such instructions, else v_NAME_sse, which check() calls to
 * know the answer. v_loop_vex and v_clear_vex cannot be traced, and their calls are not said:
 * where their first instruction ends, a loop begins. Nobody calls to_ss(), whose first instruction
 * the kernel does not probe, and which stackcount leaves to the kernel.
 */
#include "work.h"

#include <inttypes.h>
#include <stdbool.h>

typedef uint64_t function(double x, double y, uint64_t n);

#define FUNCTION(name, body)                                         \
	function name;                                               \
	__asm__(".text\n.p2align 9, 0xcc\n.globl " #name "\n"        \
		".type " #name ", @function\n" #name ":\n" body "\n" \
		".size " #name ", . - " #name "\n")

/* clang-format off */
/* 74: a jump, were it a plain opcode. Others are in tests/unit/test_place.c. */
FUNCTION(v_equal_vex,  "vpcmpeqb %xmm1, %xmm0, %xmm2; mov %edi, %eax; vmovq %xmm2, %rax; ret");
FUNCTION(v_equal_sse,  "pcmpeqb %xmm1, %xmm0; movq %xmm0, %rax; ret");
/* c2: ret */
FUNCTION(v_less_vex,   "vcmpltpd %xmm1, %xmm0, %xmm2; jmp 1f; .skip 200, 0xcc\n"
		       "1: vmovq %xmm2, %rax; ret");
FUNCTION(v_less_sse,   "cmpltpd %xmm1, %xmm0; movq %xmm0, %rax; ret");
/* ef: out, which is refused; and four in a row, the last one relative to ip. */
FUNCTION(v_xor_vex,    "vpxor %xmm1, %xmm0, %xmm2; mov %edi, %eax; vmovq %xmm2, %rax; ret");
FUNCTION(v_xor_sse,    "pxor %xmm1, %xmm0; movq %xmm0, %rax; ret");
FUNCTION(v_four_vex,   "vpxor %xmm1, %xmm0, %xmm2; vpcmpeqb %xmm3, %xmm3, %xmm3\n"
		       "vpxor %xmm3, %xmm2, %xmm2; vpor v_ones(%rip), %xmm2, %xmm2\n"
		       "mov %edi, %eax; vmovq %xmm2, %rax; ret\n"
		       "v_ones: .fill 16, 1, 1");
FUNCTION(v_four_sse,   "pxor %xmm1, %xmm0; movq %xmm0, %rax; not %rax\n"
		       "movabs $0x0101010101010101, %rcx; or %rcx, %rax; ret");
/* 7a: jp, if a CPU has such registers */
FUNCTION(v_spread_evex, "vpbroadcastb %edi, %xmm17; mov %edi, %eax; vmovq %xmm17, %rax; ret");
FUNCTION(v_spread_sse,  "movzbl %dil, %eax; movabs $0x0101010101010101, %rcx\n"
			"imul %rcx, %rax; ret");
FUNCTION(v_loop_vex,   "vpcmpeqb %xmm0, %xmm0, %xmm2\n"
		       "1: dec %rdi; jns 1b; vmovq %xmm2, %rax; ret");
FUNCTION(v_clear_vex,  "vpxor %xmm2, %xmm2, %xmm2\n"
		       "1: dec %rdi; jns 1b; vmovq %xmm2, %rax; ret");
FUNCTION(v_clear_sse,  "pxor %xmm0, %xmm0; 1: dec %rdi; jns 1b; movq %xmm0, %rax; ret");
FUNCTION(v_loop_sse,   "pcmpeqb %xmm0, %xmm0; 1: dec %rdi; jns 1b; movq %xmm0, %rax; ret");
FUNCTION(to_ss,        "mov %eax, %ss; ret");
/* clang-format on */

static bool has_avx(void)
{
	return __builtin_cpu_supports("avx");
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

#define KIND(name, suffix, has)                                                              \
	{                                                                                    \
		"v_" #name #suffix, "v_" #name "_sse", v_##name##suffix, v_##name##_sse, has \
	}

static const struct kind {
	const char *vector_name, *sse_name;
	function *vector, *sse;
	bool (*has)(void);
} kinds[] = {
	KIND(equal, _vex, has_avx),      KIND(less, _vex, has_avx), KIND(xor, _vex, has_avx),
	KIND(four, _vex, has_avx),       KIND(loop, _vex, has_avx), KIND(clear, _vex, has_avx),
	KIND(spread, _evex, has_avx512),
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static uint64_t n;

/* Small whole numbers; their bytes are equal in part. */
static double argument(uint64_t i)
{
	return (double)(3 + i % 1000);
}

FRAME static uint64_t call(function *f, uint64_t i)
{
	uint64_t got = f(argument(i), argument(3 * i + 1), i % 5);

	STAY();
	return got;
}

/* SSE's instructions are not mistaken for others. */
FRAME static uint64_t check(function *f, uint64_t i)
{
	uint64_t want = f(argument(i), argument(3 * i + 1), i % 5);

	STAY();
	return want;
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++)
		for (size_t k = 0; k < N_KINDS; k++) {
			const struct kind *kind = &kinds[k];
			uint64_t got = call(kind->has() ? kind->vector : kind->sse, i);
			uint64_t want = check(kind->sse, i);

			if (got == want)
				continue;
			fprintf(stderr, "%s: %" PRIx64 ", not %" PRIx64 "\n", kind->vector_name,
				got, want);
			_exit(1);
		}
	STAY();
}

static void expect(const char *caller, const char *name)
{
	char chain[64];

	snprintf(chain, sizeof(chain), "%s;%s", caller, name);
	work_expect(chain, n);
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	for (size_t k = 0; k < N_KINDS; k++) {
		bool has = kinds[k].has();
		bool is_traceable = kinds[k].vector != v_loop_vex && kinds[k].vector != v_clear_vex;

		if (!has || is_traceable)
			expect("call", has ? kinds[k].vector_name : kinds[k].sse_name);
		expect("check", kinds[k].sse_name);
	}
	return 0;
}
