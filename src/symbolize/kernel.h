/* symbolize/kernel.h - names of kernel addresses, kept up to date with loaded modules. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "host/host.h"
#include "host/kallsyms.h"

struct kernel_names {
	struct host *host;
	const struct kallsyms *symbols; /* the host's or @own; NULL: not read, or not readable */
	struct kallsyms *own;           /* read after the host's turned out to be old */
	uint64_t modules;               /* what was loaded when they were read */
	bool is_read;
	bool is_checked; /* for changes, since the last refresh */
	bool is_reread;  /* since the last refresh */
	char *trouble;   /* why there are no names */
};

void kernel_names_fini(struct kernel_names *k);
void kernel_names_refresh(struct kernel_names *k);

/*
 * Read what was not read yet or has changed; true when addresses that were looked
 * up before may have other names now. To be called before look-ups.
 */
bool kernel_names_update(struct kernel_names *k);

/*
 * The function at @addr. Where there is none the symbols are read once more, at
 * most once per refresh: *@is_changed then says what kernel_names_update() says.
 */
bool kernel_names_at(struct kernel_names *k, uint64_t addr, struct kernel_symbol *ret,
		     bool *is_changed);
