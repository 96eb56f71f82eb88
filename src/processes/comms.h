/* processes/comms.h - what a process was called before it named itself otherwise. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define COMM_BYTES 16

struct former_comm {
	uint64_t until; /* ns of CLOCK_MONOTONIC */
	char text[COMM_BYTES];
};

/* By rising time. A zeroed one is empty. */
struct former_comms {
	struct former_comm *list;
	size_t n, capacity;
	uint64_t from; /* not known of before */
};

void former_comms_fini(struct former_comms *f);

/* It was @comm up to @until, later than all before. Some dozens are kept, the latest. */
void former_comms_add(struct former_comms *f, const char *comm, uint64_t until);

/* What it was called before @until is not known. */
void former_comms_forget(struct former_comms *f, uint64_t until);

enum comm_knowledge { COMM_FORMER, COMM_LATER, COMM_NOT_KNOWN };

/* At @time: one of these (*@ret, lent by @f), a later one, or one that is not known. */
enum comm_knowledge former_comms_at(const struct former_comms *f, uint64_t time, const char **ret);
