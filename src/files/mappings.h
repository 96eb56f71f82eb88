/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files/mappings.h - the executable mappings of a process: /proc/PID/maps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* One executable mapping. The list owns the strings. */
struct mapping {
	uint64_t start;  /* the first member: array_count_below() */
	uint64_t end;    /* exclusive */
	uint64_t offset; /* offset of @start in the file */
	uint64_t dev;    /* with @inode 0: 0, not a file */
	uint64_t inode;
	const char
		*path; /* as the process sees it, without " (deleted)"; "[vdso]"; "" if anonymous */
	bool is_deleted;
};

/* By rising address. A zeroed list is empty. */
struct mapping_list {
	struct mapping *mappings;
	size_t n;
	size_t capacity;
	struct strtab *strings;
	/*
	 * The thread by whose number /proc shows the mappings: the process itself, or another of
	 * its threads if the first one has ended.
	 */
	uint32_t tid;
};

/*
 * Read the list of process @pid, or what of it fits into 24 MiB. Begin with a zeroed @ret. Errors:
 * -ESRCH no such process (any more); -EACCES; others from reading.
 */
must_check int mapping_list_read(uint32_t pid, struct mapping_list *ret, struct error *e);

/* Parse one line of a maps file; false for lines that are not executable or not well-formed. */
bool mapping_parse(const char *line, struct strtab *strings, struct mapping *ret);

/* Append @m as such a line, with its newline. */
struct strbuf;
void mapping_put(const struct mapping *m, struct strbuf *to);

/*
 * Read the lines in @text as a list. They may be foreign. False, with an empty list: one is no
 * executable mapping, has no end, or overlaps the one before.
 */
bool mapping_list_parse(const char *text, struct mapping_list *ret);

/*
 * Remove " (deleted)" from the end of a path of *@n bytes. False, with *@n unchanged, if the path
 * does not end so. A file may really have such a name. Then it is opened the slower way, as if
 * deleted.
 */
bool mapping_cut_deleted(const char *path, size_t *n);

void mapping_list_fini(struct mapping_list *list);

bool mapping_list_is_equal(const struct mapping_list *a, const struct mapping_list *b);

/* The mapping at @addr. NULL if nothing executable is mapped there. Lent by @list. */
const struct mapping *mapping_list_at(const struct mapping_list *list, uint64_t addr);

/* "libc.so.6" of "/usr/lib/libc.so.6". Lent by @path. */
const char *path_end(const char *path);

/* The root directory of process @pid, for O_PATH; or what is at @path below such a @root, whatever
 * links there say (openat2(2), Linux 5.6). -1 with errno. @resolve: more RESOLVE_ flags. */
int open_root_of(uint32_t pid);
int open_below(int root, const char *path, uint64_t resolve);

/*
 * Find the file that @m maps in process @pid by /proc/PID/map_files: the kernel itself vouches for
 * it, deleted or not, and walks no path. Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. Finders
 * never block, and take regular files only. The caller owns *@ret_handle (O_PATH). *@st is the
 * status of what is mapped there, zeros if that is unknown. Overlayfs may show another inode number
 * there than in the list. Then this fails with -ESTALE.
 */
struct stat;
must_check int mapping_find(uint32_t pid, const struct mapping *m, int *ret_handle, struct stat *st,
			    struct error *e);

/*
 * Find it by its path below directory @root. Device and inode must be those of the mapping, or of
 * @mapped, as mapping_find() has set it. Errors: -ESTALE another file is there; others from
 * opening.
 */
must_check int mapping_find_in(int root, const struct mapping *m, const struct stat *mapped,
			       int *ret_handle, struct stat *st, struct error *e);

/* Find it by map_files, or else below the process's root directory. Errors: as mapping_find_in() */
must_check int mapping_find_by_process(uint32_t pid, const struct mapping *m, int *ret_handle,
				       struct stat *st, struct error *e);

/*
 * Do the pages of its files come from the kernel alone, and neither from a process nor from another
 * machine? Layers of overlayfs may lie anywhere, so it is left out, as are rare file systems.
 */
struct statfs;
bool is_file_system_local(const struct statfs *fs);

/* Open the file of such a handle for reading. */
must_check int mapping_reopen(int handle, int *ret_fd, struct error *e);

/* Write a path by which @m's file can be opened while @pid lives ("/proc/7/root/usr/bin/x"). */
void mapping_path(uint32_t pid, const struct mapping *m, char *to, size_t size);
