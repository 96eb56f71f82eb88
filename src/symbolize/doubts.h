/*
 * symbolize/doubts.h - memories that may be one.
 *
 * Where the kernel does not say that a child has its parent's memory (CLONE_VM), and the child has
 * ended or runs another program by the time that one could ask, it may have had it. What either of
 * the two maps in the place of something else may then be there for the other one, too: what was
 * there is not known to be there any more.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbolize/memory.h"

struct doubts {
	struct doubt *list;
	size_t n, capacity;
};

struct doubt {
	struct memory *parent, *child;
	uint32_t parent_tgid;
	uint64_t until; /* what is mapped later than that is mapped by one alone */
};

/* Both memories get another user for as long. */
void doubts_add(struct doubts *ds, const struct doubt *doubt);

/* Those are over that no event from @time on is of. */
void doubts_pass(struct doubts *ds, struct memories *all, uint64_t time);

/* The child with this memory has ended, or runs another program. Its children's doubt is its
 * parent's. */
void doubts_end(struct doubts *ds, struct memories *all, struct memory *child);

/* By the memory of a doubtful child, its doubt; NULL: it is none. Lent until the next call. */
const struct doubt *doubts_of_child(const struct doubts *ds, const struct memory *child);

/* In the memory that @doubt is of, parent's or child's, something has ended. */
typedef void doubts_visit(void *context, const struct doubt *doubt, struct memory *m);

/* @m has @region from its time on: in all that may be the same memory, what is there ends. */
void doubts_spread(const struct doubts *ds, struct memories *all, struct memory *m,
		   const struct past_region *region, doubts_visit *visit, void *context);

void doubts_fini(struct doubts *ds, struct memories *all);
