// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/kernel_stacks.h"

#include <string.h>

#include "arch/orc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "bpf/kernel_maps.h"
#include "bpf/kernel_memory.h"
#include "kernel/host.h"
#include "kernel/kernel_types.h"
#include "tool/options.h"
#include "unwind/kernel_table.h"

#define PIECE_ENTRIES 8192U
_Static_assert(PIECE_ENTRIES *ORC_ENTRY_BYTES <= KERNEL_PIECE_BYTES, "a piece");

/* Code that tracing puts between a function and its caller. */
static const char *const tracers[MOST_REPLACED] = {
	"return_to_handler",       /* the function graph tracer, and returns of fprobe */
	"arch_rethook_trampoline", /* kretprobes and returns of kprobe.multi */
	"__kretprobe_trampoline",  /* kretprobes without rethook, since Linux 5.16 */
	"kretprobe_trampoline",
};

/* Where the kernel's unwind tables lie in its memory. */
struct orc_tables {
	enum orc_layout layout;
	uint64_t addresses; /* @n numbers of 4 bytes: the address minus that of the number */
	uint64_t entries;   /* @n entries */
	uint64_t n;
	/* Code; then code of the boot, which goes on below the first CPU's idle task. */
	uint64_t text, text_end, init, init_end;
};

void kernel_stacks_set_up(struct kernel_stacks *k, const struct options *opt,
			  struct object_options *o)
{
	struct trace_config *config = &o->config;
	const char *lockdown = host_lockdown();

	if (!KERNEL_HAS_TABLES || opt->kernel_by_helper || !config->max_kernel_frames ||
	    !config->kernel_limit || config->mode == MODE_CALLS || !config->has_loop ||
	    (lockdown && strcmp(lockdown, "confidentiality") == 0))
		return;
	config->kernel_tables = config->max_kernel_frames < config->kernel_limit
					? config->max_kernel_frames
					: config->kernel_limit;
	config->checks_kernel = (opt->avoid & AVOID_TRUST) != 0;
	k->is_wanted = true;
}

/* Without a header, the kernel's types tell the layout. */
static enum orc_layout find_layout(struct kernel_memory *memory)
{
	static const struct kernel_member members[] = { { "orc_entry", "type" },
							{ "orc_entry", "signal" },
							{ "orc_entry", "end" } };
	const uint64_t header = kernel_memory_symbol(memory, "__start_orc_header");
	uint32_t at[ARRAY_SIZE(members)];
	struct error none;

	if (header) {
		const void *hash = kernel_memory_read(memory, header, ORC_HEADER_BYTES);

		return hash ? orc_layout_of(hash) : ORC_UNKNOWN;
	}
	if (kernel_types_read(KERNEL_BTF, members, ARRAY_SIZE(members), at, &none))
		return ORC_UNKNOWN;
	return orc_layout_by_members(at[0] != NO_MEMBER, at[1] != NO_MEMBER, at[2] != NO_MEMBER);
}

static bool find_tables(struct kernel_memory *memory, struct orc_tables *ret)
{
	const uint64_t start = kernel_memory_symbol(memory, "__start_orc_unwind_ip");
	const uint64_t end = kernel_memory_symbol(memory, "__stop_orc_unwind_ip");

	*ret = (struct orc_tables){
		.addresses = start,
		.n = (end - start) / sizeof(int32_t),
		.entries = kernel_memory_symbol(memory, "__start_orc_unwind"),
		.text = kernel_memory_symbol(memory, "_stext"),
		.text_end = kernel_memory_symbol(memory, "_etext"),
		.init = kernel_memory_symbol(memory, "_sinittext"),
		.init_end = kernel_memory_symbol(memory, "_einittext"),
	};
	if (!start || end <= start || !ret->entries || ret->text >= ret->text_end ||
	    ret->text_end > ret->init || ret->init >= ret->init_end)
		return false;
	ret->layout = find_layout(memory);
	return ret->layout != ORC_UNKNOWN;
}

/* Between both parts of the code are data, where no row is valid. */
static bool add_row(const struct orc_tables *tables, uint64_t addr, uint64_t rule,
		    struct kernel_table *table)
{
	if (table->at < tables->text_end && addr >= tables->text_end &&
	    !kernel_table_add(table, tables->text_end, 0))
		return false;
	return kernel_table_add(table, addr,
				addr >= tables->text_end && addr < tables->init ? 0 : rule);
}

/* Add @n rows from number @first on. False: they cannot be read, or make no sense. */
static bool add_piece(struct kernel_memory *memory, const struct orc_tables *tables, uint64_t first,
		      uint32_t n, struct kernel_table *table)
{
	const uint64_t at = tables->addresses + first * sizeof(int32_t);
	int32_t addresses[PIECE_ENTRIES];
	const void *from = kernel_memory_read(memory, at, n * sizeof(*addresses));
	const uint8_t *entries;

	if (!from)
		return false;
	memcpy(addresses, from, n * sizeof(*addresses));
	entries = kernel_memory_read(memory, tables->entries + first * ORC_ENTRY_BYTES,
				     n * (size_t)ORC_ENTRY_BYTES);
	for (uint32_t i = 0; entries && i < n; i++) {
		const uint64_t addr = at + i * sizeof(*addresses) + (uint64_t)addresses[i];

		if (!add_row(tables, addr,
			     orc_rule_of(tables->layout, &entries[(size_t)i * ORC_ENTRY_BYTES]),
			     table))
			return false;
	}
	return entries != NULL;
}

static bool copy_tables(struct kernel_stacks *k, struct kernel_memory *memory,
			const struct orc_tables *tables, struct kernel_table *table)
{
	for (uint64_t first = 0; first < tables->n; first += PIECE_ENTRIES) {
		const uint64_t n = tables->n - first;

		if (__atomic_load_n(&k->must_end, __ATOMIC_RELAXED) ||
		    !add_piece(memory, tables, first,
			       n < PIECE_ENTRIES ? (uint32_t)n : PIECE_ENTRIES, table))
			return false;
	}
	return kernel_table_end(table);
}

static bool make_kernel_table(struct kernel_stacks *k, struct kernel_memory *memory,
			      struct kernel_table *table)
{
	struct orc_tables tables;

	if (!find_tables(memory, &tables)) {
		log_debug("kernel stacks are walked by the helper: the kernel's unwind tables are "
			  "not there, or of an unknown kind");
		return false;
	}
	if (!kernel_table_begin(table, tables.text, tables.init_end))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(tracers); i++)
		kernel_table_replaced(table, kernel_memory_symbol(memory, tracers[i]));
	return copy_tables(k, memory, &tables, table);
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

static void publish_kernel(struct kernel_stacks *k, const struct kernel_table *table)
{
	const struct kernel_maps maps = object_kernel_maps(k->object);
	struct kernel_image image;
	struct filling filling = { table, &image };
	struct error e;

	if (kernel_maps_add(&maps, KERNEL_IMAGE, kernel_table_bytes(table), fill_image, &filling,
			    &e)) {
		log_debug("kernel stacks are walked by the helper: %s", e.text);
		return;
	}
	maps.walks->images[KERNEL_IMAGE] = image;
	__atomic_store_n(&maps.walks->is_on, 1, __ATOMIC_RELEASE);
}

static void *read_kernel_tables(void *argument)
{
	struct kernel_stacks *k = argument;
	cleanup(kernel_memory_freep) struct kernel_memory *memory = NULL;
	cleanup(kernel_table_fini) struct kernel_table table = {};
	const uint64_t since = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct error e;

	if (kernel_memory_open(&memory, &e)) {
		log_debug("kernel stacks are walked by the helper: %s", e.text);
		return NULL;
	}
	if (!make_kernel_table(k, memory, &table))
		return NULL;
	publish_kernel(k, &table);
	log_debug("kernel stacks: %zu entries, %zu rules, %zu KiB, in %.1f ms of CPU time",
		  table.n_entries, table.n_rules, kernel_table_bytes(&table) >> 10,
		  (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - since) / 1e6);
	return NULL;
}

void kernel_stacks_begin(struct kernel_stacks *k, const struct object *object)
{
	if (!k->is_wanted)
		return;
	k->object = object;
	k->has_thread = thread_start(&k->thread, read_kernel_tables, k) == 0;
}

void kernel_stacks_end(struct kernel_stacks *k)
{
	__atomic_store_n(&k->must_end, true, __ATOMIC_RELAXED);
	if (k->has_thread)
		(void)pthread_join(k->thread, NULL);
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
	struct kernel_counts counts;

	if (!k->object)
		return;

	const struct kernel_maps maps = object_kernel_maps(k->object);

	if (maps.walks->is_wrong)
		log_warn("a kernel stack that begins at %#llx differs from that of the kernel's "
			 "helper, which has walked all later ones (--kernel-unwind helper)",
			 (unsigned long long)maps.walks->is_wrong);
	if (log_level() < LOG_DEBUG || !kernel_maps_counts(&maps, n_cpus, &counts))
		return;
	for (int i = 0; i < KERNEL_ENDS; i++)
		if (counts.n[i] && end_words[i])
			log_debug("kernel stacks: %llu %s (last at %#llx)",
				  (unsigned long long)counts.n[i], end_words[i],
				  (unsigned long long)maps.walks->fell_at[i]);
	if (counts.n_skipped)
		log_debug("kernel stacks: %llu helper: such a start fell back before",
			  (unsigned long long)counts.n_skipped);
	log_debug("kernel stacks: %llu compared with the helper's, %llu different",
		  (unsigned long long)counts.n_checked, (unsigned long long)counts.n_wrong);
}
