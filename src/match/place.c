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

#define CODE_BYTES ((ARCH_MOST_SKIPPED + 1) * ARCH_INSTRUCTION_BYTES)

/* A target whose probe may be moved. */
struct move {
	size_t target;
	size_t skipped; /* bytes */
	bool is_entered;
};

struct placing {
	const struct matching *m;
	struct target_list *list;
	struct image *image;
	struct move *moves;
	size_t n_moves, moves_capacity;
	struct code_place *places; /* the address behind each skipped instruction */
	size_t n_places, places_capacity;
};

static void placing_fini(struct placing *p)
{
	free(p->moves);
	free(p->places);
}

/* Note where the probe can go instead of @entry, if anywhere. */
static void plan_move(struct placing *p, size_t target, uint64_t entry, const uint8_t *code,
		      size_t n)
{
	const bool is_entry = p->list->targets[target].kind == TARGET_USER_FUNCTION;
	size_t ends[ARCH_MOST_SKIPPED];
	size_t n_ends = arch_skippable(code, n, is_entry, ends);

	if (!n_ends)
		return;
	for (size_t i = 0; i < n_ends; i++) {
		const struct code_place place = { .vaddr = entry + ends[i],
						  .entry = entry,
						  .owner = (uint32_t)p->n_moves };

		array_push(p->places, p->n_places, p->places_capacity, place);
	}

	const struct move move = { .target = target, .skipped = ends[n_ends - 1] };

	array_push(p->moves, p->n_moves, p->moves_capacity, move);
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

static void move_probe(struct target *t, const struct move *how)
{
	if (how->is_entered)
		return;
	t->offset += how->skipped;
	t->obstacle = OBSTACLE_NONE;
	log_debug("%s: the kernel cannot probe the instruction there: the probe is %zu bytes "
		  "behind it",
		  t->name, how->skipped);
}

void place_probes(const struct matching *m, size_t first, struct image *image)
{
	struct target_list *list = m->out;
	cleanup(placing_fini) struct placing p = { .m = m, .list = list, .image = image };

	for (size_t i = first; i < list->n; i++)
		judge_entry(&p, i);
	image_find_entered(image, p.places, p.n_places);
	for (size_t i = 0; i < p.n_places; i++)
		p.moves[p.places[i].owner].is_entered |= p.places[i].is_entered;
	for (size_t i = 0; i < p.n_moves; i++)
		move_probe(&list->targets[p.moves[i].target], &p.moves[i]);
}
