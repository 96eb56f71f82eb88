// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The source of each kind of kernel name, and the time for which the name is certain:
 *
 *	the kernel itself     kallsyms   always
 *	a module              kallsyms   always; in another's place: since we saw it first
 *	a BPF program         bpf(2)     from perf's record of it, else our first look that found
 *	                                 it, to the last one
 *	a trampoline of BPF   kallsyms   since our first look; before, a program may have been there
 *	one of ftrace         kallsyms   always; its pages are its own
 *
 * An address without a certain name has none.
 */
#include "symbolize/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#define SYMBOLS "/proc/kallsyms"
#define MODULES "/proc/modules"

/*
 * An answer for a hit in a module, or at an address without a name, holds for this long after the
 * hit.
 */
#define MODULE_NS NS_PER_S
#define NAMELESS_NS 10000000

void kernel_names_init(struct kernel_names *k, struct host *host, bool has_stacks)
{
	*k = (struct kernel_names){ .host = host };
	k->programs = bpf_programs_new(has_stacks);
	modules_look(&k->modules, MODULES);
}

void kernel_names_fini(struct kernel_names *k)
{
	kallsyms_free(k->own);
	modules_fini(&k->modules);
	bpf_programs_free(k->programs);
	free(k->trampolines);
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

/* When we saw this trampoline first; 0: never. */
static uint64_t seen_since(const struct kernel_names *k, const struct kernel_symbol *symbol)
{
	const uint64_t name = hash_bytes(symbol->name, strlen(symbol->name));

	for (size_t i = 0; i < k->n_trampolines; i++)
		if (k->trampolines[i].addr == symbol->addr && k->trampolines[i].name == name)
			return k->trampolines[i].since;
	return 0;
}

static void note_trampolines(struct kernel_names *k)
{
	struct trampoline *list = NULL;
	size_t n = 0, capacity = 0;
	struct kernel_symbol symbol;

	for (size_t i = 0; i < kallsyms_n(k->symbols); i++) {
		kallsyms_nth(k->symbols, i, &symbol);
		if (!is_of_bpf(&symbol) || is_bpf_program_symbol(&symbol))
			continue;

		const uint64_t since = seen_since(k, &symbol);
		const struct trampoline one = {
			.addr = symbol.addr,
			.name = hash_bytes(symbol.name, strlen(symbol.name)),
			.since = since ? since : kallsyms_read_at(k->symbols),
		};

		array_push(list, n, capacity, one);
	}
	free(k->trampolines);
	k->trampolines = list;
	k->n_trampolines = n;
}

static void read_kernel_names_first(struct kernel_names *k)
{
	struct error e;

	k->is_read = true;
	bpf_programs_look(k->programs); /* some end while we read symbols */
	if (host_kallsyms(k->host, &k->symbols, &e) == 0) {
		note_trampolines(k);
		return;
	}
	k->symbols = NULL;
	k->trouble = xstrdup(e.text);
}

/* The host's table stays: others borrow names from it. */
static bool read_kernel_names_again(struct kernel_names *k)
{
	struct kallsyms *fresh = NULL;
	struct error e;

	k->is_reread = true;
	if (kallsyms_read(SYMBOLS, MODULES, &fresh, &e) != 0) {
		log_debug("names of newly loaded modules are missing: %s", e.text);
		return false;
	}
	kallsyms_free(k->own);
	k->own = fresh;
	k->symbols = fresh;
	note_trampolines(k);
	return true;
}

bool kernel_names_update(struct kernel_names *k)
{
	bool is_first = !k->is_read;

	if (k->is_checked)
		return false;
	k->is_checked = true;
	modules_look(&k->modules, MODULES);
	if (is_first)
		read_kernel_names_first(k);
	if (k->symbols && k->modules.now != kallsyms_modules(k->symbols))
		return read_kernel_names_again(k) || is_first;
	return is_first;
}

static void set_program(const struct program_symbol *program, struct kernel_answer *ret)
{
	ret->is_found = true;
	ret->symbol = (struct kernel_symbol){ .name = program->name,
					      .module = "bpf",
					      .addr = program->start,
					      .size = program->size };
	ret->is_lasting = program->until == UINT64_MAX;
	ret->from = program->from;
	ret->until = program->until;
}

static bool find_bpf_program(struct kernel_names *k, uint64_t addr, const struct kernel_time *when,
			     struct kernel_answer *ret)
{
	struct program_symbol program;

	if (!bpf_programs_at(k->programs, addr, when->first, when->last, &program))
		return false;
	set_program(&program, ret);
	return true;
}

/* Find the present symbol at @addr in kallsyms. Was it there then? */
static void find_kallsyms_symbol(struct kernel_names *k, uint64_t addr,
				 const struct kernel_time *when, struct kernel_answer *ret)
{
	uint64_t since = 0;

	if (!kallsyms_at(k->symbols, addr, &ret->symbol) || is_bpf_program_symbol(&ret->symbol))
		return;
	if (is_of_bpf(&ret->symbol))
		since = seen_since(k, &ret->symbol);
	else if (!is_of_ftrace(&ret->symbol))
		since = modules_since(&k->modules, ret->symbol.module);
	ret->is_lasting = is_of_ftrace(&ret->symbol);
	ret->is_found = when->first >= since;
	ret->from = ret->is_found ? since : 0;
	ret->until = ret->is_found ? when->last + MODULE_NS : when->last;
}

static bool is_of_kernel(const struct kernel_names *k, uint64_t addr, struct kernel_symbol *ret)
{
	return kallsyms_at(k->symbols, addr, ret) && !ret->module;
}

void kernel_names_at(struct kernel_names *k, uint64_t addr, const struct kernel_time *when,
		     struct kernel_answer *ret)
{
	*ret = (struct kernel_answer){ .until = when->last + NAMELESS_NS };
	if (!k->symbols)
		return;
	if (is_of_kernel(k, addr, &ret->symbol)) {
		ret->is_found = ret->is_lasting = true;
		return;
	}
	if (find_bpf_program(k, addr, when, ret))
		return;
	find_kallsyms_symbol(k, addr, when, ret);
	if (ret->is_found || k->is_reread)
		return;
	ret->is_changed = read_kernel_names_again(k);
	if (ret->is_changed)
		find_kallsyms_symbol(k, addr, when, ret);
}
