/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/comms.h - the former names of a process, each with the time of its end. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define COMM_BYTES 16

struct former_comm {
	uint64_t until; /* exclusive; ns of CLOCK_MONOTONIC */
	char text[COMM_BYTES];
};

/* By rising time. A zeroed struct is empty. */
struct former_comms {
	struct former_comm *list;
	size_t n, capacity;
	uint64_t from; /* earlier names are not known */
};

void former_comms_fini(struct former_comms *f);

/* The name was @comm until @until, a later time than that of any other entry. Keeps the last 64. */
void former_comms_add(struct former_comms *f, const char *comm, uint64_t until);

/* Forget all former names: none is known before @until. */
void former_comms_forget(struct former_comms *f, uint64_t until);

enum comm_knowledge { COMM_FORMER, COMM_LATER, COMM_NOT_KNOWN };

/*
 * The name at @time. COMM_FORMER: *@ret, which @f lends until it changes. COMM_LATER: the name that
 * followed the last entry. Only COMM_FORMER sets *@ret.
 */
enum comm_knowledge former_comms_at(const struct former_comms *f, uint64_t time, const char **ret);
