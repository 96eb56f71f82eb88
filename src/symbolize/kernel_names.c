// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The source of each kind of name, and the time for which the name is certain, because modules and
 * BPF programs come and go:
 *
 *	the kernel itself     kallsyms   always
 *	a module              kallsyms   since the last look without it
 *	a BPF program         bpf(2)     from the beginning of its loading on, while it is loaded
 *	one of ftrace         kallsyms   always; its pages are its own
 *
 * Any other address has no name: BPF's trampolines have neither ends nor times in kallsyms.
 */
#include "symbolize/kernel_names.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "kernel/bpf_programs.h"

#define SYMBOLS "/proc/kallsyms"
#define MODULES "/proc/modules"

struct kernel_names {
	struct host *host;
	const struct kallsyms *symbols; /* the host's, or @own; NULL: not read, or not readable */
	struct kallsyms *own;           /* a newer reading, after the host's became old */
	struct modules modules;
	struct bpf_programs programs;
	bool is_checked; /* looked for changes since the last refresh */
	bool is_reread;  /* read kallsyms again since the last refresh */
	char *trouble;   /* why there are no names; NULL: there are */
};

struct kernel_names *kernel_names_new(struct host *host)
{
	struct kernel_names *k = xcalloc(1, sizeof(*k));

	k->host = host;
	bpf_programs_init(&k->programs);
	modules_look(&k->modules, MODULES);
	return k;
}

void kernel_names_free(struct kernel_names *k)
{
	kallsyms_freep(&k->own);
	modules_fini(&k->modules);
	bpf_programs_fini(&k->programs);
	free(k->trouble);
	free(k);
}

void kernel_names_refresh(struct kernel_names *k)
{
	k->is_checked = false;
	k->is_reread = false;
}

const char *kernel_names_trouble(const struct kernel_names *k)
{
	return k->trouble;
}

/* --- names at a time --- */

static bool is_of_bpf(const struct kernel_symbol *symbol)
{
	return symbol->module && strcmp(symbol->module, "bpf") == 0;
}

/* The host's table stays: others borrow names from it. */
static void read_kernel_names_again(struct kernel_names *k)
{
	struct kallsyms *fresh = NULL;
	struct error e;

	k->is_reread = true;
	if (kallsyms_read(SYMBOLS, MODULES, &fresh, &e) != 0) {
		log_debug("names of newly loaded modules are missing: %s", e.text);
		return;
	}
	kallsyms_freep(&k->own);
	k->own = fresh;
	k->symbols = fresh;
}

/* Read symbols that are new or have changed. */
static void update_kernel_names(struct kernel_names *k)
{
	struct error e;

	if (k->is_checked)
		return;
	k->is_checked = true;
	modules_look(&k->modules, MODULES);
	if (!k->symbols && !k->trouble) {
		bpf_programs_look(&k->programs); /* some end while we read symbols */
		if (host_kallsyms(k->host, &k->symbols, &e))
			k->trouble = xstrdup(e.text);
	}
	if (k->symbols && k->modules.now != kallsyms_modules(k->symbols))
		read_kernel_names_again(k);
}

bool kernel_names_at(struct kernel_names *k, uint64_t addr, uint64_t time, struct kernel_name *ret)
{
	const struct program_function *f;
	const struct module *module;
	bool is_listed;

	*ret = (struct kernel_name){};
	update_kernel_names(k);
	if (!k->symbols)
		return false;
	is_listed = kallsyms_at(k->symbols, addr, &ret->symbol);
	f = is_listed && !ret->symbol.module ? NULL : bpf_programs_at(&k->programs, addr);
	if (f) {
		ret->symbol = (struct kernel_symbol){ f->name, "bpf", f->start, f->end - f->start };
		ret->is_lasting = f->is_own && time >= f->since;
		return time >= f->since;
	}
	if (!is_listed && !k->is_reread) {
		read_kernel_names_again(k);
		is_listed = kallsyms_at(k->symbols, addr, &ret->symbol);
	}
	if (!is_listed || is_of_bpf(&ret->symbol))
		return false;
	module = ret->symbol.module ? modules_find(&k->modules, ret->symbol.module) : NULL;
	ret->is_lasting =
		!ret->symbol.module || strncmp(ret->symbol.module, "__builtin__", 11) == 0;
	return !module || time >= module->since;
}

/* --- machinery --- */

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
 * A fixed number of frames to skip would be wrong sooner or later, so their names are known here:
 * each, or the begin of several before '*'. A compiler's suffix (".isra.0", ".part.1") is ignored.
 */
static const char *const machinery[] = {
	/* tracepoints */
	"__traceiter_*", "perf_trace_*", "trace_event_raw_event_*", "perf_syscall_enter",
	"perf_syscall_exit", "perf_call_bpf_enter*", "perf_call_bpf_exit*", "trace_call_bpf*",
	"bpf_trace_run*", "__bpf_trace_*",
	/* programs, and the helper that walks the stack */
	"__bpf_prog_*", "bpf_get_stack*", "__bpf_get_stack*", "bpf_get_task_stack*",
	"__bpf_get_task_stack*",
	/* fprobe, ftrace */
	"fprobe_handler*", "fprobe_ftrace_entry", "fprobe_entry", "kprobe_multi_link_*",
	"ftrace_caller*", "ftrace_regs_caller*", "ftrace_trampoline*", "ftrace_ops_*",
	"arch_ftrace_ops_list_func",
	/* kprobes: by ftrace, by a jump; arch_trap_functions: by a trap */
	"kprobe_ftrace_handler", "kprobe_perf_func", "kprobe_dispatcher", "aggr_pre_handler",
	"opt_pre_handler", "optimized_callback", "optprobe_template_*"
};

static bool is_called(const char *name, const char *pattern)
{
	const size_t n = strcspn(pattern, "*");

	return strncmp(name, pattern, n) == 0 && (pattern[n] || !name[n] || name[n] == '.');
}

/*
 * The kernel has functions such as bpf_prog_load, which the user may trace. Of BPF's own symbols,
 * only our programs trace here, and only ours have lasting names.
 */
bool kernel_name_is_machinery(const struct kernel_name *name)
{
	const struct kernel_symbol *symbol = &name->symbol;

	if (is_of_bpf(symbol) && name->is_lasting)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(machinery); i++)
		if (is_called(symbol->name, machinery[i]))
			return true;
	for (size_t i = 0; arch_trap_functions[i]; i++)
		if (is_called(symbol->name, arch_trap_functions[i]))
			return true;
	return false;
}
