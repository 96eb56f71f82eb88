// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/cpu_profile.h"

#include <errno.h>
#include <inttypes.h>

#include "report/escape.h"

int cpu_profile_complete(struct options *opt, struct error *e)
{
	static char pattern[] = PROFILE_PATTERN;
	static char *patterns[] = { pattern };

	if (opt->help || opt->version)
		return 0;
	if (opt->unsupported)
		return error_set(e, -EINVAL,
				 "--%s: not supported; -p, -L and a command choose what to profile",
				 opt->unsupported);
	if (opt->frequency && opt->period)
		return error_set(e, -EINVAL, "-F and -c exclude each other");
	if (opt->tids.n && (opt->pids.n || opt->command))
		return error_set(e, -EINVAL, "-L and %s exclude each other",
				 opt->pids.n ? "-p" : "a command");
	opt->patterns = patterns;
	opt->n_patterns = 1;
	opt->per_process = true;
	if (!opt->frequency && !opt->period)
		opt->frequency = PROFILE_FREQUENCY;
	return 0;
}

static void put_id_list(struct strbuf *to, const char *what, const struct number_list *list)
{
	strbuf_puts(to, what);
	for (size_t i = 0; i < list->n; i++)
		strbuf_printf(to, "%s%" PRIu32, i ? "," : "", list->numbers[i]);
}

static void put_threads(struct strbuf *to, const struct options *opt)
{
	if (opt->pids.n) {
		put_id_list(to, "PID ", &opt->pids);
	} else if (opt->tids.n) {
		put_id_list(to, "TID ", &opt->tids);
	} else if (opt->command) {
		strbuf_puts(to, "command ");
		escape_put(to, opt->command[0], false);
	} else {
		strbuf_puts(to, "all threads");
	}
}

void cpu_profile_put_header(const struct options *opt, struct strbuf *to)
{
	if (opt->period)
		strbuf_printf(to, "Sampling at every %" PRIu64 " events of ", opt->period);
	else
		strbuf_printf(to, "Sampling at %" PRIu64 " Hertz of ", opt->frequency);
	put_threads(to, opt);
	strbuf_printf(to, " by %s stack",
		      opt->user_only     ? "user"
		      : opt->kernel_only ? "kernel"
					 : "user + kernel");
	if (opt->cpus.n)
		put_id_list(to, " on CPU#", &opt->cpus);
	if (opt->duration_ns)
		strbuf_printf(to, " for %g secs.\n", (double)opt->duration_ns / 1e9);
	else
		strbuf_puts(to, "... Hit Ctrl-C to end.\n");
}
