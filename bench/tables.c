// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tables FILE... - make the unwind table of each file, and print a line for each:
 *
 *	rows entries rules bytes unfit ms PATH
 *
 * These are the rows of the file's CFI, the table's entries, rules and bytes in the kernel, the
 * rows that no rule can express, and the CPU time in ms from opening the file to the finished
 * table.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "elf/image.h"
#include "unwind/compact.h"

static double cpu_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int measure(const char *path)
{
	double begin = cpu_ms();
	struct unwind_table table;
	struct image *im = NULL;
	struct error e;
	size_t n_unfit = 0;

	if (image_open(path, &im, &e) != 0 || unwind_table_make(im, SIZE_MAX, &table, &e) != 0) {
		(void)fprintf(stderr, "%s: %s\n", path, e.text);
		image_close(im);
		return 1;
	}
	for (int i = 0; i < UNFIT_REASONS; i++)
		n_unfit += table.counts.unfit[i];
	(void)printf("%zu %" PRIu32 " %" PRIu32 " %zu %zu %.3f %s\n", table.counts.cfi.n_rows,
		     table.n_entries, table.n_rules, unwind_table_bytes(&table), n_unfit,
		     cpu_ms() - begin, path);
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
