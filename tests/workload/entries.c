// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * entries N - N times each: a function part that is jumped to, with a frame that another part has
 * made; and two signals that come at the end of one system call, so that the second one finds the
 * program at the first instruction of the first one's handler, where nobody has called.
 */
#include <signal.h>

#include "work.h"

static uint64_t n;

/* clang-format off */
__asm__(".text\n"
	".globl whole_part\n.type whole_part, @function\n"
	"whole_part:\n.cfi_startproc\n"
	"	sub $24, %rsp\n.cfi_adjust_cfa_offset 24\n"
	"	jmp cold_part\n"
	".cfi_endproc\n.size whole_part, . - whole_part\n"
	".globl cold_part\n.type cold_part, @function\n"
	"cold_part:\n.cfi_startproc\n.cfi_def_cfa_offset 32\n"
	"	add $24, %rsp\n.cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n.size cold_part, . - cold_part\n");
/* clang-format on */

void whole_part(void);

FRAME void on_signal(int number)
{
	(void)number;
	STAY();
}

FRAME static void two_at_once(void)
{
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigprocmask(SIG_BLOCK, &both, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		whole_part();
		two_at_once();
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	work_run(run);
	work_expect("cold_part", n);
	return 0;
}
