// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bits32 N - a 32-bit program, which needs no library: getppid() N times. Its frame pointers are
 * all that there is to walk it by. It ends in a call that is the last instruction of leave().
 */
#define FRAME __attribute__((noipa))
#define STAY() __asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory")

FRAME static void hit(void)
{
	int number = 64, parent;

	__asm__ volatile("int $0x80" : "=a"(parent) : "a"(number) : "memory");
	STAY();
}

FRAME static void branch(void)
{
	hit();
	STAY();
}

FRAME static void run(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		branch();
	STAY();
}

/* The kernel left argc, then the arguments, on the stack. */
FRAME __attribute__((used)) static void begin(char *const *at)
{
	unsigned n = 0;

	for (const char *digit = at[2]; *digit; digit++)
		n = n * 10 + (unsigned)(*digit - '0');
	run(n);
	__asm__ volatile("call leave");
	STAY();
}

__asm__(".globl _start\n"
	"_start: xor %ebp, %ebp\n"
	"	push %esp\n"
	"	call begin\n"
	".globl leave\n.type leave, @function\n"
	"leave: mov $1, %eax\n"
	"	xor %ebx, %ebx\n"
	"	int $0x80\n"
	".size leave, . - leave\n"
	".globl behind\n.type behind, @function\n"
	"behind: ret\n"
	".size behind, . - behind\n");
