/* rooms: elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "elf_files.h"

static const char probes_source[] =
	"#include <sys/sdt.h>\n"
	"__attribute__((noinline)) void sell(int n) { STAP_PROBE1(shop, buy, n); }\n"
	"int main(int c, char **v) { (void)v; sell(c); STAP_PROBE1(shop, buy, c);\n"
	"	STAP_PROBE(house, door); return 0; }\n";

static int make_files(void **state)
{
	assert_int_equal(scratch_make(state), 0);
	scratch_write("probes.c", probes_source);
	return scratch_run(
		"gcc -O1 -w probes.c -o probes && gcc -O1 -w -no-pie probes.c -o probes_fixed && "
		"echo 'void f(void) {}' > plain.c && gcc -shared -nostdlib plain.c -o plain.so");
}

struct seen_probes {
	struct image_usdt probes[8];
	size_t n;
};

static int see_probe(void *context, const struct image_usdt *probe)
{
	struct seen_probes *seen = context;

	assert_true(seen->n < ARRAY_SIZE(seen->probes));
	seen->probes[seen->n++] = *probe;
	return 0;
}

TEST(an_image_without_probes_says_so)
{
	cleanup_free char *expected = xasprintf("%s/plain.so has no USDT probes", scratch);
	cleanup(image_freep) struct image *im = open_image("plain.so");
	struct error e = {};

	assert_int_equal(image_each_usdt(im, see_probe, NULL, &e), -ENOENT);
	assert_string_equal(e.text, expected);
}

/* The first note of "probes" in @data: the description's three addresses begin here. */
static uint8_t *find_note(uint8_t *data, size_t size)
{
	return (uint8_t *)memmem(data, size, "\x03\0\0\0stapsdt", 12) + 12;
}

static struct seen_probes probes_in(const uint8_t *data, size_t size)
{
	cleanup(image_freep) struct image *im = open_memory(data, size);
	struct seen_probes seen = {};

	assert_int_equal(image_each_usdt(im, see_probe, &seen, NULL), 0);
	return seen;
}

TEST(probes_move_with_what_was_moved)
{
	size_t size;
	cleanup_free uint8_t *data = read_file("probes_fixed", &size);
	const struct seen_probes before = probes_in(data, size);

	uint64_t base;

	/* The note was written when everything was 4 bytes further up. */
	memcpy(&base, find_note(data, size) + 8, sizeof(base));
	base += 4;
	memcpy(find_note(data, size) + 8, &base, sizeof(base));

	const struct seen_probes after = probes_in(data, size);

	assert_int_equal(after.n, before.n);
	assert_int_equal(after.probes[0].offset, before.probes[0].offset - 4);
	assert_int_equal(after.probes[1].offset, before.probes[1].offset);
}

/* A note is: sizes of owner and description, type; 8 bytes "stapsdt"; the description. */
TEST(notes_that_make_no_sense_are_refused)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *why;
	} rows[] = {
		{ 0, UINT32_MAX, "one goes beyond the section" },
		{ 4, UINT32_MAX, "one goes beyond the section" },
		{ 4, 100000, "one goes beyond the section" },
		{ 4, 23, "one is too short" },
		{ 4, 28, "one has no name" },
		{ 20 + 24, 0, "one has no name" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t size;
		cleanup_free uint8_t *data = read_file("probes", &size);
		cleanup_free char *expected =
			xasprintf("made: invalid notes of USDT probes (%s)", rows[i].why);
		struct seen_probes seen = {};
		struct error e = {};

		memcpy(find_note(data, size) - 20 + rows[i].at, &rows[i].value, 4);

		cleanup(image_freep) struct image *im = open_memory(data, size);

		assert_int_equal(image_each_usdt(im, see_probe, &seen, &e), -ENOEXEC);
		assert_string_equal(e.text, expected);
	}
}

TEST_MAIN(make_files, scratch_remove)
