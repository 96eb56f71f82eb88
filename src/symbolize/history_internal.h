/* symbolize/history_internal.h - what history.c and history_map.c share; for no other file. */
#pragma once

#include "base/hash.h"
#include "symbolize/history.h"

struct history {
	struct memories memories;
	struct u64_map newest; /* tgid -> index in @heads */
	struct life **heads;   /* the newest life of each process */
	size_t n_heads, cap_heads;
	size_t n_lives, n_last_lives;
	size_t n_last_drop; /* lives, when the oldest were dropped last */
	uint64_t n_dropped; /* lives that were hit */
	size_t bytes;       /* of lives */
	uint32_t *changed;  /* processes: history_changed() */
	size_t n_changed, cap_changed;
	struct u64_map made; /* of threads: the process that each made last */
	uint64_t period;
	int own_root;
};

/* Where the newest life of @tgid is, or is to be. Lent until the next call. */
struct life **history_head(struct history *h, uint32_t tgid);

/* @life has @region from its time on, as have all that have its memory. As history_event(). */
bool history_map(struct history *h, struct life *life, const struct past_region *region);
