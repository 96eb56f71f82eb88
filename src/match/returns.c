// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The returns of user functions: a probe at each exit (unwind/exits.h). The kernel's own return
 * probe (uretprobe) would replace return addresses on the stack. Go's runtime and the unwinding of
 * C++ exceptions end the program when they meet such an address, and stacks end there. So we use no
 * uretprobes, and leave out a function whose exits are not all known: its count would be too low.
 *
 * An exit has the name of its function, and the entry as its address and place. So two patterns
 * list it once, and reports add the exits up.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "match/private.h"
#include "unwind/exits.h"
#include "unwind/middles.h"

#define LEFT_OUT UINT32_MAX

struct placing_returns {
	struct matching *m;
	struct image *image;
	struct go_table go;
	struct middles middles; /* jumps into the functions of @entries */
	size_t first;
	struct target *entries; /* the targets from @first on, as they were */
	size_t n_entries;
	uint32_t *numbers;      /* of each entry's first exit, or LEFT_OUT */
	struct u64_map offsets; /* of all exits, to the number of the entry */
	size_t n_left_out;
	size_t n_without; /* functions that never return */
	const struct target *last;
	const char *why;
	uint64_t why_at;
};

static void leave_out(struct placing_returns *p, size_t entry, const char *why, uint64_t at)
{
	const struct target *t = &p->entries[entry];

	p->m->out->n = p->numbers[entry];
	p->numbers[entry] = LEFT_OUT;
	p->n_left_out++;
	p->last = t;
	p->why = why;
	p->why_at = at;
	log_debug("%s: its returns are left out: %s (0x%" PRIx64 ")", t->name, why, at);
}

/* List an exit. Returns why it cannot have a probe, or NULL. */
static const char *add_exit_target(struct placing_returns *p, size_t entry,
				   const struct function_exit *found)
{
	struct target_list *list = p->m->out;
	struct target t = p->entries[entry];
	bool is_new;

	t.is_jump = found->is_jump;
	if (!image_vaddr_to_offset(p->image, found->vaddr, &t.offset))
		return "an exit is not in the file";
	(void)u64_map_put(&p->offsets, t.offset, (uint32_t)entry, &is_new);
	if (!is_new)
		return "another function has the same exit";
	array_push(list->targets, list->n, list->capacity, t);
	place_probes(p->m, list->n - 1, p->image);
	return list->targets[list->n - 1].obstacle ? "the kernel cannot probe an exit" : NULL;
}

static void replace_entry(struct placing_returns *p, size_t entry)
{
	const struct target *t = &p->entries[entry];
	struct exits exits;

	p->numbers[entry] = (uint32_t)p->m->out->n;
	exits_find(p->image, &p->go, &p->middles, t->vaddr, &exits);
	if (exits.doubt) {
		leave_out(p, entry, exits.doubt, exits.doubt_at);
	} else if (!exits.n) {
		leave_out(p, entry, "it never returns", t->vaddr);
		p->n_without++;
	}
	for (size_t i = 0; i < exits.n; i++) {
		const char *why = add_exit_target(p, entry, &exits.places[i]);

		if (!why)
			continue;
		leave_out(p, entry, why, exits.places[i].vaddr);
		break;
	}
	exits_fini(&exits);
}

static void find_middles(struct placing_returns *p)
{
	cleanup_free struct code_range *functions = xcalloc(p->n_entries + 1, sizeof(*functions));

	for (size_t i = 0; i < p->n_entries; i++) {
		const uint64_t entry = p->entries[i].vaddr;

		functions[i] = (struct code_range){ entry, function_end_of(p->image, entry) };
	}
	middles_find(p->image, functions, p->n_entries, false, &p->middles);
}

/* Aliases have the numbers of entries. Give them the numbers of the first exits. */
static void move_aliases(struct placing_returns *p, size_t first_alias)
{
	struct target_list *list = p->m->out;
	size_t n = first_alias;

	for (size_t i = first_alias; i < list->n_aliases; i++) {
		struct target_alias a = list->aliases[i];

		if (a.target >= p->first)
			a.target = p->numbers[a.target - p->first];
		if (a.target != LEFT_OUT)
			list->aliases[n++] = a;
	}
	list->n_aliases = n;
}

static int judge_left_out(const struct placing_returns *p, const char *path, struct error *e)
{
	const struct target_list *list = p->m->out;

	if (list->n > p->m->scope->limit)
		return error_set(e, -E2BIG, "'%s' matches more than %zu places", p->m->spec->text,
				 p->m->scope->limit);
	if (p->n_left_out && list->n == p->first)
		return error_set(e, -EOPNOTSUPP,
				 "the returns of %s in %s cannot be traced: %s (0x%" PRIx64 ")",
				 p->last->name, path, p->why, p->why_at);
	if (p->n_left_out > p->n_without)
		log_warn("the returns of %zu of %zu functions of %s are not traced: not all of "
			 "their exits are known%s",
			 p->n_left_out - p->n_without, p->n_entries, path,
			 log_level() < LOG_DEBUG ? " (--debug lists them)" : "");
	return 0;
}

int place_returns(struct matching *m, size_t first, size_t first_alias, struct image *image,
		  struct error *e)
{
	struct target_list *list = m->out;
	struct placing_returns p = {
		.m = m,
		.image = image,
		.first = first,
		.n_entries = list->n - first,
		.entries = xcalloc(list->n - first + 1, sizeof(*p.entries)),
		.numbers = xcalloc(list->n - first + 1, sizeof(*p.numbers)),
	};
	int err;

	(void)go_table_of(image, &p.go);
	for (size_t i = 0; i < p.n_entries; i++)
		p.entries[i] = list->targets[first + i];
	list->n = first;
	find_middles(&p);
	for (size_t i = 0; i < p.n_entries; i++)
		replace_entry(&p, i);
	move_aliases(&p, first_alias);
	matching_renumber(m);
	err = p.n_entries ? judge_left_out(&p, p.entries[0].path, e) : 0;
	middles_fini(&p.middles);
	u64_map_fini(&p.offsets);
	free(p.entries);
	free(p.numbers);
	return err;
}
