/*
 * symbolize/processes.h - processes as rows have them: which program of the history each key means.
 *
 * A key (process_key()) has the number that BPF programs gave to a run of a program. Its first hit
 * says when that was.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "processes/history.h"
#include "symbolize/jit.h"
#include "symbolize/symbolize.h"

struct process {
	uint64_t id; /* process_key() */
	uint32_t tgid;
	uint64_t first; /* when it was hit first, ns of CLOCK_MONOTONIC; 0: not known */
	uint64_t since; /* history_keep() */
	const struct program *program; /* NULL: not known, or not asked for yet */
	const char *comm;              /* by which it was seen, or NULL. Lent by the strtab */
	uint64_t period_used;          /* by processes_refresh(): which one it was used in last */
	struct u64_map seen[2];        /* the owner's: frames of addresses; [1] of exact ones */
	uint32_t epoch_seen;           /* and of that epoch */
	uint64_t n_given_up;           /* and with so many files given up: images_given_up() */
};

struct processes;

/* All are kept. */
struct processes *processes_new(struct images *images, struct history *history,
				struct strtab *strings);
void processes_free(struct processes *ps);

void processes_refresh(struct processes *ps);

/* The process with @id (process_key()), made where absent. Lent until the next refresh. */
struct process *processes_get(struct processes *ps, uint64_t id);

/* The owner's frames have other numbers from now on. */
void processes_forget_names(struct processes *ps);

/* Read it now, as it was seen. */
void processes_announce(struct processes *ps, uint64_t id, const struct sighting *seen);

/* The name it had at @time (0: not known), or "". Lent by the strtab. */
const char *processes_comm(struct processes *ps, uint64_t id, uint64_t time);

/*
 * space_epoch() of @p. Ask this before @p->seen and processes_region_at(): it finds out which
 * program
 * @p is, if it was not told that, by @time.
 */
uint32_t processes_epoch(struct processes *ps, struct process *p, uint64_t time);

/* What its code without a file is named by. Asks which program @p is, by @time, as the above. */
void processes_jit(struct processes *ps, struct process *p, uint64_t time, struct jit_process *ret);
void processes_jit_of(const struct processes *ps, const struct program *program,
		      struct jit_process *ret);

/*
 * What @addr lay in at @time, or NULL. Lent until the next call. May read what the process has
 * mapped; then processes_epoch() tells whether older answers are wrong now.
 */
const struct region *processes_region_at(struct processes *ps, struct process *p, uint64_t addr,
					 uint64_t time);
