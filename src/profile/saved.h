/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/saved.h - read profiles from files. The files may come from anyone, so each number in
 * them is checked, and memory is bounded. Nothing here opens a file.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "profile/profile.h"

/*
 * Read the profile in the file @fd, up to its end. The file is a page of ours, or pprof of any
 * program, packed by gzip or not. @fd may be a pipe. @name is for messages. The caller frees *@ret.
 * Frames are as fine as those in the file; profile_merge() (profile/merge.h) makes equal ones one.
 *
 * Errors: -ENOEXEC  neither pprof nor a page of ours
 *         -EBADMSG  it is one of these, but damaged or inconsistent
 *         -E2BIG    too large, packed or unpacked
 *         others    read(2) fails
 */
must_check int saved_read(int fd, const char *name, struct profile **ret, struct error *e);

/* The same of @n bytes in memory. */
must_check int saved_read_bytes(const void *bytes, size_t n, const char *name, struct profile **ret,
				struct error *e);
