/* reader/mappings.h - what a process has mapped executable: /proc/PID/maps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* One executable mapping. Strings are owned by the list. */
struct mapping {
	uint64_t start;
	uint64_t end;    /* exclusive */
	uint64_t offset; /* in the file, of @start */
	uint64_t dev;    /* 0 with @inode 0: not a file */
	uint64_t inode;
	const char
		*path; /* as the process sees it, without " (deleted)"; "[vdso]", "" if anonymous */
	bool is_deleted;
};

/* By rising address. A zeroed list is empty. */
struct mapping_list {
	struct mapping *mappings;
	size_t n;
	size_t capacity;
	struct strtab *strings;
	size_t most_bytes; /* of memory, for what is read into it; 0: any number */
	/*
	 * By whose number what it has mapped can be reached in /proc: the process's, or that of
	 * another of its threads where the first has ended.
	 */
	uint32_t tid;
};

/* Errors: -ESRCH no such process (any more); -EACCES; others from reading. */
must_check int mapping_list_read(uint32_t pid, struct mapping_list *ret, struct error *e);

/* Parse one line of a maps file; false for lines that are not executable or not well-formed. */
bool mapping_parse(const char *line, struct strtab *strings, struct mapping *ret);

/* Cut " (deleted)" off the end of a path of *@n bytes; false, and *@n is unchanged, where it is not
 * there. A file may be named so; then it is only opened the longer way, as if it were deleted. */
bool mapping_cut_deleted(const char *path, size_t *n);

void mapping_list_fini(struct mapping_list *list);

bool mapping_list_is_equal(const struct mapping_list *a, const struct mapping_list *b);

/* NULL where nothing executable is mapped. Lent by @list. */
const struct mapping *mapping_list_at(const struct mapping_list *list, uint64_t addr);

/* The kernel's pages of code in this process, *@ret_bytes of them; NULL: there are none. */
const void *own_vdso(size_t *ret_bytes);

/*
 * Open the file that @m maps in process @pid, through the process's own root
 * and never something else: device and inode must be those of the mapping, or
 * the kernel itself must say that it is the mapped file (/proc/PID/map_files,
 * which also serves for deleted files). Never blocks; regular files only.
 * Errors: -ESTALE another file is there now; others from opening.
 */
must_check int mapping_open(uint32_t pid, const struct mapping *m, int *ret_fd, struct error *e);

/*
 * The same for an opener: *@ret_handle is a handle of the file (O_PATH), to be closed with
 * cleanup_held (helper/held.h). *@st says what it is.
 * The kernel alone says which it is (map_files), so no path is walked. Overlayfs may show another
 * inode number there than in the list, and then it is not found so.
 */
struct stat;
must_check int mapping_find(uint32_t pid, const struct mapping *m, int *ret_handle, struct stat *st,
			    struct error *e);

/* The same by its path below the process's root directory, as mapping_open() does. */
must_check int mapping_find_by_process(uint32_t pid, const struct mapping *m, int *ret_handle,
				       struct stat *st, struct error *e);

/*
 * The same when the process has gone: below directory @root, that it had for its own
 * (reader/roots.h). Device and inode must be those of the mapping. Needs openat2(2), Linux 5.6.
 */
must_check int mapping_find_in(int root, const struct mapping *m, int *ret_handle, struct stat *st,
			       struct error *e);

/* The same below our own root, where whoever has gone had its file most likely. */
must_check int mapping_find_here(const struct mapping *m, int *ret_handle, struct stat *st,
				 struct error *e);

/*
 * What is at the path of @m as this program sees it: any other regular file, or the same. Who asks
 * compares build IDs.
 */
must_check int mapping_find_ours(const struct mapping *m, int *ret_handle, struct stat *st,
				 struct error *e);

/* Open what such a handle stands for. */
must_check int mapping_reopen(int handle, int *ret_fd, struct error *e);

/* A path through which mapping @m's file can be opened while @pid lives ("/proc/7/root/usr/bin/x").
 */
void mapping_path(uint32_t pid, const struct mapping *m, char *to, size_t size);
