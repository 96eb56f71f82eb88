// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A textfile for Prometheus's node exporter: sums of a run, no stacks, which would be as many
 * series.
 *
 *	# HELP stackcount_hits_total Hits that were counted.
 *	# TYPE stackcount_hits_total counter
 *	stackcount_hits_total{command="stackcount vfs_read"} 4711
 *	# HELP stackcount_lost_hits_total Hits that were lost, by reason.
 *	# TYPE stackcount_lost_hits_total counter
 *	stackcount_lost_hits_total{command="stackcount vfs_read",reason="no room ..."} 12
 *
 * The label "command" tells runs on one host apart, each of which writes a file. The file has no
 * times of its own: the exporter refuses them. Values that are not known are left out.
 *
 * A label's value has escapes for '\', '"' and newline only, and has to be UTF-8. Control
 * characters and invalid bytes are made visible as in the other forms (escape.h).
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/saturated.h"
#include "report/escape.h"
#include "report/render.h"
#include "report/writer.h"

/* @text is valid UTF-8 after escape_put(), which leaves '\' and '"'. */
static void put_label_value(struct writer *w, const char *text)
{
	struct strbuf *safe = &w->scratch;

	strbuf_clear(safe);
	escape_put(safe, text ? text : "", false);
	writer_puts(w, "\"");
	for (size_t i = 0; i < safe->n; i++) {
		if (safe->text[i] == '\\' || safe->text[i] == '"')
			writer_put(w, "\\", 1);
		writer_put(w, &safe->text[i], 1);
	}
	writer_puts(w, "\"");
}

static void put_prom_type(struct writer *w, const char *name, const char *type, const char *help)
{
	writer_puts(w, "# HELP ");
	writer_puts(w, name);
	writer_puts(w, " ");
	writer_puts(w, help);
	writer_puts(w, "\n# TYPE ");
	writer_puts(w, name);
	writer_puts(w, " ");
	writer_puts(w, type);
	writer_puts(w, "\n");
}

static void put_prom_label(struct writer *w, const char *key, const char *value)
{
	writer_puts(w, ",");
	writer_puts(w, key);
	writer_puts(w, "=");
	put_label_value(w, value);
}

/* The sample up to its number. @key: of a second label, or NULL. */
static void put_prom_sample(struct writer *w, const struct profile *p, const char *name,
			    const char *key, const char *value)
{
	writer_puts(w, name);
	writer_puts(w, "{command=");
	put_label_value(w, p->about.command_line);
	if (key) {
		writer_puts(w, ",");
		writer_puts(w, key);
		writer_puts(w, "=");
		put_label_value(w, value);
	}
	writer_puts(w, "} ");
}

static void put_gauge(struct writer *w, const struct profile *p, const char *name, double number)
{
	char text[64];

	put_prom_sample(w, p, name, NULL, NULL);
	(void)snprintf(text, sizeof(text), "%.12g\n", number);
	writer_puts(w, text);
}

/* Of all stacks, those that are hidden too. */
static int64_t sum_of_value(const struct profile *p, size_t value)
{
	int64_t sum = value ? p->hidden_more[value - 1] : p->total;

	for (size_t i = 0; i < p->n_stacks && value; i++)
		add_to(&sum, p->stacks[i].more ? p->stacks[i].more[value - 1] : 0);
	return sum;
}

static void put_hits(struct writer *w, const struct profile *p)
{
	put_prom_type(w, "stackcount_hits_total", "counter", "Hits that were counted.");
	put_prom_sample(w, p, "stackcount_hits_total", NULL, NULL);
	writer_put_i64(w, sum_of_value(p, profile_hits_value(p)));
	writer_puts(w, "\n");
	put_prom_type(w, "stackcount_stacks", "gauge", "Distinct stacks.");
	put_prom_sample(w, p, "stackcount_stacks", NULL, NULL);
	writer_put_u64(w, p->n_stacks + p->n_hidden);
	writer_puts(w, "\n");
}

/* Sums of further values. Files can have two with one name, so each has its number, too. */
static void put_further_values(struct writer *w, const struct profile *p)
{
	const char *name = "stackcount_value_total";

	if (p->n_values < 2)
		return;
	put_prom_type(w, name, "untyped", "Sum of a value of all stacks.");
	for (size_t i = 0; i < p->n_values; i++) {
		const char number[] = { (char)('0' + i), '\0' };

		if (i == profile_hits_value(p))
			continue;
		writer_puts(w, name);
		writer_puts(w, "{command=");
		put_label_value(w, p->about.command_line);
		put_prom_label(w, "value", p->values[i].name);
		put_prom_label(w, "unit", p->values[i].unit);
		put_prom_label(w, "number", number);
		writer_puts(w, "} ");
		writer_put_i64(w, sum_of_value(p, i));
		writer_puts(w, "\n");
	}
}
_Static_assert(PROFILE_MOST_VALUES <= 10, "numbers of values have one digit");

/* A file may have a series only once, so this adds up losses with equal reasons. */
static struct profile *losses_by_reason(const struct profile *p)
{
	struct profile *sums = xcalloc(1, sizeof(*sums));
	cleanup(u64_map_fini) struct u64_map places = {};

	sums->strings = strtab_new();
	for (size_t i = 0; i < p->n_losses; i++) {
		const char *reason = strtab_add(sums->strings, p->losses[i].reason);
		bool is_new;

		if (p->losses[i].n == 0)
			continue;
		const uint32_t place =
			*u64_map_put(&places, (uintptr_t)reason, (uint32_t)sums->n_losses, &is_new);

		if (is_new)
			profile_add_loss(sums, reason, p->losses[i].n);
		else
			sums->losses[place].n += p->losses[i].n;
	}
	return sums;
}

static void put_lost(struct writer *w, const struct profile *p)
{
	const char *name = "stackcount_lost_hits_total";
	cleanup(profile_freep) struct profile *sums = losses_by_reason(p);

	put_prom_type(w, name, "counter", "Hits that were lost, by reason.");
	for (size_t i = 0; i < sums->n_losses; i++) {
		put_prom_sample(w, p, name, "reason", sums->losses[i].reason);
		writer_put_u64(w, sums->losses[i].n);
		writer_puts(w, "\n");
	}
	if (sums->n_losses)
		return;
	put_prom_sample(w, p, name, "reason", "none"); /* a series from the start on, for rates */
	writer_puts(w, "0\n");
}

static void put_times(struct writer *w, const struct profile *p)
{
	const double second = 1e9;

	if (p->about.begin_ns) {
		put_prom_type(w, "stackcount_begin_time_seconds", "gauge",
			      "When counting began, in seconds since 1970.");
		put_gauge(w, p, "stackcount_begin_time_seconds",
			  (double)p->about.begin_ns / second);
	}
	if (p->about.duration_ns) {
		put_prom_type(w, "stackcount_duration_seconds", "gauge", "Time of counting.");
		put_gauge(w, p, "stackcount_duration_seconds",
			  (double)p->about.duration_ns / second);
	}
	if (p->about.cost_ns > 0) {
		put_prom_type(w, "stackcount_hit_cost_seconds", "gauge",
			      "Mean time that a hit takes in the traced program.");
		put_gauge(w, p, "stackcount_hit_cost_seconds", p->about.cost_ns / second);
	}
}

int render_prom(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);

	(void)style;
	put_hits(w, p);
	put_further_values(w, p);
	put_lost(w, p);
	put_times(w, p);
	return writer_finish(w);
}
