/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/question.h - messages between the main process, the zygote and its children.
 *
 *	main process  --- question, payload ---------------->  area
 *	main process  --- struct order, with the area ------>  zygote
 *	                                                         | fork
 *	area  <------ question, payload, answer ------------>  child
 *	main process  <--- struct news ----------------------  zygote, when the child has ended
 *
 * The area is a file in memory. The main process never maps it: it copies the answer of a child
 * that has ended or stopped, and checks the copy. So no read faults.
 *
 * Messages have no pointers. All these processes are of one program, so their structs are the same.
 * The receiver of an answer checks it as foreign.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/user_step.h"
#include "elf/debug.h"

/*
 * The state of a file; zeros if it cannot be found (any more). Device and inode are those of
 * stat(2). A list of mappings may show others (btrfs, overlayfs).
 */
struct file_fact {
	uint64_t dev, inode;
	uint64_t size, changed; /* changed: seconds */
	uint32_t changed_ns;
	uint16_t is_there;
	uint16_t is_roots; /* root alone can write to it; on a local file system */
	uint32_t owner;    /* user */
	uint32_t pad;      /* whole facts are compared as bytes */
};

/*
 * Do both mean the same file and contents, as far as these members show? The inode's time of change
 * (ctime) does not count. Replacing a library unlinks the old file, which changes its ctime and no
 * byte.
 */
static inline bool file_fact_is_equal(const struct file_fact *a, const struct file_fact *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->changed == b->changed && a->changed_ns == b->changed_ns;
}

/*
 * The work of a child. A finder (up to QUESTION_LIST) looks for files and reads /proc. It keeps
 * the zygote's capabilities, and parses nothing. Those up to QUESTION_FACT share the zygote's
 * table of descriptors. A parser opens files, gives up all rights, and reads them then.
 */
enum question_what {
	/* Hold a file, or without a payload the root directory of process @pid. Payload: a mapping
	 * (mapping_put()). Answer: a file_fact, and the handle in @n. */
	QUESTION_OPEN = 1,
	/* Payload: @n handles, to be closed. */
	QUESTION_CLOSE,
	/* Answer: a file_fact of the file of @handle. */
	QUESTION_FACT,
	/*
	 * The executable mappings of process @pid and, with LIST_STATES, their files. Payload: @n
	 * devices (uint64_t) that do not answer, to be left out. Answer: the mappings as text
	 * (mapping_put()) with a NUL, a file_fact for each, and in @n the thread that has them.
	 */
	QUESTION_LIST,
	/*
	 * Make a table of a file that is in state @expected (payload: a mapping), or with OF_VDSO
	 * of the vdso. Answer: a table_fact and its parts. If the result is an error, @n is 1 for a
	 * file that is not ELF, and 0 if the child could not open it.
	 */
	QUESTION_TABLE,
	/*
	 * Name offsets of the file of @handle, which is in state @expected, or with OF_VDSO of the
	 * vdso. Payload: a names_payload. Answer: a symbols_fact and its parts. Errors: -ESTALE it
	 * is another file; -ENOEXEC.
	 */
	QUESTION_NAMES,
	/*
	 * Perf map @n below @root. Its owner must be @user or root. Answer: a file_fact, and the
	 * text unless the file is in state @expected. Errors: -ENOENT there is none; -EPERM we
	 * refuse the file, and the words say why.
	 */
	QUESTION_PERF_MAP,
};

enum question_flag {
	LIST_STATES = 1,
	OF_VDSO = 2,     /* of the child's own vdso, which all processes have */
	NAMES_LINES = 4, /* with source lines and inlined functions */
	NAMES_RAW = 8,   /* as in the symbol table, not demangled */
	/* Where not to look, because nothing answers there (places.h). */
	SKIP_MAPPED = 32,
	SKIP_PATHS = 64,
	SKIP_DEBUG = 128,
	/* Where to look for a mapped file: at its path in our file system, whatever file that is.
	 */
	FIND_OURS = 256,
	/*
	 * The child may be asked again: after the answer it stops itself. When it is continued,
	 * there is another question of its kind in the area; for a parser, about the same file.
	 */
	STAYS = 512,
};

#define HANDLE_NONE (-1)

struct question {
	uint32_t number; /* chosen by the asker, never 0; the answer repeats it */
	uint32_t what;   /* enum question_what */
	uint32_t flags;
	uint32_t n;
	uint32_t pid, user;
	int32_t handle, root; /* handles (zygote.h) */
	uint64_t n_bytes;     /* of the payload */
	struct file_fact expected;
};

/* The call at which a child may wait for ever. */
enum step {
	STEP_NONE,
	STEP_MAPPED,   /* /proc/PID/map_files of a file on @dev: no path is walked */
	STEP_PATH,     /* a path of the process */
	STEP_HANDLE,   /* a handle's file */
	STEP_DEBUG,    /* a path to a debug file below @root */
	STEP_PERF,     /* a path to a perf map below @root */
	STEP_OPEN,     /* a file on the device of question.expected */
	STEP_CONTENTS, /* the same, after that: it is read */
};

/* At the beginning of the area. A question and its payload follow, or the answer's data. */
struct answer {
	uint32_t number; /* written last; another one: the child has not answered */
	int32_t result;  /* 0 or a negative errno */
	uint32_t n;
	uint32_t step;    /* enum step */
	uint64_t dev;     /* of STEP_MAPPED */
	uint64_t n_bytes; /* of the data */
	char words[96];   /* foreign: escape before you show them */
};

/* To the zygote. */
enum order_what { ORDER_ASK, ORDER_GO_ON, ORDER_KILL };

struct order {
	uint32_t what;
	uint32_t child;    /* the number of its first question */
	uint32_t question; /* ASK: enum question_what */
};

/* From the zygote, about a child. */
enum news_what {
	NEWS_ENDED,   /* @status is that of wait(2) */
	NEWS_STOPPED, /* by itself (STAYS), if it has answered */
	NEWS_KILLED,  /* by ORDER_KILL. NEWS_ENDED comes unless it hangs in a call */
	NEWS_REFUSED, /* it cannot be made: @status is a negative errno */
};

struct news {
	uint32_t what;
	uint32_t child; /* struct order */
	int32_t status;
	uint32_t state;  /* of proc(5), when it was killed: 'R', 'S', 'D', 'T'; else 0 */
	uint64_t cpu_ns; /* ENDED, STOPPED: CPU time of its life */
	uint64_t memory; /* ENDED, STOPPED: the most that it had, with mapped files; bytes */
};

/* --- payloads and answers in the area --- */

#define AREA_BYTES (80UL << 20)
#define MAX_TABLE_BYTES (64UL << 20)
#define MAX_LIST_BYTES (32UL << 20)
#define MOST_RANGES 64
#define LARGEST_ERRNO 4095

/* --- lists --- */

/*
 * Read the list in @text, a string of the @n_bytes of an answer, and the states behind it. False:
 * it makes no sense.
 */
struct file_list;
bool list_read(const char *text, size_t n_bytes, bool has_states, struct file_list *ret);

/* --- tables --- */

/* An executable segment of a file. */
struct range_fact {
	uint64_t offset, vaddr, n_bytes;
};

/* Ranges, pages (@n_pages + 1, or none after an error), entries and rules follow it. */
struct table_fact {
	uint64_t base;
	int32_t result; /* 0; else no table, and the words say why. -ENOENT: the file has no data
			   for one */
	uint32_t n_ranges, n_pages, n_entries, n_rules;
};

/* A table from a parser. Its sizes are checked; its contents are as foreign as the file. */
struct file_table {
	struct table_fact fact;
	const struct range_fact *ranges;
	const uint32_t *pages;
	const struct unwind_entry *entries; /* bpf/user_step.h */
	const struct unwind_rule *rules;
	char *memory; /* which has the parts */
};

/*
 * Read the table in the @n_bytes at @bytes, which lend its parts. @bytes must be aligned as
 * malloc(3) does. False: it makes no sense.
 */
bool table_read(const void *bytes, size_t n_bytes, struct file_table *ret);

/* --- names --- */

/* Paths that are longer are cut: no file has these. */
struct names_payload {
	struct debug_hint hint; /* from an earlier symbols_fact; zeros: none is known */
	uint32_t n_offsets;
	char path[PATH_MAX];    /* of the file, below the question's root */
	char fetched[PATH_MAX]; /* a debug file in our file system, from a server; "": none */
	uint64_t offsets[];
};

/* The payload of @q, of *@ret_n bytes. The caller frees it. */
struct names_question;
struct names_payload *names_payload_new(const struct names_question *q, uint64_t *ret_n);

#define MOST_BUILD_ID_BYTES 20

/* Where symbols come from that the file itself does not have. */
enum debug_source { DEBUG_NONE, DEBUG_FILE, DEBUG_EMBEDDED };

/* @n name_fact, @n_calls call_fact, and @n_text bytes of strings with their NULs follow it. */
struct symbols_fact {
	struct debug_hint hint;
	uint8_t build_id[MOST_BUILD_ID_BYTES]; /* the build ID that the kernel reports */
	uint32_t n_build_id;                   /* its bytes */
	uint16_t has_symtab;
	uint16_t wants_debug; /* there may be a debug file. If names were asked, ask with @hint */
	uint16_t source;      /* enum debug_source */
	uint16_t is_debug_missed; /* no source: a debug file could not be opened. Ask again later */
	uint16_t is_changed; /* somebody wrote to the file or cut it short: names may be wrong */
	uint32_t n;          /* answers: for the first of the offsets, as many as fit */
	uint32_t n_calls;
	uint64_t n_text;
};
_Static_assert(sizeof(struct symbols_fact) % 8 == 0, "names follow");

enum name_has {
	NAME_HAS_PLACE = 1,      /* @vaddr is valid. Without it nothing is known */
	NAME_HAS_START = 2,      /* @start is valid: the function's start */
	NAME_IS_LAST = 4,        /* @vaddr is the function's last byte, by its symbol */
	NAME_IS_BEHIND_CALL = 8, /* @vaddr is the function's start, and image_is_behind_call() */
};

/* The offset of a string that is not there. */
#define NO_TEXT UINT32_MAX

struct name_fact {
	uint64_t vaddr, start;
	uint32_t function; /* offset of its name in the text; NO_TEXT: none */
	uint32_t call;     /* the first of @n_calls, innermost first */
	uint16_t n_calls;
	uint16_t has; /* enum name_has */
};

struct call_fact {
	uint32_t name, file; /* offsets in the text; NO_TEXT: none */
	uint32_t line;
};

/* An answer about a file's symbols and names. */
struct file_names {
	struct symbols_fact fact;
	const struct name_fact *facts;
	const struct call_fact *calls;
	const char *text;
	char *memory; /* which has the parts */
};

/*
 * Read the answer in the @n_bytes at @bytes, which lend its parts. @bytes must be aligned as
 * malloc(3) does. An answer without a name ends no question, so it is taken only if @n_asked is 0,
 * or it wants a debug file and the question had no hint (@has_hint). False: it makes no sense as an
 * answer about @n_asked offsets.
 */
bool names_read(const void *bytes, size_t n_bytes, size_t n_asked, bool has_hint,
		struct file_names *ret);

/* The string at @at; NULL for NO_TEXT. */
const char *names_text(const struct file_names *names, uint32_t at);
