/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/matcher.h - search files for functions and USDT probes in a process of its own. That
 * process may open files, and has no other privilege. Neither a file system that does not answer
 * nor a hostile file can hold up the main process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "match/match.h"
#include "match/spec.h"

/*
 * match_targets() for each of the @n @specs, which all name user code: appends the targets to @out.
 * A file may take 30 s of CPU time. @scope->on_file must be NULL.
 *
 * Errors: those of match_targets()
 *	-ETIMEDOUT  a file system does not answer; the message names the file
 *	-ETIME      a file takes too much CPU time
 *	-EPIPE      the process was killed
 *	-E2BIG      the names are too long, all together
 *	-EBADMSG    the answer is not sound
 *	others      no process can be made
 * With an error, @out is unchanged.
 */
must_check int match_in_files(const struct probe_spec *specs, size_t n,
			      const struct match_scope *scope, struct target_list *out,
			      struct error *e);

/*
 * Targets as bytes. sent_put() appends the targets of @list from @first on, which are in files.
 * sent_take() checks @n bytes, which may be an attacker's, and appends their targets to @out, which
 * may have @most targets. False: the bytes are malformed, and @out is unchanged.
 */
void sent_put(const struct target_list *list, size_t first, struct strbuf *to);
bool sent_take(const char *bytes, size_t n, size_t most, struct target_list *out);
