/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/symbolize.h - from a stack's words, as BPF stored them, to numbers of named frames.
 *
 * The look-up of a return address is at minus one (place_look_up_at()), because a call may be the
 * last instruction of its function. The report shows the offset and address of the return address
 * itself, as bcc does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "bpf/abi.h"
#include "kernel/host.h"
#include "processes/processes.h"
#include "profile/frame.h"

struct symbolizer;

/* When are two addresses the same frame? */
enum frame_identity {
	IDENTITY_FUNCTION, /* same function of the same file; nameless: same function start */
	IDENTITY_OFFSET,   /* also the same offset in the function (-s) */
	IDENTITY_PLACE,    /* same address in the same file, in all processes */
	IDENTITY_ADDRESS,  /* same address (-v, in formats that show it: not in folded) */
};

struct symbolizer_options {
	struct files *names; /* borrowed. @serve asks another one while this one waits */
	enum frame_identity identity;
	bool places;        /* the report shows addresses of nameless code, even in no file */
	bool raw_names;     /* names as in the symbol table, not demangled */
	bool lines;         /* with source lines, and inlined functions as frames of their own */
	bool no_names;      /* no names of user code in files; kernel and JIT code have them */
	bool no_debuginfod; /* ask no server for symbols, whatever DEBUGINFOD_URLS says */
	uint32_t *helper;   /* borrowed: the PID of the fetcher while it runs; NULL: not wanted */
	void (*serve)(void *context); /* called repeatedly during a wait for a server */
	void *context;
};

/* @host and @processes are borrowed and must live longer. Nothing here changes @processes. */
struct symbolizer *symbolizer_new(struct host *host, struct processes *processes,
				  const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *s);

/*
 * A report begins, after processes_refresh(). The first questions of the report look for changes of
 * modules and perf maps. A name that nobody could look up has another chance.
 */
void symbolizer_refresh(struct symbolizer *s);

/*
 * A report is over. Forgets frames if they take much memory. Frame numbers are not valid any more.
 */
void symbolizer_trim(struct symbolizer *s);

/*
 * The program @p was hit. If it may have a perf map, follow that, so that it is read before the
 * program ends.
 */
void symbolizer_watch(struct symbolizer *s, const struct program_run *p);

/* The program of process @tgid ended at @time. */
void symbolizer_ended(struct symbolizer *s, uint32_t tgid, uint64_t time);

/* The name of the process's first thread at @time (0: not known); "" if never known. For the idle
 * tasks (process 0), the life in @process is the CPU plus 1. Lent until symbolizer_trim(). */
const char *symbolizer_comm(struct symbolizer *s, uint64_t process, uint64_t time);

/* --- stacks --- */

/* A stack as BPF stored it: @n @words (bpf/abi.h), innermost first. The caller lends them. */
struct raw_stack {
	const uint64_t *words;
	size_t n;
	uint32_t flags; /* KEY_*: the kind of its first address */
	uint32_t tgid;  /* a user stack's process */
	uint64_t time;  /* of the first hit, ns of CLOCK_MONOTONIC */
};

/* The reason that cut the stack: a mark's STACK_MARK_CUT_BITS, 0 for a stack that is whole. */
uint64_t stack_cut(const struct raw_stack *stack);

#define CUTS (STACK_MARK_CUT_BITS + 1)

/*
 * @cuts are counts of hits by stack_cut(). If more than 1 % of the hits have a stack that is cut,
 * write how many, the most frequent reason, and what to do. @is_bounded: the user has bounded the
 * depth, so stacks that are cut there do not count.
 */
void stack_put_cuts(const uint64_t cuts[CUTS], bool is_bounded, struct strbuf *to);

/* Bound of a user stack's frames, since inlined functions are frames, too. */
#define USER_FRAMES (4 * STACK_WORDS)

/*
 * Name the frames of @stack, without machinery. If @max_depth is not 0, it bounds their number, and
 * a mark stands behind them if the stack had more. Returns the number of @frames, with the mark. A
 * frame has no name if no function is known that was there all the time. With options.lines,
 * inlined functions stand before the function itself.
 */
uint32_t name_kernel_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			   uint32_t frames[STACK_WORDS]);
uint32_t name_user_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			 uint32_t frames[USER_FRAMES]);

/*
 * The two functions below put off unknown names of files. symbolizer_fetch() asks for all of them
 * at once. Repeat naming and fetching until it returns false: no name was put off. It forgets names
 * that no frame has yet, if they are many or some may be wrong.
 */
bool symbolizer_fetch(struct symbolizer *s);

/* As name_user_stack(). If *@is_whole is false, frames are missing whose names were put off. */
uint32_t name_known_user_stack(struct symbolizer *s, const struct raw_stack *stack,
			       uint64_t max_depth, uint32_t frames[USER_FRAMES], bool *is_whole);

/* Only put off the unknown names of @stack. Returns the number of names that are put off by now. */
size_t want_user_stack(struct symbolizer *s, const struct raw_stack *stack);

/* @s lends the table. Every call above may add frames. */
const struct frame_table *symbolizer_frames(const struct symbolizer *s);

/* The reason why kernel frames have no names (kptr_restrict), or NULL. @s lends it. */
const char *symbolizer_kernel_trouble(const struct symbolizer *s);
