// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/read_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "profile/difference.h"
#include "profile/merge.h"
#include "reader/debuginfod.h"
#include "saved/saved.h"
#include "symbolize/local_names.h"
#include "tool/output.h"
#include "tool/privileges.h"
#include "tool/reports.h"

static int read_one(const char *name, struct profile **ret, struct error *e)
{
	cleanup_close int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return error_errno(e, "open %s", name);
	return saved_read(fd, name, ret, e);
}

static bool asks_servers(const struct options *opt)
{
	return !opt->no_debuginfod && !opt->no_names && debuginfod_has_servers();
}

static void fill_in_names(struct profile *p, const struct options *opt)
{
	const struct debuginfod_options asking = {};
	struct debuginfod *servers = asks_servers(opt) ? debuginfod_new(&asking) : NULL;
	const struct local_names_options options = { opt->no_demangle, servers };

	p->strings = p->strings ? p->strings : strtab_new();
	if (!opt->no_names)
		local_names_fill(&p->frames, p->strings, &options);
	debuginfod_free(servers);
}

static void free_profiles(struct profile **all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		profile_free(all[i]);
	free(all);
}

int read_profiles(const char *const *names, size_t n, const struct options *opt,
		  struct profile **ret, struct error *e)
{
	struct profile **all = xcalloc(n, sizeof(*all));
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = read_one(names[i], &all[i], e);
		if (!err)
			fill_in_names(all[i], opt);
	}
	if (!err)
		*ret = n == 1 ? TAKE(all[0])
			      : profile_merge((const struct profile *const *)all, n, KEEP_ALL);
	free_profiles(all, n);
	return err;
}

int read_and_subtract(const struct options *opt, struct profile **p, struct error *e)
{
	cleanup(profile_freep) struct profile *before = NULL;
	struct profile *difference;

	if (!opt->n_minus)
		return 0;

	const int err = read_profiles(opt->minus, opt->n_minus, opt, &before, e);

	if (err)
		return err;
	difference = profile_difference(*p, before, opt->normalize);
	profile_free(*p);
	*p = difference;
	return 0;
}

static int report_files(const struct options *opt, struct reports *reports, struct error *e)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct output output;
	int err = read_profiles((const char *const *)opt->patterns, opt->n_patterns, opt, &p, e);

	if (!err)
		err = read_and_subtract(opt, &p, e);
	if (err)
		return err;
	output_init(&output, NULL);
	reports->keeps = KEEP_ALL; /* of the files */
	return reports_write(reports, p, SPAN_RUN, NULL, &output, e);
}

int read_files(const struct options *opt, struct error *e)
{
	cleanup(reports_close) struct reports reports = {};
	int err = privileges_leave(e);

	if (err)
		return err;
	privileges_seal(asks_servers(opt));
	(void)signal(SIGPIPE, SIG_IGN);
	err = reports_open(&reports, opt, e);
	return err ? err : report_files(opt, &reports, e);
}
