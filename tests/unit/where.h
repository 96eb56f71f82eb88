/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/where.h - a handler of SIGQUIT that shows where the program is. */
#pragma once

#include <signal.h>
#include <unistd.h>

#include <sanitizer/common_interface_defs.h>

static inline void show_where(int signal)
{
	(void)signal;
	__sanitizer_print_stack_trace();
	_exit(1);
}
