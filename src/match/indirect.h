/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* match/indirect.h - which implementation of an IFUNC symbol does this machine use? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/mappings.h"

/* The implementations of one file. A zeroed one is empty; the first question fills it. */
struct indirect {
	const char *path; /* borrowed */
	bool is_asked;
	struct mapping_list own; /* the mappings of this program */
	const struct mapping *file;
	void *library; /* from dlopen() */
};

/*
 * Put the file offset of the implementation for IFUNC symbol @name into *@ret_offset. False:
 * unknown, because the file is not a library of this program. Then only the symbol's resolver
 * knows.
 */
bool indirect_offset(struct indirect *in, const char *name, uint64_t *ret_offset);
void indirect_fini(struct indirect *in);
