/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/state.h - the state of a symbolizer, for its own files: symbolizer.c makes it, and
 * frames of processes; kernel.c makes frames of the kernel.
 */
#pragma once

#include "base/log.h"
#include "kernel/bpf_programs.h"
#include "kernel/kallsyms.h"
#include "symbolize/frames.h"
#include "symbolize/image_names.h"
#include "symbolize/jit.h"
#include "symbolize/symbolize.h"

/* Beside the enum frame_kind in a key. */
#define KEY_NAMED 0x100
#define KEY_INLINED 0x200
#define KEY_MADE 0x400
#define KEY_BEGUN 0x800 /* without a name, but its start is known */

struct kernel_names {
	struct host *host;
	const struct kallsyms *first;   /* the host's; NULL: not read, or not readable */
	const struct kallsyms *symbols; /* @first or @own */
	struct kallsyms *own;           /* a newer reading, after the host's became old */
	struct modules modules;
	struct bpf_programs programs;
	bool is_checked; /* looked for changes since the last refresh */
	bool is_reread;  /* read kallsyms again since the last refresh */
	char *trouble;   /* why there are no names; NULL: there are */
};

/* @host is borrowed. Notes the modules that are loaded now, to see later changes. */
void kernel_names_init(struct kernel_names *k, struct host *host);
void kernel_names_fini(struct kernel_names *k);
void kernel_names_refresh(struct kernel_names *k);

struct symbolizer {
	struct symbolizer_options options;
	struct strtab *process_strings; /* names of processes, and of JIT code */
	struct frames frames;
	struct kernel_names kernel;
	struct kernel_validity kernel_validity;
	struct processes *processes; /* borrowed */
	struct images *images;       /* its images */
	struct image_names *image_names;
	struct jit *jit;
	struct log_few copied; /* warnings of code that lies in a file no more */
};

/* The number of the frame at @addr, from a stack of @time. */
uint32_t kernel_frame_at(struct symbolizer *s, uint64_t addr, bool is_exact, uint64_t time);

/*
 * All look-ups of return addresses use this function. A return address is where the call ends.
 * After a call that does not return, another function may begin there. find_place() handles
 * addresses that no call has put on the stack.
 */
static inline uint64_t place_look_up_at(uint64_t addr, bool is_exact)
{
	return is_exact || addr == 0 ? addr : addr - 1;
}

/*
 * The part of a frame's key that tells addresses of one function apart. @place is the address's
 * offset in its file, or the address itself if its code is in no file.
 */
static inline uint64_t detail_of(const struct symbolizer *s, uint64_t offset, uint64_t place,
				 uint64_t addr)
{
	switch (s->options.identity) {
	case IDENTITY_FUNCTION:
		return 0;
	case IDENTITY_OFFSET:
		return offset;
	case IDENTITY_PLACE:
		return place;
	case IDENTITY_ADDRESS:
		return addr;
	}
	return 0;
}
