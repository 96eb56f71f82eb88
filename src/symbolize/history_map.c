/*
 * What is mapped, by one process for itself or for all that have its memory.
 *
 * Mostly the kernel says who has (SHARE). Where it does not, kcmp(2) is asked when FORK is read;
 * what has ended or begun another program by then is doubtful (symbolize/doubts.h).
 */
#include "symbolize/history_internal.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

/*
 * A memory that is shared now was so from the beginning. One that is not may be so since an exec
 * that is told later, as may be that of whom has gone; and if the parent has gone, its child may
 * have what the parent itself may have shared.
 */
static struct memory *ask_for_memory(struct history *h, struct memory *parent,
				     const struct process_event *event)
{
	struct doubt doubt = { .parent = parent, .parent_tgid = event->parent_pid };
	uint32_t ancestor = event->parent_pid;
	struct memory *m = parent;

	for (const struct doubt *up;; m = up->parent, ancestor = up->parent_tgid) {
		const long is = syscall(SYS_kcmp, ancestor, event->pid, KCMP_VM, 0, 0);

		if (is == 0)
			return memory_share(m);
		if (is < 0 && errno != ESRCH)
			doubt.until = UINT64_MAX;
		up = doubts_of_child(&h->doubts, m);
		if (!up)
			break;
	}
	if (!doubt.until)
		doubt.until = clock_ns(CLOCK_MONOTONIC);
	doubt.child = memory_copy(&h->memories, parent);
	doubts_add(&h->doubts, &doubt);
	return doubt.child;
}

struct memory *history_child_memory(struct history *h, struct life *parent,
				    const struct process_event *event)
{
	return event->is_share_told ? memory_copy(&h->memories, parent->memory)
				    : ask_for_memory(h, parent->memory, event);
}

/* Where something has ended in the memory of a process, what is there now; it may have come late.
 */
static void look_where(struct history *h, struct life *life, const struct past_region *where)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	struct error e;

	images_note_error(h->memories.images, mapping_list_read(life->tgid, &list, &e));

	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < list.n; i++) {
		struct mapping m = list.mappings[i];

		if (m.start >= where->end || m.end <= where->start)
			continue;
		if (m.start < where->start) {
			m.offset += where->start - m.start;
			m.start = where->start;
		}
		m.end = m.end < where->end ? m.end : where->end;

		const struct past_region region = { .start = m.start,
						    .end = m.end,
						    .offset = m.offset,
						    .image = images_add(h->memories.images,
									list.tid, life->root, &m,
									&(struct file_stamp){}),
						    .from = now,
						    .until = UINT64_MAX };

		(void)memory_map(&h->memories, life->memory, &region);
	}
}

struct spreading {
	struct history *h;
	const struct past_region *region;
};

static void note_end(void *context, const struct doubt *doubt, struct memory *m)
{
	const struct spreading *s = context;
	struct life *life = *history_head(s->h, doubt->parent_tgid);

	if (m != doubt->parent || !life || life->memory != m)
		return;
	look_where(s->h, life, s->region);
	array_push(s->h->changed, s->h->n_changed, s->h->cap_changed, life->tgid);
}

/* The other processes that have this memory. */
static void note_sharers(struct history *h, const struct life *life)
{
	for (size_t i = 0; i < h->n_heads && memory_is_shared(life->memory); i++)
		if (h->heads[i] && h->heads[i] != life && h->heads[i]->memory == life->memory)
			array_push(h->changed, h->n_changed, h->cap_changed, h->heads[i]->tgid);
}

bool history_map(struct history *h, struct life *life, const struct past_region *region)
{
	struct spreading spreading = { h, region };
	const bool is_replaced = memory_map(&h->memories, life->memory, region);

	if (is_replaced)
		note_sharers(h, life);
	if (h->doubts.n)
		doubts_pass(&h->doubts, &h->memories, region->from);
	if (h->doubts.n)
		doubts_spread(&h->doubts, &h->memories, life->memory, region, note_end, &spreading);
	return is_replaced;
}

uint32_t history_changed(struct history *h)
{
	return h->n_changed ? h->changed[--h->n_changed] : 0;
}
