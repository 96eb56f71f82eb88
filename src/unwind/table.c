// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "elf/image.h"
#include "unwind/private.h"

#define MAX_PAGES 0x10000U /* 4 GiB of addresses, which a jump can span */
#define MAX_RULES 0x10000U
#define MAX_RANGES 64
#define LARGE_GAP 0x10000U /* bytes of code without CFI */

static void table_maker_fini(struct table_maker *m)
{
	unwind_table_fini(&m->table);
	u64_map_fini(&m->numbers);
}

/* The number of @rule. False: it is new, and would leave fewer than @spare numbers. */
static bool table_maker_number(struct table_maker *m, uint64_t rule, uint32_t spare, uint16_t *ret)
{
	struct unwind_table *t = &m->table;
	const uint64_t key = hash_mix(rule ^ m->seed); /* different rules have different keys */
	const uint32_t *known = NULL;
	struct unwind_rule as_rule;

	memcpy(&as_rule, &rule, sizeof(rule));
	if (!t->n_rules || rule != m->last_rule) {
		known = u64_map_get(&m->numbers, key);
		if (!known && t->n_rules + spare >= MAX_RULES)
			return false;
		m->last_rule = rule;
		m->last_number = (uint16_t)(known ? *known : t->n_rules);
		if (!known) {
			(void)u64_map_put(&m->numbers, key, t->n_rules, NULL);
			array_push(t->rules, t->n_rules, m->rules_capacity, as_rule);
		}
	}
	*ret = m->last_number;
	return true;
}

/* Begin, with entry 0 and rule 0. */
static void table_maker_begin(struct table_maker *m)
{
	struct unwind_table *t = &m->table;
	uint16_t none;

	(void)table_maker_number(m, 0, 0, &none);
	array_push(t->entries, t->n_entries, m->entries_capacity, (struct unwind_entry){});
}

/*
 * Begin all pages up to the one of @vaddr. The first call gives the base. False: @vaddr is too far
 * from it.
 */
static bool table_maker_page(struct table_maker *m, uint64_t vaddr)
{
	struct unwind_table *t = &m->table;
	uint64_t page;

	if (!t->n_pages)
		t->base = vaddr >> UNWIND_PAGE_BITS << UNWIND_PAGE_BITS;
	page = (vaddr - t->base) >> UNWIND_PAGE_BITS;
	if (page >= MAX_PAGES)
		return false;
	while (t->n_pages <= page)
		array_push(t->pages, t->n_pages, m->pages_capacity, t->n_entries);
	return true;
}

/* From @vaddr on, whose page has begun, the rule with this number is valid. */
static void table_maker_put(struct table_maker *m, uint64_t vaddr, uint16_t number)
{
	struct unwind_table *t = &m->table;

	if (t->entries[t->n_entries - 1].rule != number)
		array_push(t->entries, t->n_entries, m->entries_capacity,
			   ((struct unwind_entry){ (uint16_t)vaddr, number }));
}

/* All entries are put: the table is complete. */
static void table_maker_end(struct table_maker *m)
{
	struct unwind_table *t = &m->table;

	array_push(t->pages, t->n_pages, m->pages_capacity, t->n_entries);
	t->n_pages--;
}

/* --- a file's --- */

struct maker {
	struct table_maker is;
	struct go_rows go;        /* the table of a Go program */
	struct cfi_row go_before; /* the last row, which we have not taken yet */
	size_t max_bytes;
	struct error *e;
};

static void maker_fini(struct maker *m)
{
	table_maker_fini(&m->is);
}

/* The number of @rule, or of UNWIND_UNFIT if there are too many rules. */
static uint16_t number_of_rule(struct maker *m, struct unwind_rule rule)
{
	const struct unwind_rule unfit = { .how = UNWIND_UNFIT };
	uint64_t bits, unfit_bits;
	uint16_t number = 0;

	memcpy(&bits, &rule, sizeof(bits));
	memcpy(&unfit_bits, &unfit, sizeof(unfit_bits));
	if (!table_maker_number(&m->is, bits, 1, &number))
		(void)table_maker_number(&m->is, unfit_bits, 0, &number);
	return number;
}

static int check_size(const struct maker *m)
{
	if (unwind_table_bytes(&m->is.table) > m->max_bytes)
		return error_set(m->e, -E2BIG, "its unwind table takes more than %zu bytes",
				 m->max_bytes);
	return 0;
}

static int add_table_row(void *context, const struct cfi_row *row)
{
	struct maker *m = context;

	if (!table_maker_page(&m->is, row->vaddr))
		return 0;
	table_maker_put(&m->is, row->vaddr, number_of_rule(m, arch_rule_of(row)));
	return check_size(m);
}

/* Take the row before @row, because only @row gives its end. */
static int add_go_row(void *context, const struct cfi_row *row)
{
	struct maker *m = context;
	const struct cfi_row before = m->go_before;

	m->go_before = *row;
	return go_rows_between(&m->go, &before, row->vaddr, add_table_row, m);
}

static int is_of_v8(void *context, const struct image_symbol *symbol)
{
	(void)context;
	return strcmp(symbol->name, "_ZNK2v88internal7Isolate18embedded_blob_codeEv") == 0;
}

/*
 * V8 itself compiles its builtins into the file's code (1.6 MiB in node). They have frame pointers,
 * like the code that V8 makes later.
 */
static void fill_large_gaps(struct maker *m, struct image *im)
{
	struct unwind_table *t = &m->is.table;
	uint64_t from = 0; /* the last entry begins here */
	bool is_v8 = false;

	for (uint32_t page = 0; page < t->n_pages; page++)
		for (uint32_t i = t->pages[page]; i < t->pages[page + 1]; i++) {
			const uint64_t at = (uint64_t)page << UNWIND_PAGE_BITS | t->entries[i].low;
			const bool is_large =
				i > 1 && !t->entries[i - 1].rule && at - from >= LARGE_GAP;

			from = at;
			if (!is_large)
				continue;
			if (!is_v8 && !image_each_function(im, is_of_v8, NULL))
				return;
			is_v8 = true;
			t->entries[i - 1].rule = number_of_rule(m, UNWIND_FRAME_POINTERS);
		}
}

/* The segment that has .text. */
static bool find_go_code(const struct image *im, struct code_range *ret)
{
	struct code_range ranges[MAX_RANGES];
	const size_t n = image_code_ranges(im, ranges, ARRAY_SIZE(ranges));
	struct image_section text;

	if (!image_section(im, ".text", &text))
		return false;
	for (size_t i = 0; i < n; i++) {
		*ret = ranges[i];
		if (text.vaddr >= ret->start && text.vaddr < ret->end)
			return true;
	}
	return false;
}

/* CFI would be wrong for functions that switch stacks, so without Go's table there are no rows. */
static int add_go_rows(struct maker *m, struct image *im)
{
	struct cfi_row end = { .kind = CFI_GAP };
	struct code_range code;
	int err;

	if (!go_rows_of(im, &m->go) || !find_go_code(im, &code))
		return error_set(m->e, -ENOENT, "its table of Go functions cannot be used");
	m->go_before = (struct cfi_row){ .vaddr = code.start, .kind = CFI_GAP };
	end.vaddr = code.end;
	err = cfi_each_row(im, &m->go.table, add_go_row, m, m->e);
	if (!err || err == -ENOENT)
		err = add_go_row(m, &end);
	if (err)
		return err;
	(void)table_maker_page(&m->is, code.end - 1); /* the last row is valid up to the end */
	return check_size(m);
}

int unwind_table_make(struct image *im, size_t max_bytes, struct unwind_table *ret, struct error *e)
{
	cleanup(maker_fini) struct maker m = { .max_bytes = max_bytes, .e = e };
	int err;

	*ret = (struct unwind_table){};
	if (getentropy(&m.is.seed, sizeof(m.is.seed)) != 0)
		return error_errno(e, "get random numbers");
	table_maker_begin(&m.is);
	err = image_is_go(im) ? add_go_rows(&m, im) : cfi_each_row(im, NULL, add_table_row, &m, e);
	if (err)
		return err;
	table_maker_end(&m.is);
	fill_large_gaps(&m, im);
	*ret = m.is.table;
	m.is.table = (struct unwind_table){};
	return 0;
}

void unwind_table_fini(struct unwind_table *t)
{
	free(t->pages);
	free(t->entries);
	free(t->rules);
	*t = (struct unwind_table){};
}

size_t unwind_table_bytes(const struct unwind_table *t)
{
	return t->n_entries * sizeof(*t->entries) + t->n_rules * sizeof(*t->rules) +
	       (t->n_pages + 1UL) * sizeof(*t->pages);
}

/* --- the kernel's --- */

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

		if (!put_entry(t, at, KERNEL_RULE_REPLACED) || !put_entry(t, at + 1, t->rule))
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
