// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/hash.h"
#include "base/memory.h"
#include "elf/gopclntab.h"
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
	size_t max_bytes;
	struct error *e;
	const struct image *im;
	/* The rest is of a Go program. */
	struct go_table go;
	uint32_t next;            /* its functions before this one end before the next rows */
	uint64_t given;           /* up to here, all rows are in the table */
	struct cfi_row otherwise; /* CFI's last row; the next one gives its end, @to */
	struct cfi_row last;      /* it waits: another one may replace it at the same address */
	uint64_t to;
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

/* --- a Go program's --- */

/*
 * .eh_frame does not cover Go's own code, and the compiler's .debug_frame would be wrong for
 * functions that switch stacks: it describes them as if they did not. The table of Go's runtime
 * (elf/gopclntab.h) has the distance that the stack pointer has moved, for each place of a
 * function. The architecture turns it into a row. In compiled code, the row also has the caller's
 * frame pointer, from a frame's beginning to its end. Functions in assembly may save it in the same
 * way, or leave it alone. So it is not known behind them, up to the next frame of compiled code.
 *
 * Functions that switch stacks get a step by frame pointer, which leads from systemstack() and
 * asmcgocall() to their caller's caller. But mcall() and morestack() never come back: the goroutine
 * may run elsewhere by then, and its stack may have any contents. So the walk ends there. It also
 * ends in the thread that clone() makes, and in functions that the table marks as the first of a
 * stack. From clone()'s system call on, its result tells parent and child apart.
 */

/* Functions of Go's runtime that are known by name. */
enum special {
	NOT_SPECIAL,
	IS_SIGNAL_HANDLER, /* the kernel calls it, from a signal frame; for Go it is outermost */
	/*
	 * Signal handlers return to it, with the stack pointer at the kernel's frame. Nobody calls
	 * it, so its first byte is a return address, which look-ups search at the byte before.
	 */
	IS_SIGNAL_RETURN,
	/*
	 * Signal handlers make it look as if the interrupted code had called it. asyncPreempt()
	 * lets other goroutines run; sigpanic() handles a read of memory that is not mapped.
	 */
	IS_PUSHED,
	SWITCHES_STACK, /* for good */
	IS_CLONE,       /* the new thread switches to another stack for good */
};

static enum special special_of(const struct go_function *f)
{
	static const struct {
		const char *name;
		enum special is;
	} specials[] = {
		{ "sigtramp", IS_SIGNAL_HANDLER }, { "cgoSigtramp", IS_SIGNAL_HANDLER },
		{ "sigreturn", IS_SIGNAL_RETURN }, { "sigreturn__sigaction", IS_SIGNAL_RETURN },
		{ "asyncPreempt", IS_PUSHED },     { "sigpanic", IS_PUSHED },
		{ "sigpanic0", IS_PUSHED },        { "mcall", SWITCHES_STACK },
		{ "morestack", SWITCHES_STACK },   { "clone", IS_CLONE },
	};

	if (strncmp(f->name, "runtime.", 8) == 0)
		for (size_t i = 0; i < ARRAY_SIZE(specials); i++)
			if (strcmp(f->name + 8, specials[i].name) == 0)
				return specials[i].is;
	return NOT_SPECIAL;
}

static bool is_first_of_go(const struct maker *m, const struct go_function *f)
{
	return f->start == image_entry(m->im) || strcmp(f->name, ARCH_GO_START) == 0 ||
	       (f->flags & GO_TOP_FRAME && special_of(f) != IS_SIGNAL_HANDLER);
}

#define MOST_SEARCHED 256 /* bytes; runtime.clone has 150 */

/* The first @pattern in @f before @end. 0: there is none. */
static uint64_t find_in_function(const struct image *im, const struct go_function *f, uint64_t end,
				 const struct arch_bytes *pattern)
{
	const uint64_t n = end - f->start < MOST_SEARCHED ? end - f->start : MOST_SEARCHED;
	const struct slice code = image_code(im, f->start, n);
	const uint8_t *at = memmem(code.data, code.size, pattern->data, pattern->size);

	return at ? f->start + (uint64_t)(at - code.data) : 0;
}

/* The address where @f switches to another stack for good. 0: it does not. */
static uint64_t leaves_at(const struct image *im, const struct go_function *f)
{
	if (special_of(f) == SWITCHES_STACK && f->end - f->start > 1)
		return f->start + 1; /* the exact place is not known; it is not at the beginning */
	return special_of(f) == IS_CLONE ? find_in_function(im, f, f->end, &arch_go_switch) : 0;
}

static int add_previous_row(struct maker *m, const struct cfi_row *row)
{
	const uint64_t from = m->last.vaddr;
	int err = 0;

	if (row->vaddr > from)
		err = add_table_row(m, &m->last);
	m->last = *row;
	if (m->last.vaddr < from)
		m->last.vaddr = from;
	return err;
}

/* Visit the row that holds for code outside of Go's table. */
static int add_row_outside(struct maker *m, uint64_t vaddr)
{
	struct cfi_row row = m->otherwise;

	row.vaddr = vaddr;
	return vaddr < m->to ? add_previous_row(m, &row) : 0;
}

static struct cfi_row first_row_at(uint64_t vaddr)
{
	struct cfi_row row = arch_go_row(vaddr, 0, false);

	row.pc = (struct cfi_value){ .how = CFI_UNDEFINED };
	return row;
}

/* Has the instruction before @vaddr moved the return address to a register? Then set row->pc. */
static bool is_popped(const struct image *im, uint64_t vaddr, struct cfi_row *row)
{
	const struct slice code = image_code(im, vaddr - ARCH_GO_POP_BYTES, ARCH_GO_POP_BYTES);

	return code.size == ARCH_GO_POP_BYTES && arch_go_pops_return(code.data, row);
}

static int add_step_rows(struct maker *m, const struct go_function *f)
{
	const bool is_compiled = !(f->flags & GO_ASM);
	struct go_steps s = go_steps_of(&m->go, f);
	const bool is_signal = special_of(f) == IS_PUSHED;
	int err = 0;

	while (!err && go_next_step(&s)) {
		struct cfi_row row;

		row = arch_go_row(s.start, s.delta, s.delta > 0 && is_compiled);
		if (s.delta > 0 && !is_compiled)
			row.fp = (struct cfi_value){ .how = CFI_UNDEFINED };
		row.is_signal = is_signal;
		if (s.delta % 8 || (s.delta < 0 && !is_popped(m->im, s.start, &row)))
			row.kind = CFI_FRAMES;
		err = add_previous_row(m, &row);
	}
	return err;
}

/* Visit the rows of a function that switches stacks for good at @leaves. */
static int add_leaver_rows(struct maker *m, const struct go_function *f, uint64_t leaves)
{
	/* The system call of clone(), from which two threads return. */
	const uint64_t clones = special_of(f) == IS_CLONE
					? find_in_function(m->im, f, leaves, &arch_go_system_call)
					: 0;
	struct cfi_row row = arch_go_row(f->start, 0, false);
	int err = add_previous_row(m, &row);

	row.vaddr = clones;
	row.is_cloned = true;
	if (!err && clones)
		err = add_previous_row(m, &row);
	row = first_row_at(leaves);
	return err ? err : add_previous_row(m, &row);
}

static int add_function_rows(struct maker *m, const struct go_function *f)
{
	const uint64_t leaves = leaves_at(m->im, f);
	const enum special is = special_of(f);
	struct cfi_row row = { .vaddr = f->start, .kind = CFI_FRAMES };

	if (leaves)
		return add_leaver_rows(m, f, leaves);
	if (is == IS_SIGNAL_RETURN)
		row = arch_go_signal_row(f->start - 1);
	else if (is_first_of_go(m, f))
		row = first_row_at(f->start);
	return row.kind == CFI_FRAMES && (!(f->flags & GO_SP_WRITE) || is == IS_PUSHED)
		       ? add_step_rows(m, f)
		       : add_previous_row(m, &row);
}

/* Visit the rows of function @i. Padding after it keeps its last row if no entry covers that. */
static int add_function(struct maker *m, uint32_t i)
{
	struct go_function f;
	int err;

	if (!go_function_at(&m->go, i, &f))
		return f.start == f.end ? 0 : add_row_outside(m, f.start);
	if (!go_has_steps(&m->go, i))
		return add_row_outside(m, f.start);
	if (f.end <= m->last.vaddr)
		return 0;
	err = add_function_rows(m, &f);
	m->given = f.end;
	return err || m->otherwise.kind == CFI_GAP ? err : add_row_outside(m, f.end);
}

/*
 * Add the rows from m->otherwise, which holds for code outside of Go's functions, up to @to. The
 * last function's rows go up to its end, which may lie past @to. Go on by ascending address.
 */
static int add_go_rows_up_to(struct maker *m, uint64_t to)
{
	const struct go_table *t = &m->go;
	const uint64_t from = m->otherwise.vaddr > m->given ? m->otherwise.vaddr : m->given;
	int err = 0;

	if (from >= to)
		return 0;
	m->to = to;
	m->last = m->otherwise;
	m->last.vaddr = from;
	while (m->next < t->n && go_function_start(t, m->next + 1) <= from)
		m->next++;
	for (uint32_t i = m->next; i < t->n && go_function_start(t, i) < to && !err; i++)
		err = add_function(m, i);
	if (!err && go_function_start(t, t->n) > from)
		err = add_row_outside(m, go_function_start(t, t->n));
	if (m->given < to)
		m->given = to;
	return err ? err : add_table_row(m, &m->last);
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

/* Take the row before @row, because only @row gives its end. */
static int add_go_row(void *context, const struct cfi_row *row)
{
	struct maker *m = context;
	const int err = add_go_rows_up_to(m, row->vaddr);

	m->otherwise = *row;
	return err;
}

/* CFI would be wrong for functions that switch stacks, so without Go's table there are no rows. */
static int add_go_program(struct maker *m, struct image *im)
{
	struct cfi_row end = { .kind = CFI_GAP };
	struct code_range code;
	int err;

	if (!go_table_of(im, &m->go) || !find_go_code(im, &code))
		return error_set(m->e, -ENOENT, "its table of Go functions cannot be used");
	m->otherwise = (struct cfi_row){ .vaddr = code.start, .kind = CFI_GAP };
	end.vaddr = code.end;
	err = cfi_each_row(im, &m->go, add_go_row, m, m->e);
	if (!err || err == -ENOENT)
		err = add_go_row(m, &end);
	if (err)
		return err;
	(void)table_maker_page(&m->is, code.end - 1); /* the last row is valid up to the end */
	return check_size(m);
}

/* --- any file's --- */

int unwind_table_make(struct image *im, size_t max_bytes, struct unwind_table *ret, struct error *e)
{
	cleanup(maker_fini) struct maker m = { .max_bytes = max_bytes, .e = e, .im = im };
	int err;

	*ret = (struct unwind_table){};
	if (getentropy(&m.is.seed, sizeof(m.is.seed)) != 0)
		return error_errno(e, "get random numbers");
	table_maker_begin(&m.is);
	err = image_is_go(im) ? add_go_program(&m, im)
			      : cfi_each_row(im, NULL, add_table_row, &m, e);
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
