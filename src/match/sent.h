/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/sent.h - targets as bytes, sent by the process that has found them (tool/matcher.h). An
 * attacker in control of that process can send anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "match/target.h"

/*
 * Append the targets of @list from @first on, which are in files, and the aliases from @first_alias
 * on.
 */
void sent_put(const struct target_list *list, size_t first, size_t first_alias, struct strbuf *to);

/*
 * Check the @n bytes, and append their targets and aliases to @out, which may have @most targets.
 * False: the bytes are malformed, and @out is unchanged.
 */
bool sent_take(const char *bytes, size_t n, size_t most, struct target_list *out);
