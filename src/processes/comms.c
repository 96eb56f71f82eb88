// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Some programs show their state in their name, and change it again and again. */
#define MOST_FORMER 64

void former_comms_fini(struct former_comms *f)
{
	free(f->list);
	*f = (struct former_comms){};
}

void former_comms_add(struct former_comms *f, const char *comm, uint64_t until)
{
	struct former_comm one = { .until = until };

	if (f->n == MOST_FORMER) {
		f->from = f->list[0].until;
		f->n--;
		memmove(f->list, f->list + 1, f->n * sizeof(*f->list));
	}
	(void)snprintf(one.text, sizeof(one.text), "%s", comm);
	array_push(f->list, f->n, f->capacity, one);
}

void former_comms_forget(struct former_comms *f, uint64_t until)
{
	f->n = 0;
	f->from = until;
}

enum comm_knowledge former_comms_at(const struct former_comms *f, uint64_t time, const char **ret)
{
	if (time < f->from)
		return COMM_NOT_KNOWN;
	for (size_t i = 0; i < f->n; i++) {
		if (time < f->list[i].until) {
			*ret = f->list[i].text;
			return COMM_FORMER;
		}
	}
	return COMM_LATER;
}
