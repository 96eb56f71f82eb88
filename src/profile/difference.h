/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* profile/difference.h - what has changed from one profile to another. */
#pragma once

#include "profile/merge.h"

/*
 * A difference (profile.is_difference). The profiles stay as they are; the caller frees the result.
 * Values before an earlier change, which a profile after the change may have, are left out. With
 * no profile before the change, the profiles are differences, and this is their sum.
 *
 * Builds and processes differ before and after a change. So stacks are equal if their functions
 * have the same names, modules and kinds, in the same order. With KEEP_COMMS and KEEP_LABELS in
 * @keep, the name of the process and the text labels must be the same, too. Names of processes
 * count if both sides have them, and a label counts if both have its key. Stacks of one side have
 * 0 on the other: they are new or gone.
 *
 * With @normalize, each value before the change is scaled so that its sum equals that after the
 * change. Rounding moves no hit from the sum. Parts in slices are not scaled.
 *
 * Stacks are in no useful order before profile_choose().
 */
struct profile *profile_difference(const struct profile_sides *sides, unsigned keep,
				   bool normalize);
