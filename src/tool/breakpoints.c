// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The first code of a library that runs is a constructor, or libc's own code before those. So the
 * command stops when its dynamic linker calls one of two functions that it exports. glibc's linker
 * works in this order:
 *
 *	_dl_debug_state()                    RT_ADD: only the program
 *	maps libraries                       each is open(), read(), mmap()
 *	_dl_allocate_tls_init()              all libraries, relocated; nothing has run
 *	__libc_early_init()                  libc's, calls getrlimit()
 *	_dl_debug_state()                    RT_CONSISTENT
 *	constructors                         which may dlopen(): _dl_debug_state() twice each
 *	the program's first instruction
 *
 * Debuggers stop at _dl_debug_state(), so it keeps its name. musl has it too, but calls
 * constructors from the program's own first function. Resolvers of IFUNCs run before all this,
 * while the linker relocates libraries. They only ask what the CPU can do.
 */
#include "tool/breakpoints.h"

#include <linux/auxvec.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image.h"
#include "reader/mappings.h"

static const char *const functions[] = { "_dl_debug_state", "_dl_allocate_tls_init" };

/* The program's entry point; 0: not known. */
static uint64_t entry_point_of(pid_t pid)
{
	char path[64];
	struct {
		uint64_t type, value;
	} item;

	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", pid);

	cleanup_fclose FILE *f = fopen(path, "re");

	while (f && fread(&item, sizeof(item), 1, f) == 1 && item.type != AT_NULL)
		if (item.type == AT_ENTRY)
			return item.value;
	return 0;
}

struct search {
	const struct image *linker;
	const struct mapping *m;
	uint64_t *places;
	size_t n;
};

static bool is_linker_function(const struct image_symbol *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!symbol->is_indirect && strcmp(symbol->name, functions[i]) == 0)
			return true;
	return false;
}

/* A file with .symtab and .dynsym lists a function twice. */
static void add_breakpoint(struct search *s, uint64_t place)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->places[i] == place)
			return;
	if (s->n < MOST_BREAKPOINTS)
		s->places[s->n++] = place;
}

static int add_linker_function(void *context, const struct image_symbol *symbol)
{
	struct search *s = context;
	const struct mapping *m = s->m;
	uint64_t offset;

	if (is_linker_function(symbol) &&
	    image_vaddr_to_offset(s->linker, symbol->vaddr, &offset) && offset >= m->offset &&
	    offset - m->offset < m->end - m->start)
		add_breakpoint(s, m->start + (offset - m->offset));
	return 0;
}

static void find_linker_functions(pid_t pid, struct search *s)
{
	cleanup(image_freep) struct image *linker = NULL;
	cleanup_close int fd = -1;
	struct error e;

	if (mapping_open((uint32_t)pid, s->m, &fd, &e) ||
	    image_open_fd(fd, "the dynamic linker", &linker, &e))
		return;
	s->linker = linker;
	(void)image_each_function(linker, add_linker_function, s);
}

size_t breakpoints_find(pid_t pid, uint64_t pc, uint64_t ret[MOST_BREAKPOINTS])
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	struct error e;

	ret[0] = entry_point_of(pid);
	if (!ret[0])
		return 0;
	if (ret[0] == pc || mapping_list_read((uint32_t)pid, &list, &e))
		return 1; /* nothing comes before it */

	struct search s = { .m = mapping_list_at(&list, pc), .places = ret, .n = 1 };

	if (s.m)
		find_linker_functions(pid, &s);
	return s.n;
}
