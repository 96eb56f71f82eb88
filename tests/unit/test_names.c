/* rooms: match elf kernel processes files unwind arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "match/names.h"

TEST(parameters_and_return_types_are_told_from_the_name)
{
	static const struct {
		const char *symbol, *bare;
	} rows[] = {
		{ "main", "main" },
		{ "_ZN2ns5applyEi", "ns::apply" },
		{ "_ZN2ns4castIiEEvT_", "ns::cast<int>" },
		{ "_ZNKSt6vectorIiE4sizeEv", "std::vector<int>::size" },
		{ "_ZN3FooclEi", "Foo::operator()" },
		{ "_ZN3FoocviEv", "Foo::operator int" },
		{ "_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f" },
		{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()" },
		{ "_ZN2ns5applyEi.cold", "ns::apply" },
		{ "_RNvC7mycrate3run", "mycrate::run" },
		{ "_Znotmangled", "_Znotmangled" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *bare = names_bare(rows[i].symbol);

		if (strcmp(bare, rows[i].bare) != 0)
			fail_msg("%s: %s, not %s", rows[i].symbol, bare, rows[i].bare);
	}
}

TEST(a_pattern_matches_a_name_as_it_is_and_as_it_was_written)
{
	static const struct {
		const char *pattern;
		bool is_regexp;
		const char *symbol;
		bool matches;
	} rows[] = {
		{ "std::vector*", false, "_ZNKSt6vectorIiE4sizeEv", true },
		{ "*operator()*", false, "_ZN3FooclEi", true },
		{ "helper", false, "helper.llvm.123", true },
		{ "helper.llvm.123", false, "helper.llvm.123", true },
		{ "helper", false, "helper.constprop.0", false },
		{ "ns::apply(int)", false, "_ZN2ns5applyEi.llvm.123", true },
		{ "Foo::operator int", false, "_ZN3FoocviEv", true },
		{ "*::f", false, "_ZN12_GLOBAL__N_11fEv", true },
		{ "ns::apply(int)", false, "_ZN2ns5applyEi", true },
		{ "ns::apply", false, "_ZN2ns6applyxEi", false },
		{ "applies*::", true, "_ZN6applie1fEv", true },
		{ "ns::Class::tm<double>(double)", false, "_ZN2ns5Class2tmIdEET_S2_", true },
		{ "ns::Class::tm<double>", false, "_ZN2ns5Class2tmIdEET_S2_", true },
		{ "double ns::Class::tm<double>(double)", false, "_ZN2ns5Class2tmIdEET_S2_", true },
		{ "(Foo)?::apply", true, "_ZN2ns5applyEi", true },
		{ "ns::[ab]pply", false, "_ZN2ns5applyEi", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(pattern_freep) struct pattern *p = NULL;

		assert_int_equal(pattern_compile(rows[i].pattern, rows[i].is_regexp, &p, NULL), 0);
		if (names_match(p, rows[i].symbol) != rows[i].matches)
			fail_msg("%s, %s", rows[i].pattern, rows[i].symbol);
	}
}

TEST(near_names_are_few_and_the_nearest_first)
{
	static const struct {
		const char *wanted, *names[8], *text;
	} rows[] = {
		{ "vfs_reed",
		  { "vfs_readv", "vfs_read", "vfs_write", "vfs_reeds", "ksys_read" },
		  " (did you mean vfs_read, vfs_reeds, vfs_readv?)" },
		{ "nanosleep",
		  { "do_nanosleep", "hrtimer_nanosleep", "nanosleep.cold", "sleep" },
		  " (did you mean nanosleep.cold, do_nanosleep, hrtimer_nanosleep?)" },
		{ "*_reed_it",
		  { "vfs_read_it", "read_it" },
		  " (did you mean vfs_read_it, read_it?)" },
		{ "", { "y" }, "" },
		{ "[abc]*", { "y" }, "" },
		{ "[unclosed", { "unclosed" }, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct near near;

		near_init(&near, rows[i].wanted);
		for (size_t j = 0; j < 8 && rows[i].names[j]; j++) {
			near_offer(&near, rows[i].names[j]);
			near_offer(&near, rows[i].names[j]);
		}
		if (strcmp(near_text(&near), rows[i].text) != 0)
			fail_msg("%s: '%s', not '%s'", rows[i].wanted, near.text, rows[i].text);
	}
}

TEST(names_of_any_length_are_compared)
{
	char name[5000];
	struct near near;

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	near_init(&near, name);
	near_offer(&near, name);
	name[100] = '\0';
	near_offer(&near, name);
	(void)near_text(&near);
	name[62] = '\0';
	near_offer(&near, name);
	assert_true(near.n >= 1);
}

TEST_MAIN(NULL, NULL)
