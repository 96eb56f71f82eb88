// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The source of each kind of kernel name, and the time for which the name is certain:
 *
 *	the kernel itself     kallsyms   always
 *	a module              kallsyms   always; in another's place: since we saw it first
 *	a BPF program         bpf(2)     from the beginning of its loading on, while it is loaded
 *	a trampoline of BPF   kallsyms   since our first reading, if that has it, too
 *	one of ftrace         kallsyms   always; its pages are its own
 *
 * An address without a certain name has none.
 */
#include "symbolize/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

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
	kallsyms_free(k->own);
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

	k->is_read = true;
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
	kallsyms_free(k->own);
	k->own = fresh;
	k->symbols = fresh;
}

void kernel_names_update(struct kernel_names *k)
{
	if (k->is_checked)
		return;
	k->is_checked = true;
	modules_look(&k->modules, MODULES);
	if (!k->is_read)
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

void kernel_names_at(struct kernel_names *k, uint64_t addr, uint64_t time,
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
