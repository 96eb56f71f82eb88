/* rooms: unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * At every address of what a distribution has: the table's rule says what readelf(1) says, by its
 * own reading of the CFI. What a step by each rule does is in test_user_step.c; and which rule an
 * expression becomes, that readelf does not evaluate, in test_unwind_cfi.c.
 *
 * With arguments, these files and not the usual ones are held against readelf:
 *
 *	build/unit/test_unwind_rows /usr/bin/node
 */
#include "test.h"

#include <elf.h>
#include <sys/auxv.h>

#include "arch/arch.h"
#include "elf_files.h"
#include "table_reading.h"

#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#define BUDGET (64UL << 20)

/* Packages for testing, and what these need, bring all of these: not one may be missing. */
static const char *const usual[] = {
	LIBRARIES "libc.so.6",
	LIBRARIES "libstdc++.so.6",
	LIBRARIES "libcrypto.so.3",
	LIBRARIES "libm.so.6",
	LIBRARIES "libgcc_s.so.1",
	LIBRARIES "ld-linux-x86-64.so.2",
	"/usr/bin/bash",
	"/usr/bin/perl",
	"/usr/bin/python3",
};

/* What a row of readelf says. */
struct told {
	struct unwind_rule rule;
	bool is_special; /* an expression, or nothing usual: the rule is not told */
};

#define MOST_COLUMNS 20
#define MOST_CIES 64

struct compared {
	const char *name;
	struct unwind_table table;
	char columns[MOST_COLUMNS][8]; /* "CFA", "rbx", ... */
	int n_columns;
	struct cie {
		unsigned long at;
		struct told row; /* with which its entries begin */
	} cies[MOST_CIES];
	size_t n_cies;
	uint64_t start, end; /* of the entry that is read; end 0: it is a CIE */
	struct told row;     /* the last one, from @start on */
	size_t n_rows, n_special, n_unfit, n_wrong;
};

static int number_of(const char *reg)
{
	static const char *const names[] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
		"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(reg, names[i]) == 0)
			return (int)i;
	return -1;
}

/* "rsp+16" or "exp" */
static void take_cfa(const char *text, struct told *to)
{
	char reg[8];
	int offset;

	if (sscanf(text, "%7[a-z0-9]%d", reg, &offset) == 2 && number_of(reg) >= 0) {
		to->rule.offset = offset;
		to->rule.how = (uint8_t)UNWIND_HOW(UNWIND_IS, number_of(reg));
	} else {
		to->is_special = true;
	}
}

/* "c-16", "u" or "s" of a register; the return address lies below the CFA, or there is none. */
static void take_register(const char *column, const char *text, struct told *to)
{
	const bool is_kept = strcmp(text, "u") == 0 || strcmp(text, "s") == 0;
	int offset = 0;

	if (number_of(column) >= 0 && strcmp(column, "rbp") != 0 && strcmp(column, "rbx") != 0 &&
	    strcmp(column, "rsp") != 0)
		return;
	if (!is_kept && (sscanf(text, "c%d", &offset) != 1 || offset % 8))
		to->is_special |= strcmp(column, "rbx") != 0;
	else if (strcmp(column, "rbp") == 0)
		to->rule.fp = (int16_t)(offset / 8);
	else if (strcmp(column, "rbx") == 0)
		to->rule.third = (int8_t)(offset / 8);
	else if (strcmp(column, "ra") == 0 && is_kept)
		to->rule = (struct unwind_rule){ .how = UNWIND_OUTERMOST };
	else if (strcmp(column, "ra") == 0 ? offset != -8 : !is_kept)
		to->is_special = true;
}

/* From @start to @end. */
static void compare(struct compared *c, uint64_t end)
{
	const struct unwind_rule is = unwind_table_at(&c->table, c->start);
	const struct unwind_rule last = unwind_table_at(&c->table, end - 1);
	struct unwind_rule *wanted = &c->row.rule;
	bool is_right = memcmp(&is, &last, sizeof(is)) == 0;

	/* Where rbx is need not be known. */
	if (is.third == UNWIND_THIRD_LOST)
		wanted->third = UNWIND_THIRD_LOST;
	c->n_rows++;
	c->n_special += c->row.is_special;
	c->n_unfit += (is.how & 15) == UNWIND_UNFIT;
	if (c->row.is_special)
		is_right &= (is.how & 15) != UNWIND_IS && (is.how & 15) != UNWIND_NO_ROW;
	else
		is_right &= (is.how & 15) == UNWIND_UNFIT || memcmp(&is, wanted, sizeof(is)) == 0;
	if (!is_right && c->n_wrong++ < 10)
		print_error(
			"%s: at %#lx kind %d reg %d offset %d bp %d bx %d, not %d %d %d %d %d\n",
			c->name, c->start, is.how & 15, is.how >> 4, is.offset, is.fp, is.third,
			wanted->how & 15, wanted->how >> 4, wanted->offset, wanted->fp,
			wanted->third);
}

static void end_entry(struct compared *c)
{
	if (c->end > c->start)
		compare(c, c->end);
	c->end = 0;
}

/* "00000018 0000000000000024 0000001c FDE cie=00000000 pc=0000000000026000..0000000000026360" */
static void begin_entry(struct compared *c, const char *line)
{
	unsigned long at, cie;

	end_entry(c);
	if (sscanf(line, "%lx %*x %*x CIE", &at) == 1 && strstr(line, " CIE ")) {
		assert_true(c->n_cies < MOST_CIES);
		c->cies[c->n_cies++].at = at;
	} else if (sscanf(line, "%*x %*x %*x FDE cie=%lx pc=%lx..%lx", &cie, &c->start, &c->end) ==
		   3) {
		for (size_t i = 0; i < c->n_cies; i++)
			if (c->cies[i].at == cie)
				c->row = c->cies[i].row;
	}
}

/* "0000000000027282 rsp+16   u     u     u     u     u     c-16  c-8" */
static void take_row(struct compared *c, char *line)
{
	struct told row = {};
	char *rest = line;

	/* "r10 (r10)" is one cell. */
	for (char *blank = line; (blank = strstr(blank, " ("));)
		memmove(blank, blank + 1, strlen(blank));

	const uint64_t at = strtoull(strtok_r(line, " \n", &rest), NULL, 16);

	for (int i = 0; i < c->n_columns; i++) {
		const char *text = strtok_r(NULL, " \n", &rest);

		assert_non_null(text);
		if (i == 0)
			take_cfa(text, &row);
		else
			take_register(c->columns[i], text, &row);
	}
	if (!c->end) {
		c->cies[c->n_cies - 1].row = row;
		return;
	}
	if (at > c->start)
		compare(c, at);
	c->start = at;
	c->row = row;
}

static void take_line(struct compared *c, char *line)
{
	char *rest = NULL;

	if (strstr(line, " CIE ") || strstr(line, " FDE ")) {
		begin_entry(c, line);
	} else if (strncmp(line, "   LOC", 6) == 0) {
		(void)strtok_r(line, " \n", &rest);
		c->n_columns = 0;
		for (char *name; (name = strtok_r(NULL, " \n", &rest)); c->n_columns++)
			(void)snprintf(c->columns[c->n_columns], 8, "%s", name);
	} else if (strspn(line, "0123456789abcdef") == 16) {
		take_row(c, line);
	} else if (strncmp(line, "Contents", 8) == 0) {
		c->n_cies = 0;
	}
}

static void compare_file(const char *name)
{
	cleanup(image_freep) struct image *im = open_image(name);
	cleanup_free char *command = xasprintf("readelf -wNF '%s' 2>&1", name);
	FILE *lines = popen(command, "r");
	struct compared c = { .name = name };
	char *line = NULL;
	size_t room = 0;

	assert_works(unwind_table_make(im, BUDGET, &c.table, &e));
	while (getline(&line, &room, lines) > 0)
		take_line(&c, line);
	end_entry(&c);
	free(line);
	assert_int_equal(pclose(lines), 0);
	print_message("%s: %zu rows, %zu of them special, %zu unfit; %u entries, %u rules\n", name,
		      c.n_rows, c.n_special, c.n_unfit, c.table.n_entries, c.table.n_rules);
	assert_int_equal(c.n_wrong, 0);
	assert_true(c.n_rows > 0 && c.n_unfit * 1000 < c.n_rows);
	/* All in: 8 bytes a row, however few, and no entry for nothing. */
	assert_true(unwind_table_bytes(&c.table) <= 8 * c.n_rows + 256);
	unwind_table_fini(&c.table);
}

TEST(every_row_of_usual_files_is_as_readelf_says)
{
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		compare_file(usual[i]);
}

TEST(every_row_of_the_vdso_is_as_readelf_says)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);

	assert_non_null(header);
	scratch_write_bytes("vdso.so", header,
			    header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr));
	compare_file(scratch_lent("vdso.so"));
}

/* What the budgets of speed and memory are reckoned with. */
TEST(libc_takes_less_than_256_KiB)
{
	cleanup(unwind_table_fini) struct unwind_table table;
	cleanup(image_freep) struct image *im = open_image(usual[0]);

	assert_int_equal(unwind_table_make(im, 256UL << 10, &table, NULL), 0);
	assert_true(table.n_entries > 20000);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		compare_file(argv[i]);
	return argc > 1 ? 0 : run_all_tests(scratch_make, scratch_remove);
}
