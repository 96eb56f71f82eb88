// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/hits.h"

#include "base/log.h"
#include "base/text.h"
#include "tool/run.h"

static struct hit_cost price_of_hits(const struct run *r)
{
	struct slot_counts counts;

	return object_slot_counts(r->object, r->n_cpus, &counts) ? counts.cost
								 : (struct hit_cost){};
}

static double mean_of(const struct hit_cost *cost)
{
	return cost->n_measured ? (double)cost->ns / (double)cost->n_measured : 0;
}

double hits_cost_ns(const struct run *r)
{
	const struct hit_cost cost = price_of_hits(r);

	return mean_of(&cost);
}

double hits_cost_since(const struct run *r, struct hit_cost *before)
{
	const struct hit_cost now = price_of_hits(r);
	const struct hit_cost since = { .ns = now.ns - before->ns,
					.n_measured = now.n_measured - before->n_measured };

	*before = now;
	return mean_of(&since);
}

static void describe_cost(const struct run *r)
{
	const struct hit_cost cost = price_of_hits(r);

	if (cost.n_measured)
		log_debug("a hit took the traced program %.0f ns, the mean of %llu of %llu hit%s; "
			  "the kernel's own time for the probe comes on top",
			  mean_of(&cost), (unsigned long long)cost.n_measured,
			  (unsigned long long)cost.n_hits, text_plural(cost.n_hits));
}

void hits_describe(const struct run *r)
{
	const uint64_t n = losses_counter(r->object, r->n_cpus, OWN_HITS);

	if (n)
		log_debug("left out %llu of this program's own hits (--self counts them)",
			  (unsigned long long)n);
	if (log_level() >= LOG_DEBUG)
		describe_cost(r);
	if (r->opt->elapsed)
		log_debug("%llu pairs have begun",
			  (unsigned long long)losses_counter(r->object, r->n_cpus, BEGUN));
}
