// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any text either is read as an event, with what its kind must have, or is
 * refused with words. The first byte chooses how it is read.
 */
#include "fuzz.h"

#include "match/spec.h"

static void check_spec(const char *text, const struct probe_spec *spec)
{
	bool has_library = spec->kind == PROBE_USER_FUNCTION || spec->kind == PROBE_USDT;

	require(strcmp(spec->text, text) == 0);
	require(spec->name && pattern_text(spec->name)[0]);
	require(!spec->library == !has_library);
	require(!has_library || spec->library[0]);
	require(!spec->category == (spec->kind != PROBE_TRACEPOINT));
	require(!(spec->exclude_user && spec->exclude_kernel));
	require(!spec->is_return || spec->kind == PROBE_USER_FUNCTION ||
		spec->kind == PROBE_KERNEL_FUNCTION);
	require(!spec->provider || spec->kind == PROBE_USDT);
	(void)pattern_matches(spec->name, "__x64_sys_getppid.isra.0");
}

/* A few more characters may make regcomp() of glibc take hours, or all memory. */
static bool is_costly(const char *text)
{
	size_t n = 0;

	for (; (text = strpbrk(text, "*+{")); text++)
		n += *text == '{' ? 4 : 1;
	return n > 3;
}

static void fuzz_spec(const char *text, bool is_regexp)
{
	struct probe_spec spec = {};
	struct error e = {};

	if (is_regexp && is_costly(text))
		return;
	if (probe_spec_parse(text, is_regexp, &spec, &e) == 0)
		check_spec(text, &spec);
	else
		require(e.code == -EINVAL && e.text[0] && e.text[0] != '\n' && !spec.text);
	probe_spec_fini(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;

	char *text = strndup((const char *)data + 1, size - 1);

	fuzz_spec(text, data[0] == 'r');
	free(text);
	return 0;
}
