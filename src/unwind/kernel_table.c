// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "unwind/kernel_table.h"

#include <string.h>

#include "arch/arch.h"

#define MOST_BYTES (UINT64_C(1) << 31) /* code and modules of the kernel lie within it */

bool kernel_table_begin(struct kernel_table *t, uint64_t start, uint64_t end)
{
	*t = (struct kernel_table){ .start = start, .end = end };
	if (start >= end || end - start > MOST_BYTES)
		return false;
	table_maker_begin(&t->made);
	return table_maker_page(&t->made, start);
}

void kernel_table_fini(struct kernel_table *t)
{
	table_maker_fini(&t->made);
	*t = (struct kernel_table){};
}

/* A return address is looked up at the byte before. */
void kernel_table_replaced(struct kernel_table *t, uint64_t addr)
{
	size_t i = t->n_replaced;

	if (i == MOST_REPLACED || addr <= t->start || addr > t->end)
		return;
	for (; i && t->replaced[i - 1] > addr - 1; i--)
		t->replaced[i] = t->replaced[i - 1];
	t->replaced[i] = addr - 1;
	t->n_replaced++;
}

static bool put_entry(struct kernel_table *t, uint64_t addr, uint64_t rule)
{
	struct unwind_table *made = &t->made.table;
	const uint32_t n = made->n_entries;
	uint16_t number;

	if (!table_maker_number(&t->made, rule, 0, &number))
		return false;
	if (n > 1 && t->put_at == addr) {
		made->entries[n - 1].rule = number;
		return true;
	}
	(void)table_maker_page(&t->made, addr);
	table_maker_put(&t->made, addr, number);
	if (made->n_entries > n)
		t->put_at = addr;
	return true;
}

/* Put the marks of replaced return addresses that lie before @addr. */
static bool put_replaced_marks(struct kernel_table *t, uint64_t addr)
{
	while (t->n_marked < t->n_replaced && t->replaced[t->n_marked] < addr) {
		const uint64_t at = t->replaced[t->n_marked++];

		if (!put_entry(t, at, orc_rule_of_replaced()) || !put_entry(t, at + 1, t->rule))
			return false;
	}
	return true;
}

bool kernel_table_add(struct kernel_table *t, uint64_t addr, uint64_t rule)
{
	bool is_put = true;

	if (addr < t->at)
		return false;
	if (addr > t->start && addr < t->end)
		is_put = put_replaced_marks(t, addr);
	t->at = addr;
	t->rule = rule;
	return is_put && (addr >= t->end || put_entry(t, addr < t->start ? t->start : addr, rule));
}

bool kernel_table_end(struct kernel_table *t)
{
	const bool is_put = put_replaced_marks(t, t->end);

	(void)table_maker_page(&t->made, t->end - 1);
	table_maker_end(&t->made);
	return is_put;
}

uint64_t kernel_table_find(const struct kernel_table *t, uint64_t addr)
{
	struct unwind_rule rule = {};
	uint64_t bits;

	if (addr >= t->start && addr < t->end)
		rule = unwind_table_at(&t->made.table, addr);
	memcpy(&bits, &rule, sizeof(bits));
	return bits;
}

static size_t round_up(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/* Where the parts of the image lie. Returns its size. */
static size_t place_parts(const struct kernel_table *t, struct kernel_image *ret)
{
	const struct unwind_table *made = &t->made.table;
	const size_t pages = round_up((made->n_pages + 1UL) * sizeof(*made->pages));
	const size_t entries = round_up(made->n_entries * sizeof(*made->entries));

	*ret = (struct kernel_image){
		.start = t->start,
		.bytes = t->end - t->start,
		.entries = (__u32)pages,
		.rules = (__u32)(pages + entries),
		.n_rules = made->n_rules,
	};
	return ret->rules + made->n_rules * sizeof(*made->rules);
}

size_t kernel_table_bytes(const struct kernel_table *t)
{
	struct kernel_image places;

	return place_parts(t, &places);
}

void kernel_table_write(const struct kernel_table *t, void *to, struct kernel_image *ret)
{
	const struct unwind_table *made = &t->made.table;
	char *at = to;

	(void)place_parts(t, ret);
	memcpy(at + ret->pages, made->pages, (made->n_pages + 1UL) * sizeof(*made->pages));
	memcpy(at + ret->entries, made->entries, made->n_entries * sizeof(*made->entries));
	memcpy(at + ret->rules, made->rules, made->n_rules * sizeof(*made->rules));
}
