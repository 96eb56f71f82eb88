// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The debug registers: DR0 to DR3 have addresses, and DR7 has a bit for each that counts. */
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "arch/arch.h"

#define DR7_ON(number) (UINT64_C(1) << (2 * (number)))

static bool set_debug_register(pid_t pid, size_t number, uint64_t value)
{
	const size_t offset = offsetof(struct user, u_debugreg) + number * sizeof(value);

	return ptrace(PTRACE_POKEUSER, pid, offset, value) == 0;
}

bool arch_set_breakpoints(pid_t pid, const uint64_t *places, size_t n)
{
	uint64_t on = 0;

	for (size_t i = 0; i < n; i++)
		if (set_debug_register(pid, i, places[i]))
			on |= DR7_ON(i);
	if (n && !(on & DR7_ON(0)))
		return false;
	return set_debug_register(pid, 7, on) || (n && set_debug_register(pid, 7, DR7_ON(0)));
}

uint64_t arch_pc_of(pid_t pid)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.rip), NULL);
}
