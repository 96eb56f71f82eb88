/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/object_maps.h - the sizes of the maps. For object.c only. */
#pragma once

#include "bpf/features.h"
#include "bpf/levels.h"
#include "bpf/object.h"

struct stackcount_bpf;

/* Size the maps of @s for a run, and note in @levels how large the second level is to be. */
void object_maps_size(struct stackcount_bpf *s, struct levels *levels,
		      const struct object_options *options, const struct features *features);
