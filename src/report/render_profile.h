/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/render_profile.h - a stack in the layout of bcc's profile. For renderers. */
#pragma once

#include "report/label.h"
#include "report/render.h"
#include "report/writer.h"

/* Put the lines of one stack, up to its count. */
void render_profile_stack(struct writer *w, struct labels *labels,
			  const struct profile_stack *stack, const struct render_style *style);
