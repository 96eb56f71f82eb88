/* rooms: match base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "match/numbers.h"
#include "match/spec.h"

/* What @text is read as: "user c malloc", "usdt c provider:probe", ... */
static void check_reading(const char *text, bool is_regexp, const char *expected)
{
	static const char *const kinds[] = { "kernel", "user", "tracepoint", "usdt", "event" };
	struct probe_spec spec;
	struct error e = {};
	char is[512];

	if (probe_spec_parse(text, is_regexp, &spec, &e) != 0)
		fail_msg("'%s' was refused: %s", text, e.text);

	const struct pattern *before = spec.category ? spec.category : spec.provider;

	(void)snprintf(is, sizeof(is), "%s%s %s%s%s%s%s", spec.is_return ? "return of " : "",
		       kinds[spec.kind], spec.library ? spec.library : "", spec.library ? " " : "",
		       before ? pattern_text(before) : "", before ? ":" : "",
		       pattern_text(spec.name));
	assert_string_equal(is, expected);
	assert_string_equal(spec.text, text);
	assert_true(!spec.category == (spec.kind != PROBE_TRACEPOINT));
	assert_true(!spec.provider || spec.kind == PROBE_USDT);
	probe_spec_fini(&spec);
	assert_null(spec.text);
	probe_spec_fini(&spec);
}

struct reading {
	const char *text;
	const char *is;
};

TEST(every_form_is_read)
{
	static const struct reading rows[] = {
		{ "vfs_read", "kernel vfs_read" },
		{ "tcp_send*", "kernel tcp_send*" },
		{ "p", "kernel p" },
		{ "p::vfs_read", "kernel vfs_read" },
		{ "r:vfs_read", "return of kernel vfs_read" },
		{ "r::vfs_r*", "return of kernel vfs_r*" },
		{ "r::[[:alpha:]]*", "return of kernel [[:alpha:]]*" },
		{ "r:c:malloc", "return of user c malloc" },
		{ "r:prog:ns::f", "return of user prog ns::f" },
		{ "r:r:r", "return of user r r" },
		{ "./r:main", "user ./r main" },
		{ "p:r:main", "user r main" },
		{ "c:malloc", "user c malloc" },
		{ "p:c:malloc", "user c malloc" },
		{ "/usr/bin/x:main", "user /usr/bin/x main" },
		{ "./t:main", "user ./t main" },
		{ "x:*", "user x *" },
		{ "t:sched:sched_switch", "tracepoint sched:sched_switch" },
		{ "t:syscalls:sys_enter_*", "tracepoint syscalls:sys_enter_*" },
		{ "t:*:*", "tracepoint *:*" },
		{ "u:pthread:pthread_create", "usdt pthread pthread_create" },
		{ "u:c:libc:memory_*", "usdt c libc:memory_*" },
		{ "u:/opt/x:p", "usdt /opt/x p" },
		{ "e:page-faults", "event page-faults" },
		{ "e:cycles:u", "event cycles" },
		{ "e:r003c:k", "event r003c" },
		{ "./e:main", "user ./e main" },
		/* A colon in a name does not separate. */
		{ "prog:ns::f", "user prog ns::f" },
		{ "/path/prog:ns::Class::f", "user /path/prog ns::Class::f" },
		{ "prog:::f", "user prog ::f" },
		{ "p:prog:ns::f", "user prog ns::f" },
		{ "p:prog:::f", "user prog ::f" },
		{ "p:ns:ns::*", "user ns ns::*" },
		{ "prog:ns::f<a::b>", "user prog ns::f<a::b>" },
		{ "p::vfs_[[:alpha:]]*", "kernel vfs_[[:alpha:]]*" },
		{ "p:c:[[:alpha:]]*", "user c [[:alpha:]]*" },
		{ "p:c:a:b", "user c a:b" },
		{ "c:a\\:b", "user c a\\:b" },
		/* A bracket that is not closed is a plain character. */
		{ "c:mal[loc", "user c mal[loc" },
		{ "/usr/bin/[:main", "user /usr/bin/[ main" },
		{ "c:a?[", "user c a?[" },
		{ "c:a[[b", "user c a[[b" },
		/* A backslash keeps a colon in the library; a path may hold a star. */
		{ "/opt/a\\:b/prog:main", "user /opt/a:b/prog main" },
		{ "p:/opt/a\\:b:main", "user /opt/a:b main" },
		{ "u:/opt/a\\:b:probe", "usdt /opt/a:b probe" },
		{ "/opt/a\\b:main", "user /opt/a\\b main" },
		{ "/opt/*/x:main", "user /opt/*/x main" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_reading(rows[i].text, false, rows[i].is);
}

TEST(a_regular_expression_behind_a_prefix_holds_colons)
{
	static const struct reading rows[] = {
		{ "^tcp_send.*", "kernel ^tcp_send.*" },
		{ "c:^mal(loc|)$", "user c ^mal(loc|)$" },
		{ "p::^[[:alpha:]]+_send$", "kernel ^[[:alpha:]]+_send$" },
		{ "c:std::.*push", "user c std::.*push" },
		{ "c:(a::b|c)", "user c (a::b|c)" },
		{ "p::^vfs_", "kernel ^vfs_" },
		/* Behind p: and a library all the rest is the expression. */
		{ "p:c:a:b", "user c a:b" },
		{ "r:c:a:b", "return of user c a:b" },
		{ "p:c:a:?b", "user c a:?b" },
		{ "p:c:a:", "user c a:" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_reading(rows[i].text, true, rows[i].is);
}

TEST(patterns_follow_the_kind_of_text)
{
	struct probe_spec spec;

	assert_int_equal(probe_spec_parse("t:sch:sched_s", true, &spec, NULL), 0);
	assert_true(pattern_matches(spec.category, "sched"));
	assert_true(pattern_matches(spec.name, "sched_switch"));
	probe_spec_fini(&spec);

	assert_int_equal(probe_spec_parse("t:sch*:sched_s", false, &spec, NULL), 0);
	assert_true(pattern_matches(spec.category, "sched"));
	assert_false(pattern_matches(spec.name, "sched_switch"));
	probe_spec_fini(&spec);

	assert_int_equal(probe_spec_parse("u:c:lib:mem", true, &spec, NULL), 0);
	assert_true(pattern_matches(spec.provider, "xlibx"));
	assert_true(pattern_matches(spec.name, "memory"));
	probe_spec_fini(&spec);
}

/* Every one of these is refused with exactly these words. */
static void check_refusals(const struct reading *rows, size_t n, bool is_regexp)
{
	for (size_t i = 0; i < n; i++) {
		struct probe_spec spec = {};
		struct error e = {};

		assert_int_equal(probe_spec_parse(rows[i].text, is_regexp, &spec, &e), -EINVAL);
		assert_string_equal(e.text, rows[i].is);
		assert_null(spec.text);
	}
}

#define MANY                                                                 \
	"too many ':' (an event is FUNCTION, LIB:FUNCTION, p:LIB:FUNCTION, " \
	"r:LIB:FUNCTION, t:CATEGORY:EVENT or u:LIB:PROBE)\n  "
#define NO_LIBRARY "no library before the ':' (a kernel function is FUNCTION or p::FUNCTION)\n  "
#define SCOPE "a user function needs its library or program before it, as LIB:ns::f\n  "
#define TRACEPOINT "a tracepoint is t:CATEGORY:EVENT"
#define USDT "a USDT probe is u:LIB:PROBE or u:LIB:PROVIDER:PROBE"

TEST(what_cannot_be_read_is_refused_with_the_place)
{
	static const struct reading rows[] = {
		{ "",
		  "an event must not be empty (examples: vfs_read, c:malloc, t:sched:sched_switch or "
		  "u:LIB:PROBE)" },
		{ "x:y:z:w", "'x:y:z:w': " MANY "x:y:z:w\n     ^" },
		{ "x:y:z", "'x:y:z': " MANY "x:y:z\n     ^" },
		{ "a::::b", "'a::::b': " MANY "a::::b\n   ^" },
		{ "c:a:::b", "'c:a:::b': " MANY "c:a:::b\n     ^" },
		{ "c:[[:alpha:]]", "'c:[[:alpha:]]': " MANY "c:[[:alpha:]]\n      ^" },
		{ "c:f:", "'c:f:': " MANY "c:f:\n     ^" },
		{ ":", "':': " NO_LIBRARY ":\n  ^" },
		{ "::", "'::': " NO_LIBRARY "::\n  ^" },
		{ ":f", "':f': " NO_LIBRARY ":f\n  ^" },
		{ "::f", "'::f': " NO_LIBRARY "::f\n  ^" },
		{ "ns::f", "'ns::f': " SCOPE "ns::f\n  ^" },
		{ "p:ns::f", "'p:ns::f': " SCOPE "p:ns::f\n    ^" },
		{ "lib:", "'lib:': no function after the last ':'\n  lib:\n      ^" },
		{ "p:c:", "'p:c:': no function after the last ':'\n  p:c:\n      ^" },
		{ "p::", "'p::': no function after the last ':'\n  p::\n     ^" },
		{ "p:", "'p:': a function is p:LIB:FUNCTION, or p::FUNCTION in the kernel" },
		{ "p:f", "'p:f': a function is p:LIB:FUNCTION, or p::FUNCTION in the kernel" },
		{ "r:", "'r:': returns are r:LIB:FUNCTION, or r:FUNCTION in the kernel" },
		{ "r:c:", "'r:c:': no function after the last ':'\n  r:c:\n      ^" },
		{ "r::", "'r::': no function after the last ':'\n  r::\n     ^" },
		{ "r:ns::f", "'r:ns::f': " SCOPE "r:ns::f\n    ^" },
		{ "lib*:f", "'lib*:f': a library is a name or a path, not a pattern\n"
			    "  lib*:f\n     ^" },
		{ "t:sched", "'t:sched': " TRACEPOINT },
		{ "t:", "'t:': " TRACEPOINT },
		{ "t::", "'t::': " TRACEPOINT },
		{ "t::x", "'t::x': " TRACEPOINT },
		{ "t:a:", "'t:a:': " TRACEPOINT },
		{ "t:a:b:c", "'t:a:b:c': " TRACEPOINT "\n  t:a:b:c\n       ^" },
		{ "u:", "'u:': " USDT },
		{ "u:c", "'u:c': " USDT },
		{ "u:c:", "'u:c:': " USDT },
		{ "u::x", "'u::x': " USDT },
		{ "u:c::x", "'u:c::x': " USDT },
		{ "u:c:x:", "'u:c:x:': " USDT },
		{ "u:c:a:b:d", "'u:c:a:b:d': " USDT "\n  u:c:a:b:d\n         ^" },
		/* The caret stands under the character. */
		{ "f\xc3\xa4:b\xc3\xb6:c",
		  "'f\xc3\xa4:b\xc3\xb6:c': " MANY "f\xc3\xa4:b\xc3\xb6:c\n       ^" },
		{ "a\n\tb:c:d", "'a\?\?b:c:d': " MANY "a\?\?b:c:d\n        ^" },
	};

	check_refusals(rows, ARRAY_SIZE(rows), false);
}

TEST(a_bad_regular_expression_is_refused)
{
	static const struct reading rows[] = {
		{ "c:mal(", "bad regular expression 'mal(': Unmatched ( or \\(" },
		{ "*", "bad regular expression '*': Invalid preceding regular expression" },
		{ "t:(:x", "bad regular expression '(': Unmatched ( or \\(" },
		{ "t:a{:x", "bad regular expression 'a{': Unmatched \\{" },
		{ "u:c:a{:x", "bad regular expression 'a{': Unmatched \\{" },
		{ "c:a:b", "'c:a:b': " MANY "c:a:b\n     ^" },
		{ "ns::f", "'ns::f': " SCOPE "ns::f\n  ^" },
	};

	check_refusals(rows, ARRAY_SIZE(rows), true);
}

TEST(a_message_gets_a_caret_below)
{
	struct error e = {};
	char long_name[sizeof(e.text) - 8];

	assert_int_equal(error_set(&e, -ENOENT, "f\nx has no 'c'"), -ENOENT);
	assert_int_equal(caret_add("1 + c", 4, &e), -ENOENT);
	assert_string_equal(e.text, "f?x has no 'c'\n  1 + c\n      ^");
	assert_true(e.has_lines);
	assert_int_equal(error_within(&e, "within"), -ENOENT);
	assert_false(e.has_lines);
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(error_set(&e, -EACCES, "%s", long_name), -EACCES);
	assert_int_equal(caret_add("1 + c", 4, &e), -EACCES);
	assert_string_equal(e.text, long_name);
	assert_false(e.has_lines);
}

TEST(a_long_text_is_refused_on_one_line)
{
	struct probe_spec spec;
	struct error e = {};
	char text[5000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(probe_spec_parse(text, false, &spec, &e), -EINVAL);
	assert_string_equal(e.text, "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...': an event is at "
				    "most 4096 characters");

	text[300] = '\0';
	text[200] = text[100] = ':';
	assert_int_equal(probe_spec_parse(text, false, &spec, &e), -EINVAL);
	assert_null(strchr(e.text, '\n'));
	assert_non_null(strstr(e.text, "': too many ':' ("));
}

/* numbers */

/* Each of the texts in row[0] (';' stands for their comma) is refused by @call with row[1]. */
#define CHECK_EACH_REFUSED(row, option, call)                                                  \
	do {                                                                                   \
		char texts_[128], *rest_ = texts_;                                             \
		(void)snprintf(texts_, sizeof(texts_), "%s", (row)[0]);                        \
		for (char *text; (text = strsep(&rest_, ","));) {                              \
			struct error e = {};                                                   \
			char expected_[256];                                                   \
			for (char *at_; (at_ = strchr(text, ';'));)                            \
				*at_ = ',';                                                    \
			(void)snprintf(expected_, sizeof(expected_), option ": '%s' %s", text, \
				       (row)[1]);                                              \
			assert_int_equal(call, -EINVAL);                                       \
			assert_string_equal(e.text, expected_);                                \
		}                                                                              \
	} while (0)

TEST(seconds_become_nanoseconds)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = {
		{ "1", 1000000000 },
		{ "0.25", 250000000 },
		{ "1.5", 1500000000 },
		{ ".5", 500000000 },
		{ "2.", 2000000000 },
		{ "007", 7000000000 },
		{ "0.000000001", 1 },
		{ "0.0000000019", 1 },
		{ "99999999", 99999999000000000 }, /* bcc's "for ever" */
		{ "18446744072", 18446744072000000000ULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = 0;
		struct error e = {};

		assert_int_equal(parse_seconds_ns("-i", rows[i].text, &ns, &e), 0);
		assert_true(ns == rows[i].ns);
	}
}

TEST(what_is_no_time_is_refused)
{
	static const char *const rows[][2] = {
		{ "0,0.0,0.0000000001,-1", "is not a time above 0" },
		{ "1e3,nan,inf,,.,-,+1, 1,1s,1;5,1.2.3,0x10",
		  "is not a number of seconds (for example 1 or 0.25)" },
		{ "18446744073,99999999999999999999.5", "is too long a time" },
	};
	uint64_t ns = 7;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EACH_REFUSED(rows[i], "-i", parse_seconds_ns("-i", text, &ns, &e));
	assert_int_equal(ns, 7);
}

TEST(a_count_is_whole_and_within_its_bounds)
{
	static const char *const bad[] = {
		"0,11,-1,1e3,nan,inf,, 5,5 ,+5,0x5,5.,18446744073709551621",
		"is not a whole number from 1 to 10"
	};
	uint64_t n = 0;

	assert_int_equal(parse_count("-n", "1", 1, 10, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(parse_count("-n", "0010", 1, 10, &n, NULL), 0);
	assert_int_equal(n, 10);
	assert_int_equal(parse_count("-n", "18446744073709551615", 0, UINT64_MAX, &n, NULL), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(parse_count("-n", "18446744073709551616", 0, UINT64_MAX, &n, NULL),
			 -EINVAL);
	CHECK_EACH_REFUSED(bad, "-n", parse_count("-n", text, 1, 10, &n, &e));
}

TEST(sizes_have_suffixes)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{ "1048576", 1048576 },
		{ "512k", 524288 },
		{ "512K", 524288 },
		{ "64M", 67108864 },
		{ "1m", 1048576 },
		{ "1G", 1073741824 },
		{ "17179869183g", 17179869183ULL << 30 },
		{ "18446744073709551615", UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t bytes = 0;

		assert_int_equal(parse_bytes("--memory", rows[i].text, &bytes, NULL), 0);
		assert_true(bytes == rows[i].bytes);
	}
}

TEST(what_is_no_size_is_refused)
{
	static const char *const rows[][2] = {
		{ "0,0G", "is not a size above 0" },
		{ ",k,-1,1e3,1.5G,1kB,nan", "is not a size (for example 512k, 64M, 1G or 4096)" },
		{ "17179869184G,18446744073709551616", "is too large a size" },
	};
	uint64_t bytes;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EACH_REFUSED(rows[i], "--memory", parse_bytes("--memory", text, &bytes, &e));
}

static void check_list(const struct number_list *list, const uint32_t *expected, size_t n)
{
	assert_int_equal(list->n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(list->numbers[i], expected[i]);
}

TEST(a_list_is_ascending_each_number_once)
{
	struct number_list list = {};

	assert_int_equal(parse_number_list("-c", "7,0-3", 0, 9, &list, NULL), 0);
	check_list(&list, (uint32_t[]){ 0, 1, 2, 3, 7 }, 5);
	assert_int_equal(parse_number_list("-c", "2-4,4,9", 0, 9, &list, NULL), 0);
	check_list(&list, (uint32_t[]){ 0, 1, 2, 3, 4, 7, 9 }, 7);
	number_list_fini(&list);
	assert_int_equal(list.n, 0);
	number_list_fini(&list);

	assert_int_equal(parse_number_list("-c", "4294967295", 0, UINT32_MAX, &list, NULL), 0);
	check_list(&list, (uint32_t[]){ UINT32_MAX }, 1);
	number_list_fini(&list);
}

TEST(a_bad_list_is_refused)
{
	static const char *const bad[] = { "",   ",",    "1,",  ",1",  "1,,2",      "x",
					   "-1", "10",   "3-1", "1-",  "1-2-3",     "0-10",
					   "1 ", "1, 2", "1e1", "nan", "4294967296" };
	cleanup(number_list_fini) struct number_list list = {};
	struct error e = {};

	assert_int_equal(parse_number_list("-c", "5", 0, 9, &list, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char expected[160];

		(void)snprintf(expected, sizeof(expected),
			       "-c: '%s' is not a list of numbers from 0 to 9 "
			       "(for example 3 or 1,2 or 1-3,7)",
			       bad[i]);
		assert_int_equal(parse_number_list("-c", bad[i], 0, 9, &list, &e), -EINVAL);
		assert_string_equal(e.text, expected);
	}

	assert_int_equal(parse_number_list("-p", "1-4294967295", 1, UINT32_MAX, &list, &e),
			 -EINVAL);
	assert_string_equal(e.text, "-p: '1-4294967295' is more than 1048576 numbers");
	assert_int_equal(parse_number_list("-p", "1-1000000,1-1000000", 1, UINT32_MAX, &list, &e),
			 -EINVAL);
}

TEST(modifiers_of_an_event_leave_out_a_side)
{
	static const struct {
		const char *text;
		bool excludes_user, excludes_kernel;
	} rows[] = {
		{ "e:cycles", false, false },
		{ "e:cycles:u", false, true },
		{ "e:cycles:k", true, false },
		{ "e:cycles:uk", false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_spec spec;
		struct error e;

		assert_int_equal(probe_spec_parse(rows[i].text, false, &spec, &e), 0);
		assert_int_equal(spec.exclude_user, rows[i].excludes_user);
		assert_int_equal(spec.exclude_kernel, rows[i].excludes_kernel);
		probe_spec_fini(&spec);
	}
}

TEST(what_is_no_event_is_refused)
{
	static const struct reading rows[] = {
		{ "e:", "a perf event is e:EVENT" },
		{ "e::u", "a perf event is e:EVENT" },
		{ "e:cycles:", "a perf event is e:EVENT" },
		{ "e:cycles:x", "an event ends with :u (user) or :k (kernel)" },
		{ "e:cycles:pp", "precise events (:p) are not supported" },
		{ "e:cpu/event=0x3c,umask=1/", "cpu/event=0x3c,umask=1/ is e:r13c" },
		{ "e:cpu/mem-loads/:u", "events by source and terms are not supported" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_spec spec;
		struct error e;

		assert_int_equal(probe_spec_parse(rows[i].text, false, &spec, &e), -EINVAL);
		assert_non_null(strstr(e.text, rows[i].is));
	}
}

TEST_MAIN(NULL, NULL)
