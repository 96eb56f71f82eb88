// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Find the function of an address. The index has 20 bytes for each function and 16 for each entry
 * of .eh_frame, and no names. Symbol tables are not tidy:
 *
 *	0x9f0a0 240 malloc, __libc_malloc, __GI___libc_malloc    aliases
 *	0x2a1c0   0 __restore_rt                                 no size
 *	0x9c840 300 __lll_lock_wait  0x9c860 4 a label in it     nested
 *	0x1f000   0 blend  0x1f040 0 blend.loop  (no type)       assembly
 *
 * and .dynsym and Go's table repeat much of .symtab.
 *
 * A missing size is the trap. Before the next symbol there may be functions that the table does
 * not have. So .eh_frame may end such a function, and a label without a type ends it, too. A label
 * names nothing, because it may be anything, but for _start at the entry point, as musl has it.
 *
 * A file may have no .symtab, or one with some functions only ("strip -s -K main"). Then any number
 * of static functions may follow a function without a size. musl exports memset, written in
 * assembly, and clone follows it. In such a file, only an entry of .eh_frame that begins with the
 * function has its length. Without one, only the first byte certainly belongs to the function.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "base/strtab.h"
#include "elf/debug.h"
#include "elf/internal.h"

/* --- symbol tables --- */

/*
 * The file has two of its own, its debug file (elf/debug.h) has a .symtab, and Go's table
 * (elf/gopclntab.h) has functions, too. They stay in the mapped file.
 */

/* A symbol table. Lent by its image. */
struct table {
	const struct image *of;
	struct slice symbols;
	struct slice strings;
	uint32_t n;
	/*
	 * Set for .dynsym. Tools that remove sections ("objcopy -R") number the others anew, but
	 * leave .dynsym as it was. So the address tells whether a symbol is code, not its section.
	 */
	bool is_by_address;
	struct go_table go; /* for TABLE_GO, which has no entries: elf/gopclntab.h */
};

/* If they disagree about a function's name, the first table is right. */
enum table_number { TABLE_SYMTAB, TABLE_DYNSYM, TABLE_DEBUG, TABLE_GO, TABLE_N };

/* A function with its version. */
struct function {
	struct image_symbol symbol;
	uint64_t section_end; /* the end of its section, or else of its segment */
	bool is_label;        /* it has no type: assembly without ".type" */
};

/* The symbol table in section @s; n is 0 if it makes no sense. */
static struct table table_of(const struct image *im, const struct section *s)
{
	struct table table = { .of = im };

	if (s->link >= im->n_sections)
		return table;
	table.symbols = section_bytes(im, s);
	table.strings = section_strings(im, &im->sections[s->link]);

	const size_t n =
		table.symbols.size / (im->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));

	table.n = n <= MOST_SYMBOLS ? (uint32_t)n : 0;
	return table;
}

static struct table table_find(const struct image *im, uint32_t type)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (im->sections[i].type == type)
			return table_of(im, &im->sections[i]);
	return (struct table){ .of = im };
}

/* A table has no entries if the file does not have it. */
static void tables_find(const struct image *im, struct table ret[TABLE_N])
{
	ret[TABLE_SYMTAB] = table_find(im, SHT_SYMTAB);
	ret[TABLE_DYNSYM] = table_find(im, SHT_DYNSYM);
	ret[TABLE_DYNSYM].is_by_address = true;
	ret[TABLE_DEBUG] = im->debug ? table_find(im->debug, SHT_SYMTAB) : (struct table){};
	ret[TABLE_GO] = (struct table){ .of = im };
	if (go_table_of(im, &ret[TABLE_GO].go))
		ret[TABLE_GO].n = ret[TABLE_GO].go.n;
}

/* Entry @i, below n, of any table but TABLE_GO. memcpy(), because a foreign file may align nothing.
 */
static Elf64_Sym table_entry(const struct table *table, uint32_t i)
{
	Elf64_Sym wide;
	Elf32_Sym narrow;

	if (table->of->is_64_bit) {
		memcpy(&wide, table->symbols.data + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, table->symbols.data + i * sizeof(narrow), sizeof(narrow));
	return (Elf64_Sym){ .st_name = narrow.st_name,
			    .st_info = narrow.st_info,
			    .st_shndx = narrow.st_shndx,
			    .st_value = narrow.st_value,
			    .st_size = narrow.st_size };
}

/* The name with its version, or NULL if there is none or it is too long. */
static const char *table_name(const struct table *table, const Elf64_Sym *entry)
{
	if (entry->st_name >= table->strings.size)
		return NULL;

	const char *name = (const char *)table->strings.data + entry->st_name;

	return name[0] && name[0] != '@' && strnlen(name, MAX_NAME) < MAX_NAME ? name : NULL;
}

/* Is it a function or a label? Labels "$x" and ".annobin_x" are marks of tools. */
static bool is_function_or_label(unsigned type, const char *name)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && name[0] != '$' && name[0] != '.');
}

/* Find the end of the section of code that @entry is in. */
static bool find_section(const struct table *table, const Elf64_Sym *entry, uint64_t *ret_end)
{
	const struct image *im = table->of;

	if (entry->st_shndx >= im->n_sections)
		return false;

	const struct section *section = &im->sections[entry->st_shndx];

	*ret_end = section->vaddr + section->size;
	return (section->flags & SHF_EXECINSTR) && entry->st_value >= section->vaddr &&
	       entry->st_value < *ret_end;
}

/* Find the end of the segment of code that @entry's address is in. */
static bool find_segment(const struct table *table, const Elf64_Sym *entry, uint64_t *ret_end)
{
	const struct segment *s = image_segment_of(table->of, entry->st_value);

	if (entry->st_shndx == SHN_UNDEF || !s || !s->is_executable ||
	    (entry->st_shndx >= SHN_LORESERVE && entry->st_shndx != SHN_XINDEX))
		return false;
	*ret_end = s->vaddr + s->file_bytes;
	return true;
}

static bool measure_go(const struct go_table *table, uint32_t i, struct function *ret)
{
	struct go_function f;

	if (!go_function_at(table, i, &f))
		return false;
	*ret = (struct function){
		.symbol = { .name = f.name, .vaddr = f.start, .size = f.end - f.start },
		.section_end = f.end,
	};
	/* cut_version() would leave nothing of "@..." */
	return f.name[0] && f.name[0] != '@' && strnlen(f.name, MAX_NAME) < MAX_NAME;
}

/* Symbol @i. False: it is no function or label, or undefined, or not in code, or has no name. */
static bool table_function(const struct table *table, uint32_t i, struct function *ret)
{
	if (table->go.n)
		return measure_go(&table->go, i, ret);

	Elf64_Sym entry = table_entry(table, i);
	unsigned type = ELF64_ST_TYPE(entry.st_info);
	uint64_t end;

	if (!find_section(table, &entry, &end) &&
	    (!table->is_by_address || !find_segment(table, &entry, &end)))
		return false;

	const char *name = table_name(table, &entry);
	uint64_t most = end - entry.st_value;

	if (!name || !is_function_or_label(type, name))
		return false;
	ret->is_label = type == STT_NOTYPE;
	ret->section_end = end;
	ret->symbol = (struct image_symbol){
		.name = name,
		.vaddr = entry.st_value,
		.size = entry.st_size < most ? entry.st_size : most,
		.is_indirect = type == STT_GNU_IFUNC,
		.is_global = ELF64_ST_BIND(entry.st_info) != STB_LOCAL,
	};
	return true;
}

/* The next function or label, from number *@n on. False: no more. */
static bool table_next(const struct table *table, uint32_t *n, struct function *ret)
{
	while (*n < table->n)
		if (table_function(table, (*n)++, ret))
			return true;
	return false;
}

/* @name without "@VERSION", or with @suffix in its place. Lent by @im. */
static const char *cut_version(struct image *im, const char *name, const char *suffix)
{
	size_t n = strcspn(name, "@");

	if (!name[n] && !suffix[0])
		return name;
	if (!im->short_names)
		im->short_names = strtab_new();
	if (!suffix[0])
		return strtab_add_n(im->short_names, name, n);

	cleanup_free char *text = xasprintf("%.*s%s", (int)n, name, suffix);

	return strtab_add(im->short_names, text);
}

int image_each_function(struct image *im, image_symbol_visit *visit, void *context)
{
	struct table tables[TABLE_N];

	tables_find(im, tables);
	if (image_has_symtab(im) || (im->debug && image_has_symtab(im->debug)))
		tables[TABLE_GO] = (struct table){}; /* it would repeat all functions */
	for (size_t t = 0; t < TABLE_N; t++) {
		struct function f;
		uint32_t n = 0;

		while (table_next(&tables[t], &n, &f)) {
			if (f.is_label)
				continue;
			f.symbol.name = cut_version(im, f.symbol.name, "");

			int result = visit(context, &f.symbol);
			if (result)
				return result;
		}
	}
	return 0;
}

bool image_has_symtab(const struct image *im)
{
	struct table table = table_find(im, SHT_SYMTAB);
	struct function f;
	uint32_t n = 0;

	while (table_next(&table, &n, &f))
		if (!f.is_label)
			return true;
	return false;
}

/* --- the functions of .eh_frame --- */

/* With and without a symbol. .eh_frame_hdr has them sorted, but static programs do without it. */
struct frames {
	struct fde_section section; /* lent by the image */
	struct frame_row {
		uint64_t start;
		uint64_t entry; /* its offset in the section */
	} * rows;               /* by ascending start */
	uint32_t n;
};

static struct cursor cursor_at(const struct fde_section *s, uint64_t offset)
{
	struct cursor c = { .at = s->bytes.data, .end = s->bytes.data + s->bytes.size };

	(void)cursor_skip(&c, offset);
	return c;
}

static bool entry_at(const struct fde_section *s, uint64_t offset, struct fde_entry *ret)
{
	struct cursor c = cursor_at(s, offset), length = c;

	return cursor_uint(&length, 4) && fde_next_entry(s, &c, ret);
}

static bool frame_of_entry(const struct fde_section *s, const struct fde_entry *entry,
			   struct image_frame *ret)
{
	struct fde_entry of;
	struct cie cie;

	return !entry->is_cie && entry_at(s, entry->cie, &of) && of.is_cie &&
	       cie_read(s, &of, &cie) && fde_read(s, entry, &cie, ret) && ret->end > ret->start;
}

/* Of equal starts, the file's first entry comes last, so that look-ups find it. */
static int compare_frame_rows(const void *a, const void *b)
{
	const struct frame_row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->entry < y->entry) - (x->entry > y->entry);
}

static void read_frames(const struct image *im, struct frames *ret)
{
	size_t n = 0, capacity = 0;
	struct fde_entry entry;
	struct image_frame frame;

	*ret = (struct frames){};
	if (!fde_section_of(im, false, &ret->section))
		return;

	struct cursor c = cursor_at(&ret->section, 0);

	while (fde_next_entry(&ret->section, &c, &entry)) {
		if (!frame_of_entry(&ret->section, &entry, &frame))
			continue;

		const struct frame_row row = { frame.start, entry.offset };

		array_push(ret->rows, n, capacity, row);
	}
	if (n)
		qsort(ret->rows, n, sizeof(*ret->rows), compare_frame_rows);
	ret->n = (uint32_t)n;
}

/* The number of functions that begin at @vaddr or before. */
static uint32_t count_until(const struct frames *t, uint64_t vaddr)
{
	return (uint32_t)array_count_below(t->rows, t->n, sizeof(*t->rows), vaddr + 1);
}

/* Function @i, in ascending order. */
static struct image_frame frames_nth(const struct frames *t, uint32_t i)
{
	struct image_frame frame = {};
	struct fde_entry entry;

	if (entry_at(&t->section, t->rows[i].entry, &entry))
		(void)frame_of_entry(&t->section, &entry, &frame);
	return frame;
}

/* The last function that begins at @vaddr or before. False: none does. */
static bool frames_last(const struct frames *t, uint64_t vaddr, struct image_frame *ret)
{
	const uint32_t n = count_until(t, vaddr);

	*ret = n ? frames_nth(t, n - 1) : (struct image_frame){};
	return n;
}

/*
 * The end of the code that begins at @vaddr, for a symbol without a size: where .eh_frame ends it
 * or begins the next function. At most @end, which it returns if .eh_frame has neither.
 */
static uint64_t frame_end(const struct frames *t, uint64_t vaddr, uint64_t end)
{
	const uint32_t n = count_until(t, vaddr);
	const uint64_t own_end = n ? frames_nth(t, n - 1).end : 0;
	const uint64_t next = n < t->n ? t->rows[n].start : end;

	if (next < end)
		end = next;
	return own_end > vaddr && own_end < end ? own_end : end;
}

/* The end of the function that .eh_frame begins at @vaddr; 0 if it begins none there. */
static uint64_t frame_end_of(const struct frames *t, uint64_t vaddr)
{
	struct image_frame frame;

	return frames_last(t, vaddr, &frame) && frame.start == vaddr ? frame.end : 0;
}

/* --- the index --- */

static bool is_plt_section(const struct section *s)
{
	return s->flags & SHF_EXECINSTR && strncmp(s->name, ".plt", 4) == 0 &&
	       (s->name[4] == '\0' || s->name[4] == '.');
}

static bool plt_holds(const struct image *im, uint64_t vaddr)
{
	for (size_t i = 0; i < im->n_sections; i++) {
		const struct section *s = &im->sections[i];

		if (is_plt_section(s) && vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return true;
	}
	return false;
}

#define NONE UINT32_MAX
/* The functions of .eh_frame that are tables of stubs, at most: .plt, .plt.got, .plt.sec. */
#define MOST_STUB_FRAMES 16
/* A reference: the table's number in the upper two bits, then LABEL, then the symbol's number. */
#define TABLE_MOST ((1U << 29) - 1)
#define TABLE_SHIFT 30
#define LABEL (1U << 29)

_Static_assert(TABLE_MOST < LABEL && TABLE_N <= 4, "a reference holds every symbol");
_Static_assert(MOST_SYMBOLS <= TABLE_MOST, "every symbol that is read has a number");

/* [start, start + size); @symbol is a reference. */
struct range {
	uint64_t start;
	uint32_t size;
	uint32_t symbol;
};

/* The index of an image. */
struct symbol_index {
	struct table tables[TABLE_N];
	struct range *ranges; /* by ascending start; for equal starts by descending size */
	/* For each range, the nearest one before it that ends later, or NONE. */
	uint32_t *outer;
	size_t n;
	struct frames frames;
	/* Stubs of PLTs, and _start, by ascending address. From the first miss on. */
	struct image_symbol *unlisted;
	size_t n_unlisted;
	bool are_unlisted_known;
	bool has_all; /* the tables seem to have every function */
};

void symbol_index_free(struct symbol_index *index)
{
	if (!index)
		return;
	free(index->ranges);
	free(index->outer);
	free(index->frames.rows);
	free(index->unlisted);
	free(index);
}

/* The function of @r. This cannot fail, because collect_table() has read it before. */
static struct function function_of(const struct symbol_index *index, const struct range *r)
{
	struct function f = { .symbol.name = "" };

	(void)table_function(&index->tables[r->symbol >> TABLE_SHIFT], r->symbol & TABLE_MOST, &f);
	return f;
}

static bool is_label_range(const struct range *r)
{
	return r->symbol & LABEL;
}

/* People write "_exit" rather than "_Exit". */
static size_t count_capitals(const char *name, size_t n)
{
	size_t capitals = 0;

	for (size_t i = 0; i < n; i++)
		capitals += name[i] >= 'A' && name[i] <= 'Z';
	return capitals;
}

/* Would people rather write @a? Ignores versions. */
static bool is_better(const struct function *a, const struct function *b)
{
	const char *name_a = a->symbol.name, *name_b = b->symbol.name;
	size_t underscores_a = strspn(name_a, "_");
	size_t underscores_b = strspn(name_b, "_");
	size_t n_a = strcspn(name_a, "@");
	size_t n_b = strcspn(name_b, "@");

	if (a->is_label != b->is_label)
		return b->is_label;
	if (a->symbol.is_global != b->symbol.is_global)
		return a->symbol.is_global;
	if (underscores_a != underscores_b)
		return underscores_a < underscores_b;
	if (n_a != n_b)
		return n_a < n_b;
	if (count_capitals(name_a, n_a) != count_capitals(name_b, n_b))
		return count_capitals(name_a, n_a) < count_capitals(name_b, n_b);
	return memcmp(name_a, name_b, n_a) < 0;
}

/* Of ranges with equal start, the larger one comes first, because it is the outer one. */
static int by_range_start(const void *a, const void *b)
{
	const struct range *x = a;
	const struct range *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->size < y->size) - (x->size > y->size);
}

static void collect_table(enum table_number number, struct symbol_index *index, size_t *capacity)
{
	struct function f;
	uint32_t n = 0;

	while (table_next(&index->tables[number], &n, &f)) {
		array_reserve(index->ranges, index->n, *capacity);
		index->ranges[index->n++] = (struct range){
			.start = f.symbol.vaddr,
			.size = f.is_label                   ? 0
				: f.symbol.size < UINT32_MAX ? (uint32_t)f.symbol.size
							     : UINT32_MAX,
			.symbol = (n - 1) | (uint32_t)number << TABLE_SHIFT |
				  (f.is_label ? LABEL : 0),
		};
	}
}

static bool is_of_go(const struct range *r)
{
	return r->symbol >> TABLE_SHIFT == TABLE_GO;
}

/* Keep the better name of the two in @to. Any symbol is better than Go's table. */
static void merge_alias(const struct symbol_index *index, struct range *to,
			const struct range *from)
{
	struct function a = function_of(index, to);
	struct function b = function_of(index, from);

	if (!is_of_go(from) && (is_of_go(to) || is_better(&b, &a)))
		to->symbol = from->symbol;
}

/*
 * Keep one range of those with equal start and size. Drop a range without a size if another one at
 * its start has a size. It may be a mark of the linker, and its name is not better. Such ranges
 * come last among those of a start.
 */
static void merge_aliases(struct symbol_index *index)
{
	struct range *r = index->ranges;
	size_t n = 0;

	for (size_t i = 0; i < index->n; i++) {
		bool is_other = n == 0 || r[i].start != r[n - 1].start;

		if (!is_other && r[i].size == r[n - 1].size)
			merge_alias(index, &r[n - 1], &r[i]);
		else if (is_other || r[i].size != 0)
			r[n++] = r[i];
	}
	index->n = n;
	if (n)
		index->ranges = xreallocarray(r, n, sizeof(*r));
}

static uint64_t range_end(const struct range *r)
{
	return r->start + r->size;
}

/* The first of @i and its outer ranges that ends after @vaddr, or NONE. */
static uint32_t find_reaching_range(const struct symbol_index *index, uint32_t i, uint64_t vaddr)
{
	while (i != NONE && range_end(&index->ranges[i]) <= vaddr)
		i = index->outer[i];
	return i;
}

/* Is @label inside of function @of, as "blend.loop" is inside of "blend"? */
static bool is_label_inside(const struct symbol_index *index, const struct range *label,
			    const char *of, size_t n)
{
	return is_label_range(label) &&
	       strncmp(function_of(index, label).symbol.name, of, n) == 0 &&
	       function_of(index, label).symbol.name[n] == '.';
}

/* The start of the next function or label that is no part of range @i, or @end. */
static uint64_t next_start(const struct symbol_index *index, uint32_t i, const char *name,
			   uint64_t end)
{
	size_t n = strcspn(name, "@");
	size_t next = i + 1;

	while (next < index->n && index->ranges[next].start < end) {
		if (!is_label_inside(index, &index->ranges[next], name, n))
			return index->ranges[next].start;
		next++;
	}
	return end;
}

/* The end of the certain part of the function at @start, if symbols may be missing. */
static uint64_t sure_end(const struct frames *frames, uint64_t start, uint64_t end)
{
	const uint64_t frame = frame_end_of(frames, start);

	if (frame == 0)
		return start + 1;
	return frame < end ? frame : end;
}

/*
 * Set the size of range @i, whose symbol has none. It ends with its section or the outer range, at
 * the next function, or where .eh_frame ends it.
 */
static void set_missing_size(struct symbol_index *index, uint32_t i, uint32_t outer)
{
	struct range *r = &index->ranges[i];
	struct function f = function_of(index, r);
	uint64_t end = f.section_end;

	if (outer != NONE && range_end(&index->ranges[outer]) < end)
		end = range_end(&index->ranges[outer]);
	end = next_start(index, i, f.symbol.name, end);
	end = index->has_all ? frame_end(&index->frames, r->start, end)
			     : sure_end(&index->frames, r->start, end);
	r->size = end - r->start < UINT32_MAX ? (uint32_t)(end - r->start) : UINT32_MAX;
}

static bool is_untyped_start(const struct symbol_index *index, const struct range *r,
			     uint64_t entry)
{
	return r->start == entry && strcmp(function_of(index, r).symbol.name, "_start") == 0;
}

/* Set the outer range of each. At most one later range skips a range, so this takes linear time. */
static void find_outer(struct symbol_index *index, uint64_t entry)
{
	index->outer = xcalloc(index->n, sizeof(*index->outer));
	for (uint32_t i = 0; i < index->n; i++) {
		struct range *r = &index->ranges[i];
		uint32_t outer = find_reaching_range(index, i ? i - 1 : NONE, r->start);

		if (r->size == 0 && (!is_label_range(r) || is_untyped_start(index, r, entry)))
			set_missing_size(index, i, outer);
		index->outer[i] = find_reaching_range(index, outer, range_end(r));
	}
}

/*
 * Does every function in .eh_frame have a symbol? If one has none, the symbol tables were stripped
 * in part, and functions that .eh_frame does not have may lack a symbol, too. Stubs never have one.
 */
static bool has_symbols_of_frames(const struct image *im, const struct symbol_index *index)
{
	uint64_t furthest = 0;
	size_t at = 0, n_stubs = 0;

	for (uint32_t i = 0; i < index->frames.n; i++) {
		const struct image_frame frame = frames_nth(&index->frames, i);

		for (; at < index->n && index->ranges[at].start < frame.end; at++) {
			const struct range *r = &index->ranges[at];
			const uint64_t behind = r->start + (r->size ? r->size : 1);

			furthest = behind > furthest ? behind : furthest;
		}
		if (furthest > frame.start)
			continue;
		if (++n_stubs > MOST_STUB_FRAMES || !plt_holds(im, frame.start))
			return false;
	}
	return true;
}

static struct symbol_index *build_index(const struct image *im)
{
	struct symbol_index *index = xcalloc(1, sizeof(*index));
	size_t capacity = 0;

	tables_find(im, index->tables);
	read_frames(im, &index->frames);
	for (int t = 0; t < TABLE_N; t++)
		collect_table((enum table_number)t, index, &capacity);
	if (index->n)
		qsort(index->ranges, index->n, sizeof(*index->ranges), by_range_start);
	merge_aliases(index);
	index->has_all = (image_has_symtab(im) || (im->debug && image_has_symtab(im->debug))) &&
			 has_symbols_of_frames(im, index);
	find_outer(index, im->entry);
	return index;
}

static const struct symbol_index *symbol_index_of(struct image *im)
{
	if (!im->index)
		im->index = build_index(im);
	return im->index;
}

bool image_has_all(struct image *im)
{
	return symbol_index_of(im)->has_all;
}

bool image_frame_at(struct image *im, uint64_t vaddr, struct image_frame *ret)
{
	return frames_last(&symbol_index_of(im)->frames, vaddr, ret) && vaddr < ret->end;
}

/* The function at @vaddr by the symbol tables. */
static bool symbol_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret)
{
	const struct symbol_index *index = symbol_index_of(im);
	const size_t n =
		array_count_below(index->ranges, index->n, sizeof(*index->ranges), vaddr + 1);
	const uint32_t i = n ? find_reaching_range(index, (uint32_t)(n - 1), vaddr) : NONE;

	if (i == NONE)
		return false;
	*ret = function_of(index, &index->ranges[i]).symbol;
	ret->name = cut_version(im, ret->name, "");
	ret->size = index->ranges[i].size;
	return true;
}

/* --- procedure linkage tables --- */

/*
 * Stubs of procedure linkage tables have no symbols. Each jumps through a slot, and the
 * relocation of that slot names the function.
 *
 * In a static program, relocations of IFUNCs have no symbol, either. They have the address of the
 * resolver, which has a symbol.
 */

#define STUB_STEP 8 /* stubs begin at multiples of this */

struct slots {
	struct slot {
		uint64_t vaddr;
		uint64_t resolver;
		const char *name;
	} * list;
	size_t n, capacity;
};

static void read_slots(const struct image *im, const struct section *s, struct slots *slots)
{
	struct slice bytes = section_bytes(im, s);
	struct table table = {};

	if (s->link < im->n_sections)
		table = table_of(im, &im->sections[s->link]);
	for (size_t at = 0; bytes.size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;

		memcpy(&r, bytes.data + at, sizeof(r));

		const uint32_t symbol = (uint32_t)ELF64_R_SYM(r.r_info);
		struct slot slot = { .vaddr = r.r_offset, .resolver = (uint64_t)r.r_addend };

		if (!arch_fills_slot((uint32_t)ELF64_R_TYPE(r.r_info)))
			continue;
		if (symbol && symbol < table.n) {
			Elf64_Sym entry = table_entry(&table, symbol);

			slot.name = table_name(&table, &entry);
		}
		array_push(slots->list, slots->n, slots->capacity, slot);
	}
}

static void find_slots(const struct image *im, struct slots *ret)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (im->sections[i].type == SHT_RELA)
			read_slots(im, &im->sections[i], ret);
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), array_compare_u64);
}

/* The name of the function that stubs reach through the slot at @vaddr, as "puts@plt"; NULL: it is
 * not known. */
static const char *name_of_slot(struct image *im, const struct slots *slots, uint64_t vaddr)
{
	const struct slot *slot = slots->n ? bsearch(&vaddr, slots->list, slots->n,
						     sizeof(*slots->list), array_compare_u64)
					   : NULL;
	struct image_symbol resolver;
	const char *name = slot ? slot->name : NULL;

	if (slot && !name && slot->resolver && symbol_function_at(im, slot->resolver, &resolver) &&
	    resolver.vaddr == slot->resolver)
		name = resolver.name;
	return name ? cut_version(im, name, "@plt") : NULL;
}

static void add_stubs(struct image *im, const struct section *s, const struct slots *slots,
		      size_t *capacity)
{
	struct symbol_index *index = im->index;
	struct slice code = section_bytes(im, s);
	struct image_symbol *last = NULL;

	for (size_t at = 0; at < code.size; at += STUB_STEP) {
		const size_t left = code.size - at;
		struct image_symbol stub = { .vaddr = s->vaddr + at,
					     .size = left < ARCH_STUB_BYTES ? left
									    : ARCH_STUB_BYTES,
					     .is_global = true };
		uint64_t slot;

		if (!arch_stub_slot(code.data + at, stub.size, stub.vaddr, &slot))
			continue;
		if (last && stub.vaddr - last->vaddr < last->size)
			last->size = stub.vaddr - last->vaddr;
		stub.name = name_of_slot(im, slots, slot);
		if (!stub.name)
			continue;
		array_push(index->unlisted, index->n_unlisted, *capacity, stub);
		last = &index->unlisted[index->n_unlisted - 1];
	}
}

static void add_all_stubs(struct image *im, size_t *capacity)
{
	struct slots slots = {};

	if (!im->is_64_bit)
		return;
	find_slots(im, &slots);
	for (size_t i = 0; i < im->n_sections; i++)
		if (is_plt_section(&im->sections[i]))
			add_stubs(im, &im->sections[i], &slots, capacity);
	free(slots.list);
}

/* --- _start --- */

/*
 * The header gives a program's _start, which has no symbol in a stripped file. It ends where
 * .eh_frame says; without that, as in musl, only its first byte is known. A library's header may
 * name any entry, so it must look like that of glibc's dynamic linker.
 */
static void add_start(const struct image *im, size_t *capacity)
{
	struct symbol_index *index = im->index;
	const struct slice code = image_code(im, im->entry, ARCH_LINKER_START_BYTES);
	const uint64_t end = frame_end_of(&index->frames, im->entry);
	const size_t linkers = im->is_64_bit ? arch_linker_start(code.data, code.size) : 0;
	struct image_symbol start = { .name = "_start", .vaddr = im->entry, .is_global = true };

	if (!code.size || !(linkers || im->is_fixed || dynamic_is_program(im)))
		return;
	start.size = end ? end - im->entry : 1;
	if (linkers) /* after the call, another function begins */
		start.size = linkers;
	array_push(index->unlisted, index->n_unlisted, *capacity, start);
}

/* --- look-ups --- */

/* The function at @vaddr that no symbol table has. */
static bool unlisted_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret)
{
	struct symbol_index *index = im->index;
	size_t capacity = 0, n;

	if (!index->are_unlisted_known) {
		index->are_unlisted_known = true;
		add_all_stubs(im, &capacity);
		add_start(im, &capacity);
		if (index->n_unlisted)
			qsort(index->unlisted, index->n_unlisted, sizeof(*index->unlisted),
			      array_compare_u64);
	}
	n = array_count_below(index->unlisted, index->n_unlisted, sizeof(*index->unlisted),
			      vaddr + 1);
	if (n)
		*ret = index->unlisted[n - 1];
	return n && vaddr - ret->vaddr < ret->size;
}

bool image_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret)
{
	return symbol_function_at(im, vaddr, ret) || unlisted_function_at(im, vaddr, ret);
}
