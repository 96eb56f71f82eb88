// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/read.h"
#include "base/strbuf.h"

/* --- modules --- */

void modules_fini(struct modules *m)
{
	free(m->present);
	*m = (struct modules){};
}

static bool parse_module(const char *line, struct module *ret)
{
	const size_t n = strcspn(line, " ");
	const char *at = line + n;
	uint64_t size, start;

	if (n == 0 || n >= sizeof(ret->name) || *at++ != ' ' || !take_decimal(&at, &size))
		return false;
	for (int skip = 0; skip < 4; skip++) {
		at = strchr(at, ' ');
		if (!at)
			return false;
		at++;
	}
	if (at[0] == '0' && at[1] == 'x')
		at += 2;
	if (!take_hex(&at, &start) || start == 0 || start + size < start)
		return false;
	*ret = (struct module){ .start = start, .end = start + size };
	memcpy(ret->name, line, n);
	return true;
}

static const struct module *find_same(const struct modules *m, const struct module *module)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->present[i].start == module->start && m->present[i].end == module->end &&
		    strcmp(m->present[i].name, module->name) == 0)
			return &m->present[i];
	return NULL;
}

/*
 * A module that was not there at the last look came after it. But if another one was, and has gone
 * from this place, hits until now may be of that.
 */
static uint64_t module_since(const struct modules *before, const struct modules *next,
			     const struct module *module)
{
	const struct module *old = find_same(before, module);

	if (old)
		return old->since;
	for (size_t i = 0; i < before->n; i++) {
		old = &before->present[i];
		if (old->start < module->end && module->start < old->end && !find_same(next, old))
			return next->looked;
	}
	return before->looked;
}

void modules_look(struct modules *m, const char *path)
{
	cleanup_fclose FILE *f = fopen(path, "re");
	cleanup_free char *line = NULL;
	struct modules next = {};
	struct module module;
	size_t capacity = 0;

	while (f && getline(&line, &capacity, f) > 0) {
		if (!parse_module(line, &module))
			continue;
		next.now = hash_mix(next.now ^ hash_bytes(module.name, strlen(module.name)));
		next.now = hash_mix(next.now ^ module.start);
		array_push(next.present, next.n, next.capacity, module);
	}
	next.looked = clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < next.n; i++)
		next.present[i].since = module_since(m, &next, &next.present[i]);
	modules_fini(m);
	*m = next;
}

const struct module *modules_find(const struct modules *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->present[i].name, name) == 0)
			return &m->present[i];
	return NULL;
}

/* --- symbols --- */

/*
 * /proc/kallsyms has more than a hundred thousand lines. So we parse it by hand. The
 * kernel takes longer to write it than we to read it.
 *
 *	ffffffff81207600 W __pfx_abort
 *	ffffffff81207610 W abort
 *	ffffffff83b264b0 R __start_runtime_ptr_dentry_hashtable
 *	ffffffffc0401000 t ext4_get_branch	[ext4]
 *	ffffffffc0a81a5c t bpf_prog_2b4f39ab2d3b24d0_on_switch	[bpf]
 *
 * The kernel's own symbols are sorted by address. Those of modules and of BPF programs follow in
 * any order.
 */

/*
 * The longest that a function may be. A kernel's largest function has some 100 KiB. If no other
 * function of the same module follows, the next symbol may be far off. Code that has gone may have
 * been in between, so addresses there have no name. A BPF program may have any length
 * (kernel/bpf_programs.h knows it). Trampolines of ftrace and BPF have a page at most.
 */
#define MAX_FUNCTION_BYTES (1u << 20)
#define MAX_LAST_BYTES (4u << 10)

#define NO_NAME UINT32_MAX
#define NO_MODULE 0

struct symbol {
	uint64_t addr; /* the first member: array_count_below() */
	uint32_t name; /* place in @names; NO_NAME: only a boundary */
	uint32_t size;
	uint16_t module; /* index in @owners */
	bool is_global;
	bool is_code;
};

struct kallsyms {
	struct symbol *symbols; /* also boundaries while reading; then functions only */
	size_t n, capacity;
	struct strbuf names; /* each with its NUL */
	struct module
		*owners; /* names in brackets; not loaded: .start and .end are 0. [0]: the kernel */
	size_t n_owners, cap_owners;
	uint16_t last_owner; /* of the lines so far */
	struct modules loaded;
};

void kallsyms_freep(struct kallsyms **k)
{
	if (!*k)
		return;
	free((*k)->symbols);
	strbuf_fini(&(*k)->names);
	free((*k)->owners);
	modules_fini(&(*k)->loaded);
	cleanup_free_p(k);
}

/* Lines of one module follow each other, so try the last one first. */
static uint16_t owner_number(struct kallsyms *k, const char *name)
{
	const struct module *loaded;
	struct module m = {};

	for (size_t i = 0; i < k->n_owners; i++) {
		const size_t at = (k->last_owner + i) % k->n_owners;

		if (strcmp(k->owners[at].name, name) == 0)
			return (uint16_t)at;
	}
	if (k->n_owners > UINT16_MAX)
		return NO_MODULE;
	loaded = modules_find(&k->loaded, name);
	if (loaded)
		m = *loaded;
	else
		(void)snprintf(m.name, sizeof(m.name), "%s", name);
	array_push(k->owners, k->n_owners, k->cap_owners, m);
	return (uint16_t)(k->n_owners - 1);
}

static bool has_suffix(const char *name, const char *suffix)
{
	const size_t n = strlen(name), length = strlen(suffix);

	return n >= length && strcmp(name + n - length, suffix) == 0;
}

/*
 * Is this no function, although its type says so? Marks of sections would make a function of the
 * padding behind a section. The padding before functions is never executed.
 */
static bool is_section_mark(const char *name)
{
	static const char *const marks[] = { "_text", "_stext", "_etext", "_sinittext",
					     "_einittext" };

	if (name[0] != '_')
		return false;
	if (strncmp(name, "__pfx_", 6) == 0 || strncmp(name, "__cfi_", 6) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (strcmp(marks[i], name) == 0)
			return true;
	return name[1] == '_' && (has_suffix(name, "_text_start") || has_suffix(name, "_text_end"));
}

/* Add a line's symbol. Writes to the line. False: it is malformed. */
static bool add_symbol_line(struct kallsyms *k, char *line)
{
	struct symbol s = { .name = NO_NAME };
	const char *at = line;

	if (!take_hex(&at, &s.addr) || at[0] != ' ' || at[1] == '\0' || at[2] != ' ')
		return false;

	const char type = at[1], kind = (char)(type | 0x20);
	char *name = line + (at + 3 - line), *tab = strchr(name, '\t');

	if (tab)
		*tab = '\0';
	if (!*name)
		return false;
	/* 'A': a number, not an address. 0: hidden, or an offset in a per-CPU area. */
	if (s.addr == 0 || kind == 'a')
		return true;
	if (tab && tab[1] == '[') {
		tab[2 + strcspn(tab + 2, "]")] = '\0';
		s.module = k->last_owner = owner_number(k, tab + 2);
	}
	s.is_global = type == 'T';
	s.is_code = kind == 't' || kind == 'w';
	if (s.is_code && !is_section_mark(name)) {
		s.name = (uint32_t)k->names.n;
		strbuf_put(&k->names, name, strlen(name) + 1);
	}
	array_push(k->symbols, k->n, k->capacity, s);
	return true;
}

static int read_symbols(struct kallsyms *k, const char *path, struct error *e)
{
	char buffer[16384]; /* stdio would read 1 KiB at a time */
	cleanup_fclose FILE *f = fopen(path, "re");
	cleanup_free char *line = NULL;
	size_t capacity = 0, n_lines = 0;

	if (!f)
		return error_errno(e, "open %s", path);
	(void)setvbuf(f, buffer, _IOFBF, sizeof(buffer));
	while (getline(&line, &capacity, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		n_lines += add_symbol_line(k, line);
	}
	if (ferror(f))
		return error_errno(e, "read %s", path);
	if (n_lines == 0)
		return error_set(e, -ENODATA, "%s has no symbols", path);
	if (k->n == 0)
		return error_set(e, -EPERM,
				 "%s: addresses are hidden (needs CAP_SYSLOG, and sysctl "
				 "kernel.kptr_restrict below 2)",
				 path);
	return 0;
}

static int compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/*
 * Order by address. Of several names of one address, first the one that a user would rather write;
 * boundaries last.
 */
static int compare_symbols(const void *va, const void *vb, void *names)
{
	const struct symbol *a = va, *b = vb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->name == NO_NAME || b->name == NO_NAME)
		return (a->name == NO_NAME) - (b->name == NO_NAME);
	if (a->is_global != b->is_global)
		return b->is_global - a->is_global;

	const char *x = (const char *)names + a->name, *y = (const char *)names + b->name;
	bool x_dot = strchr(x, '.'), y_dot = strchr(y, '.'); /* "f.cold", "f.isra.0" */

	if (x_dot != y_dot)
		return x_dot - y_dot;

	int order = compare_sizes(strspn(x, "_"), strspn(y, "_"));

	if (!order)
		order = compare_sizes(strlen(x), strlen(y));
	return order ? order : strcmp(x, y);
}

/* @next is the first symbol behind @s; NULL: there is none. */
static uint32_t function_size(const struct kallsyms *k, const struct symbol *s,
			      const struct symbol *next)
{
	const struct module *m = &k->owners[s->module];
	const bool is_followed = !is_made_at_run_time(m->name) && next &&
				 next->module == s->module &&
				 (s->module == NO_MODULE || next->is_code);
	uint64_t size = is_followed ? MAX_FUNCTION_BYTES : MAX_LAST_BYTES;

	if (next && next->addr - s->addr < size)
		size = next->addr - s->addr;
	/* Since Linux 6.4 a module has several places. /proc/modules has the one of its code. */
	if (s->addr >= m->start && s->addr < m->end && m->end - s->addr < size)
		size = m->end - s->addr;
	return (uint32_t)size;
}

/* Sort, give functions their sizes, and drop the boundaries. */
static void finish_symbols(struct kallsyms *k)
{
	struct symbol *s = k->symbols;
	size_t n_kept = 0, next;

	qsort_r(s, k->n, sizeof(*s), compare_symbols, k->names.text);
	for (size_t i = 0; i < k->n; i = next) {
		next = i + 1;
		while (next < k->n && s[next].addr == s[i].addr)
			next++;

		const struct symbol *behind = next < k->n ? &s[next] : NULL;

		for (size_t j = i; j < next && s[j].name != NO_NAME; j++) {
			s[n_kept] = s[j];
			s[n_kept].size = function_size(k, &s[n_kept], behind);
			n_kept++;
		}
	}
	k->n = n_kept;
	k->capacity = n_kept;
	k->symbols = xreallocarray(s, n_kept, sizeof(*s));
}

int kallsyms_read(const char *symbols_path, const char *modules_path, struct kallsyms **ret,
		  struct error *e)
{
	cleanup(kallsyms_freep) struct kallsyms *k = xcalloc(1, sizeof(*k));

	array_push(k->owners, k->n_owners, k->cap_owners, (struct module){});
	/*
	 * Modules first: the next look then finds a module that is loaded in between. A kernel
	 * without modules has no such file.
	 */
	modules_look(&k->loaded, modules_path);

	const int err = read_symbols(k, symbols_path, e);

	if (err)
		return err;
	finish_symbols(k);
	*ret = TAKE(k);
	return 0;
}

uint64_t kallsyms_modules(const struct kallsyms *k)
{
	return k->loaded.now;
}

size_t kallsyms_n(const struct kallsyms *k)
{
	return k->n;
}

void kallsyms_nth(const struct kallsyms *k, size_t i, struct kernel_symbol *ret)
{
	const struct symbol *s = &k->symbols[i];

	*ret = (struct kernel_symbol){
		.name = k->names.text + s->name,
		.module = s->module ? k->owners[s->module].name : NULL,
		.addr = s->addr,
		.size = s->size,
	};
}

bool kallsyms_at(const struct kallsyms *k, uint64_t addr, struct kernel_symbol *ret)
{
	/* No function has the last address: none is below 0. */
	size_t i = array_count_below(k->symbols, k->n, sizeof(*k->symbols), addr + 1);

	if (i == 0)
		return false;

	uint64_t start = k->symbols[--i].addr;

	if (addr - start >= k->symbols[i].size)
		return false;
	while (i > 0 && k->symbols[i - 1].addr == start)
		i--;
	kallsyms_nth(k, i, ret);
	return true;
}
