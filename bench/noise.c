// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * noise [PAIRS [SEED [NAME]]] - how often a difference makes a wrong claim, and how often it finds
 * a change by 20 %, in simulated runs. The rule was not tuned on these: neither on the
 * distributions nor on the seeds. tests/unit/test_changes.c has those that it was tuned on.
 *
 * NAME: only the distributions whose names have it.
 *
 * One line for each distribution and each kind of data: per cent of PAIRS (1,000) of equal programs
 * with one or more wrong claims, about rates and about shares (--normalize), and per cent of pairs
 * in which the function that changed is found, by its share. The exit code is 1 if a share of wrong
 * claims that is promised is more than 5 %, by more than two standard errors.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/builder.h"
#include "profile/changes.h"

enum { MOST_FUNCTIONS = 20, MOST_FILES = 6, SLICES_OF_FILE = 20 };

/* --- random numbers: xorshift128+ --- */

static uint64_t words[2];

static double uniform(void)
{
	uint64_t x = words[0];
	const uint64_t y = words[1];

	words[0] = y;
	x ^= x << 23;
	words[1] = x ^ y ^ (x >> 17) ^ (y >> 26);
	return ((double)((words[1] + y) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static double poisson(double mean)
{
	double count = 0;

	if (mean > 100)
		return fmax(0, floor(mean + sqrt(mean) * normal() + 0.5));
	for (double sum = -log(uniform()); sum < mean; sum -= log(uniform()))
		count++;
	return count;
}

/* Bursts of 20 on average, of geometric size. */
static double compound(double mean)
{
	double count = 0;

	for (double bursts = poisson(mean / 20); bursts > 0; bursts--)
		count += ceil(log(uniform()) / log(1 - 1 / 20.0));
	return count;
}

/* --- runs --- */

enum shape { EVEN, BURSTS, PHASES, SWITCH, LOGNORMAL, PARETO, ONCE, DRIFT };

struct process {
	const char *name;
	enum shape shape;
	double size;   /* of the shape: a spread, a mean time, a tail's exponent */
	double memory; /* PHASES: correlation of neighbours */
	bool shared;   /* by all functions: one load */
	size_t n_functions;
	double least, most;  /* mean hits of a function in a slice */
	size_t least_slices; /* with fewer, the promise does not hold: the note's limits */
};

static const struct process processes[] = {
	{ "Poisson", EVEN, 0, 0, false, 20, 0.5, 100, 20 },
	{ "rare, 3 functions", EVEN, 0, 0, false, 3, 0.3, 1, 20 },
	{ "rare, 20 functions", EVEN, 0, 0, false, 20, 0.1, 1, 20 },
	{ "bursts of 20", BURSTS, 0, 0, false, 20, 2, 100, 20 },
	{ "lognormal", LOGNORMAL, 1.5, 0, false, 20, 0.5, 100, 20 },
	{ "lognormal load", LOGNORMAL, 1, 0, true, 20, 0.5, 100, 20 },
	{ "Pareto 1.5", PARETO, 1.5, 0, false, 20, 0.5, 100, 20 },
	{ "in one slice only", ONCE, 0, 0, false, 20, 1, 100, 20 },
	{ "drift by 60 %", DRIFT, 0.3, 0, false, 20, 0.5, 100, 20 },
	{ "AR(1) 0.3", PHASES, 0.5, 0.3, false, 20, 0.5, 100, 20 },
	{ "AR(1) 0.6", PHASES, 0.5, 0.6, false, 20, 0.5, 100, 40 },
	{ "AR(1) 0.6, 3 functions", PHASES, 0.5, 0.6, false, 3, 0.5, 100, 40 },
	{ "AR(1) 0.8", PHASES, 0.5, 0.8, false, 20, 0.5, 100, 200 },
	{ "AR(1) 0.6 load", PHASES, 0.5, 0.6, true, 20, 0.5, 100, 40 },
	{ "on and off, 3 slices", SWITCH, 3, 0, false, 20, 0.5, 100, 40 },
};

struct state {
	double level; /* PHASES, SWITCH: where it is; ONCE: which slice; DRIFT: which slope */
};

static void begin(struct state *s, const struct process *how, size_t n_slices)
{
	switch (how->shape) {
	case ONCE:
		s->level = floor(uniform() * (double)n_slices);
		break;
	case SWITCH:
		s->level = uniform() < 0.5 ? 0 : 1;
		break;
	case DRIFT:
		s->level = uniform() < 0.5 ? -1 : 1;
		break;
	default:
		s->level = normal();
	}
}

/* What the mean is multiplied with in slice @i of @n. Its own mean is 1. */
static double factor(struct state *s, const struct process *how, size_t i, size_t n)
{
	switch (how->shape) {
	case PHASES:
		s->level = how->memory * s->level + sqrt(1 - how->memory * how->memory) * normal();
		return exp(how->size * s->level - how->size * how->size / 2);
	case SWITCH:
		s->level = uniform() < 1 / how->size ? 1 - s->level : s->level;
		return 0.5 + s->level;
	case LOGNORMAL:
		return exp(how->size * normal() - how->size * how->size / 2);
	case PARETO:
		return pow(uniform(), -1 / how->size) * (how->size - 1) / how->size;
	case ONCE:
		return i == (size_t)s->level ? (double)n : 0;
	case DRIFT:
		return 1 + s->level * how->size * (2 * ((double)i + 0.5) / (double)n - 1);
	default:
		return 1;
	}
}

/* f0 to f19 are called by main (f20). */
static struct profile *finish(struct profile_builder *b)
{
	static char names[MOST_FUNCTIONS + 1][8];
	struct frame frames[MOST_FUNCTIONS + 1] = {};
	const struct frame_table table = { .frames = frames, .n = ARRAY_SIZE(frames) };

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%zu", i);
		frames[i] =
			(struct frame){ .kind = FRAME_USER, .name = names[i], .image = NO_IMAGE };
	}

	struct profile *p = profile_builder_finish(b, &table);

	profile_builder_free(b);
	return p;
}

static struct profile *simulate(const struct process *how, const double *means, size_t n_slices,
				bool with_slices)
{
	struct profile_builder *b = profile_builder_new(1);
	struct state states[MOST_FUNCTIONS], load;

	begin(&load, how, n_slices);
	for (size_t f = 0; f < how->n_functions; f++)
		begin(&states[f], how, n_slices);
	for (size_t s = 0; s < n_slices; s++) {
		const double of_all = how->shared ? factor(&load, how, s, n_slices) : 1;

		if (with_slices)
			profile_builder_slice(b, s * 100, s * 100 + 100);
		for (uint32_t f = 0; f < how->n_functions; f++) {
			const double mean =
				means[f] *
				(how->shared ? of_all : factor(&states[f], how, s, n_slices));
			const double count = how->shape == BURSTS ? compound(mean) : poisson(mean);
			const uint32_t row[] = { f, MOST_FUNCTIONS };
			const struct profile_stack stack = { .count = (int64_t)count,
							     .frames = row,
							     .n_user = 2 };

			if (count < 1)
				continue;

			const uint32_t number = profile_builder_add(b, &stack);

			if (with_slices)
				profile_builder_part(b, number, (uint32_t)s, stack.count);
		}
	}

	struct profile *p = finish(b);

	p->values[0].name = "hits";
	p->about.duration_ns = n_slices * 100;
	return p;
}

/* --- comparisons --- */

struct data {
	const char *name;
	size_t n_files, n_slices;
};

static const struct data kinds[] = { { "20 slices", 1, 20 },
				     { "40 slices", 1, 40 },
				     { "200 slices", 1, 200 },
				     { "3 files", 3, SLICES_OF_FILE },
				     { "6 files", 6, SLICES_OF_FILE } };

static struct changes *compare(const struct process *how, const struct data *data,
			       const double *after, const double *before, bool normalize)
{
	struct profile *files[2 * MOST_FILES];
	const size_t n = data->n_files;

	for (size_t i = 0; i < 2 * n; i++)
		files[i] = simulate(how, i < n ? after : before, data->n_slices, n == 1);

	const struct profile *const *list = (const struct profile *const *)files;
	const struct changes_side now = { list, n }, then = { list + n, n };
	struct changes *c = changes_new(&now, &then, normalize);

	for (size_t i = 0; i < 2 * n; i++)
		profile_free(files[i]);
	return c;
}

static bool has_claim(const struct changes *c, const char *self_of)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct change *row = &c->rows[i];

		if (self_of && strcmp(c->frames.frames[row->frame].name, self_of) != 0)
			continue;
		if (row->self.is_beyond_noise || (!self_of && row->total.is_beyond_noise))
			return true;
	}
	return false;
}

/* @change: of f0, which then has 100 hits in a slice; 1 for equal programs. */
static double share_of_claims(const struct process *how, const struct data *data, double change,
			      bool normalize, int n_pairs)
{
	int n_claims = 0;

	for (int i = 0; i < n_pairs; i++) {
		double before[MOST_FUNCTIONS], after[MOST_FUNCTIONS];

		for (size_t f = 0; f < how->n_functions; f++)
			after[f] = before[f] = how->least * pow(how->most / how->least, uniform());
		if (change != 1) {
			before[0] = 100;
			after[0] = 100 * change;
		}

		struct changes *c = compare(how, data, after, before, normalize);

		n_claims += has_claim(c, change != 1 ? "f0" : NULL);
		changes_free(c);
	}
	return 100.0 * n_claims / n_pairs;
}

static bool print_line(const struct process *how, const struct data *data, int n_pairs)
{
	const double most = 5 + 2 * sqrt(5 * 95.0 / n_pairs);
	const double rates = share_of_claims(how, data, 1, false, n_pairs);
	const double shares = share_of_claims(how, data, 1, true, n_pairs);
	const double found = share_of_claims(how, data, 1.2, true, n_pairs / 5 + 1);
	const bool is_promised = data->n_files > 1 || data->n_slices >= how->least_slices;
	const bool holds = !is_promised || (rates <= most && shares <= most);

	printf("%-24s %-10s %6.1f %6.1f %10.0f%s%s\n", how->name, data->name, rates, shares, found,
	       is_promised ? "" : "  (not promised)", holds ? "" : "  BROKEN");
	(void)fflush(stdout);
	return holds;
}

int main(int argc, char **argv)
{
	const int n_pairs = argc > 1 ? atoi(argv[1]) : 1000;
	const char *name = argc > 3 ? argv[3] : "";
	bool holds = true;

	words[0] = argc > 2 ? strtoull(argv[2], NULL, 0) : 0x2b992ddfa23249d6ULL;
	words[1] = 0x9fb21c651e98df25ULL;
	for (int i = 0; i < 20; i++)
		uniform();
	printf("%-24s %-10s %6s %6s %10s\n", "process", "data", "rates", "shares", "20 % found");
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			if (strstr(processes[i].name, name))
				holds = print_line(&processes[i], &kinds[k], n_pairs) && holds;
	return holds ? 0 : 1;
}
