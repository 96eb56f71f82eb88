/* rooms: match elf kernel processes files unwind arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "children.h"
#include "scratch.h"

#include <dlfcn.h>

#include "base/strbuf.h"
#include "files/mappings.h"
#include "match/matcher.h"

/* Two statics of one name, one in a module; ftrace's addresses lie behind an endbr64. */
static const char kallsyms[] = "ffffffff81000000 T vfs_read\n"
			       "ffffffff81000100 T vfs_write\n"
			       "ffffffff81000200 t helper\n"
			       "ffffffff81000300 t helper\n"
			       "ffffffff81000400 t vfs_split.isra.0\n"
			       "ffffffff81000500 t do_exit_now\n"
			       "ffffffff81000500 T __se_exit_now\n"
			       "ffffffff81000600 T not_traceable\n"
			       "ffffffff81000680 t moved.llvm.123\n"
			       "ffffffff81000700 T _etext\n"
			       "ffffffffc0401000 t ext4_read\t[ext4]\n"
			       "ffffffffc0401100 t helper\t[ext4]\n"
			       "ffffffffc0500000 t bpf_prog_1234_vfs_trace\t[bpf]\n";
static const char sites[] = "ffffffff81000004 vfs_read\n"
			    "ffffffff81000100 vfs_write\n"
			    "ffffffff81000180 __ftrace_invalid_address___64\n"
			    "invalid_line\n"
			    "ffffffff81000204 helper\n"
			    "ffffffff81000304 helper\n"
			    "ffffffff81000404 vfs_split.isra.0\n"
			    "ffffffff81000504 do_exit_now\n"
			    "ffffffff81000684 moved.llvm.123\n"
			    "ffffffffc0401004 ext4_read [ext4]\n"
			    "ffffffffc0401104 helper [ext4]\n";
static const char names_only[] =
	"vfs_read\n__ftrace_invalid_address___64\ninvalid (x)\n\nvfs_write\nhelper\nhelper\n"
	"vfs_split.isra.0\ndo_exit_now\nmoved.llvm.123\next4_read [ext4]\nhelper [ext4]\n";

static const char program[] =
	"#include <sys/sdt.h>\n"
	"typedef void f_t(void);\n"
	"__attribute__((noinline)) void work(void) { STAP_PROBE(shop, buy); }\n"
	"extern f_t __work __attribute__((alias(\"work\")));\n"
	"extern f_t work_again __attribute__((alias(\"work\")));\n"
	"__attribute__((noinline)) void sell(int n) { STAP_PROBE1(shop, buy, n); }\n"
	"void door(void) { STAP_PROBE(house, door); }\n"
	"void f1(int n) __asm__(\"_ZN2ns5applyEi\"); void f1(int n) { sell(n); }\n"
	"void f2(int n) __asm__(\"_ZN2ns5applyEl\"); void f2(int n) { sell(n + 1); }\n"
	"void f3(int n) __asm__(\"_ZN2ns4castIiEEvT_\"); void f3(int n) { sell(n + 2); }\n"
	"void f4(void) __asm__(\"_RNvC7mycrate3run\"); void f4(void) { sell(9); }\n"
	"void f5(int n) __asm__(\"_ZNKSt6vectorIiE4sizeEv\"); void f5(int n) { sell(n + 3); }\n"
	"__asm__(\".globl locked; .type locked, @function; locked: lock; incl (%rax); ret;\"\n"
	"        \".size locked, .-locked\");\n"
	"void __fast_avx(void) { sell(3); } void __slow_sse(void) { sell(4); }\n"
	"static f_t *choose(void) { return __fast_avx; }\n"
	"void fast(void) __attribute__((ifunc(\"choose\")));\n"
	"int main(int c, char **v) { (void)v; work(); sell(c); door(); return 0; }\n";

static int make_files(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	scratch_write("kallsyms", kallsyms);
	scratch_write("modules", "");
	scratch_write("with/available_filter_functions_addrs", sites);
	scratch_write("with/available_filter_functions", names_only);
	scratch_write("old/available_filter_functions", names_only);
	scratch_write("without/events/enable", "");
	for (unsigned i = 0; i < 2; i++) {
		scratch_write(i ? "old/events/sched/sched_switch/id"
				: "with/events/sched/sched_switch/id",
			      "372\n");
		scratch_write(i ? "old/events/sched/sched_wakeup/id"
				: "with/events/sched/sched_wakeup/id",
			      "370\n");
	}
	scratch_write("with/events/sched/sched_bare/format", "");
	scratch_write("with/events/net/netif_rx/id", "9\n");
	scratch_write("with/events/ftrace/function/id", "1\n");
	scratch_write("program.c", program);
	scratch_run("gcc -O1 -w program.c -o program && strip -o bare program && ln program same");
	return 0;
}

static struct host *make_host(const char *kind)
{
	return host_new_at(&(struct host_paths){ scratch_lent("kallsyms"), scratch_lent("modules"),
						 scratch_lent(kind) });
}

/* --- what is matched, as text: "name@addr[module] name ..." --- */

struct matched {
	struct target_list list;
	struct strbuf text;
	struct error e;
	int err;
};

static void matched_fini(struct matched *m)
{
	target_list_fini(&m->list);
	strbuf_fini(&m->text);
}

#define cleanup_matched cleanup(matched_fini)

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void describe(struct matched *m)
{
	char *rows[64];
	size_t n = 0;

	strbuf_clear(&m->text);
	for (size_t i = 0; i < m->list.n; i++) {
		const struct target *t = &m->list.targets[i];

		assert_true(n < 64);
		rows[n] = t->addr ? xasprintf("%s@%" PRIx64, t->name, t->addr & 0xffffffff)
				  : xstrdup(t->name);
		if (t->module) {
			char *with = xasprintf("%s[%s]", rows[n], t->module);

			free(rows[n]);
			rows[n] = with;
		}
		n++;
	}
	qsort(rows, n, sizeof(rows[0]), compare_text);
	for (size_t i = 0; i < n; i++) {
		strbuf_printf(&m->text, "%s%s", i ? " " : "", rows[i]);
		free(rows[i]);
	}
	if (!n)
		strbuf_puts(&m->text, "");
}

static void match_into(struct matched *m, const char *host_kind, const char *text,
		       struct match_scope scope)
{
	cleanup(host_freep) struct host *host = make_host(host_kind);
	cleanup(probe_spec_fini) struct probe_spec spec = {};
	bool is_regexp = text[0] == '/' && text[1] == '/';
	cleanup_free char *in_place = NULL;
	const char *at = strchr(text, '%'); /* "%" is the folder of the files */

	if (at) {
		in_place = xasprintf("%.*s%s%s", (int)(at - text), text, scratch, at + 1);
		text = in_place;
	}
	if (!scope.limit)
		scope.limit = 1000;
	m->err = probe_spec_parse(is_regexp ? text + 2 : text, is_regexp, &spec, &m->e);
	if (!m->err)
		m->e.text[0] = '\0';
	m->err = m->err ?: match_targets(&spec, host, &scope, &m->list, &m->e);
	describe(m);
}

static struct matched match(const char *host_kind, const char *text)
{
	struct matched m = {};

	match_into(&m, host_kind, text, (struct match_scope){});
	return m;
}

static void expect(const char *host_kind, const char *text, const char *want)
{
	cleanup_matched struct matched m = match(host_kind, text);

	if (m.err)
		fail_msg("%s: %s", text, m.e.text);
	if (strcmp(m.text.text, want) != 0)
		fail_msg("%s: %s, not %s", text, m.text.text, want);
}

/* @end is how the message ends. */
static void expect_error(const char *host_kind, const char *text, int code, const char *end)
{
	cleanup_matched struct matched m = match(host_kind, text);
	cleanup_free char *plain = xstrdup(m.e.text);
	char *folder;

	while ((folder = strstr(plain, scratch))) {
		memmove(folder + 1, folder + strlen(scratch), strlen(folder + strlen(scratch)) + 1);
		folder[0] = '%';
	}
	if (m.err != code || strlen(plain) < strlen(end) ||
	    strcmp(plain + strlen(plain) - strlen(end), end) != 0)
		fail_msg("%s: %d '%s', not %d '%s'", text, m.err, plain, code, end);
	assert_int_equal(m.list.n, 0);
}

/* --- kernel functions --- */

TEST(a_full_name_is_not_looked_up)
{
	expect("with", "vfs_read", "vfs_read");
	expect("with", "not_even_there", "not_even_there");

	cleanup_matched struct matched m = match("with", "vfs_read");
	assert_true(m.list.targets[0].is_unchecked);
}

TEST(unless_it_is_asked_for)
{
	static const char helpers[] = "helper@81000200 helper@81000300 helper@c0401100[ext4]";
	static const struct {
		const char *text, *want;
		enum match_depth depth;
		int err;
	} rows[] = {
		{ "vfs_read", "vfs_read", MATCH_NAMES, 0 },
		{ "not_traceable", "", MATCH_NAMES, -ENOENT },
		{ "helper", helpers, MATCH_NAMES, 0 },
		{ "vfs_reed", "", MATCH_NAMES, -ENOENT },
		{ "bpf_prog_1234_vfs_trace", "", MATCH_NAMES, -ENOENT },
		{ "vfs_w*", "vfs_write", MATCH_NAMES, 0 },
		{ "vfs_read", "vfs_read@81000000", MATCH_ADDRESSES, 0 },
		{ "helper", helpers, MATCH_ADDRESSES, 0 },
		{ "vfs_reed", "", MATCH_ADDRESSES, -ENOENT },
		{ "vfs_w*", "vfs_write@81000100", MATCH_ADDRESSES, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct match_scope scope = { .depth = rows[i].depth };
		cleanup_matched struct matched m = {};

		match_into(&m, "with", rows[i].text, scope);
		assert_int_equal(m.err, rows[i].err);
		assert_string_equal(m.text.text, rows[i].want);
		for (size_t t = 0; t < m.list.n; t++)
			assert_false(m.list.targets[t].is_unchecked);
	}
}

TEST(wildcards_match_what_is_traceable)
{
	expect("with", "vfs_*", "vfs_read vfs_split.isra.0 vfs_write");
	expect("with", "*_read", "ext4_read[ext4] vfs_read");
	expect("with", "//fs_(read|write)", "vfs_read vfs_write");
	expect("old", "vfs_?r*", "vfs_write");
	expect("with", "//^moved$", "moved"); /* its number changes with each build */
}

TEST(functions_of_one_name_are_told_apart_by_address)
{
	const char want[] = "helper@81000200 helper@81000300 helper@c0401100[ext4]";

	expect("with", "helper*", want);
	expect("old", "helper*", want);
	/* Then all have addresses, and those of functions, not of patch sites. */
	expect("with", "[hv]*[er]*",
	       "helper@81000200 helper@81000300 helper@c0401100[ext4] vfs_read@81000000 "
	       "vfs_split.isra.0@81000400 vfs_write@81000100");
}

TEST(without_ftraces_list_all_functions_count)
{
	expect("without", "vfs_*",
	       "vfs_read@81000000 vfs_split.isra.0@81000400 "
	       "vfs_write@81000100");
	expect("without", "*exit_now", "__se_exit_now@81000500");
}

/* Where ftrace's list lacks one, the kernel refuses kprobes: what is listed is not to fail. */
TEST(what_matches_nothing_offers_near_names)
{
	static const char *const rows[][2] = {
		{ "not_tr*", "no probe there (notrace or protected)" },
		{ "vfs_reed*", "no kernel function matches 'vfs_reed*' (did you mean vfs_read?)" },
		{ "p::helpr?", " matches 'p::helpr?' (did you mean helper?)" },
		{ "xyzzy*", " matches 'xyzzy*'" },
		{ "t:sched:sched_swich", " (did you mean t:sched:sched_switch?)" },
		{ "t:sched:sched_wokeup*", " (did you mean t:sched:sched_wakeup?)" },
		{ "t:ftrace:*", "no tracepoint matches 't:ftrace:*'" },
		{ "%/program:sel",
		  "no function of %/program matches '%/program:sel' (did you mean sell?)" },
		{ "%/program:ns::aply", " (did you mean ns::apply?)" },
		{ "u:%/program:dor",
		  "no USDT probe of %/program matches 'u:%/program:dor' (did you mean door?)" },
		{ "u:%/program:house:buy", " matches 'u:%/program:house:buy'" },
		{ "u:%/program:hous:door", " (did you mean house:door?)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_error("with", rows[i][0], -ENOENT, rows[i][1]);
	expect_error("without", "bpf_prog*", -ENOENT, " matches 'bpf_prog*'");
	expect_error("with", "*invalid*", -ENOENT, " matches '*invalid*'");
	expect_error("old", "*invalid*", -ENOENT, " matches '*invalid*'");
}

TEST(hidden_addresses_are_named_as_the_reason)
{
	const char *symbols = scratch_lent("hidden"), *tracefs = scratch_lent("without");
	cleanup(host_freep) struct host *host =
		host_new_at(&(struct host_paths){ symbols, symbols, tracefs });
	cleanup(probe_spec_fini) struct probe_spec spec = {};
	cleanup(target_list_fini) struct target_list list = {};
	struct match_scope scope = { .limit = 10 };
	struct error e;

	scratch_write("hidden", "0000000000000000 T vfs_read\n");
	assert_ok(probe_spec_parse("vfs_*", false, &spec, &e), e);
	assert_int_equal(match_targets(&spec, host, &scope, &list, &e), -EACCES);
	assert_non_null(strstr(e.text, "kptr_restrict"));
}

TEST(the_kernels_refusal_of_a_name_is_explained)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "vfs_reed", "no kernel function matches 'vfs_reed' (did you mean vfs_read?)" },
		{ "vfs_split",
		  "no kernel function matches 'vfs_split' (did you mean vfs_split.isra.0?)" },
		{ "sched_switch",
		  "no kernel function matches 'sched_switch' (did you mean t:sched:sched_switch?)" },
		{ "not_traceable",
		  "kernel function 'not_traceable' exists, but the kernel allows no "
		  "probe there (notrace or protected)" },
	};
	cleanup(host_freep) struct host *host = make_host("with");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(probe_spec_fini) struct probe_spec spec = {};
		struct error e;

		assert_ok(probe_spec_parse(rows[i].text, false, &spec, &e), e);
		assert_int_equal(match_explain_unknown(&spec, host, &e), -ENOENT);
		assert_string_equal(e.text, rows[i].want);
	}
}

TEST(each_place_is_listed_once_over_all_calls)
{
	cleanup_matched struct matched m = {};
	const char *const texts[] = { "vfs_read",        "vfs_*",          "helper*",
				      "helper",          "%/program:work", "%/same:__work",
				      "%/program:w*",    "t:sched:*",      "t:sched:sched_switch",
				      "u:%/program:buy", "u:%/same:shop:*" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		match_into(&m, "with", texts[i], (struct match_scope){});
		assert_ok(m.err, m.e);
	}
	assert_string_equal(m.text.text, "helper@81000200 helper@81000300 helper@c0401100[ext4] "
					 "sched:sched_switch sched:sched_wakeup shop:buy shop:buy "
					 "vfs_read vfs_split.isra.0 vfs_write work");
}

TEST(more_than_the_limit_is_refused_and_the_list_left_as_it_was)
{
	cleanup_matched struct matched m = {};

	match_into(&m, "with", "vfs_read", (struct match_scope){ .limit = 3 });
	assert_ok(m.err, m.e);
	match_into(&m, "with", "*_*", (struct match_scope){ .limit = 3 });
	assert_int_equal(m.err, -E2BIG);
	assert_string_equal(m.e.text, "'*_*' and the patterns before it match more than 3 places");
	assert_string_equal(m.text.text, "vfs_read");
	match_into(&m, "with", "vfs_*", (struct match_scope){ .limit = 3 });
	assert_ok(m.err, m.e);
	assert_string_equal(m.text.text, "vfs_read vfs_split.isra.0 vfs_write");
	match_into(&m, "with", "t:sched:sched_switch", (struct match_scope){ .limit = 3 });
	assert_int_equal(m.err, -E2BIG);
}

/* --- tracepoints --- */

TEST(tracepoints_are_matched_in_both_parts)
{
	expect("with", "t:sched:sched_switch", "sched:sched_switch");
	expect("with", "t:sched:*", "sched:sched_switch sched:sched_wakeup"); /* not the bare one */
	expect("with", "t:*:net*", "net:netif_rx");
	expect("with", "//t:^(net|sched)$:_(rx|wakeup)$", "net:netif_rx sched:sched_wakeup");
}

TEST(a_library_of_a_tracepoints_category_offers_it)
{
	static const char *const rows[][2] = {
		{ "sched:sched_switch", " (did you mean t:sched:sched_switch?)" },
		{ "sched:sched_swich", " (did you mean t:sched:sched_switch?)" },
		{ "c:malloc", "" },
	};
	cleanup(host_freep) struct host *host = make_host("with");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(probe_spec_fini) struct probe_spec spec = {};
		struct near near;

		assert_works(probe_spec_parse(rows[i][0], false, &spec, &e));
		match_near_tracepoints(&spec, host, &near);
		assert_string_equal(near_text(&near), rows[i][1]);
	}
}

TEST(a_tracepoint_carries_perfs_number)
{
	cleanup_matched struct matched m = match("with", "t:sched:sched_switch");

	assert_int_equal(m.list.n, 1);
	assert_int_equal(m.list.targets[0].tracepoint_id, 372);
	assert_string_equal(m.list.targets[0].category, "sched");
	assert_string_equal(m.list.targets[0].event, "sched_switch");
}

/* --- user functions --- */

TEST(user_functions_are_matched_by_symbol)
{
	cleanup_matched struct matched m = match("with", "%/program:sell");
	cleanup_free char *path = scratch_path("program");

	assert_ok(m.err, m.e);
	assert_int_equal(m.list.n, 1);
	assert_true(m.list.targets[0].offset > 0);
	assert_string_equal(m.list.targets[0].path, path);
	assert_string_equal(m.list.targets[0].symbol, "sell");
}

TEST(names_are_matched_as_written_too)
{
	expect("with", "%/program:ns::apply", "ns::apply(int) ns::apply(long)");
	expect("with", "%/program:ns::apply(int)", "ns::apply(int)");
	expect("with", "%/program:*apply*", "ns::apply(int) ns::apply(long)");
	expect("with", "%/program:ns::cast<int>", "void ns::cast<int>(int)");
	expect("with", "%/program:mycrate::*", "mycrate::run");
	expect("with", "%/program:_ZN2ns5applyEl", "ns::apply(long)");
	expect("with", "%/program:std::vector<int>::size", "std::vector<int>::size() const");
}

TEST(raw_names_are_those_of_the_symbol_table)
{
	cleanup_matched struct matched m = {};

	match_into(&m, "with", "%/program:ns::apply", (struct match_scope){ .raw_names = true });
	assert_ok(m.err, m.e);
	assert_string_equal(m.text.text, "_ZN2ns5applyEi _ZN2ns5applyEl");
}

TEST(of_several_names_of_a_place_the_plainest_is_kept)
{
	expect("with", "%/program:*work*", "work");
	expect("with", "%/program:__work", "__work");
}

TEST(a_place_keeps_the_name_that_was_listed_first)
{
	static const struct {
		const char *texts[2];
		enum match_depth depth;
		const char *want;
	} rows[] = {
		{ { "%/program:*_*work*", "%/program:work" }, 0, "__work" },
		{ { "%/program:work_again", "%/same:__work" }, 0, "work_again" },
		{ { "%/program:work", "%/program:w*" }, 0, "work" },
		{ { "do_exit_now", "__se_exit_now" }, MATCH_ADDRESSES, "do_exit_now" },
		{ { "__se_exit_now", "do_exit*" }, MATCH_ADDRESSES, "__se_exit_now" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct match_scope scope = { .depth = rows[i].depth };
		cleanup_matched struct matched m = {};

		match_into(&m, "with", rows[i].texts[0], scope);
		assert_ok(m.err, m.e);
		match_into(&m, "with", rows[i].texts[1], scope);
		assert_int_equal(m.list.n, 1);
		assert_string_equal(m.list.targets[0].name, rows[i].want);
	}
}

TEST(a_function_chosen_at_run_time_tells_how_to_list_its_implementations)
{
	expect_error("with", "%/program:fast", -EOPNOTSUPP,
		     "fast of %/program is an IFUNC: the loader picks an implementation for this "
		     "CPU; trace those that -l '%/program:*fast_*' lists, if any");
	expect("with", "%/program:*fast*", "__fast_avx");
}

TEST(what_is_no_elf_file_is_refused)
{
	cleanup_matched struct matched m = match("with", "%/program.c:x");

	assert_int_equal(m.err, -ENOEXEC);
	assert_non_null(strstr(m.e.text, "program.c"));
}

/* What this process calls is what the tool must find: the C library is the same file. */
TEST(a_function_of_this_c_library_is_the_one_chosen_for_this_cpu)
{
	cleanup_matched struct matched m = match("with", "c:strlen");
	cleanup(mapping_list_fini) struct mapping_list own = {};
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct error e;

	assert_ok(m.err, m.e);
	assert_int_equal(m.list.n, 1);
	assert_string_equal(m.list.targets[0].name, "strlen");
	assert_non_null(libc);

	uint64_t addr = (uintptr_t)dlsym(libc, "strlen");

	assert_ok(mapping_list_read((uint32_t)getpid(), &own, &e), e);

	const struct mapping *at = mapping_list_at(&own, addr);

	assert_non_null(at);
	assert_true(m.list.targets[0].offset == addr - at->start + at->offset);
	assert_int_equal(dlclose(libc), 0);

	cleanup_matched struct matched both = match("with", "c:mem[cm]*[py]");
	assert_ok(both.err, both.e);
	assert_non_null(strstr(both.text.text, "memcpy"));
}

TEST(parts_of_libc_are_found_in_libc)
{
	expect("with", "pthread:pthread_create", "pthread_create");
	expect("with", "c:malloc", "malloc");
}

TEST(processes_that_share_a_file_share_its_targets)
{
	cleanup_matched struct matched m = {};
	const pid_t child = child_start();
	const uint32_t pids[] = { (uint32_t)getpid(), (uint32_t)child };

	match_into(&m, "with", "c:malloc",
		   (struct match_scope){ .pids = pids, .n_pids = 2, .limit = 10 });
	child_end(child);
	assert_ok(m.err, m.e);
	assert_string_equal(m.text.text, "malloc");
	/* It is this machine's own, so its path does not need the process. */
	assert_int_equal(strncmp(m.list.targets[0].path, "/proc/", 6) != 0, 1);

	match_into(&m, "with", "python3:main",
		   (struct match_scope){ .pids = pids, .n_pids = 1, .limit = 10 });
	assert_int_equal(m.err, -ENOENT);
	assert_non_null(strstr(m.e.text, "has mapped no library or program 'python3'"));
}

/* --- USDT --- */

TEST(a_probe_at_several_places_is_several_targets)
{
	cleanup_matched struct matched m = match("with", "u:%/program:buy");

	assert_ok(m.err, m.e);
	assert_true(m.list.n >= 2);
	assert_true(m.list.targets[0].offset != m.list.targets[1].offset);
	assert_int_equal(m.list.targets[0].kind, TARGET_USDT);
	expect("with", "u:%/program:house:*", "house:door");
	expect("with", "u:%/program:d*", "house:door");
}

/* --- what another process matches is what this one would --- */

struct both {
	struct probe_spec specs[4];
	size_t n;
	struct target_list here, aside;
	struct error why_here, why_aside;
};

static void both_fini(struct both *b)
{
	while (b->n)
		probe_spec_fini(&b->specs[--b->n]);
	target_list_fini(&b->here);
	target_list_fini(&b->aside);
}

/* Texts with "%s" for the folder of the files. */
static int match_both(const char *const texts[4], struct both *b)
{
	static const struct match_scope all = { .limit = 100000, .depth = MATCH_PATTERNS };
	int err = 0;

	for (; b->n < 4 && texts[b->n]; b->n++) {
		cleanup_free char *text = xasprintf(texts[b->n], scratch);

		assert_int_equal(probe_spec_parse(text, false, &b->specs[b->n], NULL), 0);
		err = err ?: match_targets(&b->specs[b->n], NULL, &all, &b->here, &b->why_here);
	}
	assert_int_equal(match_in_files(b->specs, b->n, &all, &b->aside, &b->why_aside), err);
	return err;
}

static char *whole_target(const struct target *t)
{
	const char *const texts[] = { t->name, t->symbol, t->path, t->arguments };
	struct strbuf made = {};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		strbuf_printf(&made, "%s|", texts[i] ? texts[i] : "(none)");
	strbuf_printf(&made, "%d %d %d %lx %lx %lx %lx", t->kind, t->obstacle, t->is_32_bit,
		      t->vaddr, t->offset, t->semaphore, t->place);
	return made.text;
}

TEST(what_another_process_matches_is_the_same)
{
	static const char *const texts[4] = { "%s/program:work", "u:%s/program:buy", "%s/program:*",
					      "c:mem*" };
	cleanup(both_fini) struct both b = {};

	assert_int_equal(match_both(texts, &b), 0);
	assert_true(b.here.n > 10);
	assert_int_equal(b.here.n, b.aside.n);
	for (size_t i = 0; i < b.here.n; i++) {
		cleanup_free char *here = whole_target(&b.here.targets[i]);
		cleanup_free char *aside = whole_target(&b.aside.targets[i]);

		assert_string_equal(here, aside);
	}
}

TEST(what_is_wrong_is_the_same_in_another_process)
{
	static const char *const texts[][4] = { { "%s/program:wrok" },
						{ "%s/program.c:work" },
						{ "%s/none:work" },
						{ "u:%s/program:bye" } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cleanup(both_fini) struct both b = {};

		assert_true(match_both(texts[i], &b) < 0);
		assert_string_equal(b.why_here.text, b.why_aside.text);
		assert_int_equal(b.aside.n, 0);
	}
}

TEST(the_limit_holds_in_another_process)
{
	static const struct match_scope two = { .limit = 2, .depth = MATCH_PATTERNS };
	cleanup(probe_spec_fini) struct probe_spec spec = {};
	cleanup(target_list_fini) struct target_list out = {};

	assert_int_equal(probe_spec_parse("c:mem*", false, &spec, NULL), 0);
	assert_int_equal(match_in_files(&spec, 1, &two, &out, NULL), -E2BIG);
	assert_int_equal(out.n, 0);
}

TEST_MAIN(make_files, scratch_remove)
