// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * replay TARGET FILE... - run a fuzz target over files, without libFuzzer.
 *
 * The target aborts where its property does not hold; the file is then the last
 * one named.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/where.h"
#include "base/array.h"

/*
 * scripts/unit.mk defines EACH_TARGET(DO) as DO(fuzz_one) DO(fuzz_two) ..., and changes the name of
 * each file's LLVMFuzzerTestOneInput().
 */
#define DECLARE(target) int target##_one(const uint8_t *data, size_t size);
EACH_TARGET(DECLARE)

#define ROW(target) { #target, target##_one },
static const struct target {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
} targets[] = { EACH_TARGET(ROW) };

static int replay(const struct target *target, const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f || fseek(f, 0, SEEK_END) != 0) {
		perror(path);
		return 1;
	}

	long size = ftell(f);
	/* As long as the file, so that a sanitizer sees a step outside. */
	uint8_t *data = malloc(size > 0 ? (size_t)size : 1);

	rewind(f);
	if (size < 0 || !data || fread(data, 1, (size_t)size, f) != (size_t)size) {
		perror(path);
		return 1;
	}
	fclose(f);
	fprintf(stderr, "%s\n", path);
	target->run(data, (size_t)size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	size_t at = 0;
	int failed = argc < 3;

	(void)signal(SIGQUIT, show_where);
	while (at < ARRAY_SIZE(targets) && (argc < 2 || strcmp(targets[at].name, argv[1]) != 0))
		at++;
	if (at == ARRAY_SIZE(targets))
		return 2;
	for (int i = 2; i < argc; i++)
		failed |= replay(&targets[at], argv[i]);
	printf("%d files replayed\n", argc - 2);
	return failed;
}
