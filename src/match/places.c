// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Choose the instruction that gets the probe of a function or of a USDT probe. It is the first one,
 * unless the kernel would not execute that as it is (arch_uprobe_verdict()), or would write over
 * the program's stack there (OBSTACLE_OVERWRITES). Then the probe goes behind it. Most string
 * functions of libc need that on an x86 CPU with AVX-512. The skipped instructions must leave the
 * stack and the frame pointer as they are, because the walk relies on that. A USDT probe also has
 * arguments in registers, so it goes behind NOPs only.
 *
 * All execution must come to the place through the first instruction, and once. A loop that begins
 * there would count as many calls. We cannot see jumps through a register or a table. Compilers and
 * libc's authors aim these at the cases of a switch and at the rows of an unrolled loop. None of
 * them begins behind an entry with only vector instructions in between.
 *
 * If no place fits, the target is marked, and not handed to the kernel. Not even if the kernel
 * would refuse it: the kernel checks the instruction only once a process has mapped the file. A
 * probe attached before a command starts would silently have no hits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "match/private.h"
#include "unwind/exits.h"

#define CODE_BYTES ((ARCH_MOST_SKIPPED + 1UL) * ARCH_INSTRUCTION_BYTES)

/* A target whose probe may be moved, behind one to ARCH_MOST_SKIPPED instructions. */
struct move {
	size_t target;
	uint64_t entry; /* the first instruction's address */
	size_t n_ends;
	size_t ends[ARCH_MOST_SKIPPED]; /* of the instructions, in bytes from @entry */
};

struct placing {
	const struct matching *m;
	struct image *image;
	struct move *moves;
	size_t n_moves, moves_capacity;
	struct middles middles; /* jumps to the skipped instructions, and right behind them */
};

/* Does a jump lead to @vaddr, or does a function begin there? */
static bool is_entered(const struct placing *p, uint64_t vaddr)
{
	const size_t i = middles_from(&p->middles, vaddr);
	struct image_symbol symbol;

	return (i < p->middles.n && p->middles.jumps[i].to == vaddr) ||
	       (image_function_at(p->image, vaddr, &symbol) && symbol.vaddr == vaddr);
}

/*
 * Linux 6.18 to 7.1 replace a NOP of five bytes that has a probe by a call, which writes over the 8
 * bytes below the stack pointer. A leaf function may have variables there, but not at its entry.
 * Any place may have a symbol of a function, so a symbol does not tell an entry.
 */
static bool is_overwritten(const struct placing *p, const struct target *t, const uint8_t *code,
			   size_t n)
{
	struct instruction first;

	if (t->kind == TARGET_USER_RETURN || !p->m->scope->kernel_calls_at_nop5)
		return false;
	first = instruction_at(code, n, 0);
	return first.kind == INSTRUCTION_NOP && first.length == 5;
}

static enum target_obstacle obstacle_at(const struct placing *p, const struct target *t,
					const uint8_t *code, size_t n, bool is_64_bit)
{
	const enum uprobe_verdict verdict = arch_uprobe_verdict(code, n, is_64_bit);

	if (verdict != UPROBE_FINE)
		return verdict == UPROBE_MISTAKEN ? OBSTACLE_MISTAKEN : OBSTACLE_REFUSED;
	return is_64_bit && is_overwritten(p, t, code, n) ? OBSTACLE_OVERWRITES : OBSTACLE_NONE;
}

/* Set the obstacle of target @i. Note where its probe can go instead, if anywhere. */
static void judge_entry(struct placing *p, size_t i)
{
	struct target *t = &p->m->out->targets[i];
	bool is_64_bit = image_is_64_bit(p->image);
	struct move move = { .target = i };

	if (!image_offset_to_vaddr(p->image, t->offset, &move.entry))
		return;

	const struct slice code = image_code(p->image, move.entry, CODE_BYTES);

	t->obstacle =
		code.size ? obstacle_at(p, t, code.data, code.size, is_64_bit) : OBSTACLE_NONE;
	if (t->obstacle && t->kind != TARGET_USER_RETURN && is_64_bit)
		move.n_ends = arch_skippable(code.data, code.size, t->kind == TARGET_USER_FUNCTION,
					     move.ends);
	if (move.n_ends)
		array_push(p->moves, p->n_moves, p->moves_capacity, move);
}

static void move_probe(const struct placing *p, const struct move *how)
{
	struct target *t = &p->m->out->targets[how->target];
	const size_t skipped = how->ends[how->n_ends - 1];

	for (size_t i = 0; i < how->n_ends; i++)
		if (is_entered(p, how->entry + how->ends[i]))
			return;
	t->offset += skipped;
	t->obstacle = OBSTACLE_NONE;
	log_debug("%s: the kernel cannot probe the instruction there: the probe is %zu bytes "
		  "behind it",
		  t->name, skipped);
}

void place_probes(const struct matching *m, size_t first, struct image *image)
{
	struct placing p = { .m = m, .image = image };
	struct code_range *skipped;

	for (size_t i = first; i < m->out->n; i++)
		judge_entry(&p, i);
	skipped = xcalloc(p.n_moves + 1, sizeof(*skipped));
	for (size_t i = 0; i < p.n_moves; i++) {
		const struct move *how = &p.moves[i];

		skipped[i] = (struct code_range){ how->entry,
						  how->entry + how->ends[how->n_ends - 1] + 1 };
	}
	middles_find(image, skipped, p.n_moves, true, &p.middles);
	for (size_t i = 0; i < p.n_moves; i++)
		move_probe(&p, &p.moves[i]);
	free(skipped);
	free(p.moves);
	middles_fini(&p.middles);
}

/* --- returns --- */

/*
 * The returns of user functions: a probe at each exit (unwind/exits.h). The kernel's own return
 * probe (uretprobe) would replace return addresses on the stack. Go's runtime and the unwinding of
 * C++ exceptions end the program when they meet such an address, and stacks end there. So we use no
 * uretprobes, and leave out a function whose exits are not all known: its count would be too low.
 *
 * An exit has the name of its function, and the entry as its address and place. So two patterns
 * list it once, and reports add the exits up.
 */

struct placing_returns {
	struct matching *m;
	struct image *image;
	struct go_table go;
	struct middles middles; /* jumps into the functions of @entries */
	size_t first;
	struct target *entries; /* the targets from @first on, as they were */
	size_t n_entries;
	size_t first_exit;      /* of the entry at hand: its number in the list */
	struct u64_map offsets; /* of all exits, to the number of the entry */
	bool is_old_go;         /* where a recovered panic returns through is not known */
	size_t n_left_out;
	size_t n_without; /* functions that never return */
	const struct target *last;
	const char *why;
	uint64_t why_at;
};

static void leave_out(struct placing_returns *p, size_t entry, const char *why, uint64_t at)
{
	const struct target *t = &p->entries[entry];

	p->m->out->n = p->first_exit;
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

	p->first_exit = p->m->out->n;
	if (p->is_old_go) {
		leave_out(p, entry, "the format of its Go table is not known", t->vaddr);
		return;
	}
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

int place_returns(struct matching *m, size_t first, struct image *image, struct error *e)
{
	struct target_list *list = m->out;
	struct placing_returns p = {
		.m = m,
		.image = image,
		.first = first,
		.n_entries = list->n - first,
		.entries = xcalloc(list->n - first + 1, sizeof(*p.entries)),
	};
	int err;

	p.is_old_go = !go_table_of(image, &p.go) && image_is_go(image);
	for (size_t i = 0; i < p.n_entries; i++)
		p.entries[i] = list->targets[first + i];
	list->n = first;
	find_middles(&p);
	for (size_t i = 0; i < p.n_entries; i++)
		replace_entry(&p, i);
	matching_renumber(m);
	err = p.n_entries ? judge_left_out(&p, p.entries[0].path, e) : 0;
	middles_fini(&p.middles);
	u64_map_fini(&p.offsets);
	free(p.entries);
	return err;
}
