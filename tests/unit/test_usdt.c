/* rooms: elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "elf_files.h"

static const char probes_source[] =
	"#include <sys/sdt.h>\n"
	"unsigned short shop_sale_semaphore __attribute__((section(\".probes\"), used));\n"
	"__attribute__((noinline)) void sell(int n) { STAP_PROBE1(shop, buy, n); }\n"
	"int main(int c, char **v) { (void)v; sell(c); STAP_PROBE1(shop, buy, c);\n"
	"	STAP_PROBE(house, door); return 0; }\n"
	"__asm__(\".pushsection .note.stapsdt, \\\"\\\", \\\"note\\\"\\n\"\n"
	"\".balign 4\\n.long 8, 2f - 1f, 3\\n.asciz \\\"stapsdt\\\"\\n\"\n"
	"\"1: .quad sell, _.stapsdt.base, shop_sale_semaphore\\n\"\n"
	"\".asciz \\\"shop\\\"\\n.asciz \\\"sale\\\"\\n.asciz \\\"\\\"\\n2: .balign 4\\n\"\n"
	"\".popsection\");\n";

static int make_files(void **state)
{
	assert_non_null(mkdtemp(folder));
	write_file("probes.c", probes_source, strlen(probes_source));
	return run(
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

static size_t count_probe(const struct seen_probes *seen, const char *provider, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < seen->n; i++)
		n += strcmp(seen->probes[i].provider, provider) == 0 &&
		     strcmp(seen->probes[i].name, name) == 0;
	return n;
}

static void check_probes(const char *name)
{
	cleanup(image_freep) struct image *im = open_image(name);
	struct seen_probes seen = {};
	uint64_t sell = 0;
	size_t size;
	cleanup_free uint8_t *data = read_file(name, &size);

	assert_int_equal(image_each_usdt(im, see_probe, &seen, NULL), 0);
	assert_true(image_vaddr_to_offset(im, find(im, "sell").symbol.vaddr, &sell));
	assert_true(count_probe(&seen, "shop", "buy") >= 2); /* one name, several places */
	assert_int_equal(count_probe(&seen, "house", "door"), 1);
	assert_int_equal(count_probe(&seen, "shop", "sale"), 1);
	for (size_t i = 0; i < seen.n; i++) {
		const struct image_usdt *p = &seen.probes[i];

		assert_true(p->offset < size);
		if (strcmp(p->name, "sale") == 0) {
			assert_true(p->offset == sell);
			assert_true(p->semaphore > 0 && p->semaphore < size);
		} else {
			assert_int_equal(data[p->offset], 0x90); /* nop */
			assert_int_equal(p->semaphore, 0);
		}
	}
}

TEST(usdt_probes_are_found_at_their_nops)
{
	check_probes("probes");
	check_probes("probes_fixed");
}

TEST(an_image_without_probes_says_so)
{
	cleanup_free char *path = in_folder("plain.so");
	cleanup_free char *expected = xasprintf("%s has no USDT probes", path);
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

TEST(probes_move_with_what_was_moved)
{
	size_t size;
	cleanup_free uint8_t *data = read_file("probes_fixed", &size);
	struct seen_probes before = {};
	struct seen_probes after = {};
	struct image *im = NULL;
	uint64_t base;

	assert_int_equal(image_open_memory(data, size, "x", &im, NULL), 0);
	assert_int_equal(image_each_usdt(im, see_probe, &before, NULL), 0);
	image_close(im);

	/* The note was written when everything was 4 bytes further up. */
	memcpy(&base, find_note(data, size) + 8, sizeof(base));
	base += 4;
	memcpy(find_note(data, size) + 8, &base, sizeof(base));
	assert_int_equal(image_open_memory(data, size, "x", &im, NULL), 0);
	assert_int_equal(image_each_usdt(im, see_probe, &after, NULL), 0);
	assert_int_equal(after.n, before.n);
	assert_int_equal(after.probes[0].offset, before.probes[0].offset - 4);
	assert_int_equal(after.probes[1].offset, before.probes[1].offset);
	image_close(im);
}

static void check_bad_notes(size_t at, uint32_t value, const char *why)
{
	size_t size;
	cleanup_free uint8_t *data = read_file("probes", &size);
	cleanup_free char *expected = xasprintf("x: invalid notes of USDT probes (%s)", why);
	struct seen_probes seen = {};
	struct image *im = NULL;
	struct error e = {};

	memcpy(find_note(data, size) - 20 + at, &value, sizeof(value));
	assert_int_equal(image_open_memory(data, size, "x", &im, NULL), 0);
	assert_int_equal(image_each_usdt(im, see_probe, &seen, &e), -ENOEXEC);
	assert_string_equal(e.text, expected);
	image_close(im);
}

/* A note is: sizes of owner and description, type; 8 bytes "stapsdt"; the description. */
TEST(notes_that_make_no_sense_are_refused)
{
	check_bad_notes(0, UINT32_MAX, "one goes beyond the section");
	check_bad_notes(4, UINT32_MAX, "one goes beyond the section");
	check_bad_notes(4, 100000, "one goes beyond the section");
	check_bad_notes(4, 23, "one is too short");
	check_bad_notes(4, 28, "one has no name");
	check_bad_notes(20 + 24, 0, "one has no name");
}

/* hostile files */

static int touch_symbol(void *context, const struct image_symbol *symbol)
{
	*(size_t *)context += strlen(symbol->name);
	return 0;
}

static int touch_probe(void *context, const struct image_usdt *probe)
{
	*(size_t *)context += strlen(probe->provider) + strlen(probe->name);
	return 0;
}

/* Whatever the file says, there is an answer, and a failure has words. */
static void ask_everything(const uint8_t *data, size_t size)
{
	struct image *im = NULL;
	struct image_symbol s;
	struct error e = {};
	size_t n = 0;

	if (image_open_memory(data, size, "x", &im, &e) != 0) {
		assert_true(e.code == -ENOEXEC && e.text[0]);
		return;
	}
	assert_int_equal(image_each_function(im, touch_symbol, &n), 0);
	if (image_each_usdt(im, touch_probe, &n, &e) != 0)
		assert_true((e.code == -ENOEXEC || e.code == -ENOENT) && e.text[0]);
	for (uint64_t at = 0; at < 0x4000; at += 64)
		if (image_function_at(im, at, &s))
			assert_true(s.vaddr <= at && at - s.vaddr < s.size && s.name[0]);
	assert_true(image_bytes(im) < 64 * size + 65536);
	image_close(im);
}

TEST(a_file_cut_anywhere_does_no_harm)
{
	size_t size;
	cleanup_free uint8_t *data = read_file("plain.so", &size);

	for (size_t n = 0; n < size; n += n < 4096 ? 61 : 509)
		ask_everything(data, n);
	ask_everything(data, size);
}

TEST(a_file_with_any_byte_changed_does_no_harm)
{
	size_t size;
	cleanup_free uint8_t *data = read_file("probes", &size);
	uint64_t random = 1;

	for (size_t i = 0; i < 1000; i++) {
		/* The header, the section headers at the end, and anything. */
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;

		size_t where = (random >> 33) % (i % 3 == 0 ? 1024 : i % 3 == 1 ? 2048 : size);
		uint8_t *byte = &data[i % 3 == 1 ? size - 1 - where : where];
		uint8_t was = *byte;

		*byte = i % 2 ? 0xff : (uint8_t)(random >> 20);
		ask_everything(data, size);
		*byte = was;
	}
}

TEST_MAIN(make_files, remove_files)
