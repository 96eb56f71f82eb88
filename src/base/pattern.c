// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* regcomp() parses groups by recursion: 16,000 of them exceed a stack of 8 MiB. */
#define MOST_BYTES 4096

struct pattern {
	char *text;
	regex_t regexp;
	bool is_regexp; /* @regexp is compiled; else a glob */
	bool is_literal;
};

void pattern_freep(struct pattern **p)
{
	if (!*p)
		return;
	if ((*p)->is_regexp)
		regfree(&(*p)->regexp);
	free((*p)->text);
	cleanup_free_p(p);
}

static int compile_regexp(struct pattern *p, struct error *e)
{
	const bool is_long = strlen(p->text) > MOST_BYTES;
	const int err = is_long ? 0 : regcomp(&p->regexp, p->text, REG_EXTENDED | REG_NOSUB);
	char why[128] = "longer than 4096 bytes";

	p->is_regexp = !is_long && !err;
	if (p->is_regexp)
		return 0;
	if (err)
		(void)regerror(err, &p->regexp, why, sizeof(why));
	return error_set(e, -EINVAL, "bad regular expression '%.200s%s': %s", p->text,
			 strlen(p->text) > 200 ? "..." : "", why);
}

int pattern_compile(const char *text, bool is_regexp, struct pattern **ret, struct error *e)
{
	cleanup(pattern_freep) struct pattern *p = xcalloc(1, sizeof(*p));

	p->text = xstrdup(text);
	p->is_literal = !is_regexp && !strpbrk(text, "*?[\\");

	const int err = is_regexp ? compile_regexp(p, e) : 0;

	if (!err)
		*ret = TAKE(p);
	return err;
}

bool pattern_matches(const struct pattern *p, const char *name)
{
	if (p->is_literal)
		return strcmp(p->text, name) == 0;
	if (p->is_regexp)
		return regexec(&p->regexp, name, 0, NULL, 0) == 0;
	return fnmatch(p->text, name, 0) == 0;
}

const char *pattern_literal(const struct pattern *p)
{
	return p->is_literal ? p->text : NULL;
}

const char *pattern_text(const struct pattern *p)
{
	return p->text;
}
