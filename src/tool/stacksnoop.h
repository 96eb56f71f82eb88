/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/stacksnoop.h - print every single event with its stack, as it comes. */
#pragma once

#include "base/error.h"
#include "tool/options.h"

/* A run of stacksnoop. Errors: of any room; nothing stays attached. */
must_check int snoop_stacks(const struct options *opt, struct error *e);
