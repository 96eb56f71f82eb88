/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The page around a profile's bytes. tests/e2e/test_page.py has what it does in a browser. */
#include "test.h"

#include "profile/changes.h"
#include "profile/saved.h"
#include "profiles.h"

static void render(const struct profile *p, const struct render_style *style, struct strbuf *to)
{
	assert_int_equal(render_html(p, style, to_strbuf, to), 0);
	strbuf_putc(to, '\0');
}

/* As gzip checks what it unpacks, a page that can be read has each byte. */
static void expect_same_profile(struct profile *p)
{
	const struct render_style style = {};
	cleanup_strbuf struct strbuf page = {}, file = {};
	cleanup_profile struct profile *again = NULL, *saved = NULL;

	render(p, &style, &page);
	assert_int_equal(saved_read_bytes(page.text, page.n, "page", &again, NULL), 0);
	profiles_write(p, &file);
	assert_int_equal(saved_read_bytes(file.text, file.n, "file", &saved, NULL), 0);
	profiles_same(saved, again);
	profile_free(p);
}

TEST(a_page_has_the_profile)
{
	expect_same_profile(profiles_full());
	expect_same_profile(profiles_difference());
	expect_same_profile(profiles_finish(profile_builder_new(1)));
}

/* Base64 has an end for each length modulo three. */
TEST(a_page_has_bytes_of_any_length)
{
	for (size_t n = 1; n <= 12; n++) {
		struct profile *p = profiles_full();
		char host[16] = {};

		memset(host, 'a' + (int)n, n);
		p->about.host = host;
		expect_same_profile(p);
	}
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

TEST(a_page_has_changes_only_with_claims)
{
	cleanup(profile_freep) struct profile *p = profiles_difference();
	cleanup_changes struct changes *changes = changes_of_difference(p);
	const struct render_style plain = { .changes = changes };
	const struct render_style full = { .changes = changes, .invert = true };
	cleanup_strbuf struct strbuf page = {};

	render(p, &plain, &page);
	assert_int_equal(count(page.text, "id=\"profile-changes\""), 0);
	assert_int_equal(count(page.text, "id=\"inverted\""), 0);
	strbuf_clear(&page);
	changes->n_after = changes->n_before = 20;
	render(p, &full, &page);
	assert_int_equal(count(page.text, "id=\"profile-changes\">{\"basis\":"), 1);
	assert_int_equal(count(page.text, "id=\"inverted\""), 1);
	assert_int_equal(count(page.text, "<script"), count(page.text, "</script>"));
}

TEST_MAIN(NULL, NULL)
