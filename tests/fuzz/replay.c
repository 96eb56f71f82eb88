// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * replay TARGET FILE... - run a fuzz target over files, without libFuzzer: each as it is, cut at
 * places all over it, and with a byte changed here and there.
 *
 * The target aborts where its property does not hold; the file is then the last one named, and what
 * was changed in it follows.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/where.h"
#include "base/memory.h"

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

#define N_VARIANTS 128

/* What was done to the file that is being read. */
static const char *done = "whole";
static size_t done_at;

static void tell(void)
{
	(void)fprintf(stderr, "it is %s at %zu\n", done, done_at);
}

static void on_abort(int signal)
{
	(void)signal;
	tell();
}

/* In memory of just its size, so that a sanitizer sees a step outside. */
static void run_copy(const struct target *target, const uint8_t *data, size_t size, uint8_t change)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	if (change)
		copy[done_at] ^= change;
	target->run(copy, size);
	free(copy);
}

static void run_variants(const struct target *target, const uint8_t *data, size_t size)
{
	static const uint8_t changes[] = { 0xff, 1, 0x80, 0x40, 0x10 };

	done = "whole";
	run_copy(target, data, size, 0);
	for (size_t i = 0; i < N_VARIANTS && size; i++) {
		done_at = size * i / N_VARIANTS;
		done = "cut";
		run_copy(target, data, done_at, 0);
		done = "changed";
		run_copy(target, data, size, changes[i % ARRAY_SIZE(changes)]);
	}
}

static int replay(const struct target *target, const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f || fseek(f, 0, SEEK_END) != 0) {
		perror(path);
		return 1;
	}

	long size = ftell(f);
	uint8_t *data = malloc(size > 0 ? (size_t)size : 1);

	rewind(f);
	if (size < 0 || !data || fread(data, 1, (size_t)size, f) != (size_t)size) {
		perror(path);
		return 1;
	}
	fclose(f);
	fprintf(stderr, "%s\n", path);
	run_variants(target, data, (size_t)size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	size_t at = 0;
	int failed = argc < 3;

	(void)signal(SIGQUIT, show_where);
	(void)signal(SIGABRT, on_abort);
	__sanitizer_set_death_callback(tell);
	while (at < ARRAY_SIZE(targets) && (argc < 2 || strcmp(targets[at].name, argv[1]) != 0))
		at++;
	if (at == ARRAY_SIZE(targets))
		return 2;
	for (int i = 2; i < argc; i++)
		failed |= replay(&targets[at], argv[i]);
	printf("%d files replayed\n", argc - 2);
	return failed;
}
