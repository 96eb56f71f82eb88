// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Comments of pprof files, written and read by one table. */
#include "profile/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/strbuf.h"
#include "base/text.h"

enum fact_kind { FACT_TEXT, FACT_NUMBER, FACT_FLAG, FACT_COST };

static const struct fact {
	const char *key;
	enum fact_kind kind;
	size_t at; /* in struct profile */
} facts[] = {
	{ "program", FACT_TEXT, offsetof(struct profile, about.program) },
	{ "command", FACT_TEXT, offsetof(struct profile, about.command_line) },
	{ "host", FACT_TEXT, offsetof(struct profile, about.host) },
	{ "kernel", FACT_TEXT, offsetof(struct profile, about.kernel) },
	{ "cost_ns", FACT_COST, offsetof(struct profile, about.cost_ns) },
	{ "difference", FACT_FLAG, offsetof(struct profile, is_difference) },
	{ "normalized", FACT_FLAG, offsetof(struct profile, is_normalized) },
	{ "before-program", FACT_TEXT, offsetof(struct profile, about_before.program) },
	{ "before-command", FACT_TEXT, offsetof(struct profile, about_before.command_line) },
	{ "before-host", FACT_TEXT, offsetof(struct profile, about_before.host) },
	{ "before-kernel", FACT_TEXT, offsetof(struct profile, about_before.kernel) },
	{ "before-begin_ns", FACT_NUMBER, offsetof(struct profile, about_before.begin_ns) },
	{ "before-duration_ns", FACT_NUMBER, offsetof(struct profile, about_before.duration_ns) },
};

/* Append the value at @at, or nothing if it is not known. */
static void put_fact(const struct fact *fact, const void *at, struct strbuf *to)
{
	const char *text = fact->kind == FACT_TEXT ? *(const char *const *)at : NULL;

	if (text)
		strbuf_puts(to, text);
	if (fact->kind == FACT_NUMBER && *(const uint64_t *)at)
		strbuf_printf(to, "%" PRIu64, *(const uint64_t *)at);
	if (fact->kind == FACT_FLAG && *(const bool *)at)
		strbuf_puts(to, "1");
	if (fact->kind == FACT_COST && *(const double *)at > 0)
		strbuf_printf(to, "%.17g", *(const double *)at);
}

void pprof_put_comments(const struct profile *p, void (*put)(void *context, const char *text),
			void *context)
{
	cleanup_strbuf struct strbuf text = {};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		strbuf_clear(&text);
		strbuf_printf(&text, PPROF_COMMENT_PREFIX "%s=", facts[i].key);

		const size_t n = text.n;

		put_fact(&facts[i], (const char *)p + facts[i].at, &text);
		if (text.n > n)
			put(context, text.text);
	}
	for (size_t i = 0; i < p->n_losses; i++) {
		strbuf_clear(&text);
		strbuf_printf(&text, PPROF_COMMENT_PREFIX "loss=%" PRIu64 " %s", p->losses[i].n,
			      p->losses[i].reason);
		put(context, text.text);
	}
	if (p->hidden || p->n_hidden) {
		strbuf_clear(&text);
		strbuf_printf(&text, PPROF_COMMENT_PREFIX "hidden=%" PRId64 " %zu", p->hidden,
			      p->n_hidden);
		put(context, text.text);
	}
}

const char *pprof_comment_value(const char *text, const char *key)
{
	const size_t n = strlen(key);

	if (!text_begins_with(text, PPROF_COMMENT_PREFIX))
		return NULL;
	text += strlen(PPROF_COMMENT_PREFIX);
	return strncmp(text, key, n) == 0 && text[n] == '=' ? text + n + 1 : NULL;
}

bool pprof_take_number(const char **at, char behind, uint64_t *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	if (errno || *end != behind)
		return false;
	*at = end + (behind != '\0');
	return true;
}

static bool take_fact(struct profile *p, const struct fact *fact, const char *value)
{
	void *to = (char *)p + fact->at;
	char *end;
	double cost;

	switch (fact->kind) {
	case FACT_TEXT:
		*(const char **)to = strtab_add(p->strings, value);
		return true;
	case FACT_NUMBER:
		return pprof_take_number(&value, '\0', to);
	case FACT_FLAG:
		return *(bool *)to = strcmp(value, "1") == 0;
	default:
		cost = strtod(value, &end);
		*(double *)to = cost;
		return *end == '\0' && cost > 0 && cost < 1e18;
	}
}

static bool take_loss(struct profile *p, const char *value)
{
	uint64_t n;

	if (!pprof_take_number(&value, ' ', &n) || !n)
		return false;
	profile_add_loss(p, value, n);
	return true;
}

static bool take_hidden(struct profile *p, const char *value)
{
	const bool is_negative = *value == '-';
	uint64_t count, n;

	value += is_negative;
	if (!pprof_take_number(&value, ' ', &count) || !pprof_take_number(&value, '\0', &n) ||
	    count > INT64_MAX)
		return false;
	p->hidden = is_negative ? -(int64_t)count : (int64_t)count;
	p->n_hidden = n;
	return true;
}

bool pprof_take_comment(struct profile *p, const char *text)
{
	const char *value = pprof_comment_value(text, "loss");

	if (value)
		return take_loss(p, value);
	value = pprof_comment_value(text, "hidden");
	if (value)
		return take_hidden(p, value);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		value = pprof_comment_value(text, facts[i].key);
		if (value)
			return take_fact(p, &facts[i], value);
	}
	return true;
}
