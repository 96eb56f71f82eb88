/*
 * symbolize/processes.h - what each process has, or had, mapped executable.
 *
 * A process is read when it is announced, because it may have ended when its
 * stacks are reported. Later it is read again when it runs another program, and,
 * at most once per refresh, when an address lies in no file it is known to have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "symbolize/history.h"
#include "symbolize/images.h"
#include "symbolize/jit.h"
#include "symbolize/symbolize.h"

struct region {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the image's file */
	uint32_t image;
	bool is_former; /* was there before the maps were read last */
};

struct process {
	uint64_t id; /* process_key() */
	uint32_t tgid;
	uint64_t first; /* when it was seen first in this life, ns; 0: not known */
	uint64_t since; /* history_keep() */
	uint32_t user;  /* when it was seen, or USER_UNKNOWN */
	uint64_t last;  /* when the next life of that number was seen; UINT64_MAX: not yet */
	const struct life *life; /* NULL: not followed, not known, or not asked for yet */
	struct region found;     /* what was found in it last */
	bool has_maps;
	const char *comm; /* NULL: not asked for yet. Lent by the strtab */
	struct region *regions;
	size_t n_regions, cap_regions;
	uint64_t exe_dev, exe_inode;
	uint64_t period_used; /* by processes_refresh(): which one it was used in last */
	uint64_t period_read;
	uint64_t period_reread; /* because of an address that was in no file */
	struct u64_map seen[2]; /* the owner's: frames of addresses; [1] of exact ones */
	uint32_t epoch_seen;    /* and of that epoch */
	uint64_t n_given_up;    /* and with so many files given up: images_given_up() */
};

struct processes;

/* Both are kept. */
struct processes *processes_new(struct images *images, struct strtab *strings);
void processes_free(struct processes *ps);

/* Ask @history, which is kept, before /proc. */
void processes_follow(struct processes *ps, struct history *history);

void processes_refresh(struct processes *ps);

/* Lives of the history are asked for again: some were forgotten. */
void processes_forget_lives(struct processes *ps);

/* The process with @id (process_key()), made where absent. Lent until the next refresh. */
struct process *processes_get(struct processes *ps, uint64_t id);

/* The owner's frames have other numbers from now on. */
void processes_forget_names(struct processes *ps);

/* Read it now, as it was seen. */
void processes_announce(struct processes *ps, uint64_t id, const struct sighting *seen);

/* The name it had at @time (0: not known), or "". Lent by the strtab. */
const char *processes_comm(struct processes *ps, uint64_t id, uint64_t time);

/*
 * memory_epoch() of @p. Ask this before @p->seen and processes_region_at(): it finds out which life
 * @p is, if it was not told that, by @time.
 */
uint32_t processes_epoch(struct processes *ps, struct process *p, uint64_t time);

/* What its code without a file is named by. Asks which life @p is, by @time, as the above. */
void processes_jit(struct processes *ps, struct process *p, uint64_t time, struct jit_process *ret);

/* Has it code mapped that it may have made itself, as far as is known? */
bool processes_has_made_code(const struct processes *ps, const struct process *p);

/* The process with number @tgid that was announced last, or NULL. Lent until the next refresh. */
struct process *processes_announced(struct processes *ps, uint32_t tgid);

/*
 * The region that @addr lay in at @time, or NULL. Lent until the next call. May read the
 * maps again; @p->seen is emptied when that made older answers wrong.
 */
const struct region *processes_region_at(struct processes *ps, struct process *p, uint64_t addr,
					 uint64_t time);
