/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/sent.h - targets as bytes, from the process that has found them (tool/matcher.h). Whoever
 * has taken that over can send anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "match/target.h"

/* Append the targets of @list from @first on, which are of files, and its aliases from @first_alias
 * on. */
void sent_put(const struct target_list *list, size_t first, size_t first_alias, struct strbuf *to);

/*
 * Append to @out what was put, @n bytes; @out may have @most targets. False, and @out is as it was:
 * they are no such bytes.
 */
bool sent_take(const char *bytes, size_t n, size_t most, struct target_list *out);
