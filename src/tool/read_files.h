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

/* Read files and report them. Errors: of reading and writing. */
must_check int read_files(const struct options *opt, struct error *e);

/*
 * The sum of the @n files, with all that they have, and with names that this machine knows. The
 * caller frees *@ret. Errors: those of saved_read(), with the file's name.
 */
must_check int read_profiles(const char *const *names, size_t n, const struct options *opt,
			     struct profile **ret, struct error *e);

/* Replace *@p by its difference from the files of --minus, if there are any. */
must_check int read_and_subtract(const struct options *opt, struct profile **p, struct error *e);
