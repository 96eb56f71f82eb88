// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * begins N - N calls each of functions of aarch64 that return 7: a probe on the first instruction
 * must not keep it from taking place. Those called b_refused_ cannot be traced, and their calls are
 * not said. Nobody calls b_refused_svc() and b_refused_autiasp().
 */
#include "work.h"

typedef uint64_t function(void);

#define FUNCTION(name, body)                                         \
	function name;                                               \
	__asm__(".text\n.p2align 4\n.globl " #name "\n"              \
		".type " #name ", %function\n" #name ":\n" body "\n" \
		".size " #name ", . - " #name "\n")

/* clang-format off */
FUNCTION(b_move, "mov x0, #7; ret");
FUNCTION(b_bti, "hint #34; mov x0, #7; ret");
FUNCTION(b_paciasp, "hint #25; hint #29; mov x0, #7; ret");
FUNCTION(b_adr, "adr x0, 1f; ldr x0, [x0]; ret; .p2align 3; 1: .quad 7");
FUNCTION(b_jump, "b 1f; .skip 64; 1: mov x0, #7; ret");
FUNCTION(b_branch, "cbz xzr, 1f; brk #1; 1: mov x0, #7; ret");
FUNCTION(b_call, "bl 1f; 1: mov x0, #7; ret x1"); /* see call() */
FUNCTION(b_refused_literal, "ldr x0, 1f; ret; .p2align 3; 1: .quad 7");
FUNCTION(b_refused_vector, "ldr d0, 1f; fmov x0, d0; ret; .p2align 3; 1: .quad 7");
FUNCTION(b_refused_exclusive, "ldxr x1, [sp]; clrex; mov x0, #7; ret");
FUNCTION(b_refused_svc, "svc #0; mov x0, #7; ret");
FUNCTION(b_refused_autiasp, "hint #29; mov x0, #7; ret");

static const struct {
	const char *name;
	function *call;
} functions[] = {
	{ "b_move", b_move }, { "b_bti", b_bti }, { "b_paciasp", b_paciasp }, { "b_adr", b_adr },
	{ "b_jump", b_jump }, { "b_branch", b_branch }, { "b_call", b_call }, { NULL, b_refused_literal },
	{ NULL, b_refused_vector }, { NULL, b_refused_exclusive },
};
/* clang-format on */

enum { N_FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static uint64_t n;

/* In x1, b_call() has where to return to. */
FRAME static uint64_t call(function *f)
{
	register uint64_t ret __asm__("x0");

	STAY();

	__asm__ volatile("adr x1, 1f\n\tblr %1\n1:"
			 : "=r"(ret)
			 : "r"(f)
			 : "x1", "x30", "d0", "memory");
	return ret;
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		for (size_t k = 0; k < N_FUNCTIONS; k++) {
			const uint64_t result = call(functions[k].call);

			if (result != 7) {
				fprintf(stderr, "function %zu: %lu\n", k, (unsigned long)result);
				exit(1);
			}
		}
	}
	STAY();
}

int main(int argc, char **argv)
{
	char chain[64];

	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	for (size_t k = 0; k < N_FUNCTIONS; k++) {
		snprintf(chain, sizeof(chain), "call;%s", functions[k].name);
		if (functions[k].name)
			work_expect(chain, n);
	}
	return 0;
}
