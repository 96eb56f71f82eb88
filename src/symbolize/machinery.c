// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The frames above the traced function depend on the backend and on the kernel's version:
 *
 *	bpf_get_stack_raw_tp           bpf_prog_6deef7357e7b4530_on_hit
 *	bpf_prog_6deef7357e7b4530...   kprobe_multi_link_prog_run.isra.0
 *	bpf_trace_run2                 kprobe_multi_link_handler
 *	__traceiter_sched_switch       fprobe_handler
 *	__schedule                     ftrace_trampoline
 *	                               vfs_read
 *
 * A fixed number of frames to skip would be wrong sooner or later, so this file knows their names.
 * It ignores a compiler's suffix (".isra.0", ".constprop.3", ".part.1").
 */
#include "symbolize/machinery.h"

#include <stddef.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"

/* A name; or the begin of names, before '*'. If @module is not NULL, only its names count. */
struct machine {
	const char *pattern;
	const char *module;
};

/*
 * The kernel has functions such as bpf_prog_load and bpf_trampoline_link_prog, which the user may
 * trace. So of these names, only those that kallsyms lists under [bpf] are machinery.
 */
static const struct machine machines[] = {
	/* tracepoints */
	{ "__traceiter_*", NULL },
	{ "perf_trace_*", NULL },
	{ "trace_event_raw_event_*", NULL },
	{ "perf_syscall_enter", NULL },
	{ "perf_syscall_exit", NULL },
	{ "perf_call_bpf_enter*", NULL },
	{ "perf_call_bpf_exit*", NULL },
	{ "trace_call_bpf*", NULL },
	{ "bpf_trace_run*", NULL },
	{ "__bpf_trace_*", NULL },
	/* programs, and the helper that walks the stack */
	{ "__bpf_prog_*", NULL },
	{ "bpf_prog_*", "bpf" },
	{ "bpf_trampoline_*", "bpf" },
	{ "bpf_get_stack*", NULL },
	{ "__bpf_get_stack*", NULL },
	{ "bpf_get_task_stack*", NULL },
	{ "__bpf_get_task_stack*", NULL },
	/* fprobe, ftrace */
	{ "fprobe_handler*", NULL },
	{ "fprobe_ftrace_entry", NULL },
	{ "fprobe_entry", NULL },
	{ "kprobe_multi_link_*", NULL },
	{ "ftrace_caller*", NULL },
	{ "ftrace_regs_caller*", NULL },
	{ "ftrace_trampoline*", NULL },
	{ "ftrace_ops_*", NULL },
	{ "arch_ftrace_ops_list_func", NULL },
	/* kprobes: by ftrace, by a jump; arch_trap_functions: by a trap */
	{ "kprobe_ftrace_handler", NULL },
	{ "kprobe_perf_func", NULL },
	{ "kprobe_dispatcher", NULL },
	{ "aggr_pre_handler", NULL },
	{ "opt_pre_handler", NULL },
	{ "optimized_callback", NULL },
	{ "optprobe_template_*", NULL },
};

/* Is @name this pattern, or this with a compiler's suffix? */
static bool is_function(const char *name, const char *pattern)
{
	const size_t n = strlen(pattern);

	return strncmp(name, pattern, n) == 0 && (name[n] == '\0' || name[n] == '.');
}

static bool fits_machine(const struct machine *machine, const char *name, const char *module)
{
	size_t n = strlen(machine->pattern);

	if (machine->module && (!module || strcmp(module, machine->module) != 0))
		return false;
	if (machine->pattern[n - 1] == '*')
		return strncmp(name, machine->pattern, n - 1) == 0;
	return is_function(name, machine->pattern);
}

bool machinery_is(const char *name, const char *module)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (fits_machine(&machines[i], name, module))
			return true;
	for (size_t i = 0; arch_trap_functions[i]; i++)
		if (is_function(name, arch_trap_functions[i]))
			return true;
	return false;
}
