/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/cpu_profile.h - the name profile: stackcount of e:cpu-clock, with the options and the layout
 * of bcc's tool.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "tool/options.h"

#define PROFILE_PATTERN "e:cpu-clock"
#define PROFILE_FREQUENCY 49

/* Complete parsed options. Errors: -EINVAL, options that exclude each other or are not supported.
 */
must_check int cpu_profile_complete(struct options *opt, struct error *e);

/* "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end." */
void cpu_profile_put_header(const struct options *opt, struct strbuf *to);
