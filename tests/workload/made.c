// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * made N - getppid() N times below each of some functions that are copied to memory of no file, as
 * a JIT compiler makes them, with frame pointers and without.
 */
#include <sys/mman.h>

#include "work.h"

#define NAME(name) "	.p2align 4, 0xf4\n	.globl " #name "\n" #name ":\n"
#define SET_UP "	push %rbp\n	mov %rsp, %rbp\n"
/* A function with a frame pointer that calls one without. */
#define OUTER(name) NAME(name) SET_UP "	call " #name "_inner\n	leave\n	ret\n" NAME(name##_inner)

__asm__("	.pushsection .rodata\n" NAME(made_begin)
	/* All with frame pointers; the last one as .NET makes it. */
	NAME(leaf) SET_UP
	"	mov $110, %eax\n	syscall\n	nop\n	leave\n	ret\n" OUTER(framed) SET_UP
	"	sub $16, %rsp\n	call leaf\n	leave\n	ret\n" OUTER(
		later) "	push %rbp\n	sub $16, %rsp\n	lea 16(%rsp), %rbp\n	call leaf\n"
		       "	add $16, %rsp\n	pop %rbp\n	ret\n"
	/* As Java's compilers make them, in two ways, and mono. */
	OUTER(pushed) "	push %rbp\n	sub $16, %rsp\n	call leaf\n	add $16, %rsp\n	pop %rbp\n	ret\n" OUTER(saved) "	sub $24, %rsp\n	mov %rbp, 16(%rsp)\n	call leaf\n	add $24, %rsp\n	ret\n" OUTER(
		aligned) "	sub $24, %rsp\n	mov %r15, (%rsp)\n	call leaf\n	add $24, %rsp\n	ret\n" NAME(made_end) "	.popsection\n");

#define EACH(call) call(framed) call(later) call(pushed) call(saved) call(aligned)
#define DECLARE(name) extern const char name[];
EACH(DECLARE)
DECLARE(made_begin)
DECLARE(made_end)

static uint64_t n;
static char *memory;

static void make(void)
{
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		memcpy(memory, made_begin, (size_t)(made_end - made_begin));
	if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0) {
		perror("made");
		exit(1);
	}
}

FRAME static void call_made(const char *code)
	CALLS(((void (*)(void))(memory + (code - made_begin)))());

#define DEFINE(name) FRAME static void of_##name(void) CALLS(call_made(name))
#define RUN(name) of_##name();
EACH(DEFINE)

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		EACH(RUN)
	}
	STAY();
}

#define EXPECT(name) work_expect("of_" #name ";call_made;[unknown];[unknown];[unknown]", n);

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	make();
	work_run(run);
	EACH(EXPECT)
	return 0;
}
