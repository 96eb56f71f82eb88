/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/read_files.h - profiles from files: --read, which traces nothing, and --minus.
 *
 * The files may come from anyone. All privileges are given up before the first is opened.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tool/options.h"
#include "tool/output.h"

/*
 * Read files and report them. Errors: those of saved_read(), with the file's name; of writing;
 * -EINVAL: the values of two profiles differ in name or unit.
 */
must_check int read_files(const struct options *opt, struct error *e);

/*
 * Before a run: can its files of --minus be read, and do their values agree? A process without
 * privileges tries, because the files may come from anyone. Call it while there is one thread.
 * Pipes and devices are not tried. Errors: of reading, as above; -ETIMEDOUT, a file system does not
 * answer.
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
