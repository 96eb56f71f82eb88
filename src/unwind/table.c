// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Find the targets of a switch in its jump table. Compilers make these forms:
 *
 *	compare with 9;  branch to default if above
 *	address of the table;  load an offset from it;  add both;  jump there
 *	jump through a table of addresses                    in programs at fixed addresses
 *
 * Only the comparison gives the table's length. Without it, we do not read the table.
 */
#include <string.h>

#include "base/array.h"
#include "elf/image.h"
#include "unwind/flow.h"

#define MAX_CASES 4096

/* The instruction that is @back instructions before the jump; NULL: not known. */
static const struct instruction *instruction_before(const struct flow *f, size_t back)
{
	return back < f->n_recent && back < FLOW_RECENT
		       ? &f->recent[(f->n_recent - 1 - back) % FLOW_RECENT]
		       : NULL;
}

static bool find_bound(const struct flow *f, uint64_t *ret)
{
	const struct instruction *i;

	for (size_t back = 1; (i = instruction_before(f, back)); back++) {
		const struct instruction *compared = instruction_before(f, back + 1);

		if (i->kind != INSTRUCTION_BRANCH_ABOVE)
			continue;
		*ret = compared ? (uint64_t)compared->value + 1 : 0;
		return compared && compared->kind == INSTRUCTION_COMPARE && *ret <= MAX_CASES;
	}
	return false;
}

/* The last instruction of @kind that sets @reg. Begins *@back instructions before the jump. */
static const struct instruction *find_setter(const struct flow *f, uint8_t kind, uint8_t reg,
					     size_t *back)
{
	const struct instruction *i;

	for (; (i = instruction_before(f, *back)); (*back)++)
		if (i->kind == kind && i->reg == reg)
			return i;
	return NULL;
}

static bool find_jump_table(const struct flow *f, const struct instruction *jump,
			    struct flow_table *ret)
{
	const struct instruction *load, *base;
	size_t back = 1;

	if (!find_bound(f, &ret->n))
		return false;
	ret->is_relative = jump->target == 0;
	ret->vaddr = jump->target;
	if (!ret->is_relative)
		return true;
	load = find_setter(f, INSTRUCTION_LOAD_OFFSET, jump->reg, &back);
	if (!load || back != 2)
		return false;
	base = find_setter(f, INSTRUCTION_ADDRESS, load->base, &back);
	if (!base)
		return false;
	ret->vaddr = base->target;
	return true;
}

static uint64_t target_of(const struct flow_table *t, const uint8_t *bytes, uint64_t i)
{
	int32_t offset;
	uint64_t address;

	if (t->is_relative) {
		memcpy(&offset, bytes + 4 * i, sizeof(offset));
		return t->vaddr + (uint64_t)(int64_t)offset;
	}
	memcpy(&address, bytes + 8 * i, sizeof(address));
	return address;
}

/* The bytes of @t. NULL: it cannot be a jump table. */
static const uint8_t *jump_table_bytes(const struct flow *f, const struct flow_table *t)
{
	struct image_section data;

	if (!image_section(f->im, ".rodata", &data) || t->vaddr < data.vaddr ||
	    t->vaddr - data.vaddr > data.size ||
	    data.size - (t->vaddr - data.vaddr) < t->n * (t->is_relative ? 4 : 8))
		return NULL;
	for (uint64_t i = 0; i < t->n; i++)
		if (!flow_span_of(f, target_of(t, data.data + (t->vaddr - data.vaddr), i)))
			return NULL;
	return data.data + (t->vaddr - data.vaddr);
}

/* Remembers tables, because execution may come to the jump again by another path, without the
 * instructions that locate its table. */
static const struct flow_table *jump_table_of(struct flow *f, uint64_t vaddr,
					      const struct instruction *jump)
{
	const uint32_t *known = u64_map_get(&f->table_numbers, hash_mix(vaddr ^ f->seed));
	struct flow_table t;

	if (known)
		return &f->tables[*known];
	if (!find_jump_table(f, jump, &t) || !jump_table_bytes(f, &t))
		return NULL;
	(void)u64_map_put(&f->table_numbers, hash_mix(vaddr ^ f->seed), (uint32_t)f->n_tables,
			  NULL);
	array_push(f->tables, f->n_tables, f->tables_capacity, t);
	return &f->tables[f->n_tables - 1];
}

bool flow_table(struct flow *f, uint64_t vaddr, const struct instruction *jump, flow_take *take,
		void *context)
{
	const struct flow_table *known = jump_table_of(f, vaddr, jump);
	const uint8_t *bytes = known ? jump_table_bytes(f, known) : NULL;

	if (!bytes)
		return false;

	const struct flow_table t = *known;

	for (uint64_t i = 0; i < t.n; i++)
		take(f, target_of(&t, bytes, i), context);
	return true;
}
