// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel takes a batch as a whole or not at all, and does not name the place that it refused.
 * So a refused batch is halved until a single place is refused. Its target is left out; all others
 * are attached. One refused place among 2,048 costs 12 refused attempts, and 11 links instead of
 * one. So backends keep suspicious places out of a batch where they can.
 */
#include "attach/batch.h"

#include <assert.h>
#include <errno.h>

#define MAX_DEPTH 66 /* a range waits beside at most one half of each size */

/*
 * Would smaller batches meet this refusal as well? It concerns the program, the user or the system.
 */
static bool is_about_whole_batch(int code)
{
	return code == -EPERM || code == -EACCES || code == -EMFILE || code == -ENFILE ||
	       code == -EBADF || code == -ENOMEM || code == -EFAULT;
}

struct link_places batch_range(const struct batch *b, size_t first, size_t n)
{
	return (struct link_places){
		.places = b->places ? b->places + first : NULL,
		.symbols = b->symbols ? b->symbols + first : NULL,
		.semaphores = b->semaphores ? b->semaphores + first : NULL,
		.cookies = b->cookies ? b->cookies + first : NULL,
		.n = n,
	};
}

/* Attach [first, first + n) by one link. Returns 0 or the refusal. */
static int try_link_of_range(const struct batch *b, size_t first, size_t n)
{
	int code = b->link(b, first, n);

	if (code < 0)
		return code;
	for (size_t i = 0; i < n; i++)
		attaching_note(b->at, b->targets[first + i], 0);
	return 0;
}

bool batch_attach_whole(const struct batch *b, size_t n)
{
	return try_link_of_range(b, 0, n) == 0;
}

void batch_attach(const struct batch *b, size_t n)
{
	struct range {
		size_t first;
		size_t n;
	} waiting[MAX_DEPTH] = { { 0, n } };
	size_t n_waiting = n ? 1 : 0;

	while (n_waiting) {
		struct range r = waiting[--n_waiting];
		int code = try_link_of_range(b, r.first, r.n);

		if (code == 0)
			continue;
		if (r.n == 1 || is_about_whole_batch(code)) {
			for (size_t i = 0; i < r.n; i++)
				attaching_note(b->at, b->targets[r.first + i], code);
			continue;
		}
		assert(n_waiting + 2 <= MAX_DEPTH);
		waiting[n_waiting++] = (struct range){ r.first + r.n / 2, r.n - r.n / 2 };
		waiting[n_waiting++] = (struct range){ r.first, r.n / 2 };
	}
}
