/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/listing.h - the regions of a space at a time, as a list of mappings and files. */
#pragma once

#include <stdint.h>

#include "processes/space.h"
#include "reader/remote_files.h"

/*
 * List the mappings of @space at @time (0: now). The list owns all that it has; free it with
 * remote_list_fini(). A file that no opener has opened has fact.is_there 0.
 */
void listing_make(const struct space *space, uint64_t time, struct remote_list *ret);
