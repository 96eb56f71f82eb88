// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/kernel_stacks.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "bpf/kernel_memory.h"
#include "kernel/host.h"
#include "kernel/kallsyms.h"
#include "tool/kernel_orc.h"
#include "unwind/table.h"

void kernel_stacks_set_up(struct kernel_stacks *k, bool checks, struct object_options *o)
{
	struct trace_config *config = &o->config;
	const char *lockdown = host_lockdown();

	if (!KERNEL_HAS_TABLES || !config->max_kernel_frames || !config->kernel_limit ||
	    config->mode == MODE_CALLS || (lockdown && strcmp(lockdown, "confidentiality") == 0))
		return;
	config->kernel_tables = config->max_kernel_frames < config->kernel_limit
					? config->max_kernel_frames
					: config->kernel_limit;
	config->checks_kernel = checks;
	k->is_wanted = true;
}

struct filling {
	const struct kernel_table *table;
	struct kernel_image *image;
};

static void fill_image(void *filling, void *to)
{
	const struct filling *f = filling;

	kernel_table_write(f->table, to, f->image);
}

/* Give the programs a table, as image @number. Returns false if the kernel refuses it. */
static bool publish_kernel_image(const struct object *object, enum kernel_image_number number,
				 const struct kernel_table *table)
{
	struct kernel_image image;
	struct filling filling = { table, &image };
	struct error e;

	if (object_add_kernel_image(object, number, kernel_table_bytes(table), fill_image, &filling,
				    &e)) {
		log_debug("kernel stacks: %s", e.text);
		return false;
	}
	object_kernel_walks(object)->images[number] = image;
	return true;
}

/*
 * Have the programs walk by the kernel's table. A function of its own, which frees the table before
 * modules are served.
 */
static bool publish_kernel(const struct object *object, struct orc_source *from)
{
	cleanup(kernel_table_fini) struct kernel_table table = {};
	const uint64_t since = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (!orc_read_kernel(from, &table)) {
		log_debug("kernel stacks: by the helper, because the kernel's unwind tables are "
			  "not there, or of an unknown kind");
		return false;
	}
	if (!publish_kernel_image(object, KERNEL_IMAGE, &table))
		return false;
	__atomic_store_n(&object_kernel_walks(object)->is_on, 1, __ATOMIC_RELEASE);
	log_debug("kernel stacks: %u entries, %u rules, %zu KiB, in %.1f ms of CPU time",
		  table.made.table.n_entries, table.made.table.n_rules,
		  kernel_table_bytes(&table) >> 10,
		  (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - since) / 1e6);
	log_debug("kernel stacks: by tables from now on");
	return true;
}

/*
 * When a module goes, the image becomes invalid, even an image in the making. The programs use no
 * image while it is replaced: object_add_kernel_image() waits for programs that run.
 */
static void publish_modules(const struct object *object, struct orc_source *from)
{
	cleanup(kernel_table_fini) struct kernel_table table = {};
	struct kernel_walks *walks = object_kernel_walks(object);
	const uint32_t generation = __atomic_load_n(&walks->generation, __ATOMIC_ACQUIRE);

	__atomic_store_n(&walks->modules_generation, NO_GENERATION, __ATOMIC_RELEASE);
	if (!orc_read_modules(from, &table) || !publish_kernel_image(object, MODULES_IMAGE, &table))
		return;
	__atomic_store_n(&walks->modules_generation, generation, __ATOMIC_RELEASE);
	log_debug("kernel stacks: by tables in modules, too: %u entries",
		  table.made.table.n_entries);
}

/* Have modules come or gone, and is code without a row hit? */
static bool must_look(const struct kernel_walks *walks, struct modules *modules,
		      uint32_t *n_unknown)
{
	const uint64_t before = modules->now;
	const uint32_t n = *(const volatile uint32_t *)&walks->n_unknown;

	if (n == *n_unknown)
		return false;
	*n_unknown = n;
	modules_look(modules, "/proc/modules");
	return modules->now != before || walks->modules_generation != walks->generation;
}

#define LOOK_MS 1000

static void serve_modules(struct kernel_stacks *k, struct orc_source *from)
{
	cleanup_close int watch = object_watch_modules(k->object);
	const struct kernel_walks *walks = object_kernel_walks(k->object);
	cleanup(modules_fini) struct modules modules = {};
	struct pollfd end = { .fd = k->end_fd, .events = POLLIN };
	uint32_t n_unknown = walks->n_unknown;

	if (watch < 0 || access("/proc/modules", R_OK))
		return;
	modules_look(&modules, "/proc/modules");
	publish_modules(k->object, from);
	while (poll(&end, 1, LOOK_MS) == 0)
		if (must_look(walks, &modules, &n_unknown))
			publish_modules(k->object, from);
}

static void *serve_kernel_stacks(void *argument)
{
	struct kernel_stacks *k = argument;
	cleanup(kernel_memory_freep) struct kernel_memory *memory = NULL;
	struct error e;

	if (kernel_memory_open(&memory, &e)) {
		log_debug("kernel stacks: by the helper: %s", e.text);
		return NULL;
	}

	struct orc_source from = { .memory = memory, .must_end = &k->must_end };

	if (publish_kernel(k->object, &from))
		serve_modules(k, &from);
	/*
	 * The programs that read stay until the run ends. Otherwise the kernel may give their
	 * addresses to other programs, whose hits would have our programs' names.
	 */
	struct pollfd end = { .fd = k->end_fd, .events = POLLIN };

	(void)poll(&end, 1, -1);
	return NULL;
}

void kernel_stacks_begin(struct kernel_stacks *k, struct object *object)
{
	if (!k->is_wanted)
		return;
	k->end_fd = eventfd(0, EFD_CLOEXEC);
	k->object = object;
	k->has_thread = k->end_fd >= 0 && thread_start(&k->thread, serve_kernel_stacks, k) == 0;
}

void kernel_stacks_end(struct kernel_stacks *k)
{
	if (!k->has_thread)
		return;
	__atomic_store_n(&k->must_end, true, __ATOMIC_RELAXED);
	(void)eventfd_write(k->end_fd, 1);
	(void)pthread_join(k->thread, NULL);
	cleanup_close_fd(&k->end_fd);
	k->has_thread = false;
}

static const char *const end_words[KERNEL_ENDS] = {
	[KERNEL_END_ROOT] = "whole, by the kernel's tables",
	[KERNEL_END_START] = "helper: no registers to start with",
	[KERNEL_END_NO_ROW] = "helper: code without a row",
	[KERNEL_END_UNDEFINED] = "helper: the table knows no caller",
	[KERNEL_END_UNFIT] = "helper: a register that is not known",
	[KERNEL_END_REPLACED] = "helper: a return address replaced by tracing",
	[KERNEL_END_UNREADABLE] = "helper: unreadable stack",
	[KERNEL_END_NOT_ADVANCING] = "helper: the stack does not advance",
	[KERNEL_END_DEPTH] = "helper: too deep",
};

void kernel_stacks_describe(const struct kernel_stacks *k, uint32_t n_cpus)
{
	struct slot_counts all;
	const struct kernel_counts *counts = &all.kernel;

	if (!k->object)
		return;

	const struct kernel_walks *walks = object_kernel_walks(k->object);

	if (walks->is_wrong)
		log_warn("a kernel stack that begins at %#llx differs from that of the kernel's "
			 "helper, which has walked all later ones (--kernel-unwind helper)",
			 (unsigned long long)walks->is_wrong);
	if (log_level() < LOG_DEBUG || !object_slot_counts(k->object, n_cpus, &all))
		return;
	for (int i = 0; i < KERNEL_ENDS; i++)
		if (counts->n[i] && end_words[i])
			log_debug("kernel stacks: %llu %s (last at %#llx)",
				  (unsigned long long)counts->n[i], end_words[i],
				  (unsigned long long)walks->fell_at[i]);
	if (counts->n_skipped)
		log_debug("kernel stacks: %llu helper: such a start fell back before",
			  (unsigned long long)counts->n_skipped);
	log_debug("kernel stacks: %llu compared with the helper's, %llu different",
		  (unsigned long long)counts->n_checked, (unsigned long long)counts->n_wrong);
}
