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
#include "symbolize/images.h"

struct region {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the image's file */
	uint32_t image;
	bool is_former; /* was there before the maps were read last */
};

struct process {
	uint32_t tgid;
	bool has_maps;
	const char *comm; /* NULL: not asked for yet. Lent by the strtab */
	struct region *regions;
	size_t n_regions, cap_regions;
	uint64_t exe_dev, exe_inode;
	uint64_t period_used; /* by processes_refresh(): which one it was used in last */
	uint64_t period_read;
	uint64_t period_reread; /* because of an address that was in no file */
	struct u64_map seen[2]; /* the owner's: frames of addresses; [1] of exact ones */
};

struct processes;

/* Both are kept. */
struct processes *processes_new(struct images *images, struct strtab *strings);
void processes_free(struct processes *ps);

void processes_refresh(struct processes *ps);

/* The process with @tgid, made where absent. Lent until the next refresh. */
struct process *processes_get(struct processes *ps, uint32_t tgid);

/* Read it now; @comm is its name if it cannot be asked any more (may be NULL). */
void processes_announce(struct processes *ps, uint32_t tgid, const char *comm);

/* Its name, or "". Lent by the strtab. */
const char *processes_comm(struct processes *ps, uint32_t tgid);

/*
 * The region that @addr lies in, or NULL. Lent until the next call. May read the
 * maps again; @p->seen is emptied when that made older answers wrong.
 */
const struct region *processes_region_at(struct processes *ps, struct process *p, uint64_t addr);
