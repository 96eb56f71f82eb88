/* rooms: kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "scratch.h"

#include "kernel/perf_events.h"

static int make_sources(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	scratch_write("sources/cpu/type", "4\n");
	scratch_write("sources/cpu/format/event", "config:0-7\n");
	scratch_write("sources/cpu/format/umask", "config:8-15\n");
	scratch_write("sources/cpu/format/inv", "config:23\n");
	scratch_write("sources/cpu/format/split", "config:0-7,32-35\n");
	scratch_write("sources/cpu/format/ldlat", "config1:0-15\n");
	scratch_write("sources/cpu/format/whole", "config2:0-63\n");
	scratch_write("sources/cpu/format/bad", "config:7-0\n");
	scratch_write("sources/cpu/format/wide", "config:0-64\n");
	scratch_write("sources/cpu/events/cache-misses", "event=0x2e,umask=0x41\n");
	scratch_write("sources/cpu/events/loads", "event=0xcd,umask=0x1,ldlat=3\n");
	scratch_write("sources/other/type", "12\n");
	return 0;
}

TEST(terms_go_to_their_bits)
{
	static const struct {
		const char *terms;
		uint64_t config, config1, config2;
	} rows[] = {
		{ "event=0x3c", 0x3c, 0, 0 },
		{ "event=60,umask=1,inv", 0x80013c, 0, 0 },
		{ "split=0xabc", 0xa000000bcULL, 0, 0 },
		{ "ldlat=0x10,event=1", 1, 0x10, 0 },
		{ "whole=0xffffffffffffffff", 0, 0, UINT64_MAX },
		{ "config=0x123,config1=7", 0x123, 7, 0 },
		{ "cache-misses", 0x412e, 0, 0 },
		{ "loads,ldlat=9", 0x1cd, 9, 0 },
		{ "", 0, 0, 0 },
	};
	cleanup_free char *sources = scratch_path("sources");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct perf_code code;

		assert_int_equal(perf_code_parse(sources, "cpu", rows[i].terms, &code, NULL), 0);
		assert_int_equal(code.type, 4);
		assert_true(code.config == rows[i].config && code.config1 == rows[i].config1 &&
			    code.config2 == rows[i].config2);
	}
}

TEST(what_a_source_has_not_is_refused)
{
	static const struct {
		const char *pmu, *terms, *said;
		int code;
	} rows[] = {
		{ "none", "event=1", "no event source 'none'", -ENOENT },
		{ "../sources/cpu", "event=1", "no event source", -ENOENT },
		{ "cpu", "nothing=1", "'nothing=1' is no event or term of it", -ENOENT },
		{ "cpu", "../type=1", "is no event or term of it", -ENOENT },
		{ "cpu", "event=0x100", "'event=0x100' is too large", -EINVAL },
		{ "cpu", "event=x", "'event=x' has no number", -EINVAL },
		{ "cpu", "event=", "has no number", -EINVAL },
		{ "cpu", "bad=1", "is too large", -EINVAL },
		{ "cpu", "wide=1", "is too large", -EINVAL },
	};
	cleanup_free char *sources = scratch_path("sources");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct perf_code code;
		struct error e;

		assert_int_equal(perf_code_parse(sources, rows[i].pmu, rows[i].terms, &code, &e),
				 rows[i].code);
		assert_non_null(strstr(e.text, rows[i].said));
	}
}

TEST_MAIN(make_sources, scratch_remove)
