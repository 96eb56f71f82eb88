// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/pattern.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/regexp.h"

struct pattern {
	char *text;
	struct regexp *regexp; /* NULL: a glob */
	bool is_literal;
};

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	regexp_free(p->regexp);
	free(p->text);
	free(p);
}

void pattern_freep(struct pattern **p)
{
	pattern_free(*p);
	*p = NULL;
}

int pattern_compile(const char *text, bool is_regexp, struct pattern **ret, struct error *e)
{
	cleanup_pattern struct pattern *p = xcalloc(1, sizeof(*p));

	p->text = xstrdup(text);
	p->is_literal = !is_regexp && !strpbrk(text, "*?[\\");
	if (is_regexp) {
		int err = regexp_new(text, &p->regexp, e);

		if (err)
			return err;
	}

	*ret = TAKE(p);
	return 0;
}

bool pattern_matches(const struct pattern *p, const char *name)
{
	if (p->is_literal)
		return strcmp(p->text, name) == 0;
	if (p->regexp)
		return regexp_matches(p->regexp, name);
	return fnmatch(p->text, name, 0) == 0;
}

int pattern_check(const struct pattern *p, struct error *e)
{
	return p->regexp ? regexp_check(p->regexp, e) : 0;
}

const char *pattern_literal(const struct pattern *p)
{
	return p->is_literal ? p->text : NULL;
}

const char *pattern_text(const struct pattern *p)
{
	return p->text;
}
