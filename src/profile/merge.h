/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* profile/merge.h - one profile from several, a coarser one from one, or a difference. */
#pragma once

#include "profile/profile.h"

/* The properties that tell frames and stacks apart. All others are left out. */
enum {
	KEEP_ADDRESSES = 1 << 0, /* of frames, at run time */
	KEEP_OFFSETS = 1 << 1,   /* of frames, in their functions */
	KEEP_LINES = 1 << 2,     /* source file and line of frames */
	KEEP_PIDS = 1 << 3,
	KEEP_COMMS = 1 << 4,
	KEEP_SLICES = 1 << 5, /* slices of time, and the parts of stacks in them */
	KEEP_ALL = (1 << 6) - 1,
	/* Functions are equal by name, module and kind alone, whatever build they come from.
	   Without a name, code of different builds is never equal. */
	MERGE_BUILDS = 1 << 6,
};

/*
 * The sum of the @n profiles in @from, at least one, which stay as they are. The caller frees it.
 *
 * Frames are equal if their name, module, kind and build ID are (without a build ID: their path),
 * and the properties in @keep. A frame that stands for several has the addresses of the first.
 * Stacks are in the order of their first appearance. Hidden stacks, losses by reason and durations
 * are added up; of texts of profile_about that differ, the first one stays, with ", ...". Values
 * are paired by name and unit; what the first profile lacks is left out. The period is the longest
 * one, and none if their types differ. Slices of several profiles are left out.
 *
 * profile_choose() has not looked at the result.
 */
struct profile *profile_merge(const struct profile *const *from, size_t n, unsigned keep);

/* Profiles after a change, then those before it. */
struct profile_sides {
	const struct profile *const *of;
	size_t n;       /* of both sides */
	size_t n_after; /* the number of the first one before the change; @n: none is */
};

/*
 * A difference (profile.is_difference). The profiles stay as they are; the caller frees the result.
 * Values before an earlier change, which a profile after the change may have, are left out. With
 * no profile before the change, the profiles are differences, and this is their sum.
 *
 * Builds and processes differ before and after a change. So stacks are equal if their functions
 * have the same names, modules and kinds, in the same order. With KEEP_COMMS in @keep, the names of
 * their processes must be the same, too, if both sides have such names. Stacks of one side have 0
 * on the other: they are new or gone. (Of the other flags, only KEEP_SLICES is for differences.)
 *
 * Slices after the change come first, and a profile without slices is one. profile_about is that of
 * the profiles after the change. Losses before the change are reasons of their own: "before the
 * change: ...".
 *
 * With @normalize, each value before the change is scaled so that its sum equals that after the
 * change. Rounding moves no hit from the sum. Parts in slices are not scaled.
 *
 * Stacks are in no useful order before profile_choose().
 */
struct profile *profile_difference(const struct profile_sides *sides, unsigned keep,
				   bool normalize);
