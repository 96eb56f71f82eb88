// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/late.h"

struct late {
	const struct recorded *recorded;
	frame_find *find;
	void *from;
	struct unwind_regs regs;
	struct unwind_rule rule;
	uint64_t *words;
	uint32_t n, most;
	uint32_t mark;
	_Bool is_at_entry;
	_Bool is_unread; /* a word was not recorded */
};

static _Bool late_read_word(void *from, __u64 at, __u64 *ret)
{
	struct late *l = from;
	uint64_t word = 0;
	const _Bool is_read = recorded_read(l->recorded, at, &word);

	l->is_unread = l->is_unread || !is_read;
	*ret = word;
	return is_read;
}

static _Bool late_read_code(void *from, __u64 at, __u64 *ret)
{
	const struct late *l = from;
	uint64_t word;
	const _Bool is_read = recorded_code(l->recorded, at, &word);

	*ret = word;
	return is_read;
}

static int late_find_rule(void *from, __u64 addr, struct unwind_rule *ret)
{
	const struct late *l = from;

	return l->find(l->from, addr, ret);
}

static struct frame_reads late_reads(struct late *l)
{
	return (struct frame_reads){ late_find_rule, late_read_word, late_read_code, l };
}

static enum unwind_end late_next_rule(struct late *l)
{
	struct unwind_rule rule = l->rule;
	int end = frame_rule(&l->regs, l->is_at_entry, late_reads(l), &rule);

	l->is_at_entry = 0;
	if (end == UNWIND_END_NO_ROW || (!end && unwind_kind_of(rule) == UNWIND_NO_ROW)) {
		end = frame_checked_rule(&l->regs, late_reads(l), &rule,
					 (l->mark & STACK_MARK_UNVERIFIED) != 0);
		l->mark |= end ? STACK_MARK_NONE : STACK_MARK_UNVERIFIED;
	}
	if (!end)
		l->rule = rule;
	return end;
}

/*
 * A word beyond a full record was not recorded. If the record is shorter, the program could not
 * read on: the page is unreadable.
 */
static enum unwind_end late_step(struct late *l)
{
	const uint32_t kind = unwind_kind_of(l->rule);
	enum unwind_end end;

	l->is_unread = 0;
	if (kind == UNWIND_MADE_FRAMES || kind == UNWIND_MADE_BARE)
		l->mark |= STACK_MARK_UNVERIFIED;
	end = unwind_step(&l->regs, l->rule, late_read_word, l);
	return end == UNWIND_END_UNREADABLE && l->is_unread &&
			       l->recorded->hit->stack_bytes == DEFERRED_STACK_BYTES
		       ? UNWIND_END_NOT_RECORDED
		       : end;
}

/* Add the caller to the stack, unless the walk is over (@end). True: it is. */
static _Bool late_put_caller(struct late *l, enum unwind_end end)
{
	if (!end)
		end = frame_end_before(&l->regs, l->rule, l->n, l->most);
	if (end) {
		l->mark |= end == UNWIND_END_ROOT ? STACK_MARK_NONE : STACK_MARK_WALK + end;
		return 1;
	}
	l->words[l->n++] = l->regs.pc | (l->regs.is_exact ? STACK_WORD_EXACT : 0);
	return 0;
}

size_t late_walk(const struct recorded *r, uint32_t most_frames, frame_find *find, void *from,
		 uint64_t words[STACK_WORDS])
{
	const struct deferred_hit *hit = r->hit;
	struct late l = {
		.recorded = r,
		.find = find,
		.from = from,
		.regs = hit->regs,
		.rule = hit->rule,
		.words = words,
		.n = (uint32_t)recorded_user_words(r, words),
		.most = most_frames < STACK_MAX_FRAMES ? most_frames : STACK_MAX_FRAMES,
		.mark = hit->cut_mark & ~STACK_MARK_CUT_BITS,
		.is_at_entry = hit->is_at_entry,
	};

	for (uint32_t i = 0; i < STACK_WORDS; i++) {
		enum unwind_end end = late_next_rule(&l);

		if (end)
			end = frame_end_without_rule(end, l.rule, &l.n);
		else
			end = late_step(&l);
		if (late_put_caller(&l, end))
			break;
	}
	if (l.mark)
		words[l.n++] = l.mark;
	return l.n;
}
