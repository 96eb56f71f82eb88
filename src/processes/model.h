/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/model.h - the parts of the model of processes, for this room: images, address spaces
 * and programs. Times are ns of CLOCK_MONOTONIC.
 */
#pragma once

#include "base/hash.h"
#include "base/log.h"
#include "processes/processes.h"
#include "reader/roots.h"

/* --- images (images.c) --- */

/* A process that maps files. */
struct mapper {
	uint32_t pid; /* of it, or of a thread whose list of mappings can be read */
	int root;     /* as roots_of(); -1: not known */
};

/* One image. */
struct image_entry {
	uint32_t number;
	enum image_kind kind;
	uint32_t n_users; /* images_hold() */
	uint32_t older;   /* number of the next one with the same hash, or IMAGE_NONE */
	uint64_t hash, dev, inode;
	struct remote_handle file; /* .handle: HANDLE_NONE if it is not open */
	size_t open_at;            /* its index in images.opened then */
	char *path;                /* as a process has it */
	const char *module;        /* a part of @path, or a constant */
	bool is_opened;            /* it was open once: file.fact is known */
	bool is_closed;            /* it was closed to make room for others */
	bool is_bad;               /* nobody reads it any more */
	bool is_missed;            /* images_open() could not open it */
	bool is_refused;           /* an opener had no permission */
	bool is_newer;             /* the file was written after the mapping */
	/*
	 * May the process have written the code? True for anonymous memory, and for files in
	 * memory: JIT compilers map these twice, for writing and for execution.
	 */
	bool is_memory;
	uint64_t hit_in;      /* the period of the last images_note_hit(); 0: never */
	uint64_t last_used;   /* value of images.clock */
	uint64_t looked_at;   /* ns: the last look since it was opened; 0: none */
	struct mapper mapper; /* a process that has it mapped */
	struct mapping where; /* its mapping there */
	struct file_stamp stamp;
};

struct images {
	struct image_entry **entries; /* by rising number */
	struct image_entry **opened;  /* those with an open file */
	size_t n, capacity, n_opened, cap_opened;
	struct u64_map index;  /* number -> index in @entries */
	struct u64_map newest; /* hash of device and inode, or of the name -> newest number */
	struct remote_files *files;
	struct roots *roots;
	uint32_t n_made;        /* the highest number */
	size_t n_last;          /* entries that were left when unused ones were last forgotten */
	uint64_t clock, period; /* counts uses; counts images_refresh() */
	uint64_t version;       /* images_version() */
	size_t held_bytes;      /* memory of the images that somebody holds */
	size_t most_opened;     /* ulimit -n may make it lower than we wish */
	size_t n_kept; /* open files when one first made room for another; 0: none did yet */
	bool has_warned_of_limit;
	struct log_few refused;
};

struct images *images_new(struct remote_files *files);
void images_free(struct images *im);

/* A file or list could not be opened: @err. Warns the user once if descriptors ran out. */
void images_note_error(struct images *im, int err);

/* Look up the root of a process. If the process has gone, it keeps the one of its parent. */
void images_find_root(const struct images *im, struct mapper *mapper);

/*
 * The image that @mapper maps as @m, with @stamp. Opens a file that is not open yet, after
 * images_find_root(). If the process has gone, an opener looks for the file below the process's
 * root. May forget images that nobody holds.
 */
struct image_entry *images_add(struct images *im, struct mapper *mapper, const struct mapping *m,
			       const struct file_stamp *stamp);

/* Each hold needs one release. images_add() may forget an image without a hold. */
void images_hold(struct images *im, struct image_entry *image);
void images_release(struct images *im, struct image_entry *image);

/*
 * A process that was hit maps @image. Until the second images_refresh() from now, files of other
 * images are closed before this one.
 */
void images_note_hit(const struct images *im, struct image_entry *image);

/* A report begins. Images whose files were written over lose their names. */
void images_refresh(struct images *im);

/* --- address spaces (space.c): the executable mappings of programs, present and past --- */

/* One executable mapping, for as long as it was there. */
struct region {
	uint64_t start;
	uint64_t end;    /* exclusive */
	uint64_t offset; /* in the image's file */
	struct image_entry *image;
	uint64_t from;  /* 0: not known, as /proc gave it */
	uint64_t until; /* exclusive; UINT64_MAX: it is still there */
};

struct regions {
	struct region *list;
	size_t n, capacity;
};

/* Shared by a space and its copies until one of them changes. */
struct content {
	uint32_t n_users;
	uint32_t number;  /* changes when an address gets another meaning */
	uint32_t n_over;  /* past regions that were forgotten */
	uint64_t over_at; /* the latest end of those */
	uint64_t since;   /* nothing is known of earlier times */
	bool is_replaced; /* an address has got another meaning at any time */
	bool has_memory;  /* it has had a region with image->is_memory at any time */
	struct regions now, past;
};

struct space {
	uint32_t n_users;  /* processes that share this memory */
	bool is_forgotten; /* space_forget() was called for it or its original, without a look since
			    */
	struct content *content;
};

/* The state that all spaces share. */
struct spaces {
	struct images *images; /* borrowed; regions hold their images */
	size_t bytes;          /* memory of all spaces */
	uint64_t n_forgotten;  /* regions forgotten for lack of room */
	uint32_t n_numbers;    /* for space_epoch() */
};

/* An empty space with one user. */
struct space *space_new(struct spaces *all);

/* One user less. The last one frees the space. */
void space_drop(struct spaces *all, struct space *s);

/* A new space with the present contents of @s, and one user: a forked child has one. */
struct space *space_copy(struct spaces *all, struct space *s);

/*
 * Map @region. Regions that it overlaps end at @until: region->from, or the last time that they
 * certainly were there. True: another mapping was there.
 */
bool space_map(struct spaces *all, struct space *s, const struct region *region, uint64_t until);

/*
 * Map those of @list, by rising address, that overlap nothing, as far as there is room. Moves the
 * others to the front of @list, and returns their number.
 */
size_t space_add_free(struct spaces *all, struct space *s, struct region *list, size_t n);

/* Forget all regions, to save memory. From here on nothing is known of times before @time. */
void space_forget(struct spaces *all, struct space *s, uint64_t time);

/* Bytes of its regions. Spaces with shared contents each count an equal part. */
size_t space_bytes(const struct space *s);

/* The region of @addr at @time (0: now); NULL: not known. @s lends it until it changes. */
const struct region *space_at(const struct space *s, uint64_t addr, uint64_t time);

/*
 * If @addr is in no file at @time: the file's image that lay there before, or lies on both sides as
 * if there was no gap. Programs copy their code to huge pages. NULL: there is none.
 */
const struct image_entry *space_copied(const struct space *s, uint64_t addr, uint64_t time);

/*
 * Copies of all regions at @time (0: now), by rising address, without overlaps. Returns their
 * number. The caller frees *@ret.
 */
size_t space_regions(const struct space *s, uint64_t time, struct region **ret);

/*
 * A number of the contents at @time; 0: not known. If two answers are equal, an address with a
 * region had the same region at both times. An address without one may have got one since.
 */
uint64_t space_epoch(const struct space *s, uint64_t time);

/* images_note_hit() for the images of its present regions. */
void space_note_hit(const struct images *images, const struct space *s);

/* --- programs (programs.c): those of each process, one after the other --- */

/* One run of one program in one process. It begins with fork or exec, and ends with exec or exit.
 */
struct program {
	uint32_t tgid;
	uint32_t user;      /* the real user at the hit; or USER_UNKNOWN */
	bool is_exec;       /* it began with exec */
	bool is_forgotten;  /* marked: it will be freed soon */
	bool is_whole;      /* @space is complete, and events report all changes */
	bool is_seen;       /* it was hit */
	bool is_named;      /* an event reported @comm */
	uint64_t begin;     /* 0: before the run */
	uint64_t began;     /* the same, though a loss has cut it into several */
	uint64_t end;       /* when the next program of this number began; UINT64_MAX: none has */
	uint64_t exited;    /* when its first thread ended; UINT64_MAX: it has not */
	uint64_t looked_at; /* time of the last look at /proc; 0: never */
	uint64_t looked_in; /* period of the last try of a look; 0: none */
	uint64_t kept;      /* period of the last question about it; 0: none */
	uint64_t walked;    /* when processes_walk() was called last; 0: never */
	char comm[COMM_BYTES]; /* the last name; empty: not known, unless @is_named */
	struct program *older; /* the former program of this number */
	struct space *space;   /* one user of it is this program */
	struct mapper mapper;
};

/* Programs of all processes. */
struct programs {
	struct spaces spaces;
	struct u64_map newest;  /* tgid -> index in @heads */
	struct program **heads; /* the newest program of each process */
	size_t n_heads, cap_heads;
	uint64_t version;   /* changes when programs_at() may have other answers */
	size_t n, n_last;   /* programs: now, and after some were forgotten last */
	uint64_t n_dropped; /* programs that the bound of memory took, though reports need them */
	size_t bytes;       /* of programs, without spaces */
	size_t least;       /* lowest programs_bytes() since programs_fit() forgot some */
	uint64_t period;    /* the number of the present period; the first is 1 */
};

void programs_fini(struct programs *all);

/* The newest program of process @tgid; NULL: not known. */
struct program *programs_newest(const struct programs *all, uint32_t tgid);

/* The same. If it is not known, adds an empty program that was there before the run. */
struct program *programs_current(struct programs *all, uint32_t tgid);

/*
 * The program of process @tgid at @time (0: the newest). NULL: not known. @since is the time of the
 * last exec that BPF had counted at @time; 0 if there was none, UINT64_MAX if not known. If the
 * program began with a later exec, that exec was not over at @time, and the result is the program
 * before.
 */
struct program *programs_at(const struct programs *all, uint32_t tgid, uint64_t time,
			    uint64_t since);

/*
 * A program begins at @time, and the former one ends. The program owns one use of @space. A look at
 * the former program after @time is taken back, because it saw the new one.
 */
struct program *programs_begin(struct programs *all, uint32_t tgid, uint64_t time,
			       struct space *space);

/* Events since @since were lost. Each running process begins a new, empty program at @since,
 * because its mappings may have changed. */
void programs_lose(struct programs *all, uint64_t since);

/*
 * Forget ended programs without a question, if there are many. Forget programs and mappings if all
 * take more than 24 MiB: ended programs without a question go first, live programs that were hit
 * last. Frees programs: if n_dropped has changed, programs that somebody asked for are among them.
 * A live program stays, but its space may be forgotten (space->is_forgotten).
 */
void programs_fit(struct programs *all, uint64_t now);

/* Memory in bytes, with that of held images. */
size_t programs_bytes(const struct programs *all);

/* No end of it is known. */
bool program_runs(const struct program *program);

/* Is its space complete, without a part that was forgotten since the last look? */
bool program_is_all_known(const struct program *program);

/* The time of its end; UINT64_MAX: it runs. */
uint64_t program_over_at(const struct program *program);

/* Read its name from /proc. */
void program_read_comm(struct program *program);

void program_set_comm(struct program *program, const char *comm);
bool program_has_comm(const struct program *program);
