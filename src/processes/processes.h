/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/processes.h - who ran what, where and when.
 *
 * The model of processes. While a process lives, /proc lists the mappings that it had before the
 * run began. Events (processes/sideband.h) report the changes since. So a stack gets the names of
 * the mappings at its own time, even if the process has ended or runs another program now.
 *
 * BPF counts execs, so that a hit belongs to the program before or behind one. No question reads
 * /proc.
 *
 * Times are ns of CLOCK_MONOTONIC. In a question, time 0 stands for now. A key is process_key():
 * the number and the life of a process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "files/files.h"
#include "processes/sideband.h"

#define COMM_BYTES 16
#define USER_UNKNOWN UINT32_MAX

struct processes;

/*
 * @files is borrowed and must live longer. The caller passes all events to processes_event(). So
 * answers about a past time are right even if the process has ended or runs another program.
 */
struct processes *processes_new(struct files *files);
void processes_free(struct processes *ps);

/* --- input --- */

/* The consequences of an event, for tables and rows. */
struct process_news {
	/* A mapping has replaced another one: the same addresses mean other code from here on. */
	bool is_replaced;
	bool is_new_file; /* the mapped file has a new image */
	/* The other two are set only if processes_is_walked(): */
	bool has_mapped; /* the process has one more mapping */
	bool is_over;    /* the program, or its first thread, has ended */
};

/* Take one event. Events of one process come in the order of time. */
struct process_news processes_event(struct processes *ps, const struct process_event *event);

/*
 * The caller publishes the mappings of process @tgid to BPF. From here on, processes_event()
 * reports their changes, for the children that it forks, too.
 */
void processes_walk(struct processes *ps, uint32_t tgid);
bool processes_is_walked(const struct processes *ps, uint32_t tgid);

/*
 * Read the mappings of process @tgid from /proc, unless they are complete or were forgotten, or
 * were tried to be read in this period.
 */
void processes_look(struct processes *ps, uint32_t tgid);

/*
 * The run ends: read the processes that were hit and are incomplete. Until @until, asks again for
 * lists that do not come in time.
 */
void processes_settle(struct processes *ps, uint64_t until);

/*
 * The process with @key was hit for the first time. Of @seen: time (0: not known), since (when BPF
 * counted its exec; 0: never; UINT64_MAX: not known), user (or USER_UNKNOWN) and comm. Reads its
 * mappings if they are incomplete.
 */
void processes_seen(struct processes *ps, uint64_t key, const struct notice *seen);

/*
 * A report begins. Looks whether open files were written over. Programs that ended some seconds ago
 * may be forgotten, if there are many and no question was about them in this period or the one
 * before.
 */
void processes_refresh(struct processes *ps);

/*
 * Read one of the processes that were hit and are incomplete: after a loss, for example. Each is
 * read once after processes_refresh(), and later ones first if time did not suffice for them.
 * False: all are read.
 */
bool processes_read_hit(struct processes *ps);

/* --- questions; answers are copies --- */

enum image_kind { IMAGE_FILE, IMAGE_VDSO, IMAGE_NO_FILE };

/* The image and file offset of an address. */
struct place {
	uint64_t start;  /* start address of the region */
	uint64_t offset; /* of the address, in the image's file */
	uint64_t limit;  /* end address of the region */
	uint32_t image;
	/* If not IMAGE_NO_FILE, an offset in the image means the same code in every process. */
	enum image_kind kind;
	bool is_memory; /* a process may have written the code there */
};

/* The place of @addr of @key at @time. False: not known. */
bool processes_at(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr,
		  struct place *ret);

/*
 * If @addr of @key is in no file at @time: the file's image that lay there before, or lies on both
 * sides as if there was no gap. Programs copy their code to huge pages. IMAGE_NONE: there is none.
 */
uint32_t processes_copied(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr);

/*
 * The mappings of @key at @time, to be freed with file_list_fini(). False: the program is not
 * known.
 */
bool processes_list(struct processes *ps, uint64_t key, uint64_t time, struct file_list *ret);

/*
 * A number of the mappings of @key at @time; 0: not known. If two answers are equal, an address
 * with a mapping had the same one at both times. An address without one may have got one since.
 */
uint64_t processes_epoch(struct processes *ps, uint64_t key, uint64_t time);

/* The last name of the first thread of @key's program; else the name with its first hit; else "".
 */
void processes_comm(struct processes *ps, uint64_t key, uint64_t time, char ret[COMM_BYTES]);

/* One program of one process. */
struct program_run {
	uint32_t tgid;
	uint32_t user;   /* the real user when it was hit, or USER_UNKNOWN */
	uint64_t begin;  /* 0: not known, or before the run */
	uint64_t end;    /* UINT64_MAX: it runs, or its end is not known */
	int root;        /* its root directory, as roots_of(); or -1 */
	bool has_memory; /* it has mapped memory with code at any time (place.is_memory) */
};

/* The program of @key at @time. If it is not known, @ret has the process's number only. */
void processes_program(struct processes *ps, uint64_t key, uint64_t time, struct program_run *ret);

/* The newest program of process @tgid. False: it was not hit, or is not known. */
bool processes_hit(const struct processes *ps, uint32_t tgid, struct program_run *ret);

/* Losses of the bounds of memory, as counts. */
struct forgotten {
	uint64_t processes; /* ended processes that were hit */
	uint64_t mappings;  /* regions; most were replaced by others before */
};

struct forgotten processes_forgotten(const struct processes *ps);

/* Memory held, in bytes. */
size_t processes_bytes(const struct processes *ps);

/* --- images --- */

/*
 * An image is a file, the vdso or memory that processes map. It has one number for all processes,
 * and its symbols are kept by that number. A file is identified by
 *
 * - device and inode;
 * - its build ID, or else the time of the mapping (struct file_stamp);
 * - size and time of change. A file that is written over in place becomes another image.
 *
 * A finder holds a file from its first mapping on, because the process may have ended when a report
 * needs names. The number of open files is bounded. Beyond the bound, files of processes without a
 * hit are closed first, then the least recently used. A closed file is opened again on demand, if
 * a process still has it.
 */
struct images;

/* The number of no image. No other number is given twice in a run. */
#define IMAGE_NONE 0U

/* The images that processes map. Lent by @ps. */
struct images *processes_images(const struct processes *ps);

/* Questions about their files, and the root directories of all processes. Lent by @im. */
struct files *images_files(const struct images *im);

/* False: the image was forgotten, or is IMAGE_NONE. */
bool images_is_known(const struct images *im, uint32_t image);

/*
 * A number that changes when earlier results may be wrong: a file was written over, or a missing
 * file can be read now.
 */
uint64_t images_version(const struct images *im);

/* The facts about a mapped file besides device and inode. */
struct file_stamp {
	uint8_t bytes[20]; /* the build ID: @n bytes; @n is 0 if the kernel gave none */
	size_t n;
	uint64_t mapped_at; /* ns of CLOCK_MONOTONIC; 0: not known */
};

/* The caller frees it with image_about_fini(). */
struct image_about {
	enum image_kind kind;
	bool is_memory;          /* as in struct place */
	bool is_bad, is_changed; /* images_give_up() */
	struct file_stamp stamp;
	int root;           /* handle of the root of a process that maps it, or HANDLE_NONE */
	char *path;         /* as that process sees it */
	const char *module; /* part of @path: "libc.so.6", "memfd:code"; or the constant "[anon]" */
};

/* False: @image is IMAGE_NONE, or was forgotten. */
bool images_about(const struct images *im, uint32_t image, struct image_about *ret);
void image_about_fini(struct image_about *about);

/*
 * The image's file, opened if necessary. If no finder can find it, sets *@is_twin, and gives an
 * open file with the build ID that the kernel gave, or any file at the path below our own root. The
 * reader checks its build. False: there is none, or somebody wrote over the file. @im lends the
 * handle until the next call.
 */
bool images_open(struct images *im, uint32_t image, struct held_file *ret, bool *is_twin);

/* Nobody reads the file any more. @is_changed: it was written over. */
void images_give_up(struct images *im, uint32_t image, bool is_changed);
