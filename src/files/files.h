/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/files.h - reads mappings and files of processes. The main process opens and parses none of
 * them: for each question, the zygote makes a child that does, and the child is killed if it takes
 * too long.
 *
 * One thread asks at a time. A struct files serves one purpose. While a question waits, the thread
 * may ask another struct files (struct files_manner).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "files/mappings.h"
#include "files/places.h"
#include "files/question.h"

struct files;

/* The purpose, with the loss if there are no children. */
struct files_purpose {
	const char *lost; /* "user stacks may be cut (no unwind table)" */
	const char
		*after; /* of a user whose files took too long: "this user's other files get ..." */
	uint64_t most_of_user_ns; /* bound of time for all files of one user (places.h) */
	uint64_t finder_ns;       /* bounds of time for a question (question.h) */
	uint64_t parser_ns;
};

/*
 * @control is a socket to the zygote, owned by the result; -1: all questions fail. @places is
 * borrowed. NULL: out of descriptors; @control is closed.
 */
struct files *files_new(int control, struct places *places, const struct files_purpose *purpose);
void files_free(struct files *f);

/* How to wait. A zeroed one waits until an answer comes, or the time of the question is over. */
struct files_manner {
	uint64_t patience_ns; /* bound for the wait; 0: none */
	/* Called before a wait, and each FILES_SERVE_MS of it. May be NULL. */
	void (*serve)(void *context);
	/*
	 * Called before a question, and after each wait, of @ns since the last call and of @all_ns
	 * for this question. @is_roots: it reads a file that root alone can change. True: nobody
	 * sends the question, or waits for it any more. May be NULL.
	 */
	bool (*is_enough)(void *context, bool is_roots, uint64_t ns, uint64_t all_ns);
	void *context;
};
#define FILES_SERVE_MS 20

void files_set_manner(struct files *f, const struct files_manner *manner);

/* Let all waits end, and later questions fail. Any thread may call it. */
void files_end(struct files *f);

/*
 * Does @err stem from a child, a file system or a limit? Then a later question may succeed.
 *
 *	-EAGAIN    a file system does not answer, or the child was killed by the bound of its time
 *	-ENOTCONN  no child can be made
 *	-ECANCELED files_end() was called
 *	-EINTR     is_enough() ended the wait
 *	-ETIME     the patience ended the wait
 *	-EDQUOT    files of this user have taken too much time
 *	-ESTALE    another file is there
 *	-EMFILE, -ENFILE, -ENOMEM  the machine has no more
 *
 * Functions below fail with these, too. -EIO: the child ended, or its answer makes no sense.
 */
bool files_is_passing(int err);

/* --- mappings --- */

/* The executable mappings of a process. */
struct file_list {
	struct mapping_list list;
	struct file_fact *states; /* of each mapping's file; NULL: not known */
	uint64_t cost;            /* ns: CPU time of the child; without an answer, of the wait */
};

/*
 * Read the mappings of process @pid. With @has_states also list->states, which have zeros for files
 * that cannot be found. Sets @ret->cost even on error. Errors: -ESRCH no such process (any more);
 * others.
 */
must_check int files_list(struct files *f, uint32_t pid, bool has_states, struct file_list *ret,
			  struct error *e);
void file_list_fini(struct file_list *list);

/*
 * The state of the file that process @pid maps as @m, or of the file now at its path if the process
 * has gone. False: there is none.
 */
bool files_fact(struct files *f, uint32_t pid, const struct mapping *m, struct file_fact *ret);

/* --- handles: numbers of files that are held for us --- */

/* The most handles that we may hold, by our limit of descriptors. At least 8. */
size_t files_most_handles(void);

struct held_file {
	int handle;
	struct file_fact fact; /* of a root directory: device and inode alone */
};

/*
 * Hold the file that process @pid maps as @m. If the process has gone, the file at its path below
 * @root (roots_handle(); HANDLE_NONE: our own). @m is NULL: hold the process's root directory. @pid
 * is NO_PROCESS: hold the file at the path of @m in our file system, even another one. Errors:
 * -ESTALE another file is there; -EMFILE; others.
 */
#define NO_PROCESS UINT32_MAX
must_check int files_open(struct files *f, uint32_t pid, int root, const struct mapping *m,
			  struct held_file *ret, struct error *e);

/* Write the present state of @file to @ret; zeros if it is unknown. */
void files_look(struct files *f, const struct held_file *file, struct file_fact *ret);

/* Close @handle, later and together with others. Ignores HANDLE_NONE. */
void files_close(struct files *f, int handle);

/*
 * --- root directories of processes. A handle of each is held, so a file can be found in one even
 * if all its processes have gone. ---
 */

/*
 * Returns the number of the root directory of process @pid. Processes with the same one share a
 * number. -1: the process has gone, or there are too many. Asks no file system, because a dead one
 * would hold us up.
 */
int roots_of(struct files *f, uint32_t pid);

/* The handle of @root. HANDLE_NONE: there is none, or @root is -1. */
int roots_handle(const struct files *f, int root);

/* Are @a and @b the same directory? Services may have one with other mounts below it. */
bool roots_is_one(const struct files *f, int a, int b);

/* --- tables --- */

void file_table_fini(struct file_table *t);

/*
 * Have the table of @m's file made. The file was in @state a moment ago. The user of process @pid
 * pays. If @m is no file, it is the vdso; our own vdso serves for all processes. Errors:
 *
 *	-ENOENT   the file has no unwind information
 *	-ENOEXEC  the file is not an ELF file
 *	-EAGAIN   no child could open the file now, or it is another file
 *	-EIO      the child failed at it; the user has had a warning
 *	-EDQUOT, -ENOTCONN, -ECANCELED  see above
 *	others    there is no table, and @e gives the reason
 *
 * After -ENOENT and others, @ret has the ranges of code.
 */
must_check int files_table(struct files *f, uint32_t pid, const struct mapping *m,
			   const struct file_fact *state, struct file_table *ret, struct error *e);

/* --- names --- */

struct names_question {
	const struct held_file *file;  /* NULL: our vdso */
	const char *name;              /* for messages */
	const struct debug_hint *hint; /* of an answer that wants a debug file; else NULL */
	int root;                      /* handle; HANDLE_NONE: ours */
	const char *path;              /* of the file, below @root */
	const char *fetched;           /* a debug file in our file system, or NULL */
	const uint64_t *offsets;
	size_t n;       /* 0: ask for the fact only */
	unsigned flags; /* NAMES_LINES, NAMES_RAW */
};

/*
 * The caller frees ret->memory. The answer may be short: it has facts for the first offsets, at
 * least for one unless @fact.wants_debug. Errors: -ESTALE another file is there; -ENOEXEC it is not
 * ELF; -EIO; passing ones.
 */
must_check int files_names(struct files *f, const struct names_question *q, struct file_names *ret);

/*
 * --- perf maps: /tmp/perf-NUMBER.map, in which a process names the code that it made ---
 */

struct process_identity {
	uint32_t user;    /* effective user */
	uint32_t number;  /* its PID in its own (innermost) PID namespace */
	uint64_t started; /* ns of CLOCK_BOOTTIME; 0: unknown */
};

/* Read the identity of a process that lives, or that nobody has waited for. False: it has gone. */
bool process_identity_read(uint32_t pid, struct process_identity *ret);

/*
 * The user of process @pid; 0 if it has gone. The owner of /proc/PID will not do: a process can
 * make that root (prctl(2), PR_SET_DUMPABLE).
 */
uint32_t process_user(uint32_t pid);

/* A directory may be the root in several mount namespaces, with different mounts below it. */
struct root_identity {
	uint64_t dev, inode, namespace;
};

/* Read that of process @pid's root directory. False: the process has gone. */
bool root_identity_read(uint32_t pid, struct root_identity *ret);

#define PERF_FILE_PATH_BYTES 32
#define PERF_TEXT_BYTES (64UL << 20) /* an answer has at most so much of the text */

/* "/tmp/perf-7.map" */
void perf_file_path(uint32_t number, char to[PERF_FILE_PATH_BYTES]);

struct perf_question {
	int root; /* handle of the process's root directory */
	uint32_t number;
	uint32_t user;          /* its owner must be this user or root */
	struct file_fact known; /* a file in this state is not read again; zeros: none is known */
};

/* Errors: -ENOENT there is none; -EPERM it is refused, and @e says why; others. */
struct file_perf_map {
	struct file_fact fact;
	char *memory; /* the caller frees it */
	const char *text;
	size_t n; /* bytes of it; none above PERF_TEXT_BYTES */
};
must_check int files_perf_map(struct files *f, const struct perf_question *q,
			      struct file_perf_map *ret, struct error *e);
