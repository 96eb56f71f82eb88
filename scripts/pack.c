// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pack - standard input packed by libdeflate, in gzip's form: a twentieth smaller than by gzip -9. Parts of
 * the program are in it so (src/base/packed.h). Runs while the program is built.
 */
#include <libdeflate.h>
#include <stdio.h>

#define MOST_BYTES (8U << 20)
#define SMALLEST 12 /* libdeflate's level that takes longest */

int main(void)
{
	static unsigned char in[MOST_BYTES], out[MOST_BYTES];
	const size_t n = fread(in, 1, sizeof(in), stdin);
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(SMALLEST);
	const size_t n_out = c ? libdeflate_gzip_compress(c, in, n, out, sizeof(out)) : 0;

	if (n == sizeof(in) || ferror(stdin) || !n_out) {
		fputs("pack: it does not fit, or cannot be read\n", stderr);
		return 1;
	}
	libdeflate_free_compressor(c);
	return fwrite(out, 1, n_out, stdout) != n_out || fflush(stdout) != 0;
}
