// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/about.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/strtab.h"
#include "tool/version.h"

void about_quote(struct strbuf *to, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "_@%+=:,./-";

	if (word[0] && !word[strspn(word, plain)]) {
		strbuf_puts(to, word);
		return;
	}
	strbuf_putc(to, '\'');
	for (; *word; word++)
		if (*word == '\'')
			strbuf_puts(to, "'\\''");
		else
			strbuf_putc(to, *word);
	strbuf_putc(to, '\'');
}

static const char *command_line(struct strtab *strings, const struct options *opt)
{
	cleanup_strbuf struct strbuf line = {};

	for (char *const *word = opt->argv; word && *word; word++) {
		if (line.n)
			strbuf_putc(&line, ' ');
		about_quote(&line, *word);
	}
	return line.n ? strtab_add(strings, line.text) : NULL;
}

/* Of perf events, only --period says it: else the kernel adjusts it, or it is the event's own. */
static void set_run_period(struct profile *p, const struct options *opt)
{
	static const struct profile_value event = { "event", "count" };
	static const struct profile_value cpu = { "cpu", "nanoseconds" };
	const bool is_of_cpu = opt->tool == TOOL_PROFILE;
	bool has_perf_event = false;

	for (size_t i = 0; i < opt->n_patterns; i++)
		has_perf_event |= strncmp(opt->patterns[i], "e:", 2) == 0;
	p->about.period_type = is_of_cpu ? cpu : event;
	p->about.period = has_perf_event ? (int64_t)opt->period : 1;
	if (is_of_cpu && opt->frequency)
		p->about.period = (int64_t)(1000000000 / opt->frequency);
}

void about_set(struct profile *p, const struct options *opt, uint64_t ago_ns, uint64_t duration_ns)
{
	cleanup_strbuf struct strbuf program = {};
	struct utsname names;

	p->strings = p->strings ? p->strings : strtab_new();
	strbuf_printf(&program, "%s %s", tool_name(opt->tool), VERSION);
	p->about.program = strtab_add(p->strings, program.text);
	p->about.command_line = command_line(p->strings, opt);
	if (uname(&names) == 0) {
		p->about.host = strtab_add(p->strings, names.nodename);
		p->about.kernel = strtab_add(p->strings, names.release);
	}
	p->about.begin_ns = clock_ns(CLOCK_REALTIME) - ago_ns;
	p->about.duration_ns = duration_ns;
	set_run_period(p, opt);
}
