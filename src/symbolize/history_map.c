/* What is mapped, by one process for itself or for all that have its memory. */
#include "symbolize/history_internal.h"

#include "base/array.h"

/* The other processes that have this memory. */
static void note_sharers(struct history *h, const struct life *life)
{
	for (size_t i = 0; i < h->n_heads && memory_is_shared(life->memory); i++)
		if (h->heads[i] && h->heads[i] != life && h->heads[i]->memory == life->memory)
			array_push(h->changed, h->n_changed, h->cap_changed, h->heads[i]->tgid);
}

bool history_map(struct history *h, struct life *life, const struct past_region *region)
{
	const bool is_replaced = memory_map(&h->memories, life->memory, region);

	if (is_replaced)
		note_sharers(h, life);
	return is_replaced;
}

uint32_t history_changed(struct history *h)
{
	return h->n_changed ? h->changed[--h->n_changed] : 0;
}
