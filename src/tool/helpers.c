// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/read.h"
#include "tool/run.h"

/* Records of all processes wait while this one does. A finder usually takes some 100 us. */
#define CAPTURE_PATIENCE_NS (NS_PER_S / 4)

/*
 * Time for all files of one user. A usual file takes some ms, the most expensive one a second.
 */
#define MOST_OF_USER_NS (30 * NS_PER_S)

#define FINDER_NS (2 * NS_PER_S)
#define PARSER_NS (20 * NS_PER_S)

/* clang-format off */
static const struct files_purpose purposes[PURPOSES] = {
	[FOR_TABLES] = {
		.lost = "user stacks may be cut (no unwind table)",
		.after = "this user's other files get no unwind tables",
		.most_of_user_ns = MOST_OF_USER_NS, .finder_ns = FINDER_NS, .parser_ns = PARSER_NS,
	},
	[FOR_FOLLOWING] = {
		.lost = "user frames may be [unknown]",
		.after = "mappings of this user's processes are not read",
		.most_of_user_ns = MOST_OF_USER_NS, .finder_ns = FINDER_NS, .parser_ns = PARSER_NS,
	},
	[FOR_NAMES] = {
		.lost = "user frames may be [unknown]",
		.after = "frames in this user's other files have no names",
		.most_of_user_ns = MOST_OF_USER_NS, .finder_ns = FINDER_NS, .parser_ns = PARSER_NS,
	},
};
/* clang-format on */

void helpers_init(struct helpers *h)
{
	h->places = places_new();
	for (size_t i = 0; i < PURPOSES; i++)
		h->files[i] = files_new(-1, h->places, &purposes[i]);
}

int helpers_start(struct helpers *h, struct error *e)
{
	const struct files_manner capture = { .patience_ns = CAPTURE_PATIENCE_NS };
	int err = zygote_start(files_work, &h->zygote, e);

	for (size_t i = 0; i < PURPOSES && !err; i++) {
		files_free(h->files[i]);
		h->files[i] = files_new(TAKE_FD(h->zygote.controls[i]), h->places, &purposes[i]);
		if (!h->files[i])
			err = error_set(e, -EMFILE, "%s", error_words(-EMFILE));
	}
	if (err)
		return error_within(e, "start helper processes");
	files_set_manner(h->files[FOR_FOLLOWING], &capture);
	return 0;
}

void helpers_set_manner(struct helpers *h, const struct files_manner *manner)
{
	const struct files_manner capture = { .patience_ns = CAPTURE_PATIENCE_NS,
					      .is_enough = manner->is_enough,
					      .context = manner->context };

	files_set_manner(h->files[FOR_NAMES], manner);
	files_set_manner(h->files[FOR_FOLLOWING], &capture);
}

bool helpers_are_stopped(const struct helpers *h)
{
	return process_state(h->zygote.pid) == 'T';
}

void helpers_leave_out(struct helpers *h, struct trace_state *state)
{
	if (h->state)
		__atomic_store_n(&h->state->zygote, 0, __ATOMIC_RELAXED);
	h->state = state;
	if (state)
		__atomic_store_n(&state->zygote, (uint32_t)h->zygote.pid, __ATOMIC_RELAXED);
}

void helpers_end(struct helpers *h)
{
	for (size_t i = 0; i < PURPOSES; i++)
		files_end(h->files[i]);
	helpers_leave_out(h, NULL);
}

void helpers_fini(struct helpers *h)
{
	for (size_t i = 0; i < PURPOSES; i++)
		files_free(h->files[i]);
	places_free(h->places);
	zygote_fini(&h->zygote);
}
