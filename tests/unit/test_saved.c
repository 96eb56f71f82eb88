/* rooms: saved report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files that are read back, files of others, and hostile ones. */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "profiles.h"
#include "saved/saved.h"

static struct profile *read_bytes(const struct strbuf *bytes)
{
	struct profile *p = NULL;
	struct error e = {};

	if (saved_read_bytes(bytes->text, bytes->n, "f.pb.gz", &p, &e))
		fail_msg("%s", e.text);
	return p;
}

static void expect_same_again(struct profile *p)
{
	struct strbuf bytes = {};

	profiles_write(p, &bytes);

	struct profile *again = read_bytes(&bytes);

	profiles_same(p, again);
	strbuf_fini(&bytes);
	profile_free(p);
	profile_free(again);
}

static void a_profile_is_the_same_after_writing_and_reading(void **state)
{
	(void)state;
	expect_same_again(profiles_full());
}

static void a_difference_is_the_same_after_writing_and_reading(void **state)
{
	(void)state;
	expect_same_again(profiles_difference());
}

static void an_empty_profile_is_the_same_after_writing_and_reading(void **state)
{
	(void)state;
	expect_same_again(profiles_finish(profile_builder_new(1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_is_the_same_after_writing_and_reading),
		cmocka_unit_test(a_difference_is_the_same_after_writing_and_reading),
		cmocka_unit_test(an_empty_profile_is_the_same_after_writing_and_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
