// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * signals A B - handlers of signals that are raised in the midst of a function: A times on the
 * same stack, B times on an alternate one.
 */
#include <signal.h>
#include <sys/mman.h>

#include "work.h"

static uint64_t n_a, n_b;

FRAME static void hit(void) CALLS(GETPPID());

FRAME static void on_signal(int number)
{
	(void)number;
	hit();
	STAY();
}

FRAME static void interrupted(int number)
	CALLS(raw_syscall3(SYS_tgkill, getpid(), gettid(), number));

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n_a; i++)
		interrupted(SIGUSR1);
	for (uint64_t i = 0; i < n_b; i++)
		interrupted(SIGUSR2);
	STAY();
}

int main(int argc, char **argv)
{
	char **arguments = work_begin(argc, argv, 2, "A B");
	struct sigaction action = { .sa_handler = on_signal };
	stack_t other = { .ss_size = 1 << 16 };

	n_a = work_number(arguments[0]);
	n_b = work_number(arguments[1]);
	other.ss_sp = mmap(NULL, other.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	if (other.ss_sp == MAP_FAILED || sigaltstack(&other, NULL) < 0)
		return 1;
	(void)sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	(void)sigaction(SIGUSR2, &action, NULL);
	work_run(run);
	work_expect("interrupted;on_signal;hit", n_a + n_b);
	return 0;
}
