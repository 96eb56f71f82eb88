/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/setup.h - from options to the settings that BPF programs are loaded with. */
#pragma once

#include "base/error.h"
#include "bpf/object.h"
#include "tool/options.h"

struct run;

/*
 * Fill in @ret: programs, filters and depths. The tool then adds its own settings. Errors: no
 * random numbers.
 */
must_check int setup_object(const struct run *r, struct object_options *ret, struct error *e);

/*
 * Add the programs and settings for lives of processes and for unwind tables. Call it after
 * tool_parts.set_up(), which may switch user stacks off. Errors: those of kernel_types_read();
 * -EOPNOTSUPP the kernel lacks a member that programs read.
 */
must_check int setup_following(const struct run *r, struct object_options *o, struct error *e);

/* Check that the processes of -p and the CPUs of -c exist. Errors: -ESRCH, -ENXIO. */
must_check int setup_check(const struct options *opt, struct error *e);

/*
 * @e says why the programs could not be loaded. Add that lockdown may be the reason, if it may.
 * Returns the code.
 */
must_check int setup_explain_load(const struct run *r, struct error *e);
