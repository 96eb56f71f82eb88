/* rooms: files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a parser answers about names is as foreign as the file that it has read. */
#include "test.h"

#include "files/name_block.h"

#define SIZE 4096

/* Two places, the second without a name; the first with an inlined function. */
static size_t make(char to[SIZE])
{
	struct name_block b = { .size = SIZE };
	const struct call_fact inlined = { .name = name_block_text(&b, "inlined"),
					   .file = name_block_text(&b, "a.c"),
					   .line = 7 };
	const struct call_fact itself = { .name = NO_TEXT, .file = NO_TEXT };
	const struct name_fact first = { .vaddr = 0x1008,
					 .start = 0x1000,
					 .function = name_block_text(&b, "main"),
					 .n_calls = 2,
					 .has = NAME_HAS_PLACE | NAME_HAS_START };
	const struct name_fact second = { .function = NO_TEXT, .call = 2 };
	size_t n;

	name_block_add_call(&b, &inlined);
	name_block_add_call(&b, &itself);
	name_block_add(&b, &first);
	name_block_add(&b, &second);
	assert_true(name_block_fits(&b));
	n = name_block_put(&b, (struct names_head){ .is_changed = 1 }, to);
	b.size = n - 1;
	assert_false(name_block_fits(&b));
	name_block_fini(&b);
	return n;
}

TEST(what_is_put_is_read)
{
	cleanup_free char *bytes = xcalloc(1, SIZE);
	const size_t n = make(bytes);
	struct name_view v;

	assert_true(name_block_read(bytes, n, 2, &v));
	assert_int_equal(v.head->n, 2);
	assert_true(v.head->is_changed);
	assert_string_equal(name_view_text(&v, v.facts[0].function), "main");
	assert_null(name_view_text(&v, v.facts[1].function));
	assert_string_equal(name_view_text(&v, v.calls[0].name), "inlined");
	assert_string_equal(name_view_text(&v, v.calls[0].file), "a.c");
	assert_int_equal(v.calls[0].line, 7);
	assert_null(name_view_text(&v, v.calls[1].name));
}

/* What stands at some place of the bytes. */
struct lie {
	const char *text;
	size_t at;
	uint32_t value;
};

#define HEAD(member) offsetof(struct names_head, member)
#define FACT(i, member)                                               \
	(sizeof(struct names_head) + (i) * sizeof(struct name_fact) + \
	 offsetof(struct name_fact, member))
#define CALL(i, member) \
	(FACT(2, vaddr) + (i) * sizeof(struct call_fact) + offsetof(struct call_fact, member))

TEST(what_makes_no_sense_is_refused)
{
	static const struct lie lies[] = {
		{ "more facts than offsets", HEAD(n), 3 },
		{ "facts beyond 32 bits", HEAD(n), 0x80000002 },
		{ "more calls", HEAD(n_calls), 3 },
		{ "calls beyond 32 bits", HEAD(n_calls), 0x55555558 },
		{ "less text", HEAD(n_text), 3 },
		{ "text beyond 32 bits", HEAD(n_text) + 4, 1 },
		{ "a name behind all text", FACT(0, function), 17 },
		{ "a name far behind", FACT(0, function), UINT32_MAX - 1 },
		{ "calls behind all", FACT(0, call), 1 },
		{ "calls far behind", FACT(1, call), UINT32_MAX },
		{ "a name within another one", FACT(0, function), 14 },
		{ "calls of another place", FACT(1, n_calls), 1 },
		{ "a call's name", CALL(0, name), 17 },
		{ "a call's file", CALL(1, file), 17 },
	};
	cleanup_free char *good = xcalloc(1, SIZE);
	const size_t n = make(good);
	struct name_view v;

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		cleanup_free char *bytes = xmalloc(n);

		memcpy(bytes, good, n);
		memcpy(bytes + lies[i].at, &lies[i].value, sizeof(lies[i].value));
		if (name_block_read(bytes, n, 2, &v))
			fail_msg("%s", lies[i].text);
	}
}

TEST(a_part_of_it_is_refused)
{
	cleanup_free char *good = xcalloc(1, SIZE);
	const size_t n = make(good);
	struct name_view v;

	for (size_t part = 0; part < n; part++) {
		cleanup_free char *bytes = xmalloc(part + 1);

		memcpy(bytes, good, part);
		assert_false(name_block_read(bytes, part, 2, &v));
	}
	good[n - 1] = 'x'; /* the last string has no end */
	assert_false(name_block_read(good, n, 2, &v));
}

TEST_MAIN(NULL, NULL)
