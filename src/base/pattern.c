#include "base/pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

struct pattern {
	char *text;
	bool is_regexp;
	bool is_literal;
	regex_t regex;
};

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	if (p->is_regexp)
		regfree(&p->regex);
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
		char why[128];
		int err = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);

		if (err) {
			(void)regerror(err, &p->regex, why, sizeof(why));
			return error_set(e, -EINVAL, "bad regular expression '%s': %s", text, why);
		}
		p->is_regexp = true; /* only now is there something to regfree() */
	}

	*ret = TAKE(p);
	return 0;
}

bool pattern_matches(const struct pattern *p, const char *name)
{
	if (p->is_literal)
		return strcmp(p->text, name) == 0;
	if (p->is_regexp)
		return regexec(&p->regex, name, 0, NULL, 0) == 0;
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
