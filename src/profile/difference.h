/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* profile/difference.h - what has changed from one profile to another. */
#pragma once

#include <stdbool.h>

#include "profile/profile.h"

/*
 * A difference (profile.is_difference). Both profiles stay as they are; the caller frees the
 * result. If one is a difference itself, its values after the change are taken.
 *
 * Builds and processes differ before and after a change. So stacks are equal if their functions
 * have the same names, modules and kinds, in the same order. The name of the process and the text
 * labels must be the same, too. Names of processes count if both profiles have them, and a label
 * counts if both have its key. Stacks of one side have 0 on the other: they are new or gone.
 *
 * With @normalize, each value before the change is scaled so that its sum equals that after the
 * change. Rounding moves no hit from the sum.
 *
 * Stacks are in no useful order before profile_choose().
 */
struct profile *profile_difference(const struct profile *after, const struct profile *before,
				   bool normalize);
