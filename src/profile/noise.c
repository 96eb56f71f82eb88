// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Welch's t-test of two ratios. With counts x[i], weights w[i] and the rate r = sum(x) / sum(w),
 * the residuals are d[i] = x[i] - r * w[i], and
 *
 *	var(r) = n / (n - 1) * sum(d[i]^2) / sum(w)^2
 *	t      = (r1 - r2) / sqrt(var(r1) + var(r2))
 *
 * Neighbouring slices may depend on each other: phases of a program are longer than a slice. Then
 * longer slices vary more than short ones suggest. So the test also joins slices in pairs and
 * fours. It takes the largest variance, with its own degrees of freedom. If the correlation of
 * neighbours is c, n slices are worth n * (1 - c) / (1 + c) independent ones. With too few of
 * these, the test makes no claim.
 *
 * There is no libm here: loading it would cost each run time at its start.
 */
#include "profile/noise.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

/* Fewer batches say too little about a variance. */
#define LEAST_BATCHES 10
#define MOST_FREEDOM 1000
/* With fewer independent slices, the test makes no claim. */
#define LEAST_INDEPENDENT 4

struct rate {
	double rate;
	double variance;
	double freedom; /* degrees of it; 0: the variance is not known */
};

/* @x is 0 or more. Newton's method doubles the number of right digits at each step. */
static double square_root(double x)
{
	double root = x > 1 ? x : 1;

	if (x <= 0)
		return 0;
	for (int i = 0; i < 1100; i++) { /* steps from far away halve the root */
		const double next = (root + x / root) / 2;

		if (next >= root)
			break;
		root = next;
	}
	return root;
}

/*
 * P(|T| >= t) of Student's distribution, from t^2. Exact for an even number of degrees of freedom
 * (Abramowitz and Stegun 26.7.4), to which @freedom is rounded down. That makes it larger.
 */
static double student_tail(double t_squared, double freedom)
{
	const int even = freedom >= MOST_FREEDOM ? MOST_FREEDOM : (int)freedom / 2 * 2;
	const double cos_squared = even / (even + t_squared);
	double term = 1, sum = 1;

	if (even < 2)
		return 1;
	for (int i = 1; i <= even - 3; i += 2) {
		term *= cos_squared * i / (i + 1);
		sum += term;
	}

	const double p = 1 - square_root(1 - cos_squared) * sum;

	return p < 0 ? 0 : p;
}

/* Sum of squares of residuals of @n_batches batches of the series. */
static double sum_of_squares(const struct noise_series *s, double rate, size_t n_batches)
{
	double squares = 0;

	for (size_t batch = 0, i = 0; batch < n_batches; batch++) {
		double residual = 0;

		for (; i < s->n && i * n_batches / s->n == batch; i++)
			residual += s->counts[i] - rate * s->weights[i];
		squares += residual * residual;
	}
	return squares;
}

static double sum_numbers(const double *numbers, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += numbers[i];
	return sum;
}

/* The correlation of neighbours, without the bias that residuals have in short series. */
static double series_correlation(const struct noise_series *s, double rate)
{
	const double squares = sum_of_squares(s, rate, s->n);
	double products = 0, last = 0;

	for (size_t i = 0; i < s->n; i++) {
		const double residual = s->counts[i] - rate * s->weights[i];

		products += last * residual;
		last = residual;
	}
	if (!(squares > 0))
		return 0;

	const double raw = products / squares;

	return raw + (1 + 4 * raw) / (double)s->n;
}

static void consider_variance(struct rate *r, double variance, double freedom)
{
	if (variance <= r->variance)
		return;
	r->variance = variance;
	r->freedom = freedom;
}

/* One standard error above the best guess of the correlation counts, if enough slices are left. */
static struct rate consider_phases(const struct noise_series *s, double weight, struct rate r)
{
	const double n = (double)s->n;
	const double highest = (n - LEAST_INDEPENDENT) / (n + LEAST_INDEPENDENT);
	const double guess = series_correlation(s, r.rate);
	const double most = guess + 1 / square_root(n);

	if (guess > highest)
		return (struct rate){ .rate = r.rate };
	if (guess <= 0)
		return r;

	const double c = most > highest ? highest : most;
	const double inflation = (1 + c) / (1 - c);

	consider_variance(
		&r, inflation * n / (n - 1) * sum_of_squares(s, r.rate, s->n) / (weight * weight),
		n / square_root(inflation) - 1);
	return r;
}

static struct rate rate_of_series(const struct noise_series *s, double weight, bool slices_follow)
{
	struct rate ret = { .rate = sum_numbers(s->counts, s->n) / weight,
			    .freedom = (double)(s->n - 1) };

	for (size_t n = s->n; n == s->n || (slices_follow && n >= LEAST_BATCHES); n /= 2)
		consider_variance(&ret,
				  (double)n / (double)(n - 1) * sum_of_squares(s, ret.rate, n) /
					  (weight * weight),
				  (double)(n - 1));
	return slices_follow ? consider_phases(s, weight, ret) : ret;
}

/* @common: the rate of both sides together. */
static void raise_variance(struct rate *r, const struct noise_series *s, double weight,
			   double common, const struct noise_rules *rules)
{
	double least = rules->least_variance * (double)s->n;

	if (rules->is_sampled && common * weight > least)
		least = common * weight;
	if (r->variance < least / (weight * weight))
		r->variance = least / (weight * weight);
}

double noise_probability(const struct noise_series *after, const struct noise_series *before,
			 const struct noise_rules *rules)
{
	const double weight1 = sum_numbers(after->weights, after->n),
		     weight2 = sum_numbers(before->weights, before->n);

	if (after->n < 2 || before->n < 2 || !(weight1 > 0) || !(weight2 > 0))
		return 1;

	struct rate a = rate_of_series(after, weight1, rules->slices_follow);
	struct rate b = rate_of_series(before, weight2, rules->slices_follow);

	if (!(a.freedom > 0) || !(b.freedom > 0))
		return 1;

	const double common = (a.rate * weight1 + b.rate * weight2) / (weight1 + weight2);
	const double change = a.rate - b.rate;

	raise_variance(&a, after, weight1, common, rules);
	raise_variance(&b, before, weight2, common, rules);

	const double variance = a.variance + b.variance;

	if (!(change * change > 0))
		return 1;
	if (!(variance > 0))
		return 0;

	const double freedom = /* of the sum (Welch and Satterthwaite) */
		variance * variance /
		(a.variance * a.variance / a.freedom + b.variance * b.variance / b.freedom);

	return student_tail(change * change / variance, freedom);
}

/* If the rates are equal, each of the n counts is after the change with probability
 * weight1/(weight1+weight2). */
double noise_probability_poisson(double after, double after_weight, double before,
				 double before_weight)
{
	if (!(after_weight > 0) || !(before_weight > 0) || after + before <= 0)
		return 1;

	const double share = after_weight / (after_weight + before_weight);
	const double n = after + before;
	double distance = after - n * share;

	distance = (distance < 0 ? -distance : distance) - 0.5;
	if (distance <= 0)
		return 1;
	return student_tail(distance * distance / (n * share * (1 - share)), MOST_FREEDOM);
}

struct ranked {
	double probability;
	size_t number;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->probability != b->probability)
		return a->probability < b->probability ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

void noise_claims(const double *probabilities, size_t n, double alpha, bool *claims)
{
	struct ranked *ranked = xcalloc(n + 1, sizeof(*ranked));
	bool holds = true;

	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct ranked){ probabilities[i], i };
	qsort(ranked, n, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < n; i++) {
		holds = holds && ranked[i].probability <= alpha / (double)(n - i);
		claims[ranked[i].number] = holds;
	}
	free(ranked);
}
