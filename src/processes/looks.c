// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/looks.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

static struct images *images_of_looks(const struct looks *l)
{
	return l->programs->spaces.images;
}

/*
 * Add the mappings of @list, which all exist now.
 *
 * With events, overlapped regions stay: events are newer, or will correct them soon. Without
 * events, a new mapping replaces the regions that it overlaps, and nothing is known of the time
 * between the two looks.
 */
static void look_at_mappings(struct looks *l, struct program *program,
			     const struct mapping_list *list)
{
	cleanup_free struct region *regions = xcalloc(list->n, sizeof(*regions));
	cleanup_free struct image_entry **added = xcalloc(list->n, sizeof(struct image_entry *));
	size_t n_others;

	for (size_t i = 0; i < list->n; i++) {
		const struct mapping *m = &list->mappings[i];

		added[i] =
			images_add(images_of_looks(l), &program->mapper, m, &(struct file_stamp){});
		images_hold(images_of_looks(l), added[i]);
		regions[i] = (struct region){ .start = m->start,
					      .end = m->end,
					      .offset = m->offset,
					      .image = added[i],
					      .until = UINT64_MAX };
	}
	n_others = space_add_free(&l->programs->spaces, program->space, regions, list->n);
	for (size_t i = 0; i < n_others && !l->is_followed; i++) {
		regions[i].from = clock_ns(CLOCK_MONOTONIC);
		(void)space_map(&l->programs->spaces, program->space, &regions[i],
				program->looked_at);
	}
	for (size_t i = 0; i < list->n; i++)
		images_release(images_of_looks(l), added[i]);
}

/*
 * *@s may have other users, which keep it: the look may see a program that @s is not of, because
 * the record of its exec has not been read yet.
 */
static void make_space_own(struct spaces *all, struct space **s)
{
	struct space *shared = *s;

	*s = space_copy(all, shared);
	space_drop(all, shared);
}

/* Reading the mappings of @tgid from @begin on gave @err. Retry if it was for lack of time. */
static void note_late(struct looks *l, uint32_t tgid, int err, uint64_t begin)
{
	if (err == -ETIME || err == -EIO)
		late_note(&l->late, tgid, begin, clock_ns(CLOCK_MONOTONIC));
	else
		late_forget(&l->late, tgid);
}

static void read_looked_list(struct looks *l, uint32_t tgid)
{
	struct program *program = programs_newest(l->programs, tgid);
	cleanup(remote_list_fini) struct remote_list read = {};
	const struct mapping_list *list = &read.list;
	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	struct error e;

	if (program)
		program->looked_in = l->programs->period;

	const int err = remote_list(images_files(images_of_looks(l)), tgid, &read, &e);

	images_note_error(images_of_looks(l), err);
	note_late(l, tgid, err, begin);
	if (err)
		log_debug("process %u: %s", tgid, e.text);
	if (err || !list->n)
		return;
	program = programs_current(l->programs, tgid);
	program->looked_in = l->programs->period;
	program->mapper = (struct mapper){ .pid = list->tid, .root = program->mapper.root };
	images_find_root(images_of_looks(l), &program->mapper);
	make_space_own(&l->programs->spaces, &program->space);
	look_at_mappings(l, program, list);
	space_note_read(program->space);
	if (program->is_seen)
		space_note_hit(images_of_looks(l), program->space);
	if (!l->is_followed || !program_has_comm(program))
		program_read_comm(program);
	program->is_whole = l->is_followed;
	program->looked_at = clock_ns(CLOCK_MONOTONIC);
}

static bool is_program_known(const struct looks *l, uint32_t tgid)
{
	const struct program *program = programs_newest(l->programs, tgid);

	return program && program_is_all_known(program);
}

void looks_read(struct looks *l, uint32_t tgid)
{
	/* looks_read_late() retries late lists, or each hit and fork would wait. */
	if (!is_program_known(l, tgid) && !late_has(&l->late, tgid))
		read_looked_list(l, tgid);
}

uint32_t looks_read_late(struct looks *l)
{
	const uint32_t tgid = late_next(&l->late, clock_ns(CLOCK_MONOTONIC));

	if (tgid && is_program_known(l, tgid))
		late_forget(&l->late, tgid);
	else if (tgid)
		read_looked_list(l, tgid);
	return tgid;
}

/* Is its list worth a wait? A process without a program may have been hit. */
static bool is_list_wanted(const struct program *program)
{
	return !program ||
	       (program->is_seen && program_runs(program) && !program_is_all_known(program));
}

/* After a loss, for example. Without events, no program is ever complete. */
void looks_read_hit(struct looks *l, uint64_t until)
{
	const struct programs *all = l->programs;

	for (size_t i = 0; i < all->n_heads && clock_ns(CLOCK_MONOTONIC) < until; i++)
		if (all->heads[i] && is_list_wanted(all->heads[i]))
			looks_read(l, all->heads[i]->tgid);
}

void looks_settle(struct looks *l, uint64_t until)
{
	const struct programs *all = l->programs;

	looks_read_hit(l, until);
	for (size_t i = l->late.n; i-- > 0;)
		if (!is_list_wanted(programs_newest(all, l->late.list[i].tgid)))
			late_forget(&l->late, l->late.list[i].tgid);
	for (size_t i = 0; l->late.n > 0 && clock_ns(CLOCK_MONOTONIC) < until; i++)
		read_looked_list(l, l->late.list[i % l->late.n].tgid);
}
