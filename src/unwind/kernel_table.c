// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "unwind/kernel_table.h"

#include <stdlib.h>
#include <string.h>

#include "arch/orc.h"
#include "base/alloc.h"
#include "base/array.h"

#define PAGE_BYTES (UINT64_C(1) << UNWIND_PAGE_BITS)
#define MOST_BYTES (UINT64_C(1) << 31) /* code and modules of the kernel lie within it */
#define FIRST_ENTRIES 65536

static uint64_t kernel_text_base(const struct kernel_table *t)
{
	return t->start & ~(PAGE_BYTES - 1);
}

bool kernel_table_begin(struct kernel_table *t, uint64_t start, uint64_t end)
{
	*t = (struct kernel_table){ .start = start, .end = end };
	if (start >= end || end - kernel_text_base(t) > MOST_BYTES)
		return false;
	t->n_pages = (uint32_t)((end - kernel_text_base(t) + PAGE_BYTES - 1) / PAGE_BYTES);
	t->pages = xcalloc(t->n_pages + 1, sizeof(*t->pages));
	t->entries_capacity = FIRST_ENTRIES;
	t->entries = xmalloc(FIRST_ENTRIES * sizeof(*t->entries));
	array_push(t->entries, t->n_entries, t->entries_capacity, (struct unwind_entry){});
	array_push(t->rules, t->n_rules, t->rules_capacity, 0);
	*u64_map_put(&t->numbers, 0, 0, NULL) = 0;
	return true;
}

void kernel_table_fini(struct kernel_table *t)
{
	free(t->pages);
	free(t->entries);
	free(t->rules);
	u64_map_fini(&t->numbers);
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

static bool rule_number(struct kernel_table *t, uint64_t rule, uint16_t *ret)
{
	bool is_new;
	uint32_t *number = u64_map_put(&t->numbers, rule, (uint32_t)t->n_rules, &is_new);

	if (is_new)
		array_push(t->rules, t->n_rules, t->rules_capacity, rule);
	*ret = (uint16_t)*number;
	return *number <= UINT16_MAX;
}

/* Page @page begins, and those before it, as far as they have not. */
static void begin_kernel_pages(struct kernel_table *t, uint32_t page)
{
	while (t->n_begun <= page)
		t->pages[t->n_begun++] = (uint32_t)t->n_entries;
}

static bool put_entry(struct kernel_table *t, uint64_t addr, uint64_t rule)
{
	struct unwind_entry *last = &t->entries[t->n_entries - 1];
	uint16_t number;

	if (!rule_number(t, rule, &number))
		return false;
	if (t->n_entries > 1 && t->put_at == addr) {
		last->rule = number;
		return true;
	}
	begin_kernel_pages(t, (uint32_t)((addr - kernel_text_base(t)) / PAGE_BYTES));
	if (last->rule == number)
		return true;
	t->put_at = addr;
	array_push(t->entries, t->n_entries, t->entries_capacity,
		   ((struct unwind_entry){ (__u16)addr, number }));
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

	begin_kernel_pages(t, t->n_pages);
	return is_put;
}

static bool kernel_entry_at(void *from, __u32 i, struct unwind_entry *ret)
{
	const struct kernel_table *t = from;

	if (i >= t->n_entries)
		return false;
	*ret = t->entries[i];
	return true;
}

uint64_t kernel_table_find(const struct kernel_table *t, uint64_t addr)
{
	const uint64_t page = (addr - kernel_text_base(t)) / PAGE_BYTES;
	uint16_t rule;

	if (addr < t->start || addr >= t->end)
		return 0;
	return unwind_find(t->pages[page], t->pages[page + 1], (__u16)addr, kernel_entry_at,
			   (void *)t, &rule)
		       ? t->rules[rule]
		       : 0;
}

static size_t round_up(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/* Where the parts of the image lie. Returns its size. */
static size_t place_parts(const struct kernel_table *t, struct kernel_image *ret)
{
	const size_t pages = round_up((t->n_pages + 1) * sizeof(*t->pages));
	const size_t entries = round_up(t->n_entries * sizeof(*t->entries));

	*ret = (struct kernel_image){
		.start = t->start,
		.bytes = t->end - t->start,
		.entries = (__u32)pages,
		.rules = (__u32)(pages + entries),
		.n_rules = (__u32)t->n_rules,
	};
	return ret->rules + t->n_rules * sizeof(*t->rules);
}

size_t kernel_table_bytes(const struct kernel_table *t)
{
	struct kernel_image places;

	return place_parts(t, &places);
}

void kernel_table_write(const struct kernel_table *t, void *to, struct kernel_image *ret)
{
	char *at = to;

	(void)place_parts(t, ret);
	memcpy(at + ret->pages, t->pages, (t->n_pages + 1) * sizeof(*t->pages));
	memcpy(at + ret->entries, t->entries, t->n_entries * sizeof(*t->entries));
	memcpy(at + ret->rules, t->rules, t->n_rules * sizeof(*t->rules));
}
