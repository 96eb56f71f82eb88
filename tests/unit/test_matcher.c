/* rooms: match elf kernel processes files unwind arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What another process matches is what this one would. */
#include "test.h"

#include "unit/scratch.h"

#include "base/text.h"
#include "match/matcher.h"

static const char program[] =
	"#include <sys/sdt.h>\n"
	"__attribute__((noinline)) void work(void) { STAP_PROBE(shop, buy); }\n"
	"void work_again(void) __attribute__((alias(\"work\")));\n"
	"void locked(void); __asm__(\".globl locked; .type locked, @function; "
	"locked: lock; incl (%rax); ret; .size locked, .-locked\");\n"
	"int main(void) { work(); return 0; }\n";

static int make_files(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	scratch_write("program.c", program);
	return scratch_run("gcc -w -o program program.c");
}

struct specs {
	struct probe_spec specs[8];
	size_t n;
};

static void add(struct specs *s, const char *format)
{
	cleanup_free char *text = xasprintf(format, scratch);

	assert_int_equal(probe_spec_parse(text, false, &s->specs[s->n++], NULL), 0);
}

static void specs_fini(struct specs *s)
{
	while (s->n)
		probe_spec_fini(&s->specs[--s->n]);
}

static void assert_same_text(const char *a, const char *b)
{
	assert_true(!a == !b);
	if (a)
		assert_string_equal(a, b);
}

/* Returns how many targets have several names. */
static size_t assert_same(const struct target_list *a, const struct target_list *b)
{
	size_t n_also = 0;

	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		const struct target *x = &a->targets[i], *y = &b->targets[i];

		assert_same_text(x->name, y->name);
		assert_true(text_is_same(x->also, y->also));
		n_also += x->also != NULL;
		assert_same_text(x->symbol, y->symbol);
		assert_same_text(x->path, y->path);
		assert_true(x->kind == y->kind && x->obstacle == y->obstacle);
		assert_true(x->vaddr == y->vaddr && x->offset == y->offset);
		assert_true(x->semaphore == y->semaphore && x->place == y->place);
		assert_true(x->is_32_bit == y->is_32_bit);
		assert_true(text_is_same(x->arguments, y->arguments));
	}
	return n_also;
}

static const struct match_scope scope = { .limit = 100000, .depth = MATCH_PATTERNS };

TEST(what_matches_is_the_same)
{
	cleanup(target_list_fini) struct target_list here = {}, aside = {};
	cleanup(specs_fini) struct specs specs = {};

	add(&specs, "%s/program:work");
	add(&specs, "u:%s/program:buy");
	add(&specs, "%s/program:*");
	add(&specs, "c:mem*");
	for (size_t i = 0; i < specs.n; i++)
		assert_int_equal(match_targets(&specs.specs[i], NULL, &scope, &here, NULL), 0);
	assert_true(here.n > 10);
	assert_int_equal(match_in_files(specs.specs, specs.n, &scope, &aside, NULL), 0);
	assert_true(assert_same(&here, &aside) > 0);
}

TEST(what_is_wrong_is_the_same)
{
	static const char *const texts[] = { "%s/program:wrok", "%s/program.c:work", "%s/none:work",
					     "u:%s/program:bye" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cleanup(target_list_fini) struct target_list here = {}, aside = {};
		cleanup(specs_fini) struct specs specs = {};
		struct error a = {}, b = {};

		add(&specs, texts[i]);

		const int err = match_targets(specs.specs, NULL, &scope, &here, &a);

		assert_true(err < 0);
		assert_int_equal(match_in_files(specs.specs, 1, &scope, &aside, &b), err);
		assert_string_equal(a.text, b.text);
		assert_int_equal(aside.n, 0);
	}
}

TEST(the_bound_of_targets_holds)
{
	cleanup(target_list_fini) struct target_list out = {};
	cleanup(specs_fini) struct specs specs = {};
	struct match_scope few = scope;

	few.limit = 2;
	add(&specs, "c:mem*");
	assert_int_equal(match_in_files(specs.specs, 1, &few, &out, NULL), -E2BIG);
	assert_int_equal(out.n, 0);
}

TEST_MAIN(make_files, scratch_remove)
