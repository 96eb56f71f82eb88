/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/read_files.h - profiles from files: --read, which traces nothing, and --minus.
 *
 * The files may come from anyone. All privileges are given up before the first is opened.
 */
#pragma once

#include "base/error.h"
#include "profile/changes.h"
#include "profile/profile.h"
#include "tool/options.h"
#include "tool/reports.h"

/* Read files and report them. Errors: of reading and writing, and those of read_and_subtract(). */
must_check int read_files(const struct options *opt, struct error *e);

/* A difference, and its changed functions. */
struct subtracted {
	struct profile *profile;
	struct changes *changes;
};

void subtracted_fini(struct subtracted *s);

/*
 * Subtract the files of --minus from @after, which stays as it is. Errors: those of saved_read(),
 * with the file's name; -EINVAL: the values of two profiles differ in name or unit.
 */
must_check int read_and_subtract(const struct options *opt, const struct changes_side *after,
				 struct subtracted *ret, struct error *e);

/*
 * Before a run: can its files of --minus be read, and do their values agree? A child without
 * privileges tries, because the files may come from anyone. Call it while there is one thread.
 * Pipes and devices are not tried. Errors: those of read_and_subtract().
 */
must_check int read_files_try_minus(const struct options *opt, struct error *e);

/*
 * Write the difference of a run's @result and the files of --minus to @reports. If there is none,
 * write @result itself, and return why. Nothing is traced any more, and all descriptors of BPF are
 * closed. So the files are read without the capabilities that tracing takes. Those for writing the
 * user's files stay. Stacks that the reports hide are removed from @result.
 */
must_check int read_files_report_difference(const struct options *opt, struct profile *result,
					    struct reports *reports, struct error *e);
