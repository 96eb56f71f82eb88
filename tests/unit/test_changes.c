/* rooms: profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Claims about changes, with simulated runs. Seeds are fixed, so results are, too. The promise: of
 * pairs of runs of one process, at most one in twenty has a wrong claim. bench/noise.c checks the
 * promise with more pairs, and with distributions that the rule was not tuned on.
 */
#include "test.h"

#include "base/hash.h"
#include "profile/changes.h"
#include "profile/difference.h"
#include "profile/noise.h"
#include "stacks.h"

enum { N_PAIRS = 250, N_CHANGED = 50, N_FUNCTIONS = 20, MOST_FILES = 6 };

/* --- random numbers --- */

static uint64_t next_random(uint64_t *state)
{
	return hash_mix(*state += 0x9e3779b97f4a7c15ULL);
}

static double uniform(uint64_t *state)
{
	return (double)(next_random(state) >> 11) / 9007199254740992.0;
}

/* About normal: the sum of 12 uniform numbers. */
static double normal(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform(state);
	return sum;
}

/* e^-x for x from 0 to 10. */
static double exp_minus(double x)
{
	double term = 1, sum = 1;

	for (int i = 1; i < 60; i++) {
		term *= x / i;
		sum += term;
	}
	return 1 / sum;
}

/* Knuth's method, at most 10 at once. */
static int64_t poisson(uint64_t *state, double mean)
{
	int64_t count = 0;

	while (mean > 0) {
		const double part = mean > 10 ? 10 : mean;
		const double limit = mean > 10 ? 4.5399929762484854e-5 : exp_minus(part);

		double product = uniform(state);

		while (product > limit) {
			product *= uniform(state);
			count++;
		}
		mean -= part;
	}
	return count;
}

/* --- simulated runs --- */

/* How the counts of a function in the slices of a run vary. */
struct process {
	double least, most; /* mean of a function's counts in a slice */
	double common;      /* spread of a factor that all functions share in a slice */
	double burst;       /* chance of ten times as many */
	double memory;      /* of a function's phases; 0: none */
	double of_run;      /* spread of a function's factor for a whole run */
};

static double positive(double x)
{
	return x > 0 ? x : 0;
}

static double mean_of(const struct process *how, uint64_t *seed, double *phase)
{
	double factor = uniform(seed) < how->burst ? 10 : 1;

	*phase = how->memory * *phase + (1 - how->memory) * normal(seed);
	if (how->memory > 0)
		factor *= positive(1 + *phase);
	return factor;
}

struct run {
	const struct process *how;
	const double *means; /* of each function */
	size_t n_slices;     /* 0: one mean for the whole run, and no slices */
	const char *value;   /* name */
};

/* Function i is called by main, every second one by way of "middle". */
static uint32_t put_stack(struct profile_builder *b, uint32_t i, int64_t count)
{
	const uint32_t row[] = { i, N_FUNCTIONS, N_FUNCTIONS + 1 };
	const uint32_t direct[] = { i, N_FUNCTIONS + 1 };

	return ADD(b, .count = count, .frames = i % 2 ? row : direct, .n_user = i % 2 ? 3 : 2);
}

static struct profile *finish(struct profile_builder *b)
{
	static char names[N_FUNCTIONS + 2][8];
	struct frame frames[N_FUNCTIONS + 2] = {};
	const struct frame_table table = { .frames = frames, .n = ARRAY_SIZE(frames) };

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%zu", i);
		frames[i] =
			(struct frame){ .kind = FRAME_USER, .name = names[i], .image = NO_IMAGE };
	}

	return finish_table(b, &table);
}

static struct profile *simulate(const struct run *run, uint64_t *seed)
{
	struct profile_builder *b = profile_builder_new(1);
	double phases[N_FUNCTIONS], of_run[N_FUNCTIONS];
	const size_t n = run->n_slices ? run->n_slices : 1;

	for (size_t i = 0; i < N_FUNCTIONS; i++) {
		phases[i] = normal(seed) / 2;
		of_run[i] = positive(1 + run->how->of_run * normal(seed));
	}
	for (size_t s = 0; s < n; s++) {
		const double common = 1 + run->how->common * (2 * uniform(seed) - 1);

		if (run->n_slices)
			profile_builder_slice(b, s * 100, s * 100 + 100);
		for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
			const double mean = run->means[i] * of_run[i] * common *
					    mean_of(run->how, seed, &phases[i]);
			const int64_t count = poisson(seed, mean);

			if (!count)
				continue;

			const uint32_t stack = put_stack(b, i, count);

			if (run->n_slices)
				profile_builder_part(b, stack, (uint32_t)s, count);
		}
	}

	struct profile *p = finish(b);

	p->values[0].name = run->value;
	p->about.duration_ns = n * 100;
	return p;
}

static void random_means(const struct process *how, uint64_t *seed, double *means)
{
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		means[i] = how->least + (how->most - how->least) * uniform(seed) * uniform(seed);
}

static size_t n_claims(const struct changes *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += (size_t)c->rows[i].self.is_beyond_noise +
		     (size_t)c->rows[i].total.is_beyond_noise;
	return n;
}

/* Runs of both sides; each becomes one side's only file, or one of several. */
struct pair {
	struct run after, before;
	size_t n_files;
	enum changes_basis basis; /* expected */
};

static struct changes *compare(const struct pair *pair, bool normalize, uint64_t *seed)
{
	struct profile *files[2 * MOST_FILES];

	for (size_t i = 0; i < 2 * pair->n_files; i++)
		files[i] = simulate(i < pair->n_files ? &pair->after : &pair->before, seed);

	const struct profile *const *list = (const struct profile *const *)files;
	const struct changes_side after = { list, pair->n_files };
	const struct changes_side before = { list + pair->n_files, pair->n_files };
	struct changes *c = changes_new(&after, &before, normalize);

	assert_int_equal(c->basis, pair->basis);
	for (size_t i = 0; i < 2 * pair->n_files; i++)
		profile_free(files[i]);
	return c;
}

/* How many of N_PAIRS pairs of runs of one process have a claim? Every second is normalized. */
static size_t count_false(const struct process *how, struct pair pair)
{
	uint64_t seed = 20260101;
	size_t n_false = 0;

	for (int i = 0; i < N_PAIRS; i++) {
		double means[N_FUNCTIONS];

		random_means(how, &seed, means);
		pair.after.how = pair.before.how = how;
		pair.after.means = pair.before.means = means;

		struct changes *c = compare(&pair, i % 2, &seed);

		n_false += n_claims(c) > 0;
		changes_free(c);
	}
	return n_false;
}

#define PAIR(n_after, n_before, name, files, of)                                           \
	{                                                                                  \
		.after = { .n_slices = (n_after), .value = (name) },                       \
		.before = { .n_slices = (n_before), .value = (name) }, .n_files = (files), \
		.basis = (of)                                                              \
	}

TEST(runs_of_one_process_rarely_make_a_claim)
{
	static const struct {
		const char *name;
		struct process how;
		struct pair pair;
	} rows[] = {
		{ "Poisson", { .least = 1, .most = 60 }, PAIR(20, 20, "hits", 1, CHANGES_SLICES) },
		{ "rare functions", { .most = 0.6 }, PAIR(20, 20, "hits", 1, CHANGES_SLICES) },
		{ "load that varies",
		  { .least = 1, .most = 30, .common = 0.9 },
		  PAIR(20, 20, "hits", 1, CHANGES_SLICES) },
		{ "bursts",
		  { .least = 0.5, .most = 10, .common = 0.5, .burst = 0.1 },
		  PAIR(20, 20, "hits", 1, CHANGES_SLICES) },
		/* Phases cannot be told from changes if there are few slices. */
		{ "phases longer than a slice",
		  { .least = 5, .most = 40, .memory = 0.6 },
		  PAIR(60, 60, "hits", 1, CHANGES_SLICES) },
		{ "lengths", { .least = 1, .most = 60 }, PAIR(50, 20, "hits", 1, CHANGES_SLICES) },
		{ "three files",
		  { .least = 1, .most = 60, .of_run = 0.2 },
		  PAIR(0, 0, "hits", 3, CHANGES_FILES) },
		{ "six files",
		  { .least = 1, .most = 60, .of_run = 0.2 },
		  PAIR(0, 0, "hits", 6, CHANGES_FILES) },
		{ "three files, rare", { .most = 3 }, PAIR(0, 0, "hits", 3, CHANGES_FILES) },
		{ "six files, rare", { .most = 3 }, PAIR(0, 0, "hits", 6, CHANGES_FILES) },
		{ "samples",
		  { .least = 1, .most = 60 },
		  PAIR(0, 0, "samples", 1, CHANGES_SAMPLES) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const size_t n_false = count_false(&rows[i].how, rows[i].pair);

		print_message("%s: %zu of %d pairs have a wrong claim\n", rows[i].name, n_false,
			      N_PAIRS);
		assert_true(n_false * 20 <= N_PAIRS);
	}
}

static const struct change *change_of(const struct changes *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->frames.frames[c->rows[i].frame].name, name) == 0)
			return &c->rows[i];
	fail_msg("no change of %s", name);
	return NULL;
}

/* How many per cent of pairs have the claim that f0 changed, by @factor? */
static size_t count_found(struct pair pair, double mean, double factor, bool normalize)
{
	static const struct process how = { .common = 0.3 };
	uint64_t seed = 7;
	size_t n_found = 0;

	for (int i = 0; i < N_CHANGED; i++) {
		double before[N_FUNCTIONS], after[N_FUNCTIONS];

		for (size_t k = 0; k < N_FUNCTIONS; k++)
			before[k] = after[k] = mean;
		after[0] = mean * factor;
		pair.after.how = pair.before.how = &how;
		pair.after.means = after;
		pair.before.means = before;

		struct changes *c = compare(&pair, normalize, &seed);

		n_found += change_of(c, "f0")->self.is_beyond_noise;
		changes_free(c);
	}
	print_message("%g times as many, basis %d: found in %zu of %d pairs\n", factor, pair.basis,
		      n_found, N_CHANGED);
	return n_found * 100 / N_CHANGED;
}

TEST(a_true_change_is_found)
{
	const struct pair slices = PAIR(20, 20, "hits", 1, CHANGES_SLICES);
	const struct pair files = PAIR(0, 0, "hits", 5, CHANGES_FILES);
	const struct pair samples = PAIR(0, 0, "samples", 1, CHANGES_SAMPLES);

	/* 100 hits in each of 20 slices: a change by 40 %. With rates, the load must be even. */
	assert_true(count_found(slices, 100, 1.4, true) >= 95);
	assert_true(count_found(slices, 100, 0.65, true) >= 95);
	assert_true(count_found(slices, 100, 2.5, false) >= 95);
	assert_true(count_found(files, 400, 1.5, true) >= 95);
	assert_true(count_found(samples, 400, 1.6, true) >= 95);
	assert_true(count_found(slices, 100, 1, true) <= 5);
}

TEST(without_data_there_is_no_claim)
{
	const struct pair short_runs = PAIR(19, 20, "hits", 1, CHANGES_NO_DATA);
	const struct pair two_files = PAIR(0, 0, "hits", 2, CHANGES_NO_DATA);

	assert_int_equal(count_found(short_runs, 100, 10, false), 0);
	assert_int_equal(count_found(two_files, 100, 10, true), 0);
}

/* --- rows --- */

static struct profile *two_counts(int64_t first, int64_t second)
{
	struct profile_builder *b = profile_builder_new(1);

	put_stack(b, 1, first);
	put_stack(b, 2, second);
	return finish(b);
}

static void expect_change(const struct changes *c, size_t row, const char *name,
			  const int64_t *numbers)
{
	const struct change *change = &c->rows[row];

	assert_string_equal(c->frames.frames[change->frame].name, name);
	assert_int_equal(change->self.before, numbers[0]);
	assert_int_equal(change->self.after, numbers[1]);
	assert_int_equal(change->total.before, numbers[2]);
	assert_int_equal(change->total.after, numbers[3]);
	assert_false(change->self.is_beyond_noise);
	assert_true(change->self.probability == 1);
}

/* f20 is between main (f21) and f1. */
TEST(functions_have_self_and_total_largest_change_first)
{
	const int64_t f1[] = { 10, 15, 10, 15 }, f2[] = { 30, 10, 30, 10 };
	const int64_t f20[] = { 0, 0, 10, 15 }, f21[] = { 0, 0, 40, 25 };
	const int64_t f2_scaled[] = { 19, 10, 19, 10 };
	struct profile *after = two_counts(15, 10), *before = two_counts(10, 30);
	const struct profile *now = after, *then = before;
	const struct changes_side a = { &now, 1 }, b = { &then, 1 };
	struct changes *c = changes_new(&a, &b, false);

	assert_int_equal(c->n, 4);
	assert_int_equal(c->basis, CHANGES_NO_DATA);
	expect_change(c, 0, "f2", f2);
	expect_change(c, 1, "f1", f1);
	expect_change(c, 2, "f21", f21);
	expect_change(c, 3, "f20", f20);
	changes_free(c);
	c = changes_new(&a, &b, true);
	expect_change(c, 1, "f2", f2_scaled);
	changes_free(c);

	cleanup_profile struct profile *difference = profile_difference(after, before, false);

	c = changes_of_difference(difference);
	expect_change(c, 0, "f2", f2);
	expect_change(c, 2, "f21", f21);
	changes_freep(&c);
	assert_null(c);
	profile_free(after);
	profile_free(before);
}

/* A function that calls itself is in a stack once. A mark is no function, and hides none. */
TEST(recursion_counts_once_and_marks_do_not_count)
{
	struct frame frames[] = { { .kind = FRAME_USER, .name = "f" },
				  { .kind = FRAME_CUT, .name = "depth" } };
	const struct frame_table table = { .frames = frames, .n = 2 };
	const uint32_t row[] = { 1, 0, 0, 0, 1 };
	cleanup(profile_builder_freep) struct profile_builder *b = profile_builder_new(1);

	ADD(b, .count = 4, .frames = row, .n_user = 5);
	ADD(b, .count = 4);

	cleanup_profile struct profile *p = profile_builder_finish(b, &table);
	const struct profile *list = p;
	const struct changes_side side = { &list, 1 }, none = { NULL, 0 };
	cleanup(changes_freep) struct changes *c = changes_new(&side, &none, true);

	assert_int_equal(c->n, 1);
	assert_int_equal(c->rows[0].self.after, 4);
	assert_int_equal(c->rows[0].total.after, 4);
	assert_int_equal(c->rows[0].total.before, 0);
}

/* --- statistics --- */

/* Values from tables of Student's distribution. */
TEST(probabilities_are_those_of_the_tables)
{
	/* Two sides of n counts with mean 0 and d, and variance 1: t = d / sqrt(2 / n). */
	const double counts[] = { -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1 };
	const double weights[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	const struct noise_series zero = { counts, weights, 12 };
	const struct noise_rules rules = { .least_variance = 0 };
	const double t_99 = 2.819, t_95 = 2.074; /* with 22 degrees of freedom */
	const double error = 0.4264;             /* sqrt(2 * 12 / 11 / 12) */
	double moved[12];

	for (int i = 0; i < 12; i++)
		moved[i] = counts[i] + t_99 * error;

	const struct noise_series far = { moved, weights, 12 };
	const double p_far = noise_probability(&far, &zero, &rules);

	assert_true(p_far > 0.0099 && p_far < 0.0101);
	for (int i = 0; i < 12; i++)
		moved[i] = counts[i] + t_95 * error;

	const double p_near = noise_probability(&zero, &far, &rules);

	assert_true(p_near > 0.0495 && p_near < 0.0505);
	assert_true(noise_probability(&zero, &zero, &rules) == 1);
}

/* Hits come in the first half only: that half could be one phase, so nothing is known. */
TEST(phases_as_long_as_the_run_say_nothing)
{
	double halves[20], turns[20], ones[20], none[20] = {};
	const struct noise_rules slices = { .slices_follow = true }, files = {};

	for (int i = 0; i < 20; i++) {
		halves[i] = i < 10 ? 1000 : 990;
		turns[i] = i % 2 ? 1000 : 990;
		ones[i] = 1;
	}

	const struct noise_series phase = { halves, ones, 20 }, no_phase = { turns, ones, 20 };
	const struct noise_series zero = { none, ones, 20 };

	assert_true(noise_probability(&phase, &zero, &slices) == 1);
	assert_true(noise_probability(&zero, &phase, &slices) == 1);
	assert_true(noise_probability(&no_phase, &zero, &slices) < 1e-6);
	assert_true(noise_probability(&phase, &zero, &files) < 1e-6);
}

TEST(degenerate_series_have_an_answer)
{
	const double ones[] = { 1, 1, 1, 1 }, zeros[] = { 0, 0, 0, 0 }, twos[] = { 2, 2, 2, 2 };
	const struct noise_series one = { ones, ones, 4 }, two = { twos, ones, 4 };
	const struct noise_series weightless = { ones, zeros, 4 }, single = { ones, ones, 1 };
	const struct noise_rules rules = {}, files = { .least_variance = 1 };
	const struct noise_rules sampled = { .is_sampled = true };

	assert_true(noise_probability(&one, &two, &rules) == 0);
	assert_true(noise_probability(&one, &two, &files) > 0.1);
	assert_true(noise_probability(&one, &two, &sampled) > 0.1);
	assert_true(noise_probability(&one, &weightless, &rules) == 1);
	assert_true(noise_probability(&weightless, &one, &rules) == 1);
	assert_true(noise_probability(&one, &single, &rules) == 1);
	assert_true(noise_probability_poisson(5, 0, 5, 1) == 1);
	assert_true(noise_probability_poisson(0, 1, 0, 1) == 1);
	assert_true(noise_probability_poisson(100, 1, 101, 1) > 0.9);
	assert_true(noise_probability_poisson(100, 1, 200, 2) > 0.9);
	assert_true(noise_probability_poisson(100, 1, 200, 1) < 1e-6);
}

TEST(the_number_of_comparisons_counts)
{
	const double p[] = { 0.02, 0.001, 0.9, 0.012 };
	bool claims[4];

	noise_claims(p, 4, 0.05, claims);
	assert_true(claims[0] && claims[1] && !claims[2] && claims[3]);
	noise_claims(p, 4, 0.03, claims);
	assert_true(!claims[0] && claims[1] && !claims[2] && !claims[3]);
	noise_claims(NULL, 0, 0.05, NULL);
}

TEST_MAIN(NULL, NULL)
