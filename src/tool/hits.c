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

double hits_cost_ns(const struct run *r, struct hit_cost *before)
{
	const struct hit_cost now = price_of_hits(r);
	const uint64_t n = now.n_measured - before->n_measured, ns = now.ns - before->ns;

	*before = now;
	return n ? (double)ns / (double)n : 0;
}

void hits_describe(const struct run *r)
{
	const uint64_t n = losses_counter(r->object, r->n_cpus, OWN_HITS);
	struct hit_cost cost = {};
	const double mean_ns = log_level() >= LOG_DEBUG ? hits_cost_ns(r, &cost) : 0;

	if (n)
		log_debug("left out %llu of this program's own hits (--self counts them)",
			  (unsigned long long)n);
	if (cost.n_measured)
		log_debug("a hit took the traced program %.0f ns, the mean of %llu of %llu hit%s; "
			  "the kernel's own time for the probe comes on top",
			  mean_ns, (unsigned long long)cost.n_measured,
			  (unsigned long long)cost.n_hits, text_plural(cost.n_hits));
	if (r->opt->elapsed)
		log_debug("%llu pairs have begun",
			  (unsigned long long)losses_counter(r->object, r->n_cpus, BEGUN));
}
