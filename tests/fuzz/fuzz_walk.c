// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any table over any memory from any registers: a walk ends, and reads a bounded number of words.
 * It goes down the stack only as often as it may. The quick step is the same step. A walk of a
 * deferred hit has the same frames, and no marks before its last word.
 *
 *	128 bytes  registers        1 byte  rules        1 byte  pages
 *	then rules of 8 bytes, pages of 4, and half each of entries and of the stack
 */
#include "fuzz.h"

#include "bpf/user_step.h"
#include "tables/late.h"

#define MAX_FRAMES 1024
#define STACK 0x10000ULL

struct table {
	const uint8_t *rules, *pages, *entries, *stack;
	uint32_t n_rules, n_pages, n_entries;
	size_t n_stack;        /* bytes */
	size_t n_reads, n_odd; /* odd: a place where one of the walks may end before the other */
	uint64_t least, most;  /* of the addresses that the walk reads */
	uint64_t walked[MAX_FRAMES];
	size_t n_walked;
	_Bool is_whole;
};

static _Bool read_stack(void *from, __u64 at, __u64 *ret)
{
	struct table *t = from;

	t->n_reads++;
	t->least = at < t->least ? at : t->least;
	t->most = at > t->most ? at : t->most;
	if (at < STACK || at - STACK > t->n_stack || t->n_stack - (at - STACK) < sizeof(*ret))
		return 0;
	memcpy(ret, t->stack + (at - STACK), sizeof(*ret));
	return 1;
}

static _Bool find_rule(struct table *t, uint64_t vaddr, struct unwind_rule *ret)
{
	uint32_t first, last;
	uint16_t number;
	uint64_t page = (vaddr >> UNWIND_PAGE_BITS) % (t->n_pages - 1);

	memcpy(&first, t->pages + 4 * page, sizeof(first));
	memcpy(&last, t->pages + 4 * page + 4, sizeof(last));
	if (!unwind_find((const void *)t->entries, t->n_entries, first, last, (uint16_t)vaddr,
			 &number))
		return 0;
	memcpy(ret, t->rules + 8UL * (number % t->n_rules), sizeof(*ret));
	return 1;
}

/* What there is of the stack from @at on, as the programs read it. */
static void read_window(const struct table *t, uint64_t at, struct unwind_window *ret)
{
	const uint64_t offset = at - STACK;

	*ret = (struct unwind_window){ .base = at };
	if (at < STACK || offset > t->n_stack)
		return;
	ret->n_valid = t->n_stack - offset < WINDOW_BYTES ? t->n_stack - offset : WINDOW_BYTES;
	memcpy(ret->words, t->stack + offset, ret->n_valid);
	ret->n_valid -= ret->n_valid < sizeof(uint64_t) ? ret->n_valid : sizeof(uint64_t) - 1;
}

/* Where the quick step does anything, it is the same. */
static enum unwind_end step(struct table *t, struct unwind_regs *regs, struct unwind_rule rule)
{
	static struct unwind_window window;
	struct unwind_regs quick = *regs;
	enum unwind_end end;
	_Bool is_quick;

	read_window(t, regs->of[UNWIND_RSP], &window);
	is_quick = unwind_quickly(&quick, rule, &window);
	require(is_quick || memcmp(&quick, regs, sizeof(quick)) == 0);
	end = unwind_step(regs, rule, read_stack, t);
	require(!is_quick || (!end && memcmp(&quick, regs, sizeof(quick)) == 0));
	return end;
}

static void walk(struct table *t, struct unwind_regs regs)
{
	unsigned n_down = 0;

	t->least = UINT64_MAX;
	for (int i = 0; i < MAX_FRAMES; i++) {
		struct unwind_rule rule;
		uint64_t sp = regs.of[UNWIND_RSP];
		enum unwind_end end;

		if (!find_rule(t, unwind_look_up_at(&regs), &rule))
			return;
		t->n_reads = 0;
		end = step(t, &regs, rule);
		require(t->n_reads <= 17 && end <= UNWIND_END_DEPTH);
		t->is_whole = end == UNWIND_END_ROOT;
		if (end)
			return;
		require(regs.pc || regs.is_exact);
		require(unwind_is_known(&regs, UNWIND_RSP));
		if ((rule.how & 15) != UNWIND_PC_IN && regs.of[UNWIND_RSP] <= sp)
			n_down++;
		require(n_down <= UNWIND_MAX_TURNS);
		t->n_odd += regs.pc < LEAST_CODE;
		t->walked[t->n_walked++] = regs.pc | (regs.is_exact ? STACK_WORD_EXACT : 0);
	}
}

/* --- deferred hits --- */

static struct deferred_piece ring[DEFERRED_PIECES];

/* Any rule but those of code without rows, for which the walk's own answers differ. */
static int find_late(void *from, __u64 addr, struct unwind_rule *ret)
{
	struct table *t = from;

	t->n_odd += addr % 61 == 7 || addr % 61 == 8;
	*ret = (struct unwind_rule){};
	if (addr % 61 == 7)
		return UNWIND_END_NO_MAPPING;
	if (addr % 61 == 8)
		return UNWIND_END_PROBED;
	(void)find_rule(t, addr, ret);
	return UNWIND_GOES_ON;
}

/* Write the hit as the programs do: at any place of the ring, with any words before. */
static struct recorded record(const struct table *t, const struct unwind_regs *regs, uint64_t first,
			      uint32_t n_user)
{
	struct deferred_hit *hit = (void *)&ring[first % DEFERRED_PIECES];
	const uint64_t from = regs->of[UNWIND_RSP];
	uint64_t at = from, end = from, piece;

	if (from >= STACK && from - STACK < t->n_stack)
		end = STACK + t->n_stack;
	if (end - from > DEFERRED_STACK_BYTES)
		end = from + DEFERRED_STACK_BYTES;
	*hit = (struct deferred_hit){ .number = first + 1,
				      .regs = *regs,
				      .stack_from = from,
				      .stack_bytes = (uint32_t)(end - from),
				      .n_user = n_user,
				      .n_cut = n_user,
				      .cut_mark = STACK_MARK_WALK + UNWIND_END_NO_TABLE_YET };
	for (uint32_t i = 0; i < n_user; i++) {
		const uint32_t word = deferred_block_at(0) + i;

		ring[(first + word / DEFERRED_PIECE_WORDS) % DEFERRED_PIECES]
			.words[word % DEFERRED_PIECE_WORDS] = STACK + i;
	}
	piece = first + deferred_word_pieces(deferred_blocks(n_user));
	for (; at < end; piece++) {
		uint64_t n = DEFERRED_PIECE_BYTES - at % DEFERRED_PIECE_BYTES;

		n = n > end - at ? end - at : n;
		memcpy(&ring[piece % DEFERRED_PIECES], t->stack + (at - STACK), n);
		at += n;
	}
	return recorded_at(ring, first);
}

static void check_words(const uint64_t *words, size_t n)
{
	require(n > 0 && n <= STACK_WORDS);
	for (size_t i = 0; i + 1 < n; i++)
		require(words[i] >= STACK_MARK_END);
}

/* As far as both go, the frames are the same. A whole stack that was recorded is whole in both. */
static void compare(const struct table *t, const struct deferred_hit *hit, const uint64_t *words,
		    size_t n)
{
	const _Bool is_marked = n > 1 && words[n - 1] < LEAST_CODE;
	const size_t n_late = n - 1 - is_marked;
	const uint64_t end = hit->stack_from + hit->stack_bytes;
	const _Bool is_recorded =
		t->least >= hit->stack_from && t->most < end && end - t->most >= sizeof(uint64_t);

	for (size_t i = 0; i < n_late && i < t->n_walked; i++)
		require(words[1 + i] == t->walked[i]);
	if (t->is_whole && !t->n_odd && (is_recorded || !t->most))
		require(n_late == t->n_walked);
}

static void walk_late(struct table *t, const struct unwind_regs *regs, uint32_t n_user)
{
	static uint64_t words[STACK_WORDS];
	const bool is_hit = n_user == 1 || regs->pc >= LEAST_CODE; /* else the walk had ended */
	struct recorded r = record(t, regs, regs->of[UNWIND_RDX], is_hit ? n_user : 1);
	size_t n = late_walk(&r, STACK_MAX_FRAMES, find_late, t, words);

	check_words(words, n);
	if (n_user == 1)
		compare(t, r.hit, words, n);
	check_words(words, recorded_cut_words(&r, words));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_regs regs = { .known = UNWIND_ALL_KNOWN, .is_exact = 1 };
	struct table t = {};
	size_t head = sizeof(regs.of) + 2;

	if (size < head)
		return 0;
	memcpy(regs.of, data, sizeof(regs.of));
	regs.pc = regs.of[UNWIND_RAX];
	t.n_rules = data[head - 2] % 32 + 1;
	t.n_pages = data[head - 1] % 8 + 2;
	t.rules = data + head;
	t.pages = t.rules + 8UL * t.n_rules;
	head += 8UL * t.n_rules + 4UL * t.n_pages;
	if (size < head)
		return 0;
	t.n_entries = (uint32_t)((size - head) / 8);
	t.entries = data + head;
	t.stack = t.entries + 4UL * t.n_entries;
	t.n_stack = size - head - 4UL * t.n_entries;
	walk(&t, regs);
	walk_late(&t, &regs, 1);
	walk_late(&t, &regs, 1 + regs.of[UNWIND_RBX] % STACK_MAX_FRAMES);
	return 0;
}
