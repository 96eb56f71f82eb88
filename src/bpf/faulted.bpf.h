/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/faulted.bpf.h - note which files a process runs, by its page faults (struct faulted_list).
 *
 * A process reaches code of a file by a page fault first, because a child does not inherit page
 * tables of files. Each such fault asks the kernel for the mapping. So a mapping that replaced
 * another one replaces its note.
 */
#pragma once

#include "bpf/maps.bpf.h"
#include "bpf/tables.h"

static __always_inline struct faulted_list *faulted_of(__u32 pid)
{
	const __u32 i = pid % FAULTED_LISTS;

	if (!config.asks_kernel || !config.anywhere)
		return NULL;
	return bpf_map_lookup_elem(&faulted, &i);
}

static __always_inline __u64 life_of_list(const struct faulted_list *list)
{
	return *(const volatile __u64 *)&list->life;
}

static __always_inline bool is_list_of(const struct faulted_list *list, __u32 pid)
{
	return *(const volatile __u64 *)&list->pid == pid;
}

static __always_inline void forget_list(struct faulted_list *list)
{
	*(volatile __u64 *)&list->life = bpf_ktime_get_ns();
}

/* Process @pid has called exec, or has ended. */
static __always_inline void forget_faulted(__u32 pid)
{
	struct faulted_list *list = faulted_of(pid);

	if (list && is_list_of(list, pid))
		forget_list(list);
}

static __always_inline bool is_in_use(const struct faulted_mapping *m, __u64 life)
{
	return *(const volatile __u64 *)&m->life == life;
}

static __always_inline bool is_noted(const struct faulted_mapping *m, __u64 life, __u64 start,
				     __u64 end)
{
	return is_in_use(m, life) && m->start < end && start < m->end;
}

/*
 * A mapping comes to [@start, @end), or to an unknown place if @end is 0. If one of the notes
 * overlaps it, forget all of them. Returns 1 then.
 */
__noinline int replace_faulted(__u32 pid, __u64 start, __u64 end)
{
	struct faulted_list *list = faulted_of(pid);
	__u64 life;

	if (!list || !is_list_of(list, pid))
		return 0;
	life = life_of_list(list);
	for (int i = 0; i < MOST_FAULTED; i++)
		if (is_noted(&list->mappings[i], life, start, end ? end : ~0ULL)) {
			forget_list(list);
			return 1;
		}
	return 0;
}

/*
 * Copy noted mapping @i into slot->file if it contains @addr. Returns 0 if it does not, or if a
 * program changed it meanwhile. A global function, so the verifier checks it once, and not in each
 * turn of a loop.
 */
__noinline int take_noted(struct scratch_slot *slot, const struct faulted_list *list, __u32 i,
			  __u64 life, __u64 addr)
{
	const struct faulted_mapping *m;
	__u64 number;

	if (!slot || !list || i >= MOST_FAULTED)
		return 0;
	m = &list->mappings[i];
	number = *(const volatile __u64 *)&m->number;
	barrier();
	if (!is_noted(m, life, addr, addr + 1))
		return 0;
	barrier();
	slot->file.start = m->start;
	slot->file.key = m->key;
	barrier();
	return is_in_use(m, life) && *(const volatile __u64 *)&m->number == number &&
	       life_of_list(list) == life && is_list_of(list, bpf_get_current_pid_tgid() >> 32);
}

/*
 * Find the noted mapping at @addr and copy it into slot->file. Returns 0 if there is none. A global
 * function because of its loop.
 */
__noinline int find_faulted(struct scratch_slot *slot, __u64 addr)
{
	const __u32 pid = bpf_get_current_pid_tgid() >> 32;
	const struct faulted_list *list = faulted_of(pid);
	__u64 life;

	if (!slot || !list || !is_list_of(list, pid))
		return 0;
	life = life_of_list(list);
	for (__u32 i = 0; i < MOST_FAULTED; i++)
		if (is_in_use(&list->mappings[i], life) && take_noted(slot, list, i, life, addr))
			return 1;
	slot->file.key.inode = 0;
	return 0;
}

/*
 * The list of the current process, whose number is @pid. A list of another process is emptied
 * first.
 */
static __always_inline struct faulted_list *claim_faulted_list(__u32 pid)
{
	struct faulted_list *list = faulted_of(pid);

	if (list && !is_list_of(list, pid)) {
		forget_list(list);
		*(volatile __u64 *)&list->pid = pid;
	}
	return list;
}

static __always_inline void write_faulted(struct faulted_mapping *m, const struct found_file *file,
					  __u64 life, __u64 number)
{
	*(volatile __u64 *)&m->life = 0;
	*(volatile __u64 *)&m->number = number;
	barrier();
	m->start = file->start;
	m->end = file->end;
	m->key = file->key;
	barrier();
	*(volatile __u64 *)&m->life = life;
}

/*
 * Returns 1 if noted mapping @i of @life equals slot->file. If it differs and overlaps, forget it.
 * A global function, as above.
 */
__noinline int settle_noted(struct scratch_slot *slot, struct faulted_list *list, __u32 i,
			    __u64 addr, __u64 life)
{
	const struct found_file *file;
	struct faulted_mapping *m;

	if (!slot || !list || i >= MOST_FAULTED)
		return 0;
	file = &slot->file;
	m = &list->mappings[i];
	if (!(file->key.inode ? is_noted(m, life, file->start, file->end)
			      : is_noted(m, life, addr, addr + 1)))
		return 0;
	if (m->start == file->start && m->end == file->end && m->key.inode == file->key.inode &&
	    m->key.dev == file->key.dev && m->key.offset == file->key.offset &&
	    m->key.size == file->key.size && m->key.changed == file->key.changed &&
	    m->key.changed_ns == file->key.changed_ns)
		return 1;
	*(volatile __u64 *)&m->life = 0;
	return 0;
}

/*
 * The kernel has mapped slot->file at @addr, or nothing of a file (inode 0). Forget the notes of
 * @life that contradict this. Returns 1 if slot->file is noted already. A global function because
 * of its loop.
 */
__noinline int settle_faulted(struct scratch_slot *slot, __u64 addr, __u64 life)
{
	const __u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct faulted_list *list = faulted_of(pid);
	int is_there = 0;

	if (!slot || !list)
		return 1;
	for (__u32 i = 0; i < MOST_FAULTED; i++)
		if (is_in_use(&list->mappings[i], life))
			is_there |= settle_noted(slot, list, i, addr, life);
	return is_there;
}

static __always_inline void note_faulted(struct scratch_slot *slot, struct faulted_list *list,
					 __u64 addr, __u64 life)
{
	__u64 number;

	if (settle_faulted(slot, addr, life) || !slot->file.key.inode)
		return;
	number = __sync_fetch_and_add(&list->n, 1);
	write_faulted(&list->mappings[number % MOST_FAULTED], &slot->file, life, number);
}

/* A child runs the code of its parent. */
static __always_inline void inherit_faulted(__u32 parent, __u32 child)
{
	const struct faulted_list *from = faulted_of(parent);
	struct faulted_list *to = faulted_of(child);

	if (!from || !to || to == from)
		return;
	*(volatile __u64 *)&to->pid = 0;
	forget_list(to);
	if (!is_list_of(from, parent))
		return;
	barrier();
#pragma clang loop unroll(disable)
	for (int i = 0; i < MOST_FAULTED; i++)
		to->mappings[i] = from->mappings[i];
	barrier();
	*(volatile __u64 *)&to->n = from->n;
	*(volatile __u64 *)&to->life = life_of_list(from);
	*(volatile __u64 *)&to->pid = child;
}
