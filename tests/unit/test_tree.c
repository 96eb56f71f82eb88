/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Trees and differences against files in tests/golden, and against sums that are computed in
 * another way. */
#include "test.h"

#include "base/hash.h"
#include "golden.h"
#include "profile/changes.h"
#include "report/render.h"
#include "report_sample.h"

static struct strbuf rendered(const struct profile *p, const struct render_style *style)
{
	struct strbuf made = {};

	assert_int_equal(render_tree(p, style, to_strbuf, &made), 0);
	return made;
}

/* A counted part of the sample, whose huge count hides all others. */
static struct profile *small_sample(bool per_process)
{
	struct profile *p = sample(per_process);

	p->total = 0;
	for (size_t i = 0; i < p->n_stacks; i++) {
		p->stacks[i].count = p->stacks[i].count < 0 ? 1000 : p->stacks[i].count;
		p->total += p->stacks[i].count;
	}
	profile_add_loss(p, "no room for a new stack", 12);
	return p;
}

static struct profile *without_last(struct profile *p)
{
	p->total -= p->stacks[--p->n_stacks].count;
	return p;
}

/* The sample before, and a changed one without its last stack after; normalized: from that back. */
static struct profile *sample_difference(bool normalized)
{
	struct profile *before = small_sample(true), *after = without_last(small_sample(true));

	for (size_t i = 0; i < after->n_stacks; i++) {
		after->stacks[i].count += (int64_t)(i * 3) - 1;
		after->total += (int64_t)(i * 3) - 1;
	}

	struct profile *p = normalized ? difference_of(before, after, true)
				       : difference_of(after, before, false);

	profile_free(before);
	profile_free(after);
	return p;
}

enum of { TREE, DIFFERENCE, NORMALIZED };

/* clang-format off */
#define ALL .offsets = true, .addresses = true, .delimited = true, .per_process = true, .ascii = true, \
	.time = "14:02:11", .colours = true, .invert = true

/* Files in tests/golden: without options, what each one changes, and with all. */
static const struct golden_row {
	const char *name;
	enum of of;
	struct render_style style;
	size_t top;
	render_function *render; /* NULL: render_tree */
	bool is_whole;
} golden_rows[] = {
	{ "tree.txt", TREE, {}, 0, NULL, true },
	{ "tree_s.txt", TREE, { .offsets = true }, 0, NULL, false },
	{ "tree_v.txt", TREE, { .addresses = true }, 0, NULL, false },
	{ "tree_d.txt", TREE, { .delimited = true }, 0, NULL, false },
	{ "tree_P.txt", TREE, { .per_process = true }, 0, NULL, false },
	{ "tree_T.txt", TREE, { .time = "14:02:11" }, 0, NULL, false },
	{ "tree_ascii.txt", TREE, { .ascii = true }, 0, NULL, false },
	{ "tree_colours.txt", TREE, { .colours = true }, 0, NULL, false },
	{ "tree_invert.txt", TREE, { .invert = true }, 0, NULL, false },
	{ "tree_min.txt", TREE, { .min_percent = 2.5 }, 0, NULL, true },
	{ "tree_top.txt", TREE, {}, 3, NULL, true },
	{ "tree_all.txt", TREE, { ALL, .min_percent = 0.2 }, 5, NULL, true },
	{ "tree_difference.txt", DIFFERENCE, {}, 0, NULL, true },
	{ "tree_difference_all.txt", NORMALIZED, { ALL, .min_percent = 5 }, 3, NULL, true },
	{ "text_difference.txt", DIFFERENCE, { .per_process = true }, 0, render_text, true },
	{ "folded_difference.txt", DIFFERENCE, { .per_process = true }, 0, render_folded, true },
};
/* clang-format on */

static void tree_is_what_the_golden_file_says(void **state)
{
	const struct golden_row *row = *state;
	cleanup_strbuf struct strbuf made = {}, plain = {};
	cleanup(profile_freep) struct profile *p =
		row->of == TREE ? small_sample(row->style.per_process)
				: sample_difference(row->of == NORMALIZED);

	cleanup_changes struct changes *changes = changes_of_difference(p);
	struct render_style style = row->style;

	style.changes = changes;
	if (!row->is_whole)
		plain = rendered(p, &(struct render_style){});
	profile_choose(p, 0, row->top);
	assert_int_equal((row->render ? row->render : render_tree)(p, &style, to_strbuf, &made), 0);
	if (!row->is_whole)
		golden_keep_changes(&plain, &made);
	golden_expect(row->name, &made);
}

TEST(an_empty_tree_has_its_root)
{
	struct profile_builder *b = profile_builder_new(1);
	cleanup(profile_freep) struct profile *p = finish(b, &table);
	const struct render_style style = {};
	cleanup_strbuf struct strbuf made = rendered(p, &style);

	assert_string_equal(made.text, "\n"
				       "        HITS  OF ALL  OF PARENT\n"
				       "           0    0.0%             all\n"
				       "\n");
}

/* --- sums --- */

enum { NUMBERS = 33, MOST_LEVELS_SEEN = 70 };

/* The level of the node whose line is at @at, and its label. 0: the line is no node's. */
static size_t level_of(const char *at, const char **label)
{
	if (strspn(at, " 0123456789") < 12)
		return 0;
	at += NUMBERS;
	for (size_t level = 1;; level++, at += 3) {
		if (strncmp(at, "|- ", 3) == 0 || strncmp(at, "`- ", 3) == 0) {
			*label = at + 3;
			return level;
		}
		if (strncmp(at, "|  ", 3) != 0 && strncmp(at, "   ", 3) != 0)
			return 0;
	}
}

/* A node that is open while its children are read. */
struct open_node {
	int64_t count, of_children;
	bool has_children;
};

static void close_nodes(const struct open_node *open, size_t from, size_t to)
{
	for (size_t level = from; level < to; level++)
		if (open[level].has_children)
			assert_int_equal(open[level].of_children, open[level].count);
}

/* Each node has the hits of its children. Returns the number of nodes. */
static size_t check_sums(const struct strbuf *made, int64_t total)
{
	struct open_node open[MOST_LEVELS_SEEN] = { { .count = total } };
	size_t n_open = 1, n_nodes = 0;
	const char *label;

	for (const char *at = made->text; *at; at = strchr(at, '\n') + 1) {
		const size_t level = level_of(at, &label);

		if (!level)
			continue;
		assert_true(level <= n_open);
		close_nodes(open, level, n_open);
		open[level] = (struct open_node){ .count = strtoll(at, NULL, 10) };
		open[level - 1].of_children += open[level].count;
		open[level - 1].has_children = true;
		n_open = level + 1;
		n_nodes++;
	}
	close_nodes(open, 0, n_open);
	return n_nodes;
}

static struct profile *random_profile(uint32_t n, uint32_t depth)
{
	struct profile_builder *b = profile_builder_new(1);
	uint32_t row[64];

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t n_frames = (uint32_t)(hash_mix(i + 1) % depth);

		for (uint32_t f = 0; f < n_frames; f++)
			row[f] = (uint32_t)(hash_mix(i * 64 + f + 1) % 3 * 4);
		add(b, hash_mix(i) % 100, i % 3, "sh", n_frames / 2, n_frames - n_frames / 2, row);
	}
	return finish(b, &table);
}

TEST(each_node_has_the_hits_of_its_children)
{
	static const struct render_style styles[] = {
		{ .ascii = true },
		{ .ascii = true, .invert = true },
		{ .ascii = true, .invert = true, .per_process = true, .delimited = true },
		{ .ascii = true, .min_percent = 1 },
	};

	for (size_t top = 0; top < 1000; top += 500)
		for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
			cleanup(profile_freep) struct profile *p = random_profile(2000, 10);

			profile_choose(p, 0, top);

			cleanup_strbuf struct strbuf made = rendered(p, &styles[i]);

			assert_true(check_sums(&made, p->total) > 50);
		}
}

/* --- size --- */

TEST(deep_stacks_have_bounded_lines)
{
	enum { DEPTH = 3000 };
	struct profile_builder *b = profile_builder_new(1);
	static uint32_t row[DEPTH];
	const struct render_style style = {};
	size_t longest = 0;

	for (uint32_t i = 0; i < DEPTH; i++)
		add(b, 1, 0, NULL, 0, i, row); /* each level branches: here or deeper */

	cleanup(profile_freep) struct profile *p = finish(b, &table);
	cleanup_strbuf struct strbuf made = rendered(p, &style);

	for (const char *at = made.text; *at; at = strchr(at, '\n') + 1) {
		const size_t n = (size_t)(strchr(at, '\n') - at);

		longest = n > longest ? n : longest;
	}
	assert_true(longest < 500);
	assert_non_null(strstr(made.text, "─ (61) "));
	assert_non_null(strstr(made.text, "─ (2999) "));
}

TEST_ROWS(golden_rows, tree_is_what_the_golden_file_says)

TEST_MAIN(NULL, NULL)
