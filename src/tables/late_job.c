// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/late_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bpf/tables.h"
#include "bpf/user_step.h"
#include "tables/late.h"

/* The requests for a missing table, of all hits of a space together. */
#define MOST_TRIES 2

struct late_space *late_space_new(struct remote_list *list)
{
	struct late_space *space = xcalloc(1, sizeof(*space));

	space->n_users = 1;
	space->list = *list;
	*list = (struct remote_list){};
	space->found = xcalloc(space->list.list.n + 1, sizeof(*space->found));
	space->n_tries = xcalloc(space->list.list.n + 1, 1);
	for (size_t i = 0; i < space->list.list.n; i++)
		space->found[i].how = UNWIND_NOT_YET;
	return space;
}

void late_space_drop(struct late_space *space)
{
	if (!space || --space->n_users)
		return;
	remote_list_fini(&space->list);
	free(space->found);
	free(space->n_tries);
	free(space);
}

bool late_job_is_done(const struct late_job *job)
{
	return __atomic_load_n(&job->is_done, __ATOMIC_ACQUIRE);
}

void late_job_fini(struct late_job *job)
{
	free(job->words);
	job->words = NULL;
	late_space_drop(job->space);
	job->space = NULL;
}

struct entries {
	const struct unwind_memory *memory;
	uint32_t place;
};

/* Copy @bytes, a multiple of 4, from @place. False: they are not all there. */
static bool read_words(const struct unwind_memory *m, uint32_t place, void *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
		uint32_t word;

		if (!unwind_memory_read(m, place + (uint32_t)i, &word))
			return false;
		memcpy((uint8_t *)to + i, &word, sizeof(word));
	}
	return true;
}

static _Bool read_entry_at(void *from, __u32 i, struct unwind_entry *ret)
{
	const struct entries *e = from;

	return read_words(e->memory, e->place + i * (uint32_t)sizeof(*ret), ret, sizeof(*ret));
}

/*
 * Look up an address in a published table, as the programs do. Puts the rule for @vaddr of the
 * image at @place into *@ret: UNWIND_NO_ROW if no row covers it. Returns UNWIND_GOES_ON, or
 * UNWIND_END_NO_TABLE_YET if the image's table was given up.
 */
static enum unwind_end table_row(const struct unwind_memory *m, uint32_t place, uint64_t vaddr,
				 struct unwind_rule *ret)
{
	struct unwind_image image = {};
	uint32_t first, last, page;
	uint16_t number;

	*ret = (struct unwind_rule){};
	if (!read_words(m, place, &image, sizeof(image)) || !image.n_pages)
		return UNWIND_END_NO_TABLE_YET;
	vaddr -= image.base;
	if (vaddr >> UNWIND_PAGE_BITS >= image.n_pages)
		return UNWIND_GOES_ON;
	page = image.pages + (uint32_t)(vaddr >> UNWIND_PAGE_BITS) * 4;
	if (!unwind_memory_read(m, page, &first) || !unwind_memory_read(m, page + 4, &last) ||
	    !unwind_find(first, last, (uint16_t)vaddr, read_entry_at,
			 &(struct entries){ m, image.entries }, &number) ||
	    number >= image.n_rules)
		return UNWIND_GOES_ON;
	(void)read_words(m, image.rules + number * (uint32_t)sizeof(*ret), ret, sizeof(*ret));
	return UNWIND_GOES_ON;
}

struct rules_of {
	struct late_space *space;
	struct table_set *tables;
	const struct unwind_memory *memory;
	uint32_t tgid;
};

/* How to walk mapping @i. A table that is missing is made now. */
static const struct unwind_mapping *how_to_walk(const struct rules_of *f, size_t i)
{
	struct late_space *space = f->space;
	const struct file_state *state = &space->list.states[i];
	struct unwind_mapping *found = &space->found[i];

	if (found->how != UNWIND_NOT_YET || space->n_tries[i] == MOST_TRIES)
		return found;
	space->n_tries[i]++;
	table_set_find(f->tables, f->tgid, &space->list.list.mappings[i],
		       state->fact.is_there ? state : NULL, TABLE_IN_USE, found);
	return found;
}

static enum unwind_end row_in_mapping(const struct rules_of *f, size_t i, uint64_t addr,
				      struct unwind_rule *ret)
{
	const struct unwind_mapping *found = how_to_walk(f, i);
	enum unwind_end end;

	switch ((enum unwind_how)found->how) {
	case UNWIND_BY_TABLE:
		end = table_row(f->memory, found->image, addr - found->bias, ret);
		if (end) { /* it was evicted: the next hit may ask for it once more */
			f->space->found[i].how = UNWIND_NOT_YET;
			end = how_to_walk(f, i)->how == UNWIND_BY_TABLE
				      ? table_row(f->memory, found->image, addr - found->bias, ret)
				      : UNWIND_END_NO_TABLE_YET;
		}
		return end;
	case UNWIND_MADE_CODE:
		*ret = UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES);
		return UNWIND_GOES_ON;
	case UNWIND_BY_FRAME_POINTERS:
		*ret = (struct unwind_rule){};
		return UNWIND_GOES_ON;
	case UNWIND_PROBED:
		return UNWIND_END_PROBED;
	case UNWIND_NOT_AT_ALL:
		return UNWIND_END_NO_TABLE;
	default:
		return UNWIND_END_NO_TABLE_YET;
	}
}

static int find_late_rule(void *from, __u64 addr, struct unwind_rule *ret)
{
	const struct rules_of *f = from;
	const struct mapping *m = mapping_list_at(&f->space->list.list, addr);

	if (!m)
		return UNWIND_END_NO_MAPPING;
	return row_in_mapping(f, (size_t)(m - f->space->list.list.mappings), addr, ret);
}

void late_job_run(struct late_job *job, struct table_set *tables, const struct unwind_memory *m)
{
	struct rules_of f = { job->space, tables, m, job->recorded.hit->key.tgid };
	uint64_t words[STACK_WORDS];

	job->n_words =
		(uint32_t)late_walk(&job->recorded, job->most_frames, find_late_rule, &f, words);
	job->words = xcalloc(job->n_words, sizeof(*words));
	memcpy(job->words, words, job->n_words * sizeof(*words));
	__atomic_store_n(&job->is_done, true, __ATOMIC_RELEASE);
}
