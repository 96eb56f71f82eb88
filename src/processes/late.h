/*
 * processes/late.h - processes whose lists of mappings did not come in time, and when each is asked
 * for again.
 *
 * A list that is late once may come soon: a helper was busy with another one. So the first pause is
 * short, and doubles each time. All waiting takes a small share of the time. Pure: the caller has
 * the clock. Times are ns of one clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LATE_LEAST_PAUSE_NS 10000000ULL
#define LATE_MOST_PAUSE_NS 8000000000ULL
#define LATE_SHARE                                                                     \
	10ULL /* at most one tenth of the time is waited for those that are late again \
	       */

struct late_one {
	uint32_t tgid;
	uint64_t pause;
	uint64_t due;
};

/* Zeroed: none is late. */
struct late {
	struct late_one *list;
	size_t n, capacity;
	uint64_t rest_until; /* none is due before */
};

void late_fini(struct late *l);

bool late_has(const struct late *l, uint32_t tgid);

/* The list of @tgid did not come from @begin to @now. */
void late_note(struct late *l, uint32_t tgid, uint64_t begin, uint64_t now);

/* It came, or the process has gone. */
void late_forget(struct late *l, uint32_t tgid);

void late_forget_all(struct late *l);

/* When the next one is due; UINT64_MAX: none is late. */
uint64_t late_due(const struct late *l);

/* The one that is due for longest at @now; 0: none is. */
uint32_t late_next(const struct late *l, uint64_t now);
