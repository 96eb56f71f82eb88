// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "profile/changes.h"
#include "profile/merge.h"
#include "profile/saved.h"

static int read_saved_file(const char *name, struct profile **ret, struct error *e)
{
	const bool is_input = strcmp(name, "-") == 0;
	cleanup_close int fd = is_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
					: open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 && errno == EACCES && getuid() == 0)
		return error_set(e, -EACCES,
				 "open %s: Permission denied (no privilege of root's is left; read "
				 "it as its owner)",
				 name);
	if (fd < 0)
		return error_errno(e, "open %s", name);
	return saved_read(fd, is_input ? "standard input" : name, ret, e);
}

/* Profiles of files, in their order. */
struct saved_files {
	struct profile **of;
	size_t n;
};

static void saved_files_fini(struct saved_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		profile_free(f->of[i]);
	free(f->of);
}

/* --- values --- */

/* The number of @value among those of @p; p->n_values: it is not there. */
static size_t index_of_value(const struct profile *p, const struct profile_value *value)
{
	size_t i = 0;

	while (i < p->n_values && !profile_value_is_same(&p->values[i], value))
		i++;
	return i;
}

static bool has_values_of(const struct profile *p, const struct profile *other)
{
	for (size_t i = 0; i < other->n_values; i++)
		if (index_of_value(p, &other->values[i]) == p->n_values)
			return false;
	return true;
}

/* Numbers of unlike things have no sum, and those in unlike units a wrong one. */
static int check_same_values(const struct profile *p, const char *name, const struct profile *other,
			     const char *other_name, struct error *e)
{
	if (has_values_of(p, other) && has_values_of(other, p))
		return 0;
	return error_set(
		e, -EINVAL,
		"the values of %.100s and %.100s differ in name or unit, so they cannot be "
		"added or subtracted",
		name, other_name);
}

/* --- several files --- */

/* All have the values of @model, which has the name @model_name; NULL: those of the first one. */
static int read_saved_files(const char *const *names, size_t n, const struct options *opt,
			    const struct profile *model, struct saved_files *ret, struct error *e)
{
	const char *model_name = model ? opt->patterns.texts[0] : names[0];
	int err = 0;

	ret->of = xcalloc(n, sizeof(*ret->of));
	for (; ret->n < n && !err; ret->n++) {
		struct profile **p = &ret->of[ret->n];

		err = read_saved_file(names[ret->n], p, e);
		model = model ? model : *p;
		if (!err)
			err = check_same_values(model, model_name, *p, names[ret->n], e);
		if (!err) /* sums are of the first values, and files may have another order */
			profile_put_value_first(*p, index_of_value(*p, &model->values[0]));
	}
	return err;
}

/*
 * Subtract the files of --minus from the @n profiles in @after, which stay as they are. @to gets
 * the changed functions.
 */
static int read_and_subtract(const struct options *opt, struct profile *const *after, size_t n,
			     struct reports *to, struct profile **ret, struct error *e)
{
	cleanup(saved_files_fini) struct saved_files files = {};
	const int err = read_saved_files(opt->minus, opt->n_minus, opt, after[0], &files, e);

	if (err)
		return err;

	cleanup_free const struct profile **all = xcalloc(n + files.n, sizeof(*all));
	const struct profile_sides sides = { .of = all, .n = n + files.n, .n_after = n };

	for (size_t i = 0; i < n; i++)
		all[i] = after[i];
	for (size_t i = 0; i < files.n; i++)
		all[n + i] = files.of[i];
	*ret = profile_difference(&sides, KEEP_COMMS, opt->normalize);
	to->changes = changes_new(&sides, opt->normalize);
	return 0;
}

static int report_files(const struct options *opt, struct reports *reports, struct error *e)
{
	cleanup(saved_files_fini) struct saved_files files = {};
	cleanup(profile_freep) struct profile *result = NULL;
	struct output output;
	int err = read_saved_files((const char *const *)opt->patterns.texts, opt->patterns.n, opt,
				   NULL, &files, e);

	if (!err && opt->n_minus)
		err = read_and_subtract(opt, files.of, files.n, reports, &result, e);
	if (err)
		return err;
	if (!result)
		result = files.n == 1 ? TAKE(files.of[0])
				      : profile_merge((const struct profile *const *)files.of,
						      files.n, KEEP_ALL);
	if (!opt->n_minus && result->is_difference)
		reports->changes = changes_of_difference(result);
	reports->keeps = KEEP_ALL;
	output_init(&output, NULL);
	return reports_write(reports, &(struct report_profiles){ .run = result }, NULL, &output, e);
}

int read_files(const struct options *opt, struct error *e)
{
	cleanup(reports_close) struct reports reports = {};
	int err = privileges_leave(e);

	if (err)
		return err;
	privileges_seal(false);
	(void)signal(SIGPIPE, SIG_IGN);
	err = reports_open(&reports, opt, e);
	return err ? err : report_files(opt, &reports, e);
}
