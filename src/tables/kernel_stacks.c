// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Read the unwind tables of the running kernel and of its modules, and have the programs use them.
 */
#include "tables/kernel_stacks.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "kernel/host.h"
#include "kernel/kallsyms.h"
#include "kernel/kernel_types.h"
#include "unwind/table.h"

/* --- the kernel's tables --- */

#define PIECE_ENTRIES 8192U
_Static_assert(PIECE_ENTRIES *ORC_ENTRY_BYTES <= KERNEL_PIECE_BYTES, "a piece");

/* Code that tracing puts between a function and its caller. */
static const char *const tracers[MOST_REPLACED] = {
	"return_to_handler",       /* the function graph tracer, and returns of fprobe */
	"arch_rethook_trampoline", /* kretprobes and returns of kprobe.multi */
	"__kretprobe_trampoline",  /* kretprobes without rethook */
};

/* Members of the kernel's structures. A module's code is in an array since Linux 6.4. */
enum {
	STATE,
	ARCH,
	N_ORCS,
	ORC_ADDRESSES,
	ORC_ENTRIES,
	MEM,
	MEM_BASE,
	MEM_SIZE,
	LAYOUT,
	LAYOUT_BASE,
	LAYOUT_SIZE,
	ENTRY_TYPE,
	ENTRY_SIGNAL,
	ENTRY_END,
	MEMBERS
};
_Static_assert(MEMBERS == KERNEL_STACKS_MEMBERS, "kernel_stacks.at");

static const struct kernel_member members[MEMBERS] = {
	[STATE] = { "module", "state" },
	[ARCH] = { "module", "arch" },
	[N_ORCS] = { "mod_arch_specific", "num_orcs" },
	[ORC_ADDRESSES] = { "mod_arch_specific", "orc_unwind_ip" },
	[ORC_ENTRIES] = { "mod_arch_specific", "orc_unwind" },
	[MEM] = { "module", "mem" },
	[MEM_BASE] = { "module_memory", "base" },
	[MEM_SIZE] = { "module_memory", "size" },
	[LAYOUT] = { "module", "core_layout" },
	[LAYOUT_BASE] = { "module_layout", "base" },
	[LAYOUT_SIZE] = { "module_layout", "text_size" },
	[ENTRY_TYPE] = { "orc_entry", "type" },
	[ENTRY_SIGNAL] = { "orc_entry", "signal" },
	[ENTRY_END] = { "orc_entry", "end" },
};

/* Where unwind tables lie in the kernel's memory. */
struct orc_tables {
	uint64_t addresses; /* @n numbers of 4 bytes: the address minus that of the number */
	uint64_t entries;   /* @n entries */
	uint64_t n;
	uint64_t text, text_end; /* rows are valid here, */
	uint64_t init, init_end; /* and in code of the boot, below the first CPU's idle task */
};

/* Without a header, the kernel's types tell the layout. */
static enum orc_layout find_layout(const struct kernel_stacks *k)
{
	const uint64_t header = object_kernel_symbol(k->object, "__start_orc_header");
	const uint32_t *at = k->at;

	if (header) {
		const void *hash = object_read_kernel(k->object, header, ORC_HEADER_BYTES);

		return hash ? orc_layout_of(hash) : ORC_UNKNOWN;
	}
	return orc_layout_by_members(at[ENTRY_TYPE] != NO_MEMBER, at[ENTRY_SIGNAL] != NO_MEMBER,
				     at[ENTRY_END] != NO_MEMBER);
}

static bool find_orc_tables(struct kernel_stacks *k, struct orc_tables *ret)
{
	const struct object *object = k->object;
	const uint64_t start = object_kernel_symbol(object, "__start_orc_unwind_ip");
	const uint64_t end = object_kernel_symbol(object, "__stop_orc_unwind_ip");

	*ret = (struct orc_tables){
		.addresses = start,
		.n = (end - start) / sizeof(int32_t),
		.entries = object_kernel_symbol(object, "__start_orc_unwind"),
		.text = object_kernel_symbol(object, "_stext"),
		.text_end = object_kernel_symbol(object, "_etext"),
		.init = object_kernel_symbol(object, "_sinittext"),
		.init_end = object_kernel_symbol(object, "_einittext"),
	};
	if (!start || end <= start || !ret->entries || ret->text >= ret->text_end ||
	    ret->text_end > ret->init || ret->init >= ret->init_end)
		return false;
	k->layout = find_layout(k);
	return k->layout != ORC_UNKNOWN;
}

/* Behind the code are data, where no row is valid. A module's code of its start has gone. */
static bool add_orc_row(const struct orc_tables *tables, uint64_t addr, uint64_t rule,
			struct kernel_table *table)
{
	const bool is_init = addr >= tables->init && addr < tables->init_end;

	if (addr < tables->text)
		return true;
	if (table->at < tables->text_end && addr >= tables->text_end &&
	    !kernel_table_add(table, tables->text_end, 0))
		return false;
	return addr < tables->text_end || is_init ? kernel_table_add(table, addr, rule) : true;
}

/* Add @n rows from number @first on. False: they cannot be read, or make no sense. */
static bool add_piece(const struct kernel_stacks *k, const struct orc_tables *tables,
		      uint64_t first, uint32_t n, struct kernel_table *table)
{
	const uint64_t at = tables->addresses + first * sizeof(int32_t);
	int32_t addresses[PIECE_ENTRIES];
	const void *bytes = object_read_kernel(k->object, at, n * sizeof(*addresses));
	const uint8_t *entries;

	if (!bytes)
		return false;
	memcpy(addresses, bytes, n * sizeof(*addresses));
	entries = object_read_kernel(k->object, tables->entries + first * ORC_ENTRY_BYTES,
				     n * (size_t)ORC_ENTRY_BYTES);
	for (uint32_t i = 0; entries && i < n; i++) {
		const uint64_t addr = at + i * sizeof(*addresses) + (uint64_t)addresses[i];
		const uint8_t *entry = &entries[(size_t)i * ORC_ENTRY_BYTES];

		if (!add_orc_row(tables, addr, orc_rule_of(k->layout, entry), table))
			return false;
	}
	return entries != NULL;
}

static bool copy_tables(const struct kernel_stacks *k, const struct orc_tables *tables,
			struct kernel_table *table)
{
	for (uint64_t first = 0; first < tables->n; first += PIECE_ENTRIES) {
		const uint64_t n = tables->n - first;

		if (__atomic_load_n(&k->must_end, __ATOMIC_RELAXED) ||
		    !add_piece(k, tables, first, n < PIECE_ENTRIES ? (uint32_t)n : PIECE_ENTRIES,
			       table))
			return false;
	}
	return true;
}

/*
 * Make the table of the kernel's own code. False: there are no tables, or they are of an unknown
 * kind. *@table is the caller's in any case.
 */
static bool orc_read_kernel(struct kernel_stacks *k, struct kernel_table *table)
{
	struct orc_tables tables;

	*table = (struct kernel_table){};
	if (!find_orc_tables(k, &tables) ||
	    !kernel_table_begin(table, tables.text, tables.init_end))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(tracers); i++)
		kernel_table_replaced(table, object_kernel_symbol(k->object, tracers[i]));
	return copy_tables(k, &tables, table) && kernel_table_end(table);
}

/* --- modules --- */

#define MOST_MODULE_ORCS (1U << 20)
#define MODULE_LIVE 0

struct module_reader {
	const struct kernel_stacks *k;
	struct orc_tables *modules;
	size_t n, capacity;
};

/* The number of @bytes, 4 or 8, at a member. */
static bool read_member(const struct module_reader *r, uint64_t addr, size_t bytes, uint64_t *ret)
{
	const void *at = object_read_kernel(r->k->object, addr, bytes);

	*ret = 0;
	if (at)
		memcpy(ret, at, bytes);
	return at != NULL;
}

/* Read the struct module at @addr. False: it is not in use, or has no tables. */
static bool read_module(const struct module_reader *r, uint64_t addr, struct orc_tables *ret)
{
	const uint32_t *at = r->k->at;
	const bool is_array = at[MEM] != NO_MEMBER;
	const uint64_t code = addr + at[is_array ? MEM : LAYOUT], arch = addr + at[ARCH];
	uint64_t state, size;

	*ret = (struct orc_tables){};
	if (!read_member(r, addr + at[STATE], 4, &state) || state != MODULE_LIVE ||
	    !read_member(r, arch + at[N_ORCS], 4, &ret->n) ||
	    !read_member(r, arch + at[ORC_ADDRESSES], 8, &ret->addresses) ||
	    !read_member(r, arch + at[ORC_ENTRIES], 8, &ret->entries) ||
	    !read_member(r, code + at[is_array ? MEM_BASE : LAYOUT_BASE], 8, &ret->text) ||
	    !read_member(r, code + at[is_array ? MEM_SIZE : LAYOUT_SIZE], 4, &size))
		return false;
	ret->text_end = ret->text + size;
	return ret->n && ret->n <= MOST_MODULE_ORCS && ret->text < ret->text_end;
}

/* Does this kernel have the members of one kind? */
static bool has_module_members(const uint32_t *at)
{
	for (int i = STATE; i <= ORC_ENTRIES; i++)
		if (at[i] == NO_MEMBER)
			return false;
	return (at[MEM] != NO_MEMBER && at[MEM_BASE] != NO_MEMBER && at[MEM_SIZE] != NO_MEMBER) ||
	       (at[LAYOUT] != NO_MEMBER && at[LAYOUT_BASE] != NO_MEMBER &&
		at[LAYOUT_SIZE] != NO_MEMBER);
}

/* Each module has a symbol for its struct module. */
static void add_module(struct module_reader *r, const struct module *listed)
{
	struct orc_tables module;
	char name[80];
	uint64_t addr;

	(void)snprintf(name, sizeof(name), "%s:__this_module", listed->name);
	addr = object_kernel_symbol(r->k->object, name);
	if (addr && read_module(r, addr, &module) && module.text == listed->start)
		array_push(r->modules, r->n, r->capacity, module);
}

static void list_modules(struct module_reader *r)
{
	cleanup(modules_fini) struct modules modules = {};

	modules_look(&modules, "/proc/modules");
	for (size_t i = 0; i < modules.n; i++)
		add_module(r, &modules.present[i]);
}

static int compare_orc_places(const void *a, const void *b)
{
	const struct orc_tables *x = a, *y = b;

	return x->text < y->text ? -1 : x->text > y->text;
}

static bool add_modules(const struct module_reader *r, struct kernel_table *table)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct orc_tables *m = &r->modules[i];

		if ((i && m->text < m[-1].text_end) || !copy_tables(r->k, m, table) ||
		    !kernel_table_add(table, m->text_end, 0))
			return false;
	}
	return kernel_table_end(table);
}

/*
 * The same for the code of all modules that are in use. After orc_read_kernel(). False: there are
 * none, or they cannot be read. Modules may come and go meanwhile: the caller has to find that out.
 */
static bool orc_read_modules(const struct kernel_stacks *k, struct kernel_table *table)
{
	struct module_reader r = { .k = k };
	bool is_read = false;

	*table = (struct kernel_table){};
	if (has_module_members(k->at))
		list_modules(&r);
	if (r.n) {
		qsort(r.modules, r.n, sizeof(*r.modules), compare_orc_places);
		is_read =
			kernel_table_begin(table, r.modules[0].text, r.modules[r.n - 1].text_end) &&
			add_modules(&r, table);
	}
	free(r.modules);
	return is_read;
}

/* --- the thread --- */

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
	o->programs |=
		1U << PROGRAM_MODULE_GONE | 1U << PROGRAM_READ_KERNEL | 1U << PROGRAM_FIND_SYMBOL;
	k->is_wanted = true;
}

/* Give the programs a table, as image @number. Returns false if the kernel refuses it. */
static bool publish_kernel_image(const struct object *object, enum kernel_image_number number,
				 const struct kernel_table *table)
{
	const size_t bytes = kernel_table_bytes(table);
	cleanup_free void *image = xcalloc(1, bytes);
	struct kernel_image places;
	struct error e;

	kernel_table_write(table, image, &places);
	if (object_add_kernel_image(object, number, image, bytes, &e)) {
		log_debug("kernel stacks: %s", e.text);
		return false;
	}
	object_kernel_walks(object)->images[number] = places;
	return true;
}

/*
 * Have the programs walk by the kernel's table. A function of its own, which frees the table before
 * modules are served.
 */
static bool publish_kernel(struct kernel_stacks *k)
{
	cleanup(kernel_table_fini) struct kernel_table table = {};
	const uint64_t since = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (!orc_read_kernel(k, &table)) {
		log_debug("kernel stacks: by the helper, because the kernel's unwind tables are "
			  "not there, or of an unknown kind");
		return false;
	}
	if (!publish_kernel_image(k->object, KERNEL_IMAGE, &table))
		return false;
	__atomic_store_n(&object_kernel_walks(k->object)->is_on, 1, __ATOMIC_RELEASE);
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
static void publish_modules(struct kernel_stacks *k)
{
	cleanup(kernel_table_fini) struct kernel_table table = {};
	struct kernel_walks *walks = object_kernel_walks(k->object);
	const uint32_t generation = __atomic_load_n(&walks->generation, __ATOMIC_ACQUIRE);

	__atomic_store_n(&walks->modules_generation, NO_GENERATION, __ATOMIC_RELEASE);
	if (!orc_read_modules(k, &table) || !publish_kernel_image(k->object, MODULES_IMAGE, &table))
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

static void serve_modules(struct kernel_stacks *k)
{
	cleanup_close int watch = object_watch_modules(k->object);
	const struct kernel_walks *walks = object_kernel_walks(k->object);
	cleanup(modules_fini) struct modules modules = {};
	struct pollfd end = { .fd = k->end_fd, .events = POLLIN };
	uint32_t n_unknown = walks->n_unknown;

	if (watch < 0 || access("/proc/modules", R_OK))
		return;
	modules_look(&modules, "/proc/modules");
	publish_modules(k);
	while (poll(&end, 1, LOOK_MS) == 0)
		if (must_look(walks, &modules, &n_unknown))
			publish_modules(k);
}

static void *serve_kernel_stacks(void *argument)
{
	struct kernel_stacks *k = argument;

	if (publish_kernel(k))
		serve_modules(k);
	return NULL;
}

void kernel_stacks_begin(struct kernel_stacks *k, struct host *host, struct object *object)
{
	struct kernel_types *types;
	struct error none;

	if (!k->is_wanted || host_kernel_types(host, &types, &none))
		return;
	kernel_types_find(types, members, MEMBERS, k->at);
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
	struct slot_counts counts;

	if (!k->object)
		return;

	const struct kernel_walks *walks = object_kernel_walks(k->object);

	if (walks->is_wrong)
		log_warn("a kernel stack that begins at %#llx differs from that of the kernel's "
			 "helper, which has walked all later ones (--kernel-unwind helper)",
			 (unsigned long long)walks->is_wrong);
	if (log_level() < LOG_DEBUG || !object_slot_counts(k->object, n_cpus, &counts))
		return;
	for (int i = 0; i < KERNEL_ENDS; i++)
		if (counts.ends[i] && end_words[i])
			log_debug("kernel stacks: %llu %s (last at %#llx)",
				  (unsigned long long)counts.ends[i], end_words[i],
				  (unsigned long long)walks->fell_at[i]);
	log_debug("kernel stacks: %llu compared with the helper's, %llu different",
		  (unsigned long long)counts.n_checked, (unsigned long long)counts.n_wrong);
}
