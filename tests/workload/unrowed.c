// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * unrowed N - getppid() N times below each of some functions without unwind tables, with frame
 * pointers and without. It must be built with frame pointers.
 */
#include "work.h"

static uint64_t n;

/* FUNCTION calls NEXT. They have no CFI, but their callers have. */
#define BEGIN(name)                 \
	"	.pushsection .text\n"     \
	"	.p2align 4\n"             \
	"	.globl " #name "\n" \
	"	.type " #name ", @function\n" #name ":\n"
#define END(name)                                 \
	"	.size " #name ", . - " #name "\n" \
	"	.popsection\n"
#define WITH_FRAME "	push %rbp\n	mov %rsp, %rbp\n"
#define CALL(next)                                                                  \
	"	sub $32, %rsp\n	movq $0, (%rsp)\n	movq $0, 8(%rsp)\n	movq $0, 16(%rsp)\n" \
	"	movq $0, 24(%rsp)\n	call " #next "\n"
#define LEAVE "	leave\n	ret\n"

__asm__(BEGIN(direct) WITH_FRAME CALL(hit) LEAVE END(direct));
__asm__(BEGIN(direct_of) WITH_FRAME CALL(direct) LEAVE END(direct_of));
__asm__(BEGIN(pointer) WITH_FRAME
	"	sub $16, %rsp\n	movq $0, (%rsp)\n	movq $0, 8(%rsp)\n"
	"	lea direct(%rip), %rax\n	call *%rax\n" LEAVE END(pointer));
/* Execution stands before the last instruction, and rbp is the caller's: a step leaves that out. */
__asm__(BEGIN(edge) "	mov $110, %eax\n	syscall\n	ret\n" END(edge));
__asm__(BEGIN(edge_of) WITH_FRAME CALL(edge) LEAVE END(edge_of));

/* Right, but there is no proof: a jump lies between. */
__asm__(BEGIN(jump) WITH_FRAME "	jmp 1f\n1:\n" CALL(hit) LEAVE END(jump));

/* Wrong: its caller is left out. It lies behind a function with a frame. */
__asm__(BEGIN(frameless) CALL(hit) "	add $32, %rsp\n	ret\n" END(frameless));
__asm__(BEGIN(frameless_of) WITH_FRAME CALL(frameless) LEAVE END(frameless_of));

/* The same where nothing but a call that never returns ends the function before it. */
__asm__(BEGIN(endless) WITH_FRAME CALL(
	behind_endless) "	call exit\n"
			"	.globl behind_endless\n	.type behind_endless, @function\nbehind_endless:\n" CALL(
				hit) "	add $40, %rsp\n" LEAVE END(endless));

/* No frame pointer at all. */
__asm__(BEGIN(number) "	push %rbp\n	mov $1, %ebp\n" CALL(
	hit) "	add $32, %rsp\n	pop %rbp\n	ret\n" END(number));

/* As boost's make_fcontext() begins a fiber, which returns to the next instruction. */
static uint64_t room[1024] __attribute__((used));
__asm__(BEGIN(fiber) "	.skip 64, 0x90\nfiber_jump:\n	push %rbp\n	jmp *%rbx\n"
		     "fiber_end:\n	xor %rdi, %rdi\n	call _exit\n	hlt\n" END(fiber));
__asm__(BEGIN(in_fiber) WITH_FRAME CALL(
	hit) "	mov %r12, %rsp\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	     "	ret\n" END(in_fiber));
__asm__(BEGIN(
	switched) "	push %rbp\n	push %rbx\n	push %r12\n	mov %rsp, %r12\n"
		  "	lea room+8192(%rip), %rsp\n	lea fiber_end(%rip), %rbp\n	lea in_fiber(%rip), %rbx\n"
		  "	jmp fiber_jump\n" END(switched));

FRAME void hit(void) CALLS(GETPPID());

#define EACH(call)                                                                             \
	call(direct) call(direct_of) call(pointer) call(edge_of) call(jump) call(frameless_of) \
		call(endless) call(number) call(switched)
#define DECLARE(name) void name(void);
#define RUN(name) name();
EACH(DECLARE)

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		EACH(RUN)
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("run;direct;hit", n);
	work_expect("run;direct_of;direct;hit", n);
	work_expect("run;pointer;direct;hit", n);
	work_expect("run;edge_of;edge", n);
	work_expect("run;jump;hit", n);
	work_expect("run;frameless_of;frameless;hit", n);
	work_expect("run;endless;behind_endless;hit", n);
	work_expect("run;number;hit", n);
	work_expect_at("fiber;in_fiber;hit", n);
}
