/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* saved/pprof.h - a profile from the bytes of a pprof file, unpacked. Pure. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "profile/profile.h"

/*
 * Read the pprof file @name of @n bytes, of ours or of another program. The caller frees *@ret.
 * The value that the file calls its default becomes the first one. Comments of other programs are
 * left out.
 *
 * Errors: -ENOEXEC  no pprof file
 *         -EBADMSG  damaged or inconsistent
 *         -E2BIG    needs too much memory, or has values that do not fit
 */
must_check int pprof_read(const void *bytes, size_t n, const char *name, struct profile **ret,
			  struct error *e);
