// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "attach/object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "attach/syscall.h"
#include "attach/value_code.h"
#include "base/log.h"
#include "base/memory.h"
#include "bpf/deferred.h"
#include "bpf/tables.h"
#include "stackcount.skel.h"

/* The programs of targets come first. They are the large ones. */
#define LAST_COUNTING_PROGRAM PROGRAM_UNTIL_USER

static const char *const program_names[PROGRAM_N] = {
	[PROGRAM_TRACEPOINT] = "on_tracepoint", [PROGRAM_KPROBE] = "on_kprobe",
	[PROGRAM_UPROBE] = "on_uprobe",         [PROGRAM_USDT] = "on_usdt",
	[PROGRAM_PERF_EVENT] = "on_sample",     [PROGRAM_KRETURN] = "on_kreturn",
	[PROGRAM_BEGIN] = "on_begin_tp",        [PROGRAM_UNTIL] = "on_until_tp",
	[PROGRAM_SWITCH] = "on_switch_raw",     [PROGRAM_BEGIN_USER] = "on_begin_up",
	[PROGRAM_UNTIL_USER] = "on_until_up",   [PROGRAM_NEW_TASK] = "on_new_task",
	[PROGRAM_EXEC] = "on_program",          [PROGRAM_EXIT] = "on_end",
	[PROGRAM_RESERVED] = "on_reserved",     [PROGRAM_MODULE_GONE] = "on_module_gone",
	[PROGRAM_READ_KERNEL] = "read_kernel",  [PROGRAM_FIND_SYMBOL] = "find_symbol",
};

/* The sections of programs that prepare_program() changes before they are loaded. */
static const struct {
	const char *section;
	enum bpf_prog_type type;
} program_sections[] = {
	{ "tracepoint/count", BPF_PROG_TYPE_TRACEPOINT },
	{ "kprobe/count", BPF_PROG_TYPE_KPROBE },
	{ "perf_event/count", BPF_PROG_TYPE_PERF_EVENT },
	{ "raw_tp/count", BPF_PROG_TYPE_RAW_TRACEPOINT },
};

/* An array of the programs that is mapped into this process. */
struct mapped {
	void *at;
	size_t bytes;
};

#define MOST_MAPPED 6 /* pointers of struct object_maps */

/*
 * A map for rows or stacks has two levels. The second one is larger, and made while the first one
 * fills. The programs find it in an outer map.
 */
struct level_map {
	const struct bpf_map *like; /* the first level */
	const struct bpf_map *outer;
	uint32_t at; /* index of the second level in @outer */
	uint32_t n;  /* entries of the second level; 0: it is not wanted */
	int fd;      /* the second level; -1: it does not exist yet */
};

enum { LEVEL_STACKS, LEVEL_COUNTS0, LEVEL_COUNTS1, LEVEL_MAPS };

struct object {
	struct stackcount_bpf *skeleton;
	struct bpf_program *programs[PROGRAM_N]; /* NULL: not wanted */
	struct level_map levels[LEVEL_MAPS];
	pthread_t thread; /* makes the second levels */
	bool has_thread;
	struct object_maps maps;
	struct mapped mapped[MOST_MAPPED];
	size_t n_mapped;
	uint8_t *slabs; /* address space for MOST_SLABS; NULL: none is wanted */
	uint32_t n_slabs;
};

/* --- libbpf's messages: reasons of errors, or for --debug --- */

static char first_words[256];

/*
 * libbpf reports for each program that it has no source lines, which scripts/without_lines removes.
 * It makes some maps a second time without BTF. That is no reason: its next message gives the
 * failure.
 */
static int keep_first_words(enum libbpf_print_level level, const char *format, va_list args)
{
	cleanup_free char *text = NULL;
	char *rest, *line;

	if (level == LIBBPF_DEBUG)
		return 0;
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return 0;
	}
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line || strstr(line, ".BTF.ext line info"))
			continue;
		log_debug("%s", line);
		if (!first_words[0] && !strstr(line, "Retrying without BTF"))
			(void)snprintf(first_words, sizeof(first_words), "%.255s", line);
	}
	return 0;
}

/*
 * Loading the programs has failed with @err. Sets @e, with libbpf's first message as the reason,
 * and returns its code.
 */
static int refuse_load(int err, struct error *e)
{
	const char *words = first_words;

	if (strncmp(words, "libbpf: ", 8) == 0)
		words += 8;
	if (strstr(words, strerror(EMFILE)))
		err = -EMFILE; /* libbpf then takes the first thing that it looked for as missing */
	if (err == -EMFILE || err == -ENFILE)
		words = "";
	return error_set(e, err, "load the BPF programs: %s%s%s", error_words(err),
			 words[0] ? ": " : "", words);
}

/* --- programs --- */

/* For prepare_program(), which libbpf calls. */
static struct {
	const struct object_options *options; /* lent */
	struct bpf_func_info *functions;      /* of the program that libbpf loads now */
} loading;

/*
 * Before loading, libbpf tries bpf_probe_read_kernel(). If lockdown (confidentiality) refuses that,
 * libbpf takes the kernel for one before 5.5. It then replaces both newer helpers by
 * bpf_probe_read(), which lockdown refuses, too. Reading user memory would have been allowed, so we
 * put that helper back. Programs in these sections read no kernel memory.
 */
static void put_helper_back(struct bpf_insn *insn)
{
	if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == 0 &&
	    insn->imm == BPF_FUNC_probe_read)
		insn->imm = BPF_FUNC_probe_read_user;
}

/* Name a function at instruction @at to the kernel: of the type of the one that contains @like. */
static void add_function(struct bpf_prog_load_opts *opts, size_t at, size_t like)
{
	const struct bpf_func_info *old = opts->func_info;
	const size_t n = opts->func_info_cnt;
	size_t i = 0;

	if (!n) /* the kernel takes no types */
		return;
	while (i + 1 < n && old[i + 1].insn_off <= like)
		i++;
	free(loading.functions);
	loading.functions = xcalloc(n + 1, sizeof(*old));
	memcpy(loading.functions, old, n * sizeof(*old));
	loading.functions[n] = (struct bpf_func_info){ (__u32)at, old[i].type_id };
	opts->func_info = loading.functions;
	opts->func_info_cnt = (__u32)n + 1;
}

/*
 * Put the code of the value behind the program, as a function. The instruction at @call, in
 * value_of_hit(), calls it from now on.
 */
static int add_value_code(struct bpf_program *prog, struct bpf_prog_load_opts *opts, size_t call)
{
	const struct value_code *value = loading.options->value;
	const size_t n = bpf_program__insn_cnt(prog);
	cleanup_free struct bpf_insn *insns = xcalloc(n + value->n, sizeof(*insns));

	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	memcpy(insns + n, value->insns, value->n * sizeof(*insns));
	insns[call].src_reg = BPF_PSEUDO_CALL;
	insns[call].imm = (int)(n - call - 1);
	add_function(opts, n, call);
	return bpf_program__set_insns(prog, insns, n + value->n);
}

static void put_btf_id(struct bpf_insn *insn)
{
	const struct bpf_insn call = INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0,
					  (int)loading.options->cast_call);
	const struct bpf_insn no_call = MOVE_IMM(BPF_REG_0, 0);

	if (insn->src_reg)
		return;
	if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->imm == PREEMPT_COUNT_ID &&
	    loading.options->preempt_count) {
		insn[0].src_reg = BPF_PSEUDO_BTF_ID;
		insn[0].imm = (int)loading.options->preempt_count;
		insn[1].imm = 0; /* in the kernel's own BTF, not a module's */
	} else if (insn->code == (BPF_JMP | BPF_CALL) && insn->imm == CAST_CALL) {
		*insn = loading.options->cast_call ? call : no_call;
	} else if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_K) && insn->imm == CAST_TYPE) {
		insn->imm = (int)loading.options->cast_type;
	}
}

static int prepare_program(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct bpf_insn no_value = MOVE_IMM(BPF_REG_0, 1);
	struct bpf_insn *insns = (struct bpf_insn *)bpf_program__insns(prog);
	const size_t n = bpf_program__insn_cnt(prog);
	size_t call = n; /* that of value_of_hit() */

	(void)cookie;
	for (size_t i = 0; i < n; i++) {
		put_helper_back(&insns[i]);
		put_btf_id(&insns[i]);
		if (insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].imm == VALUE_CALL)
			call = i;
	}
	if (call < n && loading.options->value)
		return add_value_code(prog, opts, call);
	if (call < n)
		insns[call] = no_value;
	return 0;
}

static int register_sections(struct error *e)
{
	static bool is_done; /* libbpf keeps sections for all objects of a process */
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = prepare_program);

	for (size_t i = 0; i < ARRAY_SIZE(program_sections) && !is_done; i++)
		if (libbpf_register_prog_handler(program_sections[i].section,
						 program_sections[i].type, 0, &opts) < 0)
			return error_errno(e, "register BPF section %s",
					   program_sections[i].section);
	is_done = true;
	return 0;
}

static void choose_programs(struct object *o, const struct object_options *options)
{
	for (int i = 0; i < PROGRAM_N; i++) {
		const bool is_kernel = i == PROGRAM_KPROBE || i == PROGRAM_KRETURN;

		if (!(options->programs & 1U << i))
			continue;
		o->programs[i] =
			bpf_object__find_program_by_name(o->skeleton->obj, program_names[i]);
		(void)bpf_program__set_autoload(o->programs[i], true);
		if (options->multi & 1U << i)
			(void)bpf_program__set_expected_attach_type(
				o->programs[i],
				is_kernel ? BPF_TRACE_KPROBE_MULTI : ABI_TRACE_UPROBE_MULTI);
	}
}

/* --- sizes of maps --- */

/*
 * Entries in the first level of the maps. The first level must last until the second one exists (40
 * ms). Its buckets cost 0.4 ms for each map.
 */
#define FIRST_ROWS 32768
#define FIRST_CHUNKS 65536

static void size_map(struct bpf_map *map, uint32_t n)
{
	(void)bpf_map__set_max_entries(map, n ? n : 1);
}

/* Rows with sums and events with values are larger. */
static void size_rows(const struct stackcount_bpf *s, bool has_sum)
{
	const uint32_t bytes = has_sum ? sizeof(struct summed_row) : sizeof(struct stack_row);

	(void)bpf_map__set_value_size(s->maps.counts0, bytes);
	(void)bpf_map__set_value_size(s->maps.counts1, bytes);
	(void)bpf_map__set_value_size(s->maps.hot, HOT_WORDS(has_sum) * sizeof(uint64_t));
	if (has_sum)
		(void)bpf_map__set_value_size(s->maps.events, sizeof(struct valued_event));
}

static void size_maps(struct object *o, const struct object_options *options)
{
	const struct stackcount_bpf *s = o->skeleton;
	const uint32_t most_rows = options->max_rows, most_chunks = options->max_chunks;
	const uint32_t rows = most_rows < FIRST_ROWS ? most_rows : FIRST_ROWS;
	const uint32_t chunks = most_chunks < FIRST_CHUNKS ? most_chunks : FIRST_CHUNKS;
	const bool wants_spare = options->config.anywhere && most_chunks > 1;

	o->levels[LEVEL_STACKS] = (struct level_map){ .like = s->maps.stacks,
						      .outer = s->maps.more_stacks,
						      .n = most_chunks - chunks,
						      .fd = -1 };
	o->levels[LEVEL_COUNTS0] = (struct level_map){ .like = s->maps.counts0,
						       .outer = s->maps.more_counts,
						       .n = most_rows - rows,
						       .fd = -1 };
	o->levels[LEVEL_COUNTS1] = o->levels[LEVEL_COUNTS0];
	o->levels[LEVEL_COUNTS1].like = s->maps.counts1;
	o->levels[LEVEL_COUNTS1].at = 1;
	size_map(s->maps.counts0, rows);
	size_map(s->maps.counts1, rows);
	size_map(s->maps.stacks, chunks);
	size_map(s->maps.spare, wants_spare ? SPARE_CHUNKS : 1);
	size_rows(s, options->config.has_sum);
	size_map(s->maps.begun, options->max_begun);
	size_map(s->maps.hot, 2 * options->n_cpus * options->config.n_hot_rows);
	size_map(s->maps.calls, options->n_cpus * options->config.calls_per_cpu);
	if (options->config.mode == MODE_CALLS)
		size_map(s->maps.scratch, 1);
	size_map(s->maps.rings, options->n_cpus);
	size_map(s->maps.events, options->config.ring_events * options->n_cpus + 1);
	size_map(s->maps.lives, options->config.max_user_frames ? LIVES : 1);
	size_map(s->maps.wanted, options->config.follow ? 65536 : options->max_tgids);
	size_map(s->maps.spaces, options->config.unwind ? MOST_SPACES : 0);
	size_map(s->maps.files, options->config.unwind ? MOST_FILES : 0);
	size_map(s->maps.slab0, options->config.unwind ? SLAB_CHUNKS : 1);
	size_map(s->maps.deferred, options->config.unwind ? DEFERRED_PIECES : 1);
	size_map(s->maps.recent_rules, options->config.unwind ? RECENT_SETS : 1);
}

/* --- levels --- */

/* The descriptor of the map of @level, 0 or 1. -1: it does not exist. */
static int level_map_fd(const struct level_map *m, unsigned level)
{
	return level ? __atomic_load_n(&m->fd, __ATOMIC_ACQUIRE) : bpf_map__fd(m->like);
}

static int create_map(const char *name, const struct bpf_map *like, uint32_t n)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(like));

	return bpf_map_create(bpf_map__type(like), name, bpf_map__key_size(like),
			      bpf_map__value_size(like), n, &opts);
}

/*
 * One at a time: laying out a map's buckets takes 3 ms, in which the kernel gives the CPU to nobody
 * else, and the machine may have only two. User space learns of a map before the programs do, so it
 * reads all that they put into it.
 */
static void *make_second_levels(void *argument)
{
	struct object *o = argument;

	for (size_t i = 0; i < ARRAY_SIZE(o->levels); i++) {
		struct level_map *m = &o->levels[i];
		const int fd = m->n ? create_map("more", m->like, m->n) : -1;

		__atomic_store_n(&m->fd, fd < 0 ? -1 : fd, __ATOMIC_RELEASE);
		if (m->n &&
		    (fd < 0 || bpf_map_update_elem(bpf_map__fd(m->outer), &m->at, &fd, BPF_ANY)))
			log_debug("no second level of the map %s: %s", bpf_map__name(m->like),
				  strerror(errno));
	}
	return NULL;
}

/*
 * In a thread, if it can start: each update waits for RCU, 10 ms. The first level has room for
 * longer than all of them take.
 */
void object_begin_level(struct object *o)
{
	o->has_thread = pthread_create(&o->thread, NULL, make_second_levels, o) == 0;
	if (!o->has_thread)
		(void)make_second_levels(o);
}

/* --- memory --- */

/* Map all of @map, for reading and writing, and put its address into the pointer at @ret. */
static int map_array(struct object *o, const struct bpf_map *map, void *ret, struct error *e)
{
	size_t bytes = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return error_errno(e, "map the kernel's '%s'", bpf_map__name(map));
	o->mapped[o->n_mapped++] = (struct mapped){ at, bytes };
	memcpy(ret, &at, sizeof(at));
	return 0;
}

/* --- mappings and unwind tables: slabs of memory, and two hash maps --- */

static int map_slab(struct object *o, int fd, struct error *e)
{
	if (mmap(o->slabs + (size_t)o->n_slabs * SLAB_BYTES, SLAB_BYTES, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return error_errno(e, "map memory for unwind tables");
	o->n_slabs++;
	return 0;
}

/* Slabs lie where they belong in one piece of address space, so a place is a distance in it. */
static int map_slabs(struct object *o, struct error *e)
{
	void *at = mmap(NULL, (size_t)MOST_SLABS * SLAB_BYTES, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return error_errno(e, "get address space for unwind tables");
	o->slabs = at;
	return map_slab(o, bpf_map__fd(o->skeleton->maps.slab0), e);
}

int object_add_slab(struct object *o, struct error *e)
{
	const struct stackcount_bpf *s = o->skeleton;
	const __u32 number = o->n_slabs;
	int err;

	if (number == MOST_SLABS)
		return error_set(e, -E2BIG, "unwind-table memory is full (%u slabs)", number);

	cleanup_close int fd = create_map("slab", s->maps.slab0, SLAB_CHUNKS);

	if (fd < 0)
		return error_errno(e, "get memory for unwind tables");
	err = map_slab(o, fd, e);
	if (!err && bpf_map_update_elem(bpf_map__fd(s->maps.slabs), &number, &fd, BPF_ANY))
		err = error_errno(e, "add memory for unwind tables");
	return err;
}

size_t object_spaces(const struct object *o, uint32_t *tgids, struct unwind_space *to, size_t most)
{
	const int fd = bpf_map__fd(o->skeleton->maps.spaces);
	__u32 key, next, *last = NULL;
	size_t n = 0;

	while (n < most && bpf_map_get_next_key(fd, last, &next) == 0) {
		key = next;
		last = &key;
		if (bpf_map_lookup_elem(fd, &key, &to[n]))
			continue;
		if (tgids)
			tgids[n] = key;
		n++;
	}
	return n;
}

/* Set an entry, or delete it if @value is NULL. Deleting a missing entry is no error. */
static int set_entry(const struct bpf_map *map, const void *key, const void *value)
{
	const int fd = bpf_map__fd(map);

	if (value)
		return bpf_map_update_elem(fd, key, value, BPF_ANY);
	return bpf_map_delete_elem(fd, key) && errno != ENOENT ? -1 : 0;
}

/* After a change of the map: programs keep a copy of an entry during a turn. */
static void turn_spaces(const struct object *o)
{
	__atomic_fetch_add(&object_state(o)->space_turn, 1, __ATOMIC_RELEASE);
}

int object_set_space(const struct object *o, uint32_t tgid, const struct unwind_space *space,
		     struct error *e)
{
	int err = 0;

	if (set_entry(o->skeleton->maps.spaces, &tgid, space))
		err = error_errno(e, "publish the mappings of process %u", tgid);
	turn_spaces(o);
	return err;
}

bool object_replace_space(const struct object *o, uint32_t tgid, uint32_t number,
			  const struct unwind_space *space)
{
	const int fd = bpf_map__fd(o->skeleton->maps.spaces);
	struct unwind_space now;

	/* Programs may delete it in between. No other one comes there so soon. */
	if (bpf_map_lookup_elem(fd, &tgid, &now) || now.number != number ||
	    bpf_map_update_elem(fd, &tgid, space, BPF_EXIST))
		return false;
	turn_spaces(o);
	return true;
}

int object_set_file(const struct object *o, const struct unwind_file_key *key,
		    const struct unwind_file *file, struct error *e)
{
	if (set_entry(o->skeleton->maps.files, key, file))
		return error_errno(e, "publish the unwind table of a file");
	return 0;
}

/* --- the whole --- */

static int open_maps(struct object *o, const struct trace_config *config, struct error *e)
{
	const struct stackcount_bpf *s = o->skeleton;
	const struct {
		bool is_wanted;
		const struct bpf_map *map;
		void *ret;
	} all[MOST_MAPPED] = {
		{ config->mode == MODE_STACKS, s->maps.hot, &o->maps.hot },
		{ config->mode == MODE_EVENTS, s->maps.rings, &o->maps.rings },
		{ config->mode == MODE_EVENTS, s->maps.events, &o->maps.events },
		{ config->calls_per_cpu, s->maps.calls, &o->maps.calls },
		{ config->max_user_frames, s->maps.lives, &o->maps.lives },
		{ config->unwind, s->maps.deferred, &o->maps.deferred },
	};
	int err = 0;

	o->maps.deferred_ring = config->unwind ? &s->bss->deferred_ring : NULL;
	o->maps.lost_fd = bpf_map__fd(s->maps.lost);
	o->maps.begun_fd = bpf_map__fd(s->maps.begun);
	o->maps.wake_fd = bpf_map__fd(s->maps.wake);
	for (size_t i = 0; i < MOST_MAPPED && !err; i++)
		if (all[i].is_wanted)
			err = map_array(o, all[i].map, all[i].ret, e);
	return err || !config->unwind ? err : map_slabs(o, e);
}

/*
 * Make the maps and load the programs. Returns libbpf's result.
 *
 * Two outer maps get their model of an inner map here. Rows may be larger than their type, and
 * libbpf 1.4 crashes if its own inner map is changed. Of slabs, libbpf would make one of 4 MiB and
 * close it, so this gives it the first one. If one is missing, libbpf reports the reason.
 */
static int load_skeleton(struct object *o)
{
	const struct stackcount_bpf *s = o->skeleton;
	cleanup_close int rows = create_map("inner", s->maps.counts0, 1);
	cleanup_close int slab =
		create_map("slab0", s->maps.slab0, bpf_map__max_entries(s->maps.slab0));
	int err;

	if (rows >= 0)
		(void)bpf_map__set_inner_map_fd(s->maps.more_counts, rows);
	if (slab >= 0 && bpf_map__reuse_fd(s->maps.slab0, slab) == 0)
		(void)bpf_map__set_inner_map_fd(s->maps.slabs, bpf_map__fd(s->maps.slab0));
	err = stackcount_bpf__load(o->skeleton);
	free(loading.functions);
	loading.functions = NULL;
	return err;
}

int object_load(const struct object_options *options, struct object **ret, struct error *e)
{
	cleanup(object_freep) struct object *o = xcalloc(1, sizeof(*o));
	int err = register_sections(e);

	if (err)
		return err;
	first_words[0] = '\0';
	(void)libbpf_set_print(keep_first_words);
	o->skeleton = stackcount_bpf__open();
	if (!o->skeleton)
		return refuse_load(errno ? -errno : -EINVAL, e);

	const struct stackcount_bpf *s = o->skeleton;

	memcpy((void *)&s->rodata->config, &options->config, sizeof(options->config));
	loading.options = options;
	choose_programs(o, options);
	size_maps(o, options);

	err = load_skeleton(o);
	if (err)
		return refuse_load(err, e);
	err = open_maps(o, &options->config, e);
	if (err)
		return err;
	*ret = TAKE(o);
	return 0;
}

void object_freep(struct object **object)
{
	struct object *o = TAKE(*object);

	if (!o)
		return;
	if (o->has_thread)
		(void)pthread_join(o->thread, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(o->levels); i++)
		if (o->levels[i].like)
			cleanup_close_fd(&o->levels[i].fd);
	for (size_t i = 0; i < o->n_mapped; i++)
		(void)munmap(o->mapped[i].at, o->mapped[i].bytes);
	if (o->slabs)
		(void)munmap(o->slabs, (size_t)MOST_SLABS * SLAB_BYTES);
	stackcount_bpf__destroy(o->skeleton);
	free(o);
}

int object_program_fd(const struct object *o, enum object_program program)
{
	return o->programs[program] ? bpf_program__fd(o->programs[program]) : -1;
}

int object_counts_fd(const struct object *o, unsigned generation, unsigned level)
{
	return level_map_fd(&o->levels[generation ? LEVEL_COUNTS1 : LEVEL_COUNTS0], level);
}

int object_stacks_fd(const struct object *o, unsigned level)
{
	if (level == SPARE_LEVEL)
		return bpf_map__fd(o->skeleton->maps.spare);
	return level_map_fd(&o->levels[LEVEL_STACKS], level);
}

const struct object_maps *object_maps(const struct object *o)
{
	return &o->maps;
}

int object_add_wanted(const struct object *o, const uint32_t *numbers, size_t n, struct error *e)
{
	const int fd = bpf_map__fd(o->skeleton->maps.wanted);
	const __u32 one = 1;

	for (size_t i = 0; i < n; i++)
		if (bpf_map_update_elem(fd, &numbers[i], &one, BPF_ANY))
			return error_errno(e, "add %u to the filter", numbers[i]);
	return 0;
}

struct trace_state *object_state(const struct object *o)
{
	return &o->skeleton->bss->trace_state;
}

uint8_t *object_slabs(const struct object *o)
{
	return o->slabs;
}

struct kernel_walks *object_kernel_walks(const struct object *o)
{
	return &o->skeleton->bss->kernel_walks;
}

/* --- the kernel's unwind tables --- */

/* False: the program failed, or did not run. */
static bool run_once(const struct object *o, enum object_program program)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return bpf_prog_test_run_opts(object_program_fd(o, program), &opts) == 0 && !opts.retval;
}

const void *object_read_kernel(const struct object *o, uint64_t addr, size_t bytes)
{
	struct kernel_reading *r = &o->skeleton->bss->kernel_reading;

	r->addr = addr;
	r->bytes = bytes;
	return run_once(o, PROGRAM_READ_KERNEL) ? r->piece : NULL;
}

uint64_t object_kernel_symbol(const struct object *o, const char *name)
{
	struct kernel_reading *r = &o->skeleton->bss->kernel_reading;

	const size_t n = strlen(name) + 1;

	if (n > sizeof(r->symbol))
		return 0;
	memcpy(r->symbol, name, n);
	return run_once(o, PROGRAM_FIND_SYMBOL) ? r->symbol_at : 0;
}

int object_add_kernel_image(const struct object *o, enum kernel_image_number number,
			    const void *image, size_t bytes, struct error *e)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	const __u32 key = number;
	cleanup_close int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "kernel_image", sizeof(__u32),
					      sizeof(__u64), (__u32)(bytes / sizeof(__u64)), &opts);
	void *at;

	if (fd < 0)
		return error_errno(e, "get memory for the kernel's unwind tables");
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return error_errno(e, "map memory for the kernel's unwind tables");
	memcpy(at, image, bytes);
	(void)munmap(at, bytes);
	if (bpf_map_update_elem(bpf_map__fd(o->skeleton->maps.kernel_images), &key, &fd, BPF_ANY))
		return error_errno(e, "publish the kernel's unwind tables");
	return 0;
}

int object_watch_modules(const struct object *o)
{
	return bpf_raw_tracepoint_open("module_free", object_program_fd(o, PROGRAM_MODULE_GONE));
}

bool object_slot_counts(const struct object *o, uint32_t n_cpus, struct slot_counts *ret)
{
	const struct bpf_map *scratch = o->skeleton->maps.scratch;
	const size_t slot_bytes = ((size_t)bpf_map__value_size(scratch) + 7) / 8 * 8;
	__u64 *sums = (__u64 *)ret;
	cleanup_free char *slots = xcalloc(n_cpus, slot_bytes);

	*ret = (struct slot_counts){};
	for (__u32 i = 0; i < bpf_map__max_entries(scratch); i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(scratch), &i, slots))
			return false;
		for (uint32_t cpu = 0; cpu < n_cpus; cpu++)
			for (size_t j = 0; j < sizeof(*ret) / sizeof(*sums); j++)
				sums[j] += ((const __u64 *)(slots + cpu * slot_bytes))[j];
	}
	return true;
}

/* --- for --debug and losses --- */

uint64_t object_recursion_misses(const struct object *o)
{
	uint64_t sum = 0;

	for (int i = 0; i <= LAST_COUNTING_PROGRAM; i++) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (o->programs[i] &&
		    !bpf_obj_get_info_by_fd(object_program_fd(o, (enum object_program)i), &info,
					    &size))
			sum += info.recursion_misses;
	}
	return sum;
}

void object_describe(const struct object *o)
{
	for (int i = 0; i < PROGRAM_N; i++) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (!o->programs[i] ||
		    bpf_obj_get_info_by_fd(object_program_fd(o, (enum object_program)i), &info,
					   &size))
			continue;
		log_debug("program %s: %u instructions (%u bytes of machine code)", info.name,
			  (unsigned)(info.xlated_prog_len / sizeof(struct bpf_insn)),
			  info.jited_prog_len);
		log_debug("program %s: verified in %u steps", info.name, info.verified_insns);
	}
}

/*
 * An update of a map-in-map from user space returns when all programs that were running have ended
 * (maybe_wait_bpf_programs() in kernel/bpf/syscall.c). No program looks for the first slab here.
 */
int object_wait_for_programs(const struct object *o, struct error *e)
{
	const __u32 first = 0;
	const int slab = bpf_map__fd(o->skeleton->maps.slab0);

	if (bpf_map_update_elem(bpf_map__fd(o->skeleton->maps.slabs), &first, &slab, BPF_ANY))
		return error_errno(e, "wait for programs");
	return 0;
}
