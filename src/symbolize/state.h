/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/state.h - the state of a symbolizer, for its own files: symbolizer.c makes it, and
 * frames of processes; kernel.c makes frames of the kernel; frames.c keeps them.
 */
#pragma once

#include "base/hash.h"
#include "base/log.h"
#include "base/strtab.h"
#include "kernel/bpf_programs.h"
#include "kernel/kallsyms.h"
#include "symbolize/image_names.h"
#include "symbolize/jit.h"
#include "symbolize/symbolize.h"

/* --- the table of frames, and a cache that leads to it (frames.c) --- */

/* Identifies a frame. Keys are compared word by word, never by a hash alone. */
struct frame_key {
	uint64_t kind;   /* enum frame_kind, and whether it has a name */
	uint64_t file;   /* number of the image, or address of a string */
	uint64_t place;  /* start of the function, or the address */
	uint64_t detail; /* offset or address, if -s or -v shows it */
	uint64_t source; /* address of the source file's name */
	uint64_t line;
};

/* An address in a process, from a stack. */
struct user_pc {
	uint64_t process; /* process_key() */
	uint64_t time;    /* of the hit; 0: not known */
	uint64_t addr;
	bool is_exact;  /* not a return address */
	uint64_t epoch; /* processes_epoch() of this process and time; 0 is right but slower */
};

/*
 * The cache: the frames of an address. Stacks of a report share most addresses, so nobody has to
 * search mappings and symbols for them again. The key has the epoch in place of the process: where
 * two epochs are equal, addresses mean the same. A zeroed one is empty.
 */
struct seen_addresses {
	struct seen_address *slots; /* by a hash; a new address may replace another one */
	size_t n, n_slots;          /* @n_slots: power of two, or 0 */
	uint32_t *frames;           /* of addresses with several */
	size_t n_frames, cap_frames;
	uint64_t version; /* images_version() of all entries */
	uint32_t pass;    /* calls of symbolizer_fetch() */
};

struct frames {
	struct frame_table table;
	struct strtab *strings; /* of @table */
	struct frame_key *keys; /* by frame number */
	size_t n_keys, cap_keys;
	struct u64_map numbers; /* by hash of the key */
	/* Numbers of images in @table. Of modules by the address of the name, 0 is the kernel; of
	 * files and memory by their number (processes/processes.h) and mapping, see user_image().
	 */
	struct u64_map kernel_images, user_images;
	struct seen_addresses seen;
	struct u64_map kernel_seen[2]; /* lasting names by address; [1]: of exact addresses */
};

void frames_init(struct frames *f);
void frames_fini(struct frames *f);

/* Memory held, in bytes. */
size_t frames_bytes(const struct frames *f);

/* The number of @key's frame. If *@is_new, the caller must fill in the frame. */
uint32_t frames_number(struct frames *f, const struct frame_key *key, bool *is_new);

/* Add an image with the mapping of @image, and a build ID of @n bytes. Returns its number. */
uint32_t frames_add_image(struct frames *f, const char *path, const uint8_t *id, size_t n,
			  struct frame_image image);

/*
 * The *@ret_n frames of @pc, innermost first. NULL: not known. None: somebody has put none in this
 * pass. Lent until the next change.
 */
const uint32_t *seen_get(const struct seen_addresses *seen, uint64_t version,
			 const struct user_pc *pc, size_t *ret_n);
void seen_put(struct seen_addresses *seen, uint64_t version, const struct user_pc *pc,
	      const uint32_t *frames, size_t n);

/* --- the state of a symbolizer --- */

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
