/*
 * bpf/unwind.bpf.h - a user's stack walked by tables (bpf/tables.h), frame by frame, with
 * the step of bpf/walk.h.
 *
 * What changes in a loop is kept in the slot: see struct walked. Functions that are called
 * from several places, or have loops, are global, so that the verifier looks at each once.
 */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/tables.h"
#include "bpf/walk.bpf.h"

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
 * The eight bytes around @place into slot->word; false: there are none. A global function, so
 * that the verifier does not follow each of the ways here at each place that asks.
 */
__noinline int load_word(struct scratch_slot *slot, __u32 place)
{
	const struct table_chunk *chunk = slot ? find_chunk(place) : NULL;

	if (!chunk)
		return 0;
	slot->word = chunk->words[place % TABLE_CHUNK_BYTES / 8];
	return 1;
}

/* The number that lies at @place, 4 bytes; 0 if there is none. */
static __always_inline __u32 number_at(struct scratch_slot *slot, __u32 place)
{
	if (!load_word(slot, place))
		return 0;
	return (__u32)(slot->word >> (place % 8 * 8));
}

#define PLACE(at, type, i, member) \
	((at) + (i) * (__u32)sizeof(struct type) + (__u32)offsetof(struct type, member))

static __always_inline __u32 search_middle(const struct scratch_slot *slot)
{
	const __u32 low = *(volatile __u32 *)&slot->search.low;

	return low + (*(volatile __u32 *)&slot->search.high - low) / 2;
}

static __always_inline bool is_found(const struct scratch_slot *slot)
{
	return *(volatile __u32 *)&slot->search.low >= *(volatile __u32 *)&slot->search.high;
}

static __always_inline void search_step(struct scratch_slot *slot, __u32 middle, bool is_behind)
{
	if (is_behind)
		slot->search.low = middle + 1;
	else
		slot->search.high = middle;
}

/*
 * The mapping of @addr: slot->search.low is its number and 1, or 0 if all begin behind @addr. A
 * global function, as is the next one: each has a loop.
 */
__noinline int find_mapping(struct scratch_slot *slot, __u64 addr)
{
	if (!slot)
		return 0;
	slot->search.low = 0;
	slot->search.high = slot->space.n;
	for (__u32 step = 0; step < MAPPING_STEPS; step++) {
		const __u32 middle = search_middle(slot);

		if (is_found(slot))
			break;
		if (!load_word(slot, PLACE(slot->space.mappings, unwind_mapping, middle, start)))
			return 0;
		search_step(slot, middle, slot->word <= addr);
	}
	return 0;
}

/* Is all that is searched, of entries from @place on, in one chunk? */
static __always_inline bool is_in_chunk(const struct scratch_slot *slot, __u32 place)
{
	const __u32 low = *(volatile __u32 *)&slot->search.low;
	const __u32 high = *(volatile __u32 *)&slot->search.high;

	return low >= high || (place + low * 4) / TABLE_CHUNK_BYTES ==
				      (place + (high - 1) * 4) / TABLE_CHUNK_BYTES;
}

/*
 * The entry of the address @low of a page, among those from slot->search.low up to high: that one
 * is behind it then. The last steps are in one chunk, which is found once.
 */
__noinline int find_entry(struct scratch_slot *slot, __u32 entries, __u32 low)
{
	const struct table_chunk *chunk;

	if (!slot)
		return 0;
	for (__u32 step = 0; step < UNWIND_PAGE_STEPS; step++) {
		const __u32 middle = search_middle(slot);

		if (is_in_chunk(slot, entries))
			break;
		search_step(slot, middle, (number_at(slot, entries + middle * 4) & 0xffff) <= low);
	}
	chunk = find_chunk(entries + slot->search.low * 4);
	if (!chunk)
		return 0;
	for (__u32 step = 0; step < CHUNK_ENTRY_STEPS; step++) {
		const __u32 middle = search_middle(slot);
		const __u32 place = entries + middle * 4;
		const __u64 word = chunk->words[place % TABLE_CHUNK_BYTES / 8];

		if (is_found(slot))
			break;
		search_step(slot, middle, (__u16)(word >> (place % 8 * 8)) <= low);
	}
	return 0;
}

/* It lies in one chunk, as all that is as large and no larger (tables/memory.c). */
static __always_inline const struct unwind_image *find_image(__u32 place)
{
	const void *chunk = find_chunk(place);

	return chunk ? chunk + (place % TABLE_CHUNK_BYTES & ~31U) : NULL;
}

/* The image at @image is in use. */
__noinline int note_use(struct scratch_slot *slot, __u32 image)
{
	const __u32 place = PLACE(image, unwind_image, 0, turn);
	struct table_chunk *chunk = slot ? find_chunk(place) : NULL;

	if (chunk)
		*(volatile __u32 *)((void *)chunk + (place % TABLE_CHUNK_BYTES & ~3U)) =
			trace_state.table_turn;
	return 0;
}

/*
 * By the table of the image at @place, into slot->rule: zeros (UNWIND_NO_ROW) if it has none.
 * Returns why there is no table, or UNWIND_GOES_ON.
 */
__noinline int find_in_table(struct scratch_slot *slot, __u32 place, __u64 vaddr)
{
	const struct unwind_image *image;
	__u32 page, number;

	if (!slot)
		return UNWIND_END_NO_TABLE_YET;
	slot->rule = (struct unwind_rule){};
	image = find_image(place);
	if (!image || !image->n_pages)
		return UNWIND_END_NO_TABLE_YET;
	vaddr -= image->base;
	if (image->turn != *(volatile __u32 *)&trace_state.table_turn)
		note_use(slot, place);
	if (vaddr >> UNWIND_PAGE_BITS >= image->n_pages)
		return UNWIND_GOES_ON;
	page = image->pages + (__u32)(vaddr >> UNWIND_PAGE_BITS) * 4;
	slot->search.low = number_at(slot, page);
	slot->search.high = number_at(slot, page + 4);
	find_entry(slot, image->entries, (__u16)vaddr);
	number = number_at(slot, image->entries + (slot->search.low - 1) * 4) >> 16;
	if (number >= image->n_rules)
		return UNWIND_GOES_ON;
	if (load_word(slot, image->rules + number * (__u32)sizeof(struct unwind_rule)))
		*(__u64 *)&slot->rule = slot->word;
	return UNWIND_GOES_ON;
}

/* Frames whose mapping the kernel was asked for, until user space is told of the process. */
#define LOOK_AFTER 64

static __always_inline const void *member(const void *of, __u32 offset)
{
	return of + offset;
}

/*
 * Which file is mapped. Loads through a struct vm_area_struct of the kernel's are what the
 * verifier knows the type of: each offset must be that of a member. Where a pointer is NULL, the
 * kernel gives zeros.
 */
static long note_file(struct task_struct *task, struct vm_area_struct *vma,
		      struct scratch_slot **at)
{
	struct found_file *found = &(*at)->file;
	const void *file, *inode, *sb;

	(void)task;
	file = *(const void **)member(vma, config.vma.vm_file);
	if (!file) {
		found->is_made = *(const __u64 *)member(vma, config.vma.vm_flags) & VM_EXEC &&
				 !*(const void **)member(vma, config.vma.vm_ops);
		return 0;
	}
	inode = *(const void **)member(file, config.vma.f_inode);
	if (!inode)
		return 0;
	sb = *(const void **)member(inode, config.vma.i_sb);
	if (!sb)
		return 0;
	found->start = vma->vm_start;
	found->key.offset = *(const __u64 *)member(vma, config.vma.vm_pgoff) << PAGE_SHIFT;
	found->key.inode = *(const __u64 *)member(inode, config.vma.i_ino);
	found->key.size = *(const __u64 *)member(inode, config.vma.i_size);
	found->key.changed = *(const __u64 *)member(inode, config.vma.i_mtime);
	found->key.changed_ns = *(const __u32 *)member(inode, config.vma.i_mtime_ns);
	found->key.dev = *(const __u32 *)member(sb, config.vma.s_dev);
	return 0;
}

/*
 * What the code of slot->file is walked by, into slot->file.found. A function of its own for the
 * key: 6.1's maps take none from a pointer argument, and calls may have 512 bytes of stack
 * together.
 */
__noinline int find_file(struct scratch_slot *slot)
{
	const struct unwind_file *file;
	struct unwind_file_key key;

	if (!slot || !config.vma.is_known)
		return 0;
	key = slot->file.key;
	file = bpf_map_lookup_elem(&files, &key);
	if (file)
		slot->file.found = *file;
	return file != NULL;
}

/* As find_rule(), by what the kernel itself has mapped there. */
__noinline int find_by_file(struct scratch_slot *slot, __u64 addr)
{
	struct found_file *file;

	if (!slot || !config.vma.is_known)
		return UNWIND_END_NO_MAPPING;
	file = &slot->file;
	file->n_asked++;
	file->key = (struct unwind_file_key){};
	file->is_made = 0;
	/* It is not told where the process's memory map is being changed. */
	if (bpf_find_vma(bpf_get_current_task_btf(), addr, note_file, &slot, 0))
		goto unknown;
	if (file->is_made) {
		slot->rule = UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES);
		return UNWIND_GOES_ON;
	}
	if (!file->key.inode || !find_file(slot))
		goto unknown;
	if (file->found.how == UNWIND_NOT_AT_ALL)
		return UNWIND_END_NO_TABLE;
	if (file->found.how == UNWIND_BY_TABLE)
		return find_in_table(slot, file->found.image,
				     addr - file->start - file->found.bias);
	slot->rule = UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES);
	return UNWIND_GOES_ON;
unknown:
	return slot->space.number ? UNWIND_END_NO_MAPPING : UNWIND_END_NO_TABLE_YET;
}

/* The rule at @addr into slot->rule. Returns why there is none, or UNWIND_GOES_ON. */
__noinline int find_rule(struct scratch_slot *slot, __u64 addr)
{
	const __u32 mappings = slot ? slot->space.mappings : 0;
	__u32 number, how;
	__u64 bias;

	if (!slot)
		return UNWIND_END_NO_MAPPING;
	find_mapping(slot, addr);
	number = slot->search.low - 1;
	if (number >= MOST_MAPPINGS ||
	    !load_word(slot, PLACE(mappings, unwind_mapping, number, end)) || addr >= slot->word)
		return UNWIND_END_NO_MAPPING;
	how = number_at(slot, PLACE(mappings, unwind_mapping, number, how));
	if (how == UNWIND_NOT_YET)
		return UNWIND_END_NO_TABLE_YET;
	if (how == UNWIND_NOT_AT_ALL)
		return UNWIND_END_NO_TABLE;
	if (how == UNWIND_PROBED)
		return UNWIND_END_PROBED;
	if (how == UNWIND_BY_FRAME_POINTERS || how == UNWIND_MADE_CODE) {
		slot->rule = UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES);
		return UNWIND_GOES_ON;
	}
	bias = load_word(slot, PLACE(mappings, unwind_mapping, number, bias)) ? slot->word : 0;
	return find_in_table(slot, number_at(slot, PLACE(mappings, unwind_mapping, number, image)),
			     addr - bias);
}

static __always_inline __u64 rule_word(const struct unwind_rule *rule)
{
	return *(const __u64 *)rule;
}

static __always_inline struct recent_set *recent_set(__u64 key)
{
	const __u32 i = key * 0x9e3779b97f4a7c15ULL >> (64 - RECENT_SET_BITS);

	return bpf_map_lookup_elem(&recent_rules, &i);
}

/* False: it is none of @set. */
static __always_inline bool take_recent(struct scratch_slot *slot, const struct recent_set *set,
					__u64 key)
{
	for (__u32 i = 0; i < RECENT_WAYS; i++) {
		const __u64 rule = *(volatile __u64 *)&set->ways[i].rule;

		if ((*(volatile __u64 *)&set->ways[i].key ^ rule) != key)
			continue;
		*(__u64 *)&slot->rule = rule;
		return true;
	}
	return false;
}

static __always_inline void keep_recent(const struct scratch_slot *slot, struct recent_set *set,
					__u64 key)
{
	const __u64 rule = rule_word(&slot->rule);

	for (__u32 i = RECENT_WAYS - 1; i; i--)
		set->ways[i] = set->ways[i - 1];
	set->ways[0] = (struct recent_rule){ key ^ rule, rule };
}

/* As find_rule(), which is asked only if the rule is not a recent one. */
static __always_inline int known_rule(struct scratch_slot *slot, __u64 addr)
{
	const __u64 key = addr ^ slot->space_key;
	struct recent_set *set = recent_set(key);
	int end;

	if (!set)
		return UNWIND_END_NO_TABLE;
	if (!config.no_recent_rules && take_recent(slot, set, key))
		return UNWIND_GOES_ON;
	end = find_rule(slot, addr);
	if (end == UNWIND_END_NO_MAPPING && config.vma.is_known)
		return find_by_file(slot, addr); /* at the next hit it may be another one */
	if (!end && !config.no_recent_rules)
		keep_recent(slot, set, key);
	return end;
}

/*
 * The word at @at into slot->word, from the window on the stack if it is there. Windows begin at
 * the frame's own end: what it saved, and what its callers did, lies behind that.
 */
__noinline int read_word(struct scratch_slot *slot, __u64 at)
{
	struct window *w;
	__u64 sp;

	if (!slot)
		return 0;
	w = &slot->window;
	if (at - w->base >= w->n_valid) {
		sp = slot->regs.of[UNWIND_RSP];
		if (at - sp >= WINDOW_BYTES - sizeof(__u64) || !read_window(w, sp) ||
		    at - w->base >= w->n_valid)
			return bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)at) ==
			       0;
	}
	sp = at - w->base;
	if (sp > WINDOW_BYTES - sizeof(__u64))
		return 0;
	slot->word = *(__u64 *)((void *)w->words + sp);
	return 1;
}

static __always_inline _Bool read_user_word(void *from, __u64 at, __u64 *ret)
{
	struct scratch_slot *slot = from;
	_Bool is_read = read_word(slot, at); /* without a branch: there would be 2 ^ 17 ways */

	*ret = slot->word;
	return is_read;
}

static __always_inline _Bool is_by_frames(struct unwind_rule rule)
{
	return (rule.how & 15) == UNWIND_FRAMES || (rule.how & 15) == UNWIND_MADE_FRAMES;
}

/* May the instruction before the address that @bytes end at be a call? x86's forms of it. */
__noinline int may_be_call(__u64 bytes)
{
	const __u8 *b = (const __u8 *)&bytes;
	bool is = b[3] == 0xe8;

	/* call *operand, of 2, 3, 4, 6 or 7 bytes */
	is |= b[6] == 0xff && (b[7] & 0x38) == 0x10;
	is |= b[5] == 0xff && (b[6] & 0x38) == 0x10;
	is |= b[4] == 0xff && (b[5] & 0x38) == 0x10;
	is |= b[2] == 0xff && (b[3] & 0x38) == 0x10;
	is |= b[1] == 0xff && (b[2] & 0x38) == 0x10;
	return is;
}

/*
 * A return address at which a mapping or, with rows, a function begins, and before which there is
 * no call. It was put there, by the kernel for a return probe, or by makecontext() for its function
 * to return to: nobody called that. (Behind a call that never returns a function may end.)
 */
static __always_inline int end_at_beginning(struct scratch_slot *slot, int end)
{
	int at_pc = known_rule(slot, slot->regs.pc);
	__u64 before = 0;

	if (end)
		return at_pc == UNWIND_END_PROBED ? UNWIND_END_PROBED : end;
	if (at_pc || slot->rule.how == UNWIND_NO_ROW)
		return UNWIND_GOES_ON;
	if (bpf_probe_read_user(&before, sizeof(before),
				(void *)(slot->regs.pc - sizeof(before))) ||
	    may_be_call(before))
		return UNWIND_END_NO_ROW;
	return UNWIND_END_ROOT;
}

static __always_inline int next_rule(struct scratch_slot *slot)
{
	int end;

	if (slot->is_at_entry) {
		slot->is_at_entry = 0;
		slot->rule = UNWIND_AT_ENTRY;
		return UNWIND_GOES_ON;
	}
	end = known_rule(slot, unwind_look_up_at(&slot->regs));
	if (slot->regs.is_exact)
		return end == UNWIND_END_PROBED ? UNWIND_END_NO_TABLE : end;
	if (end == UNWIND_END_NO_MAPPING || (!end && slot->rule.how == UNWIND_NO_ROW))
		return end_at_beginning(slot, end);
	return end;
}

/* To the caller, whose address is put behind the others. Returns 1 at the end. */
__noinline int unwind_frame(struct scratch_slot *slot)
{
	struct walked *walked;
	__u32 n;
	int end;

	if (!slot)
		return 1;
	walked = &slot->walked[SIDE_USER];
	end = next_rule(slot);
	if (end == UNWIND_END_NO_MAPPING && is_by_frames(slot->rule)) {
		/* Code without a table that has no frame pointers either: that was no return
		 * address. */
		walked->n--;
		end = UNWIND_END_CHAIN;
	}
	if (end == UNWIND_END_PROBED)
		walked->n--; /* the trampoline, which nobody called */
	if (!end)
		end = unwind_step(&slot->regs, slot->rule, read_user_word, slot);
	n = *(volatile __u32 *)&walked->n;
	if (!end &&
	    slot->regs.pc < LEAST_CODE) /* behind a _start with a frame pointer: no caller */
		end = is_by_frames(slot->rule) ? unwind_end_of_chain(slot->rule)
					       : UNWIND_END_NO_MAPPING;
	if (!end && n >= STACK_MAX_FRAMES)
		end = UNWIND_END_DEPTH;
	if (end) {
		walked->mark = end == UNWIND_END_ROOT ? STACK_MARK_NONE : STACK_MARK_WALK + end;
		return 1;
	}
	words_of(slot, SIDE_USER)[n & (STACK_MAX_FRAMES - 1)] =
		slot->regs.pc | (slot->regs.is_exact ? STACK_WORD_EXACT : 0);
	walked->n = n + 1;
	return walked->n >= config.max_user_frames && config.max_user_frames < STACK_MAX_FRAMES;
}

static long unwind_callback(__u64 step, struct scratch_slot **slot)
{
	(void)step;
	return unwind_frame(*slot) != 0;
}

static __always_inline void take_registers(struct unwind_regs *to, const struct pt_regs *regs,
					   bool is_exact)
{
	to->of[UNWIND_RAX] = regs->ax;
	to->of[UNWIND_RDX] = regs->dx;
	to->of[UNWIND_RCX] = regs->cx;
	to->of[UNWIND_RBX] = regs->bx;
	to->of[UNWIND_RSI] = regs->si;
	to->of[UNWIND_RDI] = regs->di;
	to->of[UNWIND_RBP] = regs->bp;
	to->of[UNWIND_RSP] = regs->sp;
	to->of[8] = regs->r8;
	to->of[9] = regs->r9;
	to->of[10] = regs->r10;
	to->of[11] = regs->r11;
	to->of[12] = regs->r12;
	to->of[13] = regs->r13;
	to->of[14] = regs->r14;
	to->of[15] = regs->r15;
	to->pc = regs->ip;
	to->known = UNWIND_ALL_KNOWN;
	to->is_exact = is_exact;
	to->n_turns = 0;
}

/* User space is told of one at a time: it then looks at what else has happened, too. */
__noinline int tell_unmapped(__u32 tgid, __u64 inode, __u32 dev)
{
	struct notice notice = {
		.type = NOTICE_UNMAPPED, .tgid = tgid, .inode = inode, .dev = dev
	};

	if (*(volatile __u64 *)&trace_state.is_unmapped)
		return 0;
	*(volatile __u64 *)&trace_state.is_unmapped = 1;
	return (int)bpf_ringbuf_output(&wake, &notice, sizeof(notice), BPF_RB_FORCE_WAKEUP);
}

/*
 * To be told: what could not be walked; and now and then what could by the kernel's own mappings,
 * so that a process that lives long enough to be worth it is looked at.
 */
static __always_inline bool is_worth_telling(struct scratch_slot *slot, __u32 mark)
{
	if (mark >= STACK_MARK_WALK + UNWIND_END_NO_MAPPING &&
	    mark <= STACK_MARK_WALK + UNWIND_END_NO_TABLE)
		return true;
	if (slot->file.n_asked < LOOK_AFTER)
		return false;
	slot->file.n_asked = 0;
	return true;
}

static __always_inline const struct unwind_space *find_space(__u32 tgid)
{
	const __u64 *n_reserved = &trace_state.n_reserved[reservations_of(tgid)];
	const struct unwind_space *space = bpf_map_lookup_elem(&spaces, &tgid);

	if (space && space->unsure && space->unsure != space_unsure(*(volatile __u64 *)n_reserved))
		return NULL;
	return space;
}

static __always_inline void unwind_stack(struct scratch_slot *slot, __u32 tgid)
{
	const struct unwind_space *space = find_space(tgid);
	struct walked *walked = &slot->walked[SIDE_USER];

	*walked = (struct walked){ .n = 1 };
	words_of(slot, SIDE_USER)[0] = first_word_of(slot->regs.pc);
	slot->window.n_valid = 0;
	slot->rule = (struct unwind_rule){};
	slot->space = space ? *space : (struct unwind_space){};
	slot->file.key.inode = 0;
	slot->space_key = *(volatile __u32 *)&trace_state.table_turn;
	slot->space_key = (slot->space_key << 32 | slot->space.number) * config.hash_seed[0];
	if (!space && !config.vma.is_known)
		walked->mark = STACK_MARK_WALK + UNWIND_END_NO_TABLE_YET;
	else if (config.max_user_frames > 1)
		bpf_loop(STACK_WORDS, unwind_callback, &slot, 0);
	if (is_worth_telling(slot, walked->mark))
		tell_unmapped(tgid, slot->file.key.inode, slot->file.key.dev);
	finish_walk(slot, SIDE_USER, 0, n_words(walked), walked->mark);
	clear_tail(words_of(slot, SIDE_USER), n_words(walked), HASH_GROUP);
}

/* A global function. The registers are in the slot. */
__noinline int unwind_user(struct scratch_slot *slot, __u32 tgid)
{
	if (slot)
		unwind_stack(slot, tgid);
	return 0;
}

/*
 * In a system call orig_ax is its number, and ip is behind the instruction; but behind an exec that
 * is over and has not returned yet, it is where the new program begins.
 */
static __always_inline bool is_pc_exact(const struct pt_regs *regs)
{
	const bool is_exec = regs->orig_ax == NR_EXECVE || regs->orig_ax == NR_EXECVEAT;

	return (long)regs->orig_ax == -1 || (is_exec && !regs->ax);
}

/* No words where there is no user stack (kernel threads). Returns KEY_* flags. */
static __always_inline __u32 walk_user(void *ctx, enum hit_kind kind, bool is_new_kernel,
				       __u32 tgid, struct scratch_slot *slot)
{
	const struct pt_regs *regs = ctx;
	bool is_exact;

	slot->walked[SIDE_USER].n = 0;
	if (!is_user_hit(kind)) {
		if (!config.has_task_regs) {
			walk_user_by_helper(ctx, slot);
			return 0;
		}
		regs = (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
		if (!(regs->cs & CS_RING_MASK))
			return 0;
	}
	is_exact = is_user_hit(kind) || is_pc_exact(regs);
	if (regs->cs != CS_USER_64) {
		walk_user_by_helper(ctx, slot);
	} else if (config.unwind && is_new_kernel) {
		take_registers(&slot->regs, regs, is_exact);
		slot->is_at_entry = kind == HIT_USER_FUNCTION;
		unwind_user(slot, tgid);
	} else if (is_new_kernel) {
		walk_user_chain(slot, regs->ip, regs->sp, regs->bp, kind == HIT_USER_FUNCTION);
	} else {
		walk_user_frames(slot, regs->ip, regs->sp, regs->bp, kind == HIT_USER_FUNCTION,
				 false);
	}
	return is_exact ? KEY_USER_PC_EXACT : 0;
}
