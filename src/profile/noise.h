/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/noise.h - is a difference of two rates more than noise? Pure. doc/notes/differences.md
 * says why it is done like this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Counts of one side, in the order of time: one for each slice of time, or for each file. A count's
 * weight is a duration, or the count of everything. A rate is a sum of counts divided by the sum of
 * their weights.
 */
struct noise_series {
	const double *counts;
	const double *weights;
	size_t n;
};

struct noise_rules {
	bool slices_follow; /* neighbours may depend on each other, so look at longer slices, too */
	double least_variance; /* of each count */
	bool is_sampled;       /* counts are at least as variable as a Poisson process */
};

/*
 * If the true rates were equal: the probability that the rates differ at least as much as these do.
 * 1 if a series has less than two counts, or no weight.
 */
double noise_probability(const struct noise_series *after, const struct noise_series *before,
			 const struct noise_rules *rules);

/* Likewise for two counts of a Poisson process, if that is known. 1 if there is no weight. */
double noise_probability_poisson(double after, double after_weight, double before,
				 double before_weight);

/*
 * Which of @n differences are claims, by their probabilities? The chance that one or more of all
 * claims are wrong is at most @alpha (Holm's method), however the differences depend on each other.
 */
void noise_claims(const double *probabilities, size_t n, double alpha, bool *claims);
