// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/deferred.h"
#include "bpf/describe.h"
#include "bpf/entry_points.h"
#include "bpf/instructions.h"
#include "bpf/kernel_maps.h"
#include "bpf/levels.h"
#include "bpf/libbpf_words.h"
#include "bpf/mapped.h"
#include "bpf/number_map.h"
#include "bpf/object_maps.h"
#include "bpf/program_wait.h"
#include "bpf/table_maps.h"
#include "bpf/value_code.h"
#include "stackcount.skel.h"

struct object {
	struct stackcount_bpf *skeleton;
	struct levels levels;
	struct mapped hot, rings, events, calls, lives, deferred, deferred_ring;
	struct table_maps tables;
	struct bpf_program *programs[PROGRAM_N]; /* NULL: not wanted */
	int outer_fd;                            /* of program_wait() */
};

/* For prepare_program(), which libbpf calls. */
static struct {
	struct btf_ids btf_ids;
	const struct value_code *value;  /* lent; NULL: hits have no value */
	struct bpf_func_info *functions; /* of the program that libbpf loads now */
} loading;

/*
 * Before loading, libbpf tries bpf_probe_read_kernel(). If lockdown (confidentiality) refuses that,
 * libbpf takes the kernel for one before 5.5. It then replaces both newer helpers by
 * bpf_probe_read(), which lockdown refuses, too. Reading user memory would have been allowed, so we
 * put that helper back. Programs in these sections read no kernel memory.
 */
static void put_helper_back(struct bpf_insn *insns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].src_reg == 0 &&
		    insns[i].imm == BPF_FUNC_probe_read)
			insns[i].imm = BPF_FUNC_probe_read_user;
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
 * Put the code of the value behind the program, as a function, and have the instruction at @call,
 * of value_of_hit(), call it.
 */
static int add_value_code(struct bpf_program *prog, struct bpf_prog_load_opts *opts, size_t call)
{
	const struct value_code *value = loading.value;
	const size_t n = bpf_program__insn_cnt(prog);
	cleanup_free struct bpf_insn *insns = xcalloc(n + value->n, sizeof(*insns));

	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	memcpy(insns + n, value->insns, value->n * sizeof(*insns));
	insns[call].src_reg = BPF_PSEUDO_CALL;
	insns[call].imm = (int)(n - call - 1);
	add_function(opts, n, call);
	return bpf_program__set_insns(prog, insns, n + value->n);
}

static int prepare_program(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct bpf_insn no_value = MOVE_IMM(BPF_REG_0, 1);
	struct bpf_insn *insns = (struct bpf_insn *)bpf_program__insns(prog);
	const size_t n = bpf_program__insn_cnt(prog);

	(void)cookie;
	put_helper_back(insns, n);
	btf_ids_put(&loading.btf_ids, insns, n);
	for (size_t i = 0; i < n; i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].imm != VALUE_CALL)
			continue;
		if (loading.value)
			return add_value_code(prog, opts, i);
		insns[i] = no_value;
	}
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
		if (!(options->programs & 1U << i))
			continue;
		o->programs[i] =
			bpf_object__find_program_by_name(o->skeleton->obj, entry_points[i].name);
		(void)bpf_program__set_autoload(o->programs[i], true);
		if (entry_points[i].attach_type)
			(void)bpf_program__set_expected_attach_type(o->programs[i],
								    entry_points[i].attach_type);
	}
}

static int map_all_memory(struct object *o, const struct trace_config *config, struct error *e)
{
	const struct stackcount_bpf *s = o->skeleton;
	const struct {
		bool is_wanted;
		const struct bpf_map *map;
		struct mapped *ret;
	} all[] = {
		{ config->has_lives, s->maps.lives, &o->lives },
		{ config->unwind, s->maps.deferred, &o->deferred },
		{ config->unwind, s->maps.deferred_ring, &o->deferred_ring },
		{ config->mode == MODE_STACKS, s->maps.hot, &o->hot },
		{ config->mode == MODE_EVENTS, s->maps.rings, &o->rings },
		{ config->mode == MODE_EVENTS, s->maps.events, &o->events },
		{ config->calls_per_cpu, s->maps.calls, &o->calls },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && !err; i++)
		if (all[i].is_wanted)
			err = mapped_open(all[i].map, all[i].ret, e);
	return err || !config->unwind ? err : table_maps_open(&o->tables, e);
}

/* Make the maps and load the programs. Returns libbpf's result. */
static int load_skeleton(struct object *o)
{
	int err;

	levels_give_inner(&o->levels);
	table_maps_give_inner(&o->tables);
	err = stackcount_bpf__load(o->skeleton);
	levels_take_inner(&o->levels);
	free(loading.functions);
	loading.functions = NULL;
	return err;
}

static void init_maps(struct object *o, const struct trace_config *config)
{
	const struct stackcount_bpf *s = o->skeleton;

	o->tables = (struct table_maps){ .slab0 = s->maps.slab0,
					 .slabs = s->maps.slabs,
					 .spaces = s->maps.spaces,
					 .files = s->maps.files,
					 .has_files = config->asks_kernel };

	o->levels.maps[LEVEL_STACKS] = level_map_of(s->maps.stacks, s->maps.more_stacks, 0);
	o->levels.maps[LEVEL_COUNTS0] = level_map_of(s->maps.counts0, s->maps.more_counts, 0);
	o->levels.maps[LEVEL_COUNTS1] = level_map_of(s->maps.counts1, s->maps.more_counts, 1);
}

int object_load(const struct object_options *options, const struct features *features,
		struct object **ret, struct error *e)
{
	cleanup(object_freep) struct object *o = xcalloc(1, sizeof(*o));
	int err = register_sections(e);

	o->outer_fd = -1;
	if (err)
		return err;
	libbpf_words_begin();
	o->skeleton = stackcount_bpf__open();
	if (!o->skeleton)
		return libbpf_words_refuse(errno ? -errno : -EINVAL, e);
	init_maps(o, &options->config);

	memcpy((void *)&o->skeleton->rodata->config, &options->config, sizeof(options->config));
	loading.btf_ids = options->btf_ids;
	loading.value = options->value;
	choose_programs(o, options);
	object_maps_size(o->skeleton, &o->levels, options, features);

	err = load_skeleton(o);
	if (err)
		return libbpf_words_refuse(err, e);
	err = map_all_memory(o, &options->config, e);
	if (err)
		return err;
	*ret = TAKE(o);
	return 0;
}

void object_free(struct object *o)
{
	if (!o)
		return;
	cleanup_close_fd(&o->outer_fd);
	levels_fini(&o->levels);
	mapped_close(&o->hot);
	mapped_close(&o->rings);
	mapped_close(&o->events);
	mapped_close(&o->calls);
	mapped_close(&o->lives);
	mapped_close(&o->deferred);
	mapped_close(&o->deferred_ring);
	table_maps_fini(&o->tables);
	stackcount_bpf__destroy(o->skeleton);
	free(o);
}

void object_freep(struct object **o)
{
	object_free(*o);
	*o = NULL;
}

int object_program_fd(const struct object *o, enum object_program program)
{
	return o->programs[program] ? bpf_program__fd(o->programs[program]) : -1;
}

int object_counts_fd(const struct object *o, unsigned generation, unsigned level)
{
	return level_map_fd(&o->levels.maps[generation ? LEVEL_COUNTS1 : LEVEL_COUNTS0], level);
}

int object_stacks_fd(const struct object *o, unsigned level)
{
	if (level == SPARE_LEVEL)
		return bpf_map__fd(o->skeleton->maps.spare);
	return level_map_fd(&o->levels.maps[LEVEL_STACKS], level);
}

void object_begin_level(struct object *o)
{
	levels_begin(&o->levels);
}

void object_add_level(struct object *o)
{
	levels_wait(&o->levels);
}

uint64_t *object_hot(const struct object *o)
{
	return o->hot.at;
}

struct deferred_piece *object_deferred(const struct object *o)
{
	return o->deferred.at;
}

struct deferred_ring *object_deferred_ring(const struct object *o)
{
	return o->deferred_ring.at;
}

struct event_ring *object_rings(const struct object *o)
{
	return o->rings.at;
}

const struct stream_event *object_events(const struct object *o)
{
	return o->events.at;
}

const uint64_t *object_calls(const struct object *o)
{
	return o->calls.at;
}

struct life_count *object_lives(const struct object *o)
{
	return o->lives.at;
}

int object_lost_fd(const struct object *o)
{
	return bpf_map__fd(o->skeleton->maps.lost);
}

int object_begun_fd(const struct object *o)
{
	return bpf_map__fd(o->skeleton->maps.begun);
}

int object_wake_fd(const struct object *o)
{
	return bpf_map__fd(o->skeleton->maps.wake);
}

int object_set_tgids(const struct object *o, const uint32_t *tgids, size_t n, struct error *e)
{
	return number_map_add(o->skeleton->maps.tgids, tgids, n, "process", e);
}

int object_set_tasks(const struct object *o, const uint32_t *tids, size_t n, struct error *e)
{
	return number_map_add(o->skeleton->maps.tasks, tids, n, "thread", e);
}

struct trace_state *object_state(const struct object *o)
{
	return &o->skeleton->bss->trace_state;
}

struct kernel_maps object_kernel_maps(const struct object *o)
{
	const struct stackcount_bpf *s = o->skeleton;

	return (struct kernel_maps){ &s->bss->kernel_walks, s->maps.kernel_images, s->maps.scratch,
				     s->maps.bss, offsetof(typeof(*s->bss), kernel_walks) };
}

/* --- mappings and unwind tables --- */

void *object_slab(const struct object *o, uint32_t number)
{
	return number < o->tables.n_slabs ? o->tables.at[number] : NULL;
}

int object_add_slab(struct object *o, struct error *e)
{
	return table_maps_add_slab(&o->tables, e);
}

size_t object_spaces(const struct object *o, uint32_t *tgids, struct unwind_space *to, size_t most)
{
	return table_maps_spaces(&o->tables, tgids, to, most);
}

/* After a change of the map: programs keep a copy of an entry during a turn. */
static void turn_spaces(const struct object *o)
{
	__atomic_fetch_add(&object_state(o)->space_turn, 1, __ATOMIC_RELEASE);
}

int object_set_space(const struct object *o, uint32_t tgid, const struct unwind_space *space,
		     struct error *e)
{
	const int err = table_maps_set_space(&o->tables, tgid, space, e);

	turn_spaces(o);
	return err;
}

bool object_replace_space(const struct object *o, uint32_t tgid, const struct unwind_space *space)
{
	const bool is_replaced = table_maps_replace_space(&o->tables, tgid, space);

	turn_spaces(o);
	return is_replaced;
}

int object_set_file(const struct object *o, const struct unwind_file_key *key,
		    const struct unwind_file *file, struct error *e)
{
	return table_maps_set_file(&o->tables, key, file, e);
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
	for (int i = 0; i < PROGRAM_N; i++)
		if (o->programs[i])
			describe_program(object_program_fd(o, (enum object_program)i));
	describe_maps(o->skeleton->obj);
	levels_describe(&o->levels);
}

int object_wait_for_programs(const struct object *o, struct error *e)
{
	return program_wait(object_lost_fd(o), &((struct object *)o)->outer_fd, e);
}
