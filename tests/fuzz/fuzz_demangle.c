// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any name is either written out, at bounded length and in bounded time, or is not mangled. In the
 * corpus: names whose text doubles with each level, and deep ones, which might exhaust the stack.
 */
#include "fuzz.h"

#include "elf/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = strndup((const char *)data, size);
	char *text = demangle(name);

	if (text && (!text[0] || (name[1] != 'D' && strlen(text) > 65536)))
		abort();
	free(text);
	free(name);
	return 0;
}
