/* match/indirect.h - which implementation of a function does this machine use? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/mappings.h"

/* Of one file. A zeroed one is empty; made at the first question. */
struct indirect {
	const char *path; /* borrowed */
	bool is_asked;
	struct mapping_list own; /* what this program has mapped */
	const struct mapping *file;
	void *library; /* dlopen()'s */
};

/*
 * Where in the file is the code that IFUNC symbol @name stands for? False where
 * the file is not a library of this program, because then only its resolver knows.
 */
bool indirect_offset(struct indirect *in, const char *name, uint64_t *ret_offset);
void indirect_fini(struct indirect *in);
