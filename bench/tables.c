// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tables FILE... - make the unwind table of each file, and print a line for each:
 *
 *	rows entries rules bytes unfit ms PATH
 *
 * These are the rows of the file's code, the table's entries, rules and bytes in the kernel, the
 * rows that no rule can express, and the CPU time in ms from opening the file to the finished
 * table.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "arch/arch.h"
#include "elf/image.h"
#include "unwind/table.h"

static double cpu_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

struct rows {
	size_t n, n_unfit;
};

static int count_row(void *context, const struct cfi_row *row)
{
	struct rows *r = context;

	r->n += row->kind != CFI_GAP;
	r->n_unfit += unwind_kind_of(arch_rule_of(row)) == UNWIND_UNFIT;
	return 0;
}

static int measure(const char *path)
{
	double begin = cpu_ms();
	struct unwind_table table;
	struct image *im = NULL;
	struct error e;
	struct rows rows = {};
	double ms;

	if (image_open(path, &im, &e) != 0 || unwind_table_make(im, SIZE_MAX, &table, &e) != 0) {
		(void)fprintf(stderr, "%s: %s\n", path, e.text);
		image_close(im);
		return 1;
	}
	ms = cpu_ms() - begin;
	if (cfi_each_row(im, NULL, count_row, &rows, &e) != 0)
		(void)fprintf(stderr, "%s: %s\n", path, e.text);
	(void)printf("%zu %" PRIu32 " %" PRIu32 " %zu %zu %.3f %s\n", rows.n, table.n_entries,
		     table.n_rules, unwind_table_bytes(&table), rows.n_unfit, ms, path);
	unwind_table_fini(&table);
	image_close(im);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= measure(argv[i]);
	return failed;
}
