/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/rule.bpf.h - find the rule (bpf/user_step.h) for an address of a process: in the tables of
 * bpf/tables.h, or among the recent rules.
 *
 * Functions with loops or several callers are global, so the verifier checks each of them once.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* --- code of JIT compilers --- */

/* The last frame set-up before the address gives the rule (arch/user_step.h), which is kept. */

#define MADE_WORDS 512 /* words of code before the address that are searched */

/*
 * Examine the set-up at @addr. Returns 1 to stop, with the rule in slot->rule, or 0 if it gives
 * none.
 */
static __always_inline long judge_setup(struct scratch_slot *slot, __u64 addr)
{
	__u64 before = 0, at = 0, behind = 0;
	struct unwind_rule rule;

	bpf_probe_read_user(&before, sizeof(before), (void *)(addr - sizeof(before)));
	bpf_probe_read_user(&at, sizeof(at), (void *)addr);
	bpf_probe_read_user(&behind, sizeof(behind), (void *)(addr + made_length(at)));
	rule = made_rule(addr, before, at, behind);
	if (rule.how == UNWIND_NO_ROW)
		return 0;
	slot->rule = rule;
	return 1;
}

/*
 * Examine the word that is @i words below the one of slot->made_at. Returns 1 to stop. A global
 * function, since newer verifiers check a callback again for each turn.
 */
__noinline int find_setup(struct scratch_slot *slot, __u64 i)
{
	__u64 here, setups;
	__u32 word;

	if (!slot)
		return 1;
	here = (slot->made_at & ~7ULL) - i * 8;
	word = here % CODE_BYTES / 8;
	if (!i || word == CODE_WORDS - 1) {
		slot->code[CODE_WORDS] = i ? slot->code[0] : 0;
		if (bpf_probe_read_user(slot->code, CODE_BYTES,
					(void *)(here & ~(CODE_BYTES - 1ULL))))
			return 1;
	}
	setups = made_setups(slot->code[word & (CODE_WORDS - 1)],
			     slot->code[(word & (CODE_WORDS - 1)) + 1]);
	if (!i)
		setups &= (1ULL << slot->made_at % 8 * 8) - 1;
	return setups ? (int)judge_setup(slot, here + code_last(setups)) : 0;
}

static long setup_callback(__u64 i, struct scratch_slot **of)
{
	int is_over = find_setup(*of, i);

	barrier_var(is_over); /* newer compilers know its values, verifiers do not */
	return is_over != 0;
}

/* Put the rule of the code at @addr into slot->rule. */
__noinline int find_made(struct scratch_slot *slot, __u64 addr)
{
	if (!slot)
		return UNWIND_END_NO_MAPPING;
	slot->rule = UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES);
	slot->made_at = addr;
	bpf_loop(MADE_WORDS, setup_callback, &slot, 0);
	return UNWIND_GOES_ON;
}

/* --- tables --- */

static __always_inline struct table_chunk *find_chunk(__u32 place)
{
	const __u32 slab_number = place / SLAB_BYTES;
	const __u32 i = place / TABLE_CHUNK_BYTES % SLAB_CHUNKS;
	void *slab;

	if (!slab_number)
		return bpf_map_lookup_elem(&slab0, &i);
	slab = bpf_map_lookup_elem(&slabs, &slab_number);
	return slab ? bpf_map_lookup_elem(slab, &i) : NULL;
}

/*
 * The object of 32 bytes at @place: an image or a mapping. It lies in one chunk (tables/memory.c).
 */
static __always_inline void *find_object(__u32 place)
{
	void *chunk = find_chunk(place);

	return chunk ? chunk + (place % TABLE_CHUNK_BYTES & ~31U) : NULL;
}

/* Put the eight bytes around @place into slot->word. False: nothing is there; the word is 0. */
__noinline int load_word(struct scratch_slot *slot, __u32 place)
{
	const struct table_chunk *chunk = slot ? find_chunk(place) : NULL;

	if (!slot)
		return 0;
	slot->word = chunk ? chunk->words[place % TABLE_CHUNK_BYTES / 8] : 0;
	return chunk != NULL;
}

/* The 4-byte number at @place; 0 if nothing is there. */
static __always_inline __u32 table_number_at(struct scratch_slot *slot, __u32 place)
{
	load_word(slot, place);
	return (__u32)(slot->word >> (place % 8 * 8));
}

/* Mapping @number of the space in @slot. NULL: there is none. */
static __always_inline const struct unwind_mapping *mapping_of(const struct scratch_slot *slot,
							       __u32 number)
{
	return number < MOST_MAPPINGS
		       ? find_object(slot->space.mappings + number * sizeof(struct unwind_mapping))
		       : NULL;
}

/* The number of the space's mappings that begin at @addr or before it. All begin with a page. */
__noinline int search_mappings(struct scratch_slot *slot, __u64 addr)
{
	struct unwind_search s = {};

	if (!slot)
		return 0;
	s.n = slot->space.n;
	for (__u32 step = 0; step < MAPPING_STEPS && s.n; step++) {
		const __u64 middle = s.low + s.n / 2;

		load_word(slot, slot->space.mappings +
					(__u32)middle * (__u32)sizeof(struct unwind_mapping));
		unwind_search_step(&s, middle, slot->word >> PAGE_SHIFT, addr >> PAGE_SHIFT);
	}
	return (int)s.low;
}

/*
 * The last steps of search_entries(), in the chunk that is left. A function of its own, because the
 * verifier would follow the steps once for chunks of the first slab and once for all others.
 */
__noinline int find_in_chunk(const struct table_chunk *chunk, __u64 first, __u64 n, __u32 low)
{
	struct unwind_search s = { .low = first, .n = n };

	if (!chunk)
		return 0;
	for (__u32 step = 0; step < CHUNK_ENTRY_STEPS && s.n; step++) {
		const __u64 middle = s.low + s.n / 2;
		const __u64 word = chunk->words[middle % CHUNK_ENTRIES / 2];

		unwind_search_step(&s, middle, (__u16)(word >> (middle % 2 * 32)), low);
	}
	return (int)s.low * 4;
}

/*
 * Search @n entries that begin at place @first, sorted by the addresses in their lower halves.
 * Returns the place of the first entry behind the address @low. First find the chunk, then search
 * in it, which is looked up once.
 */
__noinline int search_entries(struct scratch_slot *slot, __u32 first, __u32 n, __u32 low)
{
	struct unwind_search s = { .low = first / 4, .n = n };

	if (!slot)
		return 0;
	for (__u32 step = 0; step < PAGE_CHUNK_STEPS; step++) {
		const __u64 middle = search_middle_chunk(&s);

		if (!middle)
			break;
		unwind_search_step(&s, middle, (__u16)table_number_at(slot, (__u32)middle * 4),
				   low);
	}
	return find_in_chunk(find_chunk((__u32)s.low * 4), s.low, s.n, low);
}

/*
 * Search the table of the image at @place, and put the rule into slot->rule. No rule gives zeros
 * (UNWIND_NO_ROW). Returns UNWIND_GOES_ON, or why there is no table.
 */
__noinline int find_in_table(struct scratch_slot *slot, __u32 place, __u64 vaddr)
{
	const __u32 turn = *(volatile __u32 *)&trace_state.table_turn;
	__u32 page, first, n, entry, number;
	struct unwind_image *image;

	if (!slot)
		return UNWIND_END_NO_TABLE_YET;
	slot->rule = (struct unwind_rule){};
	image = find_object(place);
	if (!image || !image->n_pages)
		return UNWIND_END_NO_TABLE_YET;
	vaddr -= image->base;
	if (image->turn != turn)
		*(volatile __u32 *)&image->turn = turn;
	if (vaddr >> UNWIND_PAGE_BITS >= image->n_pages)
		return UNWIND_GOES_ON;
	page = image->pages + (__u32)(vaddr >> UNWIND_PAGE_BITS) * 4;
	first = table_number_at(slot, page);
	n = table_number_at(slot, page + 4) - first;
	entry = search_entries(slot, image->entries + first * 4, n, (__u16)vaddr) - 4;
	number = table_number_at(slot, entry) >> 16;
	if (number >= image->n_rules)
		return UNWIND_GOES_ON;
	if (load_word(slot, image->rules + number * (__u32)sizeof(struct unwind_rule)))
		*(__u64 *)&slot->rule = slot->word;
	return UNWIND_GOES_ON;
}

/*
 * Put the mapped file into slot->file. Without load_kernel(), the verifier knows the type of the
 * kernel's struct vm_area_struct, so each offset must be that of a member.
 */
static long note_file(struct task_struct *task, struct vm_area_struct *vma,
		      struct scratch_slot **at)
{
	struct found_file *found = &(*at)->file;
	const void *file, *inode, *sb;

	(void)task;
	file = LOAD_MEMBER(void *, vma, config.at.vm_file);
	if (!file) {
		found->is_made = LOAD_MEMBER(__u64, vma, VM_FLAGS_AT) & VM_EXEC &&
				 !LOAD_MEMBER(__u64, vma, config.at.vm_ops);
		return 0;
	}
	inode = LOAD_MEMBER(void *, file, config.at.f_inode);
	if (!inode)
		return 0;
	sb = LOAD_MEMBER(void *, inode, config.at.i_sb);
	if (!sb)
		return 0;
	found->start = vma->vm_start - (LOAD_MEMBER(__u64, vma, config.at.vm_pgoff) << PAGE_SHIFT);
	found->key.inode = LOAD_MEMBER(__u64, inode, config.at.i_ino);
	found->key.size = LOAD_MEMBER(__u64, inode, config.at.i_size);
	found->key.changed = LOAD_MEMBER(__u64, inode, config.at.i_mtime_sec);
	found->key.changed_ns = LOAD_MEMBER(__u32, inode, config.at.i_mtime_nsec);
	found->key.dev = LOAD_MEMBER(__u32, sb, config.at.s_dev);
	return 0;
}

/*
 * Put how to walk the code of slot->file into slot->file.found. False: the file is not known. The
 * key is a copy, as the maps of 6.1 accept none from a pointer argument. It is made in a function
 * of its own, as nested calls may have 512 bytes of stack together.
 */
__noinline int find_file_table(struct scratch_slot *slot)
{
	const struct unwind_file *file;
	struct unwind_file_key key;

	if (!slot || !config.unwind)
		return 0;
	key = slot->file.key;
	file = bpf_map_lookup_elem(&files, &key);
	if (file)
		slot->file.found = *file;
	return file != NULL;
}

/*
 * With interrupts off, bpf_find_vma() raises an irq_work, in which the kernel unlocks the memory
 * map. Functions of that interrupt may be traced, too. If each hit there called bpf_find_vma(),
 * the CPU would do nothing else. If the program cannot see whether interrupts are off, it pauses
 * after each interrupt that it raised. The pause doubles.
 */
static __always_inline bool may_find_vma(const struct scratch_slot *slot)
{
	const __u32 zero = 0;
	const struct cpu_pace *p;

	if (slot->asking == ASK_NEVER)
		return false;
	if (slot->asking == ASK_FREELY)
		return true;
	p = bpf_map_lookup_elem(&pace, &zero);
	return p && (!p->ask_after || bpf_ktime_get_ns() >= p->ask_after);
}

static long ignore_vma(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	(void)task;
	(void)vma;
	(void)context;
	return 0;
}

/* After bpf_find_vma() has answered. If it raised an interrupt, a second call returns -EBUSY. */
__noinline int learn_from_asking(struct scratch_slot *slot, __u64 addr)
{
	const __u32 zero = 0;
	struct cpu_pace *p = bpf_map_lookup_elem(&pace, &zero);

	if (!slot || !p || !config.unwind)
		return 0;
	if ((int)bpf_find_vma(bpf_get_current_task_btf(), addr, ignore_vma, &slot, 0) != -EBUSY) {
		slot->asking = ASK_FREELY;
		if (p->n_raised)
			p->n_raised--;
		return 0;
	}
	slot->asking = ASK_NEVER;
	p->ask_after = bpf_ktime_get_ns() + (ASK_PAUSE_NS << (p->n_raised & 15));
	if (p->n_raised < MOST_RAISED)
		p->n_raised++;
	return 0;
}

/*
 * Put the kernel's mapping at @addr into slot->file. Returns 0 or an error. -EBUSY: the memory map
 * is being changed, or may_find_vma() refuses. With interrupts off, it also means that the kernel
 * has answered once.
 */
static __always_inline int find_kernel_mapping(struct scratch_slot *slot, __u64 addr)
{
	int err;

	slot->file.key = (struct unwind_file_key){};
	slot->file.is_made = 0;
	if (!may_find_vma(slot))
		return -EBUSY;
	err = (int)bpf_find_vma(bpf_get_current_task_btf(), addr, note_file, &slot, 0);
	if (!err && slot->asking == ASK_WITH_CARE)
		learn_from_asking(slot, addr);
	return err;
}

/* Put the rule at @addr, in code without a table, into slot->rule. Such a file is one gap. */
static __always_inline int find_without_table(struct scratch_slot *slot, __u64 addr, __u32 how)
{
	if (how == UNWIND_MADE_CODE)
		return find_made(slot, addr);
	slot->rule = (struct unwind_rule){};
	return UNWIND_GOES_ON;
}

/* As find_rule(), by the kernel's mapping there. */
__noinline int find_by_file(struct scratch_slot *slot, __u64 addr)
{
	struct found_file *file;

	if (!slot || !config.unwind)
		return UNWIND_END_NO_MAPPING;
	file = &slot->file;
	file->n_asked++;
	file->is_asked = 1;
	if (find_kernel_mapping(slot, addr))
		goto unknown;
	if (file->is_made)
		return find_made(slot, addr);
	if (!file->key.inode || !find_file_table(slot))
		goto unknown;
	if (file->found.how == UNWIND_NOT_AT_ALL)
		return UNWIND_END_NO_TABLE;
	if (file->found.how == UNWIND_BY_TABLE)
		return find_in_table(slot, file->found.image,
				     addr - file->start - file->found.bias);
	return find_without_table(slot, addr, file->found.how);
unknown:
	return slot->space.number ? UNWIND_END_NO_MAPPING : UNWIND_END_NO_TABLE_YET;
}

/* Put the rule at @addr into slot->rule. Returns UNWIND_GOES_ON, or why there is none. */
__noinline int find_rule(struct scratch_slot *slot, __u64 addr)
{
	const struct unwind_mapping *m;

	if (!slot)
		return UNWIND_END_NO_MAPPING;
	m = mapping_of(slot, search_mappings(slot, addr) - 1);
	if (!m || addr >= m->end)
		return UNWIND_END_NO_MAPPING;
	switch (m->how) {
	case UNWIND_NOT_YET:
		return UNWIND_END_NO_TABLE_YET;
	case UNWIND_NOT_AT_ALL:
		return UNWIND_END_NO_TABLE;
	case UNWIND_PROBED:
		return UNWIND_END_PROBED;
	case UNWIND_BY_TABLE:
		return find_in_table(slot, m->image, addr - m->bias);
	default:
		return find_without_table(slot, addr, m->how);
	}
}

static __always_inline struct recent_set *recent_set(__u64 key)
{
	const __u32 i = key * 0x9e3779b97f4a7c15ULL >> (64 - RECENT_SET_BITS);

	return bpf_map_lookup_elem(&recent_rules, &i);
}

/*
 * A program on another CPU may have written half of an entry, so each key is checked against its
 * rule. Rules differ in few bits, and so do the keys of neighbours. The product with a secret seed
 * keeps one from standing in for another.
 */
static __always_inline __u64 check_of_rule(__u64 rule)
{
	return rule * config.hash_seed[1];
}

/* Take the rule of @key from @set into slot->rule. False: it is not there. */
static __always_inline bool use_recent_rule(struct scratch_slot *slot, const struct recent_set *set,
					    __u64 key)
{
	for (__u32 i = 0; i < RECENT_WAYS; i++) {
		const __u64 rule = *(volatile __u64 *)&set->ways[i].rule;

		if ((*(volatile __u64 *)&set->ways[i].check ^ check_of_rule(rule)) != key)
			continue;
		*(__u64 *)&slot->rule = rule;
		return true;
	}
	return false;
}

static __always_inline void keep_recent_rule(const struct scratch_slot *slot,
					     struct recent_set *set, __u64 key)
{
	const __u64 rule = *(const __u64 *)&slot->rule;

	for (__u32 i = RECENT_WAYS - 1; i; i--)
		set->ways[i] = set->ways[i - 1];
	set->ways[0] = (struct recent_rule){ key ^ check_of_rule(rule), rule };
}

/* As find_rule(), but looks among the recent rules first. */
static __always_inline int known_rule(struct scratch_slot *slot, __u64 addr)
{
	const __u64 key = addr ^ slot->space_key;
	struct recent_set *set = recent_set(key);
	int end;

	if (!set)
		return UNWIND_END_NO_TABLE;
	if (!config.no_recent_rules && use_recent_rule(slot, set, key))
		return UNWIND_GOES_ON;
	end = find_rule(slot, addr);
	if (end == UNWIND_END_NO_MAPPING)
		return find_by_file(slot, addr); /* not kept: it may change */
	if (!end && !config.no_recent_rules)
		keep_recent_rule(slot, set, key);
	return end;
}
