#include "bpf/object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "stackcount.skel.h"

struct object {
	struct stackcount_bpf *skeleton;
	struct bpf_program *programs[PROGRAM_N]; /* NULL: not loaded */
	int outer_fd; /* map-in-map that is updated to wait for programs; -1 until needed */
};

/* Kernels before Linux 5.17 have their own, see stackcount.bpf.c; NULL: what cannot be there. */
static const struct {
	const char *name;
	const char *old_name;
	enum bpf_attach_type attach_type;
} entry_points[PROGRAM_N] = {
	[PROGRAM_TRACEPOINT] = { "on_tracepoint", "old_tracepoint", 0 },
	[PROGRAM_KPROBE] = { "on_kprobe", "old_kprobe", 0 },
	[PROGRAM_KPROBE_MULTI] = { "on_kprobe_multi", NULL, BPF_TRACE_KPROBE_MULTI },
	[PROGRAM_UPROBE] = { "on_uprobe", "old_uprobe", 0 },
	[PROGRAM_UPROBE_MULTI] = { "on_uprobe_multi", NULL, ABI_TRACE_UPROBE_MULTI },
	[PROGRAM_USDT] = { "on_usdt", "old_usdt", 0 },
	[PROGRAM_USDT_MULTI] = { "on_usdt_multi", NULL, ABI_TRACE_UPROBE_MULTI },
	[PROGRAM_FORK] = { "on_fork", "on_fork", 0 },
	[PROGRAM_EXEC] = { "on_exec", "on_exec", 0 },
	[PROGRAM_EXIT] = { "on_exit", "on_exit", 0 },
};

/* What libbpf said first when something failed: the reason. The rest is for --debug. */
static struct {
	char text[256];
} first_words;

static int keep_first_words(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;

	if (level == LIBBPF_DEBUG)
		return 0;
	if (vasprintf(&text, format, args) < 0)
		return 0;
	if (log_level() >= LOG_DEBUG)
		(void)fputs(text, stderr);
	text[strcspn(text, "\n")] = '\0';
	if (!first_words.text[0])
		(void)snprintf(first_words.text, sizeof(first_words.text), "%.255s", text);
	free(text);
	return 0;
}

static void choose_programs(struct object *o, const struct object_options *options,
			    const struct features *features)
{
	for (int i = 0; i < PROGRAM_N; i++) {
		const char *name = features->loop ? entry_points[i].name : entry_points[i].old_name;

		if (!(options->programs & 1U << i) || !name)
			continue;
		o->programs[i] = bpf_object__find_program_by_name(o->skeleton->obj, name);
		(void)bpf_program__set_autoload(o->programs[i], true);
		if (entry_points[i].attach_type)
			(void)bpf_program__set_expected_attach_type(o->programs[i],
								    entry_points[i].attach_type);
	}
}

static void size_map(struct bpf_map *map, uint32_t n, const struct features *features)
{
	(void)bpf_map__set_max_entries(map, n ? n : 1);
	if (features->on_demand_maps && n > 1)
		(void)bpf_map__set_map_flags(map, BPF_F_NO_PREALLOC);
}

static void size_maps(struct object *o, const struct object_options *options,
		      const struct features *features)
{
	struct stackcount_bpf *s = o->skeleton;

	const uint32_t row_bytes = sizeof(__u64) * ROW_WORDS(options->config.lane_mask + 1);

	(void)bpf_map__set_value_size(s->maps.counts0, row_bytes);
	(void)bpf_map__set_value_size(s->maps.counts1, row_bytes);
	size_map(s->maps.counts0, options->max_rows, features);
	size_map(s->maps.counts1, options->max_rows, features);
	size_map(s->maps.stacks0, options->max_chunks, features);
	size_map(s->maps.stacks1, options->max_chunks, features);
	size_map(s->maps.tgids, options->max_tgids, features);
	size_map(s->maps.tasks, options->config.follow ? 65536 : 0, features);
}

static int refuse(int err, struct error *e)
{
	const char *words = first_words.text;

	if (strncmp(words, "libbpf: ", 8) == 0)
		words += 8;
	return error_set(e, err, "load the BPF programs: %s%s%s", strerror(-err),
			 words[0] ? ": " : "", words);
}

int object_load(const struct object_options *options, const struct features *features,
		struct object **ret, struct error *e)
{
	cleanup(object_freep) struct object *o = xcalloc(1, sizeof(*o));

	o->outer_fd = -1;
	first_words.text[0] = '\0';
	(void)libbpf_set_print(keep_first_words);
	o->skeleton = stackcount_bpf__open();
	if (!o->skeleton)
		return refuse(errno ? -errno : -EINVAL, e);

	memcpy((void *)&o->skeleton->rodata->config, &options->config, sizeof(options->config));
	o->skeleton->bss->trace_state.generation = GENERATION_OFF;
	choose_programs(o, options, features);
	size_maps(o, options, features);

	int err = stackcount_bpf__load(o->skeleton);

	if (err)
		return refuse(err, e);
	*ret = TAKE(o);
	return 0;
}

void object_free(struct object *o)
{
	if (!o)
		return;
	if (o->outer_fd >= 0)
		close(o->outer_fd);
	stackcount_bpf__destroy(o->skeleton);
	free(o);
}

void object_freep(struct object **o)
{
	object_free(*o);
	*o = NULL;
}

int object_program_fd(const struct object *o, enum program program)
{
	return o->programs[program] ? bpf_program__fd(o->programs[program]) : -1;
}

int object_counts_fd(const struct object *o, unsigned generation)
{
	return bpf_map__fd(generation ? o->skeleton->maps.counts1 : o->skeleton->maps.counts0);
}

int object_stacks_fd(const struct object *o, unsigned generation)
{
	return bpf_map__fd(generation ? o->skeleton->maps.stacks1 : o->skeleton->maps.stacks0);
}

int object_lost_fd(const struct object *o)
{
	return bpf_map__fd(o->skeleton->maps.lost);
}

int object_wake_fd(const struct object *o)
{
	return bpf_map__fd(o->skeleton->maps.wake);
}

int object_set_tgids(const struct object *o, const uint32_t *tgids, size_t n, struct error *e)
{
	const __u32 one = 1;

	for (size_t i = 0; i < n; i++)
		if (bpf_map_update_elem(bpf_map__fd(o->skeleton->maps.tgids), &tgids[i], &one,
					BPF_ANY))
			return error_errno(e, "note process %u", tgids[i]);
	return 0;
}

struct trace_state *object_state(const struct object *o)
{
	return &o->skeleton->bss->trace_state;
}

/* A number from /proc/self/fdinfo: "memlock:\t4096". */
static uint64_t fdinfo_number(int fd, const char *field)
{
	char path[64], line[128];
	uint64_t n = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);

	cleanup_fclose FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			n = strtoull(line + strlen(field), NULL, 10);
	return n;
}

uint64_t object_recursion_misses(const struct object *o)
{
	uint64_t sum = 0;

	for (int i = 0; i <= PROGRAM_USDT_MULTI; i++) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (o->programs[i] &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(o->programs[i]), &info, &size))
			sum += info.recursion_misses;
	}
	return sum;
}

void object_describe(const struct object *o)
{
	struct bpf_map *map;

	for (int i = 0; i < PROGRAM_N; i++) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (!o->programs[i] ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(o->programs[i]), &info, &size))
			continue;
		log_debug("program %s: %u instructions (%u bytes of machine code), verified in %u "
			  "steps",
			  info.name, (unsigned)(info.xlated_prog_len / sizeof(struct bpf_insn)),
			  info.jited_prog_len, info.verified_insns);
	}
	bpf_object__for_each_map(map, o->skeleton->obj)
	{
		log_debug("map %s: %u entries, key %u bytes, value %u bytes, %llu bytes now",
			  bpf_map__name(map), bpf_map__max_entries(map), bpf_map__key_size(map),
			  bpf_map__value_size(map),
			  (unsigned long long)fdinfo_number(bpf_map__fd(map), "memlock:"));
	}
}

/*
 * An update of a map-in-map from user space returns when all programs that ran
 * have ended (maybe_wait_bpf_programs() in kernel/bpf/syscall.c). What is put
 * in does not matter.
 */
static int wait_by_map(struct object *o, struct error *e)
{
	int inner = object_lost_fd(o);
	__u32 zero = 0;

	if (o->outer_fd < 0) {
		LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = inner);

		o->outer_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "waiter", sizeof(__u32),
					     sizeof(__u32), 1, &opts);
	}
	if (o->outer_fd < 0)
		return error_errno(e, "create a map to wait for programs with");
	if (bpf_map_update_elem(o->outer_fd, &zero, &inner, BPF_ANY))
		return error_errno(e, "wait for programs");
	return 0;
}

/*
 * Programs run in RCU read-side sections, so waiting for RCU is enough. The
 * command is refused on CPUs in nohz_full mode.
 */
int object_wait_for_programs(const struct object *o, struct error *e)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return 0;
	return wait_by_map((struct object *)o, e);
}
