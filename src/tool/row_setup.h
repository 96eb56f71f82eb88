/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/row_setup.h - the maps of rows and stacks in their share of --max-memory. */
#pragma once

#include <stdint.h>

#include "bpf/features.h"
#include "bpf/object.h"
#include "store/store.h"

/* Divide @bytes into @budget, for budget->has_sum, and set the sizes of the maps of @o. */
void row_setup(uint64_t bytes, const struct features *features, struct store_budget *budget,
	       struct object_options *o);
