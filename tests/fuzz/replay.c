// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * replay FILE... - run a fuzz target over files, without libFuzzer.
 *
 * The target aborts where its property does not hold; the file is then the last
 * one named.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
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
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	printf("%d files replayed\n", argc - 1);
	return failed;
}
