// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Choose the instruction that gets the probe of a function or of a USDT probe. It is the first one,
 * unless the kernel would not execute that as it is (arch_uprobe_verdict()), or would write over
 * the program's stack there (arch_is_nop5()). Then the probe goes behind it. Most string functions
 * of libc need that on an x86 CPU with AVX-512. The skipped instructions must leave the stack and
 * the frame pointer as they are, because the walk relies on that. A USDT probe also has arguments
 * in registers, so it goes behind NOPs only.
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
#include "arch/arch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/image.h"
#include "match/private.h"
#include "unwind/middles.h"

#define CODE_BYTES ((ARCH_MOST_SKIPPED + 1) * ARCH_INSTRUCTION_BYTES)

/* A target whose probe may be moved, behind one to ARCH_MOST_SKIPPED instructions. */
struct move {
	size_t target;
	uint64_t entry; /* the first instruction's address */
	size_t n_ends;
	size_t ends[ARCH_MOST_SKIPPED]; /* of the instructions, in bytes from @entry */
};

struct placing {
	const struct matching *m;
	struct target_list *list;
	struct image *image;
	struct move *moves;
	size_t n_moves, moves_capacity;
	struct middles middles; /* jumps to the skipped instructions, and right behind them */
};

static void placing_fini(struct placing *p)
{
	free(p->moves);
	middles_fini(&p->middles);
}

/* Note where the probe can go instead of @entry, if anywhere. */
static void plan_move(struct placing *p, size_t target, uint64_t entry, const uint8_t *code,
		      size_t n)
{
	const bool is_entry = p->list->targets[target].kind == TARGET_USER_FUNCTION;
	struct move move = { .target = target, .entry = entry };

	move.n_ends = arch_skippable(code, n, is_entry, move.ends);
	if (move.n_ends)
		array_push(p->moves, p->n_moves, p->moves_capacity, move);
}

static void find_middles_of_moves(struct placing *p)
{
	cleanup_free struct code_range *skipped = xcalloc(p->n_moves + 1, sizeof(*skipped));

	for (size_t i = 0; i < p->n_moves; i++) {
		const struct move *how = &p->moves[i];

		skipped[i] = (struct code_range){ how->entry,
						  how->entry + how->ends[how->n_ends - 1] + 1 };
	}
	middles_find(p->image, skipped, p->n_moves, true, &p->middles);
}

/* Does a jump lead to @vaddr, or does a function begin there? */
static bool is_entered(const struct placing *p, uint64_t vaddr)
{
	const size_t i = middles_from(&p->middles, vaddr);
	struct image_symbol symbol;

	return (i < p->middles.n && p->middles.jumps[i].to == vaddr) ||
	       (image_function_at(p->image, vaddr, &symbol) && symbol.vaddr == vaddr);
}

static enum target_obstacle obstacle_at(const struct placing *p, const struct target *t,
					const uint8_t *code, size_t n, bool is_64_bit)
{
	switch (arch_uprobe_verdict(code, n, is_64_bit)) {
	case UPROBE_MISTAKEN:
		return OBSTACLE_MISTAKEN;
	case UPROBE_REFUSED:
		return OBSTACLE_REFUSED;
	default: /* at its entry, no function uses what is below the stack pointer */
		return t->kind == TARGET_USDT && is_64_bit && p->m->scope->kernel_calls_at_nop5 &&
				       arch_is_nop5(code, n)
			       ? OBSTACLE_OVERWRITES
			       : OBSTACLE_NONE;
	}
}

static void judge_entry(struct placing *p, size_t i)
{
	struct target *t = &p->list->targets[i];
	bool is_64_bit = image_has_64_bit_code(p->image);
	uint8_t code[CODE_BYTES];
	uint64_t vaddr;

	if (!image_offset_to_vaddr(p->image, t->offset, &vaddr))
		return;

	size_t n = image_code_at(p->image, vaddr, code, sizeof(code));

	t->obstacle = n ? obstacle_at(p, t, code, n, is_64_bit) : OBSTACLE_NONE;
	if (t->obstacle && t->kind != TARGET_USER_RETURN && is_64_bit)
		plan_move(p, i, vaddr, code, n);
}

static void move_probe(const struct placing *p, const struct move *how)
{
	struct target *t = &p->list->targets[how->target];
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
	struct target_list *list = m->out;
	cleanup(placing_fini) struct placing p = { .m = m, .list = list, .image = image };

	for (size_t i = first; i < list->n; i++)
		judge_entry(&p, i);
	find_middles_of_moves(&p);
	for (size_t i = 0; i < p.n_moves; i++)
		move_probe(&p, &p.moves[i]);
}
