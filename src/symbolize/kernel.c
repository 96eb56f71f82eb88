// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Addresses in the kernel to frames. The source of each kind of name, and the time for which the
 * name is certain, because modules and BPF programs come and go:
 *
 *	the kernel itself     kallsyms   always
 *	a module              kallsyms   since the last look without it
 *	a BPF program         bpf(2)     from the beginning of its loading on, while it is loaded
 *	a trampoline of BPF   kallsyms   since our first reading, if that has it, too
 *	one of ftrace         kallsyms   always; its pages are its own
 *
 * An address without a certain name has none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "elf/demangle.h"
#include "symbolize/state.h"

#define SYMBOLS "/proc/kallsyms"
#define MODULES "/proc/modules"

/*
 * An answer for a hit in a module, or at an address without a name, holds for this long after the
 * hit.
 */
#define MODULE_NS NS_PER_S
#define NAMELESS_NS 10000000

void kernel_names_init(struct kernel_names *k, struct host *host)
{
	*k = (struct kernel_names){ .host = host };
	bpf_programs_init(&k->programs);
	modules_look(&k->modules, MODULES);
}

void kernel_names_fini(struct kernel_names *k)
{
	kallsyms_freep(&k->own);
	modules_fini(&k->modules);
	bpf_programs_fini(&k->programs);
	free(k->trouble);
	*k = (struct kernel_names){};
}

void kernel_names_refresh(struct kernel_names *k)
{
	k->is_checked = false;
	k->is_reread = false;
}

/* --- names at a time --- */

struct kernel_answer {
	bool is_found;
	struct kernel_symbol symbol; /* with @is_found; lent until the next question */
	bool is_lasting;             /* the answer is the same at any time */
	uint64_t from, until;        /* else it is the same for hits in this time */
};

static bool is_of_bpf(const struct kernel_symbol *symbol)
{
	return symbol->module && strcmp(symbol->module, "bpf") == 0;
}

static bool is_of_ftrace(const struct kernel_symbol *symbol)
{
	return strncmp(symbol->module, "__builtin__", 11) == 0;
}

static bool is_bpf_program_symbol(const struct kernel_symbol *symbol)
{
	return is_of_bpf(symbol) && strncmp(symbol->name, "bpf_prog_", 9) == 0;
}

/* Before the first reading, or if that has another symbol, a program may have been there. */
static uint64_t trampoline_since(const struct kernel_names *k, const struct kernel_symbol *symbol)
{
	struct kernel_symbol first;

	return kallsyms_at(k->first, symbol->addr, &first) && strcmp(first.name, symbol->name) == 0
		       ? kallsyms_read_at(k->first)
		       : UINT64_MAX;
}

static void read_kernel_names_first(struct kernel_names *k)
{
	struct error e;

	bpf_programs_look(&k->programs); /* some end while we read symbols */
	if (host_kallsyms(k->host, &k->first, &e) == 0)
		k->symbols = k->first;
	else
		k->trouble = xstrdup(e.text);
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
	if (k->is_checked)
		return;
	k->is_checked = true;
	modules_look(&k->modules, MODULES);
	if (!k->first && !k->trouble)
		read_kernel_names_first(k);
	if (k->symbols && k->modules.now != kallsyms_modules(k->symbols))
		read_kernel_names_again(k);
}

/* False: no program is there now. */
static bool find_bpf_program(struct kernel_names *k, uint64_t addr, uint64_t time,
			     struct kernel_answer *ret)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const struct program_function *f = bpf_programs_at(&k->programs, addr);

	if (!f || time < f->since)
		return f;
	*ret = (struct kernel_answer){ .is_found = true,
				       .symbol = { .name = f->name,
						   .module = "bpf",
						   .addr = f->start,
						   .size = f->end - f->start },
				       .is_lasting = f->is_own,
				       .from = f->since,
				       .until = now };
	return true;
}

/* Was ret->symbol of kallsyms there then? */
static void judge_symbol(const struct kernel_names *k, uint64_t time, struct kernel_answer *ret)
{
	const struct kernel_symbol *symbol = &ret->symbol;
	uint64_t since = 0;

	ret->is_lasting = !symbol->module || is_of_ftrace(symbol);
	if (is_of_bpf(symbol))
		since = is_bpf_program_symbol(symbol) ? UINT64_MAX : trampoline_since(k, symbol);
	else if (!ret->is_lasting)
		since = modules_since(&k->modules, symbol->module);
	ret->is_found = time >= since;
	ret->from = ret->is_found ? since : 0;
	ret->until = ret->is_found ? time + MODULE_NS : time;
}

/*
 * The function that was at @addr from @time (ns of CLOCK_MONOTONIC) on. If there is none, reads the
 * symbols once more, at most once per refresh.
 */
static void find_kernel_name(struct kernel_names *k, uint64_t addr, uint64_t time,
			     struct kernel_answer *ret)
{
	bool is_listed;

	*ret = (struct kernel_answer){ .until = time + NAMELESS_NS };
	if (!k->symbols)
		return;
	is_listed = kallsyms_at(k->symbols, addr, &ret->symbol);
	if ((!is_listed || ret->symbol.module) && find_bpf_program(k, addr, time, ret))
		return;
	if (!is_listed && !k->is_reread) {
		read_kernel_names_again(k);
		is_listed = kallsyms_at(k->symbols, addr, &ret->symbol);
	}
	if (is_listed)
		judge_symbol(k, time, ret);
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
 * The kernel has functions such as bpf_prog_load and bpf_trampoline_link_prog, which the user may
 * trace. Of BPF's own symbols, only our programs trace here, and only ours have lasting names.
 */
static bool is_machinery(const struct kernel_answer *answer)
{
	const struct kernel_symbol *symbol = &answer->symbol;

	if (is_of_bpf(symbol) && (text_begins_with(symbol->name, "bpf_trampoline_") ||
				  (is_bpf_program_symbol(symbol) && answer->is_lasting)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(machinery); i++)
		if (is_called(symbol->name, machinery[i]))
			return true;
	for (size_t i = 0; arch_trap_functions[i]; i++)
		if (is_called(symbol->name, arch_trap_functions[i]))
			return true;
	return false;
}

/* --- frames --- */

/* The number of the kernel's image, or of @module, which s->frames.strings lends. */
static uint32_t kernel_image(struct symbolizer *s, const char *module)
{
	const uint32_t *known = u64_map_get(&s->frames.kernel_images, (uintptr_t)module);
	uint8_t id[MOST_BUILD_ID_BYTES];
	char path[80];
	uint32_t number;

	if (known)
		return *known;
	(void)snprintf(path, sizeof(path), "[%s]", module ? module : "kernel");
	number = frames_add_image(&s->frames, path, id, kernel_build_id(module, id, sizeof(id)),
				  (struct frame_image){});
	(void)u64_map_put(&s->frames.kernel_images, (uintptr_t)module, number, NULL);
	return number;
}

static uint32_t kernel_frame(struct symbolizer *s, uint64_t addr,
			     const struct kernel_answer *answer)
{
	const struct kernel_symbol *symbol = answer->is_found ? &answer->symbol : NULL;
	struct frame_key key = { .kind = FRAME_KERNEL, .place = addr };
	struct frame frame = { .kind = FRAME_KERNEL, .image = NO_IMAGE, .addr = addr };
	bool is_new;

	if (symbol) {
		cleanup_free char *plain = name_without_number(symbol->name);

		frame.name = strtab_add(s->frames.strings, plain ? plain : symbol->name);
		frame.module = strtab_add_or_null(s->frames.strings, symbol->module);
		frame.offset = addr - symbol->addr;
		key.kind |= KEY_NAMED;
		key.file = (uintptr_t)frame.name; /* a module may be loaded where another was */
		key.place = symbol->addr;
		key.detail = detail_of(s, frame.offset, addr, addr);
	}

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new) {
		if (symbol)
			frame.image = kernel_image(s, frame.module);
		frame.is_machinery = symbol && is_machinery(answer);
		s->frames.table.frames[number] = frame;
	}
	return number;
}

struct kernel_validity symbolizer_kernel_validity(struct symbolizer *s)
{
	const struct kernel_validity all = s->kernel_validity;

	s->kernel_validity = (struct kernel_validity){ .until = UINT64_MAX };
	return all;
}

static void narrow_validity(struct kernel_validity *v, const struct kernel_answer *answer)
{
	if (answer->from > v->from)
		v->from = answer->from;
	if (answer->until < v->until)
		v->until = answer->until;
}

uint32_t kernel_frame_at(struct symbolizer *s, uint64_t addr, bool is_exact, uint64_t time)
{
	struct u64_map *seen = &s->frames.kernel_seen[is_exact];
	const uint32_t *known = u64_map_get(seen, addr);
	struct kernel_answer answer;
	uint32_t number;

	update_kernel_names(&s->kernel);
	if (known)
		return *known;
	find_kernel_name(&s->kernel, place_look_up_at(addr, is_exact), time, &answer);
	number = kernel_frame(s, addr, &answer);
	if (answer.is_lasting)
		*u64_map_put(seen, addr, number, NULL) = number;
	else
		narrow_validity(&s->kernel_validity, &answer);
	return number;
}
