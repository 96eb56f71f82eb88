// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/pairs.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "store/batch.h"

static int each_beginning(const struct object *object, batch_take *take, void *context)
{
	cleanup(batch_fini) struct batch b = { .key_size = sizeof(struct begun_key),
					       .value_size = sizeof(struct beginning) };
	const struct batch_walk walk = { bpf_map_lookup_batch, take, context };
	struct error e;
	const int err = batch_each(object_begun_fd(object), &b, &walk, &e);

	if (err)
		log_warn("cannot read the pairs that have not ended: %s", e.text);
	return err;
}

static bool count_beginnings(void *context, int fd, struct batch *b, uint32_t n)
{
	(void)fd, (void)b;
	*(uint64_t *)context += n;
	return true;
}

uint64_t pairs_count_open(const struct object *object)
{
	uint64_t n = 0;

	(void)each_beginning(object, count_beginnings, &n);
	return n;
}

static bool keep_stacks_of(void *context, int fd, struct batch *b, uint32_t n)
{
	const struct beginning *beginnings = b->values;
	uint32_t number;

	(void)fd;
	for (uint32_t i = 0; i < n; i++) {
		(void)stacks_find(context, beginnings[i].key.kernel_stack, true, &number);
		(void)stacks_find(context, beginnings[i].key.user_stack, true, &number);
	}
	return true;
}

bool pairs_keep_stacks(const struct object *object, struct stacks *stacks)
{
	return each_beginning(object, keep_stacks_of, stacks) == 0;
}
