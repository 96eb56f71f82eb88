// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * made N - getppid() N times below each of some functions that are copied to memory of no file, as
 * a JIT compiler makes them, with frame pointers and without.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "work.h"

#define BEFORE 2048 /* what is read before a pc is there */
#define NAME(name) "	.globl " #name "\n" #name ":\n"
#define WITH_FRAME "	push %rbp\n	mov %rsp, %rbp\n"
#define GETS "	mov $110, %eax\n	syscall\n	nop\n"
/* Behind a call. */
#define STALE "	call 1f\n1:	pop %rax\n"

__asm__("	.pushsection .rodata\n	.p2align 4\n" NAME(made_begin)
	/* With frame pointers, all of them. */
	NAME(leaf) WITH_FRAME GETS "	leave\n	ret\n" NAME(whole) WITH_FRAME
	"	sub $16, %rsp\n	movq $0, (%rsp)\n	movq $0, 8(%rsp)\n"
	"	call leaf\n	jmp 1f\n1:	leave\n	ret\n"
	/* Its frame has a return address in it that is over, as where a callee was before. */
	NAME(stale) WITH_FRAME
	"	sub $16, %rsp\n" STALE
	"	mov %rax, (%rsp)\n	mov %rax, 8(%rsp)\n	jmp 1f\n1:	call leaf\n	leave\n	ret\n"
	/* The same, but nothing says how large its frame is. */
	NAME(pushed) WITH_FRAME STALE
	"	push %rax\n	push %rax\n	call leaf\n	leave\n	ret\n"
	/* A pointer to data that looks as if a call was before. */
	NAME(data) WITH_FRAME "	push %rdi\n	push %rdi\n	call leaf\n	leave\n	ret\n"
	/* Where execution stands before the return, rbp is the caller's. */
	NAME(edge) "	mov $110, %eax\n	syscall\n	ret\n" NAME(edge_of) WITH_FRAME
	"	call edge\n	leave\n	ret\n"
	/* Without frame pointers below one that has it: both would be left out. */
	NAME(bare) GETS "	ret\n" NAME(
		between) "	sub $24, %rsp\n	movq $0, (%rsp)\n	movq $0, 8(%rsp)\n	movq $0, 16(%rsp)\n"
			 "	call bare\n	add $24, %rsp\n	ret\n" NAME(wrapper) WITH_FRAME
	"	call between\n	leave\n	ret\n" NAME(made_end) "	.popsection\n");

#define EACH(call) call(whole) call(stale) call(pushed) call(data) call(edge_of) call(wrapper)
#define DECLARE(name) extern const char name[];
EACH(DECLARE)
DECLARE(made_begin)
DECLARE(made_end)

static uint64_t n;
static char *memory;
static const unsigned char like_a_call[16] = { 0, 0, 0, 0xe8, 1, 0, 0, 0, 0, 0, 0, 0xe8 };

static void make(void)
{
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		memcpy(memory + BEFORE, made_begin, (size_t)(made_end - made_begin));
	if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0) {
		perror("made");
		exit(1);
	}
}

FRAME static void call_made(const char *code)
{
	((void (*)(const void *))(memory + BEFORE + (code - made_begin)))(like_a_call + 8);
	STAY();
}

#define DEFINE(name)                      \
	FRAME static void of_##name(void) \
	{                                 \
		call_made(name);          \
		STAY();                   \
	}
#define RUN(name) of_##name();
EACH(DEFINE)

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		EACH(RUN)
	}
	STAY();
}

#define MADE "[unknown]"
#define TWO MADE ";" MADE

int main(int argc, char **argv)
{
	make(); /* before work_begin() waits: the tracer knows of the code when it has begun */
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("run;of_whole;call_made;" TWO, n);
	work_expect("run;of_stale;call_made;" TWO, n);
	work_expect("run;of_pushed;call_made;" TWO, n);
	work_expect("run;of_data;call_made;" TWO, n);
	work_expect("run;of_edge_of;call_made;" TWO, n);
	work_expect("run;of_wrapper;call_made;" MADE ";" TWO, n);
	return 0;
}
