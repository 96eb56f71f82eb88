/* tool/ready.h - who started the run is told when it counts: --ready-fd. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "tables/unwinder.h"

struct ready {
	uint64_t fd; /* 0: nobody is told */
	bool is_asked;
};

/*
 * Descriptor @fd can be written to; nothing that is started inherits it. To be called before any
 * other is opened. 0: there is none. Errors: -EBADF.
 */
must_check int ready_check(uint64_t fd, struct error *e);

/*
 * All is counted, and all processes that were there have been looked at: once @u (NULL: there is
 * none) has made their tables, the descriptor gets a newline and is closed. Does nothing twice.
 * @ready and @u are kept.
 */
void ready_tell(struct ready *ready, struct unwinder *u);
