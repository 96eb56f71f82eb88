/* rooms: elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "elf/demangle.h"

static const struct {
	const char *name;
	const char *written; /* NULL: not mangled */
} rows[] = {
	/* C++, with parameters */
	{ "_ZN7Monitor4waitEblb", "Monitor::wait(bool, long, bool)" },
	{ "_Z1fv", "f()" },
	{ "_Z1fv.isra.0", "f() [clone .isra.0]" },
	{ "_Z1fv.cold", "f() [clone .cold]" },
	{ "_Z1fv.llvm.123", "f()" },
	{ "_Z1fv.llvm.123@plt", "f()@plt" },
	{ "_Z1fv@plt", "f()@plt" },
	{ "_Z1fv@other", NULL },
	{ "_@plt", NULL },
	{ "_Z1f1AIiiES_IS0_S0_E", "f(A<int, int>, A<A<int, int>, A<int, int> >)" },
	/* Rust, of both schemes */
	{ "_RINvC1a1fTmmETB7_B7_ETBb_Bb_EE",
	  "a::f::<(u32, u32), ((u32, u32), (u32, u32)), "
	  "(((u32, u32), (u32, u32)), ((u32, u32), (u32, u32)))>" },
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
	{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	  "3bar17h930b740aa94f1d3aE",
	  "<Test + 'static as foo::Bar<Test>>::bar" },
	{ "_ZN3foo3bar17h0123456789abcdefE.llvm.123", "foo::bar" },
	{ "_ZN3foo3bar17h0123456789abcdefE.cold", "foo::bar" },
	{ "_RNvNtCs1234_7mycrate3foo3bar.llvm.00A1F", "mycrate::foo::bar" },
	{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
	{ "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	  "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1"
	  "\x83\x9a\xe1\x83\x90\xe1\x83\x93_\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83"
	  "\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_\xe1\x83\xa1\xe1\x83\x90"
	  "\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98" },
	/* The number of a build is no part of a name. */
	{ "helper.llvm.2593025945976326257", "helper" },
	{ "helper.llvm.12.cold", "helper.cold" },
	{ "f() [clone .llvm.12]", "f()" },
	{ "f() [clone .llvm.12] [clone .cold]", "f() [clone .cold]" },
	{ "helper.constprop.0", NULL },
	{ "helper.llvm.", NULL },
	{ "helper.llvm.decode", NULL },
	{ ".llvm.12", NULL },
	/* D */
	{ "_Dmain", "D main" },
	{ "_D8demangle4testFaZv", "demangle.test(char)" },
	/* Not mangled */
	{ "", NULL },
	{ "main", NULL },
	{ "_", NULL },
	{ "_Z", NULL },
	{ "_R", NULL },
	{ "_D", NULL },
	{ "_Rx", NULL },
	{ "Z1fv", NULL },
	{ "_ZN", NULL },
	{ "_Z99f", NULL },
};

TEST(names_are_written_as_their_languages_do)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *text = demangle(rows[i].name);
		const char *is = text ? text : "none", *wanted = rows[i].written;

		if (strcmp(is, wanted ? wanted : "none") != 0)
			fail_msg("%s: %s", rows[i].name, is);
	}
}

TEST(a_name_of_any_length_is_taken_and_a_long_one_refused)
{
	char name[5000];
	cleanup_free char *within = NULL;

	(void)snprintf(name, sizeof(name), "_Z900");
	memset(name + 5, 'x', 900);
	(void)strcpy(name + 905, "v");
	within = demangle(name);
	assert_non_null(within);
	assert_int_equal(strlen(within), 902);

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name, "_Z", 2);
	assert_null(demangle(name));
}

TEST_MAIN(NULL, NULL)
