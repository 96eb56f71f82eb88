/* rooms: base attach */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* On the running kernel, as root. */
#include "test.h"

#include <sys/utsname.h>

#include "attach/features.h"

TEST(a_kernel_that_runs_the_tests_has_what_is_required)
{
	assert_works(features_require(&e));
}

TEST(features_are_found_by_trying)
{
	struct utsname name;
	struct features has = {};
	unsigned major, minor;

	assert_int_equal(uname(&name), 0);
	assert_int_equal(sscanf(name.release, "%u.%u", &major, &minor), 2);
	unsigned version = major * 100 + minor;
	/* Not carried back as a rule, so here the version does tell. */
	features_probe(&has, FEATURES_ALL);
	assert_int_equal(has.counts_missed, version >= 607);
	if (version >= 612)
		assert_int_equal(has.uprobe_multi,
				 access("/sys/bus/event_source/devices/uprobe/type", R_OK) == 0);
	if (version < 606)
		assert_false(has.uprobe_multi);
}

TEST(features_that_are_not_asked_for_are_not_touched)
{
	struct features has = { .kprobe_multi = true, .uprobe_multi = true, .kprobe_pmu = 77 };

	features_probe(&has, 0);
	assert_true(has.kprobe_multi);
	assert_true(has.uprobe_multi);
	assert_int_equal(has.kprobe_pmu, 77);
}

TEST_MAIN(NULL, NULL)
