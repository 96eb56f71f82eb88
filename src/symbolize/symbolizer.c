// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From an address of a process to the number of its frame:
 *
 *	address --seen?--> number                                      nearly always
 *	address --region--> image + offset --symbols--> function --key--> number
 *	                    no file --perf map--> function --key--> number
 *
 * Addresses with one key are one frame. Code of a file without a symbol is the function that
 * .eh_frame gives, or, without one, all such code of the file. Code outside of any file (JIT code
 * without a map, addresses of a broken stack) has no place that two processes could share. It is
 * one frame unless the report shows addresses or places: its lines all read "[unknown]", and random
 * addresses would split equal stacks.
 */
#include "symbolize/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strtab.h"
#include "bpf/user_step.h"
#include "elf/demangle.h"
#include "files/debuginfod.h"
#include "kernel/bpf_programs.h"
#include "kernel/kallsyms.h"
#include "symbolize/image_names.h"
#include "symbolize/jit.h"

struct frames {
	struct frame_table table;
	struct strtab *strings; /* of @table, and names of processes */
	struct u64_map numbers; /* by hash of the key */
	struct u64_map images;  /* numbers in @table; see kernel_image() and user_image() */
	/*
	 * Addresses with lasting frames. Stacks of a report share most addresses, so nobody has to
	 * search mappings and symbols for them again. The index in @lists of the number of frames,
	 * which follow it, by hash_of_pc().
	 */
	struct u64_map seen;
	uint32_t *lists;
	size_t n_lists, cap_lists;
	uint64_t version; /* images_version() of all of @seen */
};

/* Names of kernel addresses. */
struct kernel_names {
	struct host *host;              /* borrowed */
	const struct kallsyms *symbols; /* the host's, or @own; NULL: not read, or not readable */
	struct kallsyms *own;           /* a newer reading, after the host's became old */
	struct modules modules;
	struct bpf_programs programs;
	bool is_checked; /* looked for changes since the last refresh */
	bool is_reread;  /* read kallsyms again since the last refresh */
	char *trouble;   /* why there are no names; NULL: there are */
};

struct symbolizer {
	struct symbolizer_options options;
	struct frames frames;
	struct u64_map wanted; /* since the last fetch: hash_of_pc() */
	struct kernel_names kernel;
	struct processes *processes; /* borrowed */
	struct images *images;       /* its images */
	struct image_names *image_names;
	struct jit *jit;
	struct log_few copied; /* warnings of code that lies in a file no more */
};

/* --- the table of frames --- */

/* Identifies a frame. */
struct frame_key {
	uint64_t kind;   /* enum frame_kind, and KEY_* */
	uint64_t file;   /* number of the image, or address of a string */
	uint64_t place;  /* start of the function, or the address */
	uint64_t detail; /* offset or address, if -s or -v shows it */
	uint64_t source; /* address of the source file's name */
	uint64_t line;
};

#define KEY_NAMED 0x100
#define KEY_INLINED 0x200
#define KEY_MADE 0x400
#define KEY_BEGUN 0x800 /* without a name, but its start is known */

static void frames_fini(struct frames *f)
{
	u64_map_fini(&f->numbers);
	u64_map_fini(&f->images);
	u64_map_fini(&f->seen);
	free(f->lists);
	free(f->table.frames);
	free(f->table.images);
	strtab_free(f->strings);
}

/* Memory held, in bytes. */
static size_t frames_bytes(const struct frames *f)
{
	return f->table.capacity * sizeof(*f->table.frames) +
	       (f->numbers.n_slots + f->seen.n_slots) * sizeof(*f->seen.slots) +
	       f->cap_lists * sizeof(*f->lists) + strtab_bytes(f->strings);
}

/* The number of @key's frame. If *@is_new, the caller must fill in the frame. */
static uint32_t frames_number(struct frames *f, const struct frame_key *key, bool *is_new)
{
	const uint32_t number = *u64_map_put(&f->numbers, hash_bytes(key, sizeof(*key)),
					     (uint32_t)f->table.n, is_new);

	if (*is_new)
		array_push(f->table.frames, f->table.n, f->table.capacity,
			   ((struct frame){ .image = NO_IMAGE }));
	return number;
}

/* Add an image with the mapping of @image. Returns its number. */
static uint32_t frames_add_image(struct frames *f, const char *path,
				 const struct image_build *build, struct frame_image image)
{
	char hex[2 * MOST_BUILD_ID_BYTES + 1] = "";

	for (size_t i = 0; i < build->n; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", build->id[i]);
	image.path = strtab_add(f->strings, path);
	image.build_id = hex[0] ? strtab_add(f->strings, hex) : NULL;
	array_push(f->table.images, f->table.n_images, f->table.image_capacity, image);
	return (uint32_t)(f->table.n_images - 1);
}

/* --- addresses that were seen --- */

#define MOST_SEEN 131072 /* 4 MiB */
#define MOST_LISTED (1U << 20)

/* An address from a stack. */
struct pc {
	uint64_t process; /* process_key(). 0: the kernel */
	uint64_t time;    /* of the hit; 0: not known */
	uint64_t addr;
	bool is_exact; /* not a return address */
	/*
	 * A hash of processes_epoch() of this process and time; 0, if there is no epoch, is right
	 * but slower. Where two epochs are equal, addresses mean the same.
	 */
	uint64_t epoch;
};

#define KERNEL_EPOCH UINT64_MAX

static uint64_t hash_of_epoch(uint64_t epoch)
{
	return epoch ? hash_bytes(&epoch, sizeof(epoch)) : 0;
}

/* One process may choose its addresses, but does not know the hashes of others' epochs. */
static uint64_t hash_of_pc(const struct pc *pc)
{
	return pc->addr ^ (pc->is_exact ? hash_mix(pc->epoch) : pc->epoch);
}

/* The *@ret_n frames of @pc, innermost first; NULL: not known. Lent until the next change. */
static const uint32_t *seen_get(const struct symbolizer *s, const struct pc *pc, size_t *ret_n)
{
	const struct frames *f = &s->frames;
	const uint32_t *at = NULL;

	if (pc->epoch && f->version == images_version(s->images))
		at = u64_map_get(&f->seen, hash_of_pc(pc));
	*ret_n = at ? f->lists[*at] : 0;
	return at ? &f->lists[*at + 1] : NULL;
}

/* Forgets all if it is of another version, or if room is short. */
static void seen_put(struct symbolizer *s, const struct pc *pc, const uint32_t *frames, size_t n)
{
	struct frames *f = &s->frames;

	if (!pc->epoch)
		return;
	if (f->version != images_version(s->images) || f->seen.n >= MOST_SEEN ||
	    f->n_lists >= MOST_LISTED) {
		u64_map_clear(&f->seen);
		f->n_lists = 0;
		f->version = images_version(s->images);
	}
	(void)u64_map_put(&f->seen, hash_of_pc(pc), (uint32_t)f->n_lists, NULL);
	array_push(f->lists, f->n_lists, f->cap_lists, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		array_push(f->lists, f->n_lists, f->cap_lists, frames[i]);
}

/*
 * All look-ups of return addresses use this function. A return address is where the call ends.
 * After a call that does not return, another function may begin there. find_place() handles
 * addresses that no call has put on the stack.
 */
static uint64_t place_look_up_at(const struct pc *pc)
{
	return pc->is_exact || pc->addr == 0 ? pc->addr : pc->addr - 1;
}

/*
 * The part of a frame's key that tells addresses of one function apart. @place is the address's
 * offset in its file, or the address itself if its code is in no file.
 */
static uint64_t detail_of(const struct symbolizer *s, uint64_t offset, uint64_t place,
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

/* --- a symbolizer --- */

#define MODULES "/proc/modules"

struct symbolizer *symbolizer_new(struct host *host, struct processes *processes,
				  const struct symbolizer_options *options)
{
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->options = *options;
	s->frames.strings = strtab_new();
	s->kernel.host = host;
	bpf_programs_init(&s->kernel.programs);
	modules_look(&s->kernel.modules, MODULES); /* to see later changes */
	s->processes = processes;
	s->images = processes_images(processes);
	s->image_names = image_names_new(
		s->images, options->names,
		options->no_debuginfod
			? NULL
			: debuginfod_new(options->helper, options->serve, options->context),
		(options->lines ? NAMES_LINES : 0U) | (options->raw_names ? NAMES_RAW : 0U),
		options->no_names);
	s->jit = jit_new(s->images);
	return s;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	log_few_end(&s->copied, "code in anonymous memory");
	jit_free(s->jit);
	image_names_free(s->image_names);
	kallsyms_freep(&s->kernel.own);
	modules_fini(&s->kernel.modules);
	bpf_programs_fini(&s->kernel.programs);
	free(s->kernel.trouble);
	frames_fini(&s->frames);
	u64_map_fini(&s->wanted);
	free(s);
}

/* The bound of frames between two reports: some 50,000 functions. */
#define MOST_FRAME_BYTES ((size_t)10 << 20)

void symbolizer_trim(struct symbolizer *s)
{
	if (frames_bytes(&s->frames) <= MOST_FRAME_BYTES)
		return;
	frames_fini(&s->frames);
	s->frames = (struct frames){ .strings = strtab_new() };
}

void symbolizer_refresh(struct symbolizer *s)
{
	s->kernel.is_checked = s->kernel.is_reread = false;
	image_names_refresh(s->image_names);
	jit_refresh(s->jit);
}

void symbolizer_watch(struct symbolizer *s, const struct program_run *p)
{
	if (p->has_memory)
		jit_watch(s->jit, p);
}

void symbolizer_ended(struct symbolizer *s, uint32_t tgid, uint64_t time)
{
	jit_ended(s->jit, tgid, time);
}

const char *symbolizer_comm(struct symbolizer *s, uint64_t process, uint64_t time)
{
	char comm[COMM_BYTES];

	processes_comm(s->processes, process, time, comm);
	return strtab_add(s->frames.strings, comm);
}

const struct frame_table *symbolizer_frames(const struct symbolizer *s)
{
	return &s->frames.table;
}

const char *symbolizer_kernel_trouble(const struct symbolizer *s)
{
	return s->kernel.trouble;
}

/* --- names of the kernel --- */

/*
 * The source of each kind of name, and the time for which the name is certain, because modules and
 * BPF programs come and go:
 *
 *	the kernel itself     kallsyms   always
 *	a module              kallsyms   since the last look without it
 *	a BPF program         bpf(2)     from the beginning of its loading on, while it is loaded
 *	one of ftrace         kallsyms   always; its pages are its own
 *
 * Any other address has no name: BPF's trampolines have neither ends nor times in kallsyms.
 */
struct kernel_name {
	struct kernel_symbol symbol; /* lent until the next question */
	bool is_lasting;             /* the address has this name at any time */
};

static bool is_of_bpf(const struct kernel_symbol *symbol)
{
	return symbol->module && strcmp(symbol->module, "bpf") == 0;
}

/* The host's table stays: others borrow names from it. */
static void read_kernel_names_again(struct kernel_names *k)
{
	struct kallsyms *fresh = NULL;
	struct error e;

	k->is_reread = true;
	if (kallsyms_read("/proc/kallsyms", MODULES, &fresh, &e) != 0) {
		log_debug("names of newly loaded modules are missing: %s", e.text);
		return;
	}
	kallsyms_freep(&k->own);
	k->own = fresh;
	k->symbols = fresh;
}

/* Read symbols that are new or have changed. */
static void update_kernel_names(struct kernel_names *k)
{
	struct error e;

	if (k->is_checked)
		return;
	k->is_checked = true;
	modules_look(&k->modules, MODULES);
	if (!k->symbols && !k->trouble) {
		bpf_programs_look(&k->programs); /* some end while we read symbols */
		if (host_kallsyms(k->host, &k->symbols, &e))
			k->trouble = xstrdup(e.text);
	}
	if (k->symbols && k->modules.now != kallsyms_modules(k->symbols))
		read_kernel_names_again(k);
}

/*
 * The function that was at @addr at @time (ns of CLOCK_MONOTONIC). False: none is known for
 * certain. If no function is there, reads the symbols once more, at most once per refresh.
 */
static bool kernel_names_at(struct kernel_names *k, uint64_t addr, uint64_t time,
			    struct kernel_name *ret)
{
	const struct program_function *f;
	const struct module *module;
	bool is_listed;

	*ret = (struct kernel_name){};
	update_kernel_names(k);
	if (!k->symbols)
		return false;
	is_listed = kallsyms_at(k->symbols, addr, &ret->symbol);
	f = is_listed && !ret->symbol.module ? NULL : bpf_programs_at(&k->programs, addr);
	if (f) {
		ret->symbol = (struct kernel_symbol){ f->name, "bpf", f->start, f->end - f->start };
		ret->is_lasting = f->is_own && time >= f->since;
		return time >= f->since;
	}
	if (!is_listed && !k->is_reread) {
		read_kernel_names_again(k);
		is_listed = kallsyms_at(k->symbols, addr, &ret->symbol);
	}
	if (!is_listed || is_of_bpf(&ret->symbol))
		return false;
	module = ret->symbol.module ? modules_find(&k->modules, ret->symbol.module) : NULL;
	ret->is_lasting =
		!ret->symbol.module || strncmp(ret->symbol.module, "__builtin__", 11) == 0;
	return !module || time >= module->since;
}

/*
 * The frames above the traced function depend on the backend and on the kernel's version:
 *
 *	bpf_get_stack_raw_tp           bpf_prog_6deef7357e7b4530_on_hit
 *	bpf_prog_6deef7357e7b4530...   kprobe_multi_link_prog_run.isra.0
 *	bpf_trace_run2                 kprobe_multi_link_handler
 *	__traceiter_sched_switch       fprobe_handler
 *	__schedule                     ftrace_trampoline
 *	                               vfs_read
 *
 * A fixed number of frames to skip would be wrong sooner or later, so their names are known here:
 * each, or the begin of several before '*'. A compiler's suffix (".isra.0", ".part.1") is ignored.
 */
static const char *const machinery[] = {
	/* tracepoints */
	"__traceiter_*", "perf_trace_*", "trace_event_raw_event_*", "perf_syscall_enter",
	"perf_syscall_exit", "perf_call_bpf_enter*", "perf_call_bpf_exit*", "trace_call_bpf*",
	"bpf_trace_run*", "__bpf_trace_*",
	/* programs, and the helper that walks the stack */
	"__bpf_prog_*", "bpf_get_stack*", "__bpf_get_stack*", "bpf_get_task_stack*",
	"__bpf_get_task_stack*",
	/* fprobe, ftrace */
	"fprobe_handler*", "fprobe_ftrace_entry", "fprobe_entry", "kprobe_multi_link_*",
	"ftrace_caller*", "ftrace_regs_caller*", "ftrace_trampoline*", "ftrace_ops_*",
	"arch_ftrace_ops_list_func",
	/* kprobes: by ftrace, by a jump; arch_trap_functions: by a trap */
	"kprobe_ftrace_handler", "kprobe_perf_func", "kprobe_dispatcher", "aggr_pre_handler",
	"opt_pre_handler", "optimized_callback", "optprobe_template_*"
};

static bool is_called(const char *name, const char *pattern)
{
	const size_t n = strcspn(pattern, "*");

	return strncmp(name, pattern, n) == 0 && (pattern[n] || !name[n] || name[n] == '.');
}

/*
 * The kernel has functions such as bpf_prog_load, which the user may trace. Of BPF's own symbols,
 * only our programs trace here, and only ours have lasting names.
 */
static bool kernel_name_is_machinery(const struct kernel_name *name)
{
	const struct kernel_symbol *symbol = &name->symbol;

	if (is_of_bpf(symbol) && name->is_lasting)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(machinery); i++)
		if (is_called(symbol->name, machinery[i]))
			return true;
	for (size_t i = 0; arch_trap_functions[i]; i++)
		if (is_called(symbol->name, arch_trap_functions[i]))
			return true;
	return false;
}

/* --- frames of the kernel --- */

/* The number of the kernel's image, or of @module, which s->frames.strings lends. */
static uint32_t kernel_image(struct symbolizer *s, const char *module)
{
	const uint32_t *known = u64_map_get(&s->frames.images, (uintptr_t)module);
	char path[80];
	uint32_t number;

	if (known)
		return *known;
	(void)snprintf(path, sizeof(path), "[%s]", module ? module : "kernel");
	number =
		frames_add_image(&s->frames, path, &(struct image_build){}, (struct frame_image){});
	(void)u64_map_put(&s->frames.images, (uintptr_t)module, number, NULL);
	return number;
}

/* @name: NULL if it is not known. */
static uint32_t kernel_frame(struct symbolizer *s, uint64_t addr, const struct kernel_name *name)
{
	const struct kernel_symbol *symbol = name ? &name->symbol : NULL;
	struct frame_key key = { .kind = FRAME_KERNEL, .place = addr };
	struct frame frame = { .kind = FRAME_KERNEL, .image = NO_IMAGE, .addr = addr };
	bool is_new;

	if (symbol) {
		cleanup_free char *plain = name_without_number(symbol->name);

		frame.name = strtab_add(s->frames.strings, plain ? plain : symbol->name);
		frame.module = strtab_add_or_null(s->frames.strings, symbol->module);
		frame.offset = addr - symbol->addr;
		key.kind |= KEY_NAMED;
		key.file = (uintptr_t)frame.name; /* a module may be loaded where another was */
		key.place = symbol->addr;
		key.detail = detail_of(s, frame.offset, addr, addr);
	}

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new) {
		if (symbol)
			frame.image = kernel_image(s, frame.module);
		frame.is_machinery = name && kernel_name_is_machinery(name);
		s->frames.table.frames[number] = frame;
	}
	return number;
}

static uint32_t kernel_frame_at(struct symbolizer *s, const struct pc *pc)
{
	struct kernel_name name;
	bool is_known;
	size_t n;
	const uint32_t *seen = seen_get(s, pc, &n);
	uint32_t number;

	if (seen)
		return *seen;
	is_known = kernel_names_at(&s->kernel, place_look_up_at(pc), pc->time, &name);
	number = kernel_frame(s, pc->addr, is_known ? &name : NULL);
	if (is_known && name.is_lasting)
		seen_put(s, pc, &number, 1);
	return number;
}

/* --- places --- */

/* An address of a process, with its place and its function. */
struct user_place {
	bool is_mapped; /* else where.image is IMAGE_NONE, and .kind IMAGE_NO_FILE */
	struct place where;
	uint64_t addr;
	uint64_t at;      /* the address that was looked up, from place_look_up_at() */
	bool has_places;  /* an offset in the image means the same code in every process */
	bool is_put_off;  /* the name is put off: image_names_look_up() */
	bool may_be_made; /* memory of a process, in no file or in one that nobody has read */
	struct file_place place; /* from the file's symbols */
	struct jit_function
		made; /* from a perf map, if it has a name; @place has no function then */
};

static void find_place_at(struct symbolizer *s, const struct pc *pc, uint64_t at,
			  struct user_place *ret)
{
	const struct place nowhere = { .image = IMAGE_NONE, .kind = IMAGE_NO_FILE };
	const struct place *where = &ret->where;

	*ret = (struct user_place){ .where = nowhere, .addr = pc->addr, .at = at };
	ret->is_mapped = processes_at(s->processes, pc->process, pc->time, at, &ret->where);
	ret->has_places = where->kind != IMAGE_NO_FILE;
	if (s->options.no_names && where->kind == IMAGE_FILE)
		ret->place.vaddr = where->offset;
	else if (ret->has_places)
		ret->is_put_off = !image_names_look_up(s->image_names, where->image, where->offset,
						       &ret->place);
	ret->may_be_made = where->is_memory && !image_names_is_read(s->image_names, where->image);
}

/*
 * Is the address the first byte of a function that nobody called? @exact is the answer for the
 * address itself. A signal's handler returns to __restore_rt, makecontext() puts the address of
 * __start_context on the stack, and a new program stands at _start. The byte before belongs to
 * another function, or to none.
 */
static bool is_pushed(const struct user_place *exact)
{
	return exact->place.function && exact->place.start == exact->place.vaddr &&
	       !exact->place.is_behind_call;
}

/* Names are lent until the next image_names_fetch(). */
static void find_place(struct symbolizer *s, const struct pc *pc, struct user_place *ret)
{
	const uint64_t at = place_look_up_at(pc);

	find_place_at(s, pc, at, ret);
	if (at == pc->addr || ret->is_put_off || (ret->place.function && !ret->place.is_last))
		return;
	find_place_at(s, pc, pc->addr, ret);
	if (!ret->is_put_off && !is_pushed(ret))
		find_place_at(s, pc, at, ret);
}

/* --- frames --- */

/* If more functions are inlined at one place, the outermost of these are left out. */
#define MOST_CALLS 64

/* The last part of the source's path, lent by the strtab. Adds path and line to @key. */
static const char *source_of_call(struct symbolizer *s, const struct image_call *call,
				  struct frame_key *key)
{
	if (!call->file)
		return NULL;

	const char *path = strtab_add(s->frames.strings, call->file);
	const char *slash = strrchr(path, '/');

	key->source = (uintptr_t)path;
	key->line = call->line;
	return slash ? slash + 1 : path;
}

/*
 * The place that was looked up: of a return address, it is in the call before. Other programs ask
 * for the name of exactly this place.
 */
static uint64_t user_place_offset(const struct user_place *p)
{
	return p->has_places ? p->where.offset : p->addr;
}

/*
 * The number of the image at @p. Code in no file has no place that two processes share: its mapping
 * says nothing. NO_IMAGE: the image was forgotten.
 */
static uint32_t user_image(struct symbolizer *s, const struct user_place *p)
{
	const struct place *at = &p->where;
	cleanup(image_about_fini) struct image_about about = {};
	struct frame_image image = {};
	struct image_build build;

	if (p->has_places)
		image = (struct frame_image){ .start = at->start,
					      .limit = at->limit,
					      .offset = at->offset - (p->at - at->start) };

	const uint64_t words[] = { at->image, image.offset };
	const uint64_t key = hash_bytes(words, sizeof(words));
	const uint32_t *known = u64_map_get(&s->frames.images, key);

	if (!known && images_about(s->images, at->image, &about)) {
		const char *path = about.path[0] ? about.path : about.module;

		image_names_build(s->image_names, at->image, &build);

		known = u64_map_put(&s->frames.images, key,
				    frames_add_image(&s->frames, path, &build, image), NULL);
	}
	return known ? *known : NO_IMAGE;
}

/* The number of the frame at @p with @key. If it is new, it is @frame, with its image. */
static uint32_t put_frame(struct symbolizer *s, const struct user_place *p,
			  const struct frame_key *key, struct frame *frame)
{
	cleanup(image_about_fini) struct image_about about = {};
	bool is_new;
	const uint32_t number = frames_number(&s->frames, key, &is_new);

	if (!is_new)
		return number;
	frame->kind = FRAME_USER;
	frame->addr = p->addr;
	frame->image = p->is_mapped ? user_image(s, p) : NO_IMAGE;
	if (p->has_places)
		frame->file_offset = user_place_offset(p);
	frame->is_jit = p->may_be_made;
	if (!frame->module && images_about(s->images, p->where.image, &about))
		frame->module = strtab_add(s->frames.strings, about.module);
	s->frames.table.frames[number] = *frame;
	return number;
}

/*
 * The frame of JIT code. A compiler may put one function at several addresses, so its name
 * identifies it, in all processes. The perf map has addresses in place of file offsets.
 */
static uint32_t made_frame(struct symbolizer *s, const struct user_place *p)
{
	const uint64_t offset = p->addr - p->made.start;
	struct frame frame = { .name = strtab_add(s->frames.strings, p->made.name),
			       .module = strtab_add(s->frames.strings, p->made.module),
			       .offset = offset,
			       .module_offset = p->addr };
	struct frame_key key = { .kind = FRAME_USER | KEY_NAMED | KEY_MADE,
				 .place = (uintptr_t)frame.name,
				 .detail = detail_of(s, offset, offset, p->addr) };

	if (s->options.identity == IDENTITY_ADDRESS)
		key.file = (uintptr_t)frame.module; /* the report shows it */
	return put_frame(s, p, &key, &frame);
}

/* Set offset and key of a frame without a name, at frame->module_offset. */
static void set_unnamed(const struct symbolizer *s, const struct user_place *p, struct frame *frame,
			struct frame_key *key)
{
	const bool is_vdso = p->where.kind == IMAGE_VDSO;

	frame->has_start = (frame->is_in_file || is_vdso) && p->place.has_start;
	if (frame->has_start) {
		frame->offset = frame->module_offset - p->place.start;
		key->kind |= KEY_BEGUN;
		key->place = p->place.start;
	} else if (p->has_places && !frame->is_in_file && !is_vdso) {
		key->place = frame->module_offset;
	}
	if (s->options.places)
		key->place = frame->module_offset;
}

/*
 * The frame of the function itself, or of @call if it @is_inlined: such a function is one frame of
 * its file, wherever it was inlined.
 */
static uint32_t user_frame(struct symbolizer *s, const struct user_place *p,
			   const struct image_call *call, bool is_inlined)
{
	const char *name = is_inlined ? call->name : p->place.function;
	struct frame frame = { .is_inlined = is_inlined,
			       .is_in_file = p->where.kind == IMAGE_FILE && !p->may_be_made,
			       .name = strtab_add_or_null(s->frames.strings, name),
			       .line = call->line };
	struct frame_key key = { .kind = FRAME_USER, .file = p->where.image };

	if (p->has_places)
		frame.module_offset = p->place.vaddr + (p->addr - p->at);
	else if (p->is_mapped)
		frame.module_offset = p->addr - p->where.start;
	if (is_inlined) {
		key.kind |= KEY_NAMED | KEY_INLINED;
		key.place = (uintptr_t)frame.name;
	} else if (frame.name) {
		frame.offset = frame.module_offset - p->place.start;
		key.kind |= KEY_NAMED;
		key.place = p->place.start;
	} else {
		set_unnamed(s, p, &frame, &key);
	}
	key.detail = detail_of(s, is_inlined ? frame.module_offset : frame.offset,
			       user_place_offset(p), p->addr);
	frame.file = source_of_call(s, call, &key);
	return put_frame(s, p, &key, &frame);
}

/* Write the numbers of the frames at @p, innermost first. Returns how many there are. */
static size_t frames_of_place(struct symbolizer *s, const struct user_place *p,
			      uint32_t numbers[MOST_CALLS])
{
	const struct image_call itself = {}; /* the function itself; its source is not known */
	const struct image_call *calls = p->place.calls;
	size_t n = p->place.n_calls < MOST_CALLS ? p->place.n_calls : MOST_CALLS;

	if (p->made.name) {
		numbers[0] = made_frame(s, p);
		return 1;
	}
	if (!n) {
		n = 1;
		calls = &itself;
	}
	for (size_t i = 0; i + 1 < n; i++)
		numbers[i] = user_frame(s, p, &calls[i], true);
	numbers[n - 1] = user_frame(s, p, &calls[n - 1], false);
	return n;
}

/*
 * JIT code is in no file, or in one of memory without symbols: look for its name in the perf map.
 */
static void ask_process(struct symbolizer *s, const struct pc *pc, struct user_place *place)
{
	cleanup(image_about_fini) struct image_about about = {};
	struct program_run program;

	if (place->place.function || !place->may_be_made)
		return;
	processes_program(s->processes, pc->process, pc->time, &program);
	(void)jit_at(s->jit, &program, place->at, pc->time, &place->made);
	if (!place->made.name &&
	    images_about(s->images,
			 processes_copied(s->processes, pc->process, pc->time, place->at), &about))
		log_few(&s->copied,
			"frames in anonymous memory, where the code of %s was mapped, have no "
			"names (was it copied to huge pages?)",
			about.module);
}

/*
 * Does the address have the same frames as long as its epoch is the same? A process may write other
 * code to memory, and a later report may read a file that nobody could read. A look beside the
 * region may find another one there.
 */
static bool are_frames_lasting(const struct pc *pc, const struct user_place *p)
{
	return p->has_places && !p->place.is_missed && !p->may_be_made &&
	       (pc->is_exact || (pc->addr > p->where.start && pc->addr < p->where.limit));
}

/*
 * The numbers of the frames at @pc, innermost first. Returns their number, from 1 to @most; 0: the
 * name is put off.
 */
static size_t name_address(struct symbolizer *s, const struct pc *pc, uint32_t *to, size_t most)
{
	uint32_t made[MOST_CALLS];
	size_t n;
	const uint32_t *numbers = seen_get(s, pc, &n);

	if (!numbers) {
		struct user_place place;

		find_place(s, pc, &place);
		if (place.is_put_off)
			return 0;
		ask_process(s, pc, &place);
		n = frames_of_place(s, &place, made);
		if (are_frames_lasting(pc, &place))
			seen_put(s, pc, made, n);
		numbers = made;
	}

	const size_t n_shown = n < most ? n : most;

	memcpy(to, numbers + n - n_shown, n_shown * sizeof(*to));
	return n_shown;
}

/* --- stacks --- */

#define WALK(end) [STACK_MARK_WALK + UNWIND_END_##end]

static const char early[] = "begin the run before new programs, or give them by -p or --";

static const struct {
	const char *words, *advice;
} marks[] = {
	[STACK_MARK_DEPTH] = { "depth", NULL },
	[STACK_MARK_UNREADABLE] = { "unreadable page", NULL },
	[STACK_MARK_FAILED] = { "not given by this kernel", NULL },
	[STACK_MARK_TORN] = { "forgotten", "try more --max-memory" },
	WALK(NO_MAPPING) = { "no mapping", early },
	WALK(NO_TABLE_YET) = { "no table yet", early },
	WALK(RING_FULL) = { "too many waited", NULL },
	WALK(NO_TABLE) = { "no table", "try more --unwind-memory" },
	WALK(NO_ROW) = { "no row", NULL },
	WALK(UNFIT) = { "rule not representable", NULL },
	WALK(UNREADABLE) = { "unreadable page", NULL },
	WALK(NOT_ADVANCING) = { "not advancing", NULL },
	WALK(CHAIN) = { "no frame pointer", "let JIT code, if any, keep frame pointers" },
	WALK(PROBED) = { "return probe of another tool", NULL },
	WALK(DEPTH) = { "depth", NULL },
	WALK(NOT_RECORDED) = { "stack not recorded", NULL },
};

static const char *mark_text(uint64_t cut)
{
	return cut < ARRAY_SIZE(marks) && marks[cut].words ? marks[cut].words : "depth";
}

void stack_put_cuts(const uint64_t cuts[CUTS], bool is_bounded, struct strbuf *to)
{
	const char *advice;
	uint64_t total = 0, cut = 0;
	size_t most = 0;

	for (size_t i = 0; i < CUTS; i++) {
		total += cuts[i];
		if (!i || (is_bounded && strcmp(mark_text(i), "depth") == 0))
			continue;
		cut += cuts[i];
		most = cuts[i] > (most ? cuts[most] : 0) ? i : most;
	}
	if (cut <= total / 100)
		return;
	advice = most < ARRAY_SIZE(marks) ? marks[most].advice : NULL;
	strbuf_printf(to, "%.1f%% of the hits have a cut stack, most often [cut: %s] (%s)",
		      100 * (double)cut / (double)total, mark_text(most),
		      advice ? advice : "stackcount(8) explains the mark");
}

/*
 * Drop the tracing's own frames at the top of a kernel stack: those before the first other frame.
 * BPF may have put the traced function in front of them (bpf/stackcount.bpf.c): then those behind
 * it. Returns the number of frames that are left.
 */
static uint32_t trim_machinery(const struct frame_table *table, uint32_t *frames, uint32_t n)
{
	uint32_t first = 0, kept = 0, next;

	while (first < n && table->frames[frames[first]].is_machinery)
		first++;
	if (first == n)
		return n; /* show these if there are no others */
	frames[kept++] = frames[first];
	next = first + 1;
	while (first == 0 && next < n && table->frames[frames[next]].is_machinery)
		next++;
	while (next < n)
		frames[kept++] = frames[next++];
	return kept;
}

#define MOST_MARKS 3 /* of a stack */

/* The last word, if it is a mark; else 0. */
static uint64_t mark_of_stack(const struct raw_stack *stack)
{
	uint64_t last = stack->n ? stack->words[stack->n - 1] : 0;

	return last < STACK_MARK_END ? last : 0;
}

uint64_t stack_cut(const struct raw_stack *stack)
{
	return mark_of_stack(stack) & STACK_MARK_CUT_BITS;
}

static uint32_t mark_frame(struct symbolizer *s, enum frame_kind kind, const char *reason)
{
	const char *name = strtab_add(s->frames.strings, reason);
	struct frame_key key = { .kind = kind, .file = (uintptr_t)name };
	bool is_new;
	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new)
		s->frames.table.frames[number] =
			(struct frame){ .kind = kind, .image = NO_IMAGE, .name = name };
	return number;
}

/*
 * Keep the @max_depth innermost of the @n @frames, if it is not 0, and add the stack's marks. A
 * mark for unverified frames stays, because the innermost ones may be wrong, too. Returns the
 * number of frames.
 */
static uint32_t put_stack_marks(struct symbolizer *s, uint64_t mark, uint64_t max_depth,
				uint32_t *frames, uint32_t n)
{
	const uint64_t cut = mark & STACK_MARK_CUT_BITS;
	const bool is_deeper = max_depth && n > max_depth;

	if (is_deeper)
		n = (uint32_t)max_depth;
	if (mark & STACK_MARK_UNVERIFIED)
		frames[n++] = mark_frame(s, FRAME_UNVERIFIED, "frame pointers");
	if (mark & STACK_MARK_32_BIT)
		frames[n++] = mark_frame(s, FRAME_UNVERIFIED, "32-bit program");
	if (is_deeper || cut)
		frames[n++] = mark_frame(s, FRAME_CUT, is_deeper ? "depth" : mark_text(cut));
	return n;
}

uint32_t name_kernel_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			   uint32_t frames[STACK_WORDS])
{
	const uint64_t mark = mark_of_stack(stack);
	const uint32_t n = (uint32_t)stack->n - !!mark;
	struct pc pc = { .time = stack->time,
			 .is_exact = stack->flags & KEY_KERNEL_PC_EXACT,
			 .epoch = hash_of_epoch(KERNEL_EPOCH) };

	for (size_t i = 0; i < n; i++) {
		pc.addr = stack->words[i];
		frames[i] = kernel_frame_at(s, &pc);
		pc.is_exact = false;
	}
	return put_stack_marks(s, mark, max_depth, frames,
			       trim_machinery(&s->frames.table, frames, n));
}

/* The process and time of a user stack. */
static struct pc begin_user_stack(struct symbolizer *s, const struct raw_stack *stack)
{
	struct pc pc = { .process = process_key(stack->tgid, stack->flags >> KEY_LIFE_SHIFT),
			 .time = stack->time };

	pc.epoch = hash_of_epoch(processes_epoch(s->processes, pc.process, pc.time));
	return pc;
}

static void set_user_address(const struct raw_stack *stack, size_t i, struct pc *ret)
{
	ret->addr = stack->words[i] & ~(STACK_WORD_EXACT | STACK_WORD_PLAIN);
	ret->is_exact =
		i == 0 ? stack->flags & KEY_USER_PC_EXACT : stack->words[i] & STACK_WORD_EXACT;
}

bool symbolizer_fetch(struct symbolizer *s)
{
	/* An address may put off another name when it has the first one. */
	u64_map_fini(&s->wanted);
	return image_names_fetch(s->image_names);
}

size_t want_user_stack(struct symbolizer *s, const struct raw_stack *stack)
{
	const size_t n_words = stack->n - !!mark_of_stack(stack);
	struct user_place place;
	struct pc pc = {};
	bool is_new = true;
	size_t n;

	if (n_words)
		pc = begin_user_stack(s, stack);
	for (size_t i = 0; i < n_words; i++) {
		set_user_address(stack, i, &pc);
		if (seen_get(s, &pc, &n))
			continue;
		if (s->wanted.n >= MOST_SEEN) /* a process may choose any number of addresses */
			u64_map_clear(&s->wanted);
		if (pc.epoch)
			(void)u64_map_put(&s->wanted, hash_of_pc(&pc), 0, &is_new);
		if (is_new)
			find_place(s, &pc, &place);
	}
	return image_names_n_put_off(s->image_names);
}

uint32_t name_known_user_stack(struct symbolizer *s, const struct raw_stack *stack,
			       uint64_t max_depth, uint32_t frames[USER_FRAMES], bool *is_whole)
{
	const uint64_t mark = mark_of_stack(stack);
	const size_t n_words = stack->n - !!mark;
	const uint32_t most = USER_FRAMES - MOST_MARKS;
	struct pc pc = {};
	uint32_t n = 0;

	if (n_words)
		pc = begin_user_stack(s, stack);
	*is_whole = true;
	for (size_t i = 0; i < n_words; i++) {
		set_user_address(stack, i, &pc);
		if (n == most)
			return put_stack_marks(s, mark, max_depth ? max_depth : n - 1, frames, n);

		const size_t n_of_word = name_address(s, &pc, frames + n, most - n);

		*is_whole = *is_whole && n_of_word;
		n += (uint32_t)n_of_word;
	}
	return put_stack_marks(s, mark, max_depth, frames, n);
}

uint32_t name_user_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			 uint32_t frames[USER_FRAMES])
{
	bool is_whole;
	uint32_t n;

	(void)symbolizer_fetch(s); /* nothing is put off: forgets answers that may be wrong */
	do
		n = name_known_user_stack(s, stack, max_depth, frames, &is_whole);
	while (symbolizer_fetch(s));
	return n;
}
