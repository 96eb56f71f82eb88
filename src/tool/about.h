/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/about.h - how and when a profile is made: struct profile_about, for this run. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"
#include "profile/profile.h"
#include "tool/options.h"

/* Append @word as a shell takes it for one word. */
void about_quote(struct strbuf *to, const char *word);

/*
 * Set p->about for a run that began @ago_ns nanoseconds before now, and counted for @duration_ns.
 * @p owns copies of the strings.
 */
void about_set(struct profile *p, const struct options *opt, uint64_t ago_ns, uint64_t duration_ns);
