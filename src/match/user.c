// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Places in files. Finds the files that the user means, for each process, and where else to look if
 * they have no match.
 *
 * A uprobe is put into the file, not into a process. So a file that several processes have mapped
 * is one file, whatever its paths.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "files/libraries.h"
#include "files/mappings.h"
#include "match/names.h"
#include "match/private.h"
#include "unwind/exits.h"

#define cleanup_image cleanup(image_freep)

static bool is_same_inode(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_ino == sb.st_ino &&
	       sa.st_dev == sb.st_dev;
}

/* The file as a number: its device and inode, or its path. */
static uint64_t number_of_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? hash_mix(st.st_dev) ^ st.st_ino
				    : hash_bytes(path, strlen(path));
}

/* --- the instruction that gets a probe --- */

/*
 * A function's first instruction gets the probe, or that of a USDT probe. The probe goes behind an
 * instruction that the kernel would not execute as it is (arch_uprobe_verdict()), or where it would
 * write over the program's stack (OBSTACLE_OVERWRITES). Most string functions of libc need that on
 * an x86 CPU with AVX-512. The skipped instructions must leave the stack and the frame pointer as
 * they are, because the walk relies on that. A USDT probe also has arguments in registers, so it
 * goes behind NOPs only.
 *
 * All execution must come to the place through the first instruction, and once. A loop that begins
 * there would count as many calls. We cannot see jumps through a register or a table. Compilers and
 * libc's authors aim these at the cases of a switch and at the rows of an unrolled loop. None of
 * them begins behind an entry with only vector instructions in between.
 *
 * If no place fits, the target is marked, and not handed to the kernel. Not even if the kernel
 * would refuse it: the kernel checks the instruction only once a process has mapped the file. A
 * probe attached before a command starts would silently have no hits.
 */
#define CODE_BYTES ((ARCH_MOST_SKIPPED + 1UL) * ARCH_INSTRUCTION_BYTES)

/* A target whose probe may be moved, behind one to ARCH_MOST_SKIPPED instructions. */
struct move {
	size_t target;
	uint64_t entry; /* the first instruction's address */
	size_t n_ends;
	size_t ends[ARCH_MOST_SKIPPED]; /* of the instructions, in bytes from @entry */
};

struct placing {
	const struct matching *m;
	struct image *image;
	struct move *moves;
	size_t n_moves, moves_capacity;
	struct middles middles; /* jumps to the skipped instructions, and right behind them */
};

/* Does a jump lead to @vaddr, or does a function begin there? */
static bool is_entered(const struct placing *p, uint64_t vaddr)
{
	const size_t i = middles_from(&p->middles, vaddr);
	struct image_symbol symbol;

	return (i < p->middles.n && p->middles.jumps[i].to == vaddr) ||
	       (image_function_at(p->image, vaddr, &symbol) && symbol.vaddr == vaddr);
}

/*
 * Linux 6.18 to 7.1 replace a NOP of five bytes that has a probe by a call, which writes over the 8
 * bytes below the stack pointer. A leaf function may have variables there, but not at its entry.
 * Any place may have a symbol of a function, so a symbol does not tell an entry.
 */
static bool is_overwritten(const struct placing *p, const struct target *t, const uint8_t *code,
			   size_t n)
{
	struct instruction first;

	if (t->kind == TARGET_USER_RETURN || !p->m->scope->kernel_calls_at_nop5)
		return false;
	first = instruction_at(code, n, 0);
	return first.kind == INSTRUCTION_NOP && first.length == 5;
}

static enum target_obstacle obstacle_at(const struct placing *p, const struct target *t,
					const uint8_t *code, size_t n, bool is_64_bit)
{
	const enum uprobe_verdict verdict = arch_uprobe_verdict(code, n, is_64_bit);

	if (verdict != UPROBE_FINE)
		return verdict == UPROBE_MISTAKEN ? OBSTACLE_MISTAKEN : OBSTACLE_REFUSED;
	return is_64_bit && is_overwritten(p, t, code, n) ? OBSTACLE_OVERWRITES : OBSTACLE_NONE;
}

/* Set the obstacle of target @i. Note where its probe can go instead, if anywhere. */
static void judge_entry(struct placing *p, size_t i)
{
	struct target *t = &p->m->out->targets[i];
	bool is_64_bit = image_is_64_bit(p->image);
	struct move move = { .target = i };

	if (!image_offset_to_vaddr(p->image, t->offset, &move.entry))
		return;

	const struct slice code = image_code(p->image, move.entry, CODE_BYTES);

	t->obstacle =
		code.size ? obstacle_at(p, t, code.data, code.size, is_64_bit) : OBSTACLE_NONE;
	if (t->obstacle && t->kind != TARGET_USER_RETURN && is_64_bit)
		move.n_ends = arch_skippable(code.data, code.size, t->kind == TARGET_USER_FUNCTION,
					     move.ends);
	if (move.n_ends)
		array_push(p->moves, p->n_moves, p->moves_capacity, move);
}

static void move_probe(const struct placing *p, const struct move *how)
{
	struct target *t = &p->m->out->targets[how->target];
	const size_t skipped = how->ends[how->n_ends - 1];

	for (size_t i = 0; i < how->n_ends; i++)
		if (is_entered(p, how->entry + how->ends[i]))
			return;
	t->offset += skipped;
	t->obstacle = OBSTACLE_NONE;
	log_debug("%s: the kernel cannot probe the instruction there: the probe is %zu bytes "
		  "behind it",
		  t->name, skipped);
}

static void place_probes(const struct matching *m, size_t first, struct image *image)
{
	struct placing p = { .m = m, .image = image };
	struct code_range *skipped;

	for (size_t i = first; i < m->out->n; i++)
		judge_entry(&p, i);
	skipped = xcalloc(p.n_moves + 1, sizeof(*skipped));
	for (size_t i = 0; i < p.n_moves; i++) {
		const struct move *how = &p.moves[i];

		skipped[i] = (struct code_range){ how->entry,
						  how->entry + how->ends[how->n_ends - 1] + 1 };
	}
	middles_find(image, skipped, p.n_moves, true, &p.middles);
	for (size_t i = 0; i < p.n_moves; i++)
		move_probe(&p, &p.moves[i]);
	free(skipped);
	free(p.moves);
	middles_fini(&p.middles);
}

/* --- returns --- */

/*
 * The returns of user functions: a probe at each exit (unwind/exits.h). The kernel's own return
 * probe (uretprobe) would replace return addresses on the stack. Go's runtime and the unwinding of
 * C++ exceptions end the program when they meet such an address, and stacks end there. So we use no
 * uretprobes, and leave out a function whose exits are not all known: its count would be too low.
 *
 * An exit has the name of its function, and the entry as its address and place. So two patterns
 * list it once, and reports add the exits up.
 */

struct placing_returns {
	struct matching *m;
	struct image *image;
	struct go_table go;
	struct middles middles; /* jumps into the functions of @entries */
	size_t first;
	struct target *entries; /* the targets from @first on, as they were */
	size_t n_entries;
	size_t first_exit;      /* of the entry at hand: its number in the list */
	struct u64_map offsets; /* of all exits, to the number of the entry */
	bool is_old_go;         /* where a recovered panic returns through is not known */
	size_t n_left_out;
	size_t n_without; /* functions that never return */
	const struct target *last;
	const char *why;
	uint64_t why_at;
};

static void leave_out(struct placing_returns *p, size_t entry, const char *why, uint64_t at)
{
	const struct target *t = &p->entries[entry];

	p->m->out->n = p->first_exit;
	p->n_left_out++;
	p->last = t;
	p->why = why;
	p->why_at = at;
	log_debug("%s: its returns are left out: %s (0x%" PRIx64 ")", t->name, why, at);
}

/* List an exit. Returns why it cannot have a probe, or NULL. */
static const char *add_exit_target(struct placing_returns *p, size_t entry,
				   const struct function_exit *found)
{
	struct target_list *list = p->m->out;
	struct target t = p->entries[entry];
	bool is_new;

	t.is_jump = found->is_jump;
	if (!image_vaddr_to_offset(p->image, found->vaddr, &t.offset))
		return "an exit is not in the file";
	(void)u64_map_put(&p->offsets, t.offset, (uint32_t)entry, &is_new);
	if (!is_new)
		return "another function has the same exit";
	array_push(list->targets, list->n, list->capacity, t);
	place_probes(p->m, list->n - 1, p->image);
	return list->targets[list->n - 1].obstacle ? "the kernel cannot probe an exit" : NULL;
}

static void replace_entry(struct placing_returns *p, size_t entry)
{
	const struct target *t = &p->entries[entry];
	struct exits exits;

	p->first_exit = p->m->out->n;
	if (p->is_old_go) {
		leave_out(p, entry, "the format of its Go table is not known", t->vaddr);
		return;
	}
	exits_find(p->image, &p->go, &p->middles, t->vaddr, &exits);
	if (exits.doubt) {
		leave_out(p, entry, exits.doubt, exits.doubt_at);
	} else if (!exits.n) {
		leave_out(p, entry, "it never returns", t->vaddr);
		p->n_without++;
	}
	for (size_t i = 0; i < exits.n; i++) {
		const char *why = add_exit_target(p, entry, &exits.places[i]);

		if (!why)
			continue;
		leave_out(p, entry, why, exits.places[i].vaddr);
		break;
	}
	exits_fini(&exits);
}

static void find_middles(struct placing_returns *p)
{
	cleanup_free struct code_range *functions = xcalloc(p->n_entries + 1, sizeof(*functions));

	for (size_t i = 0; i < p->n_entries; i++) {
		const uint64_t entry = p->entries[i].vaddr;

		functions[i] = (struct code_range){ entry, function_end_of(p->image, entry) };
	}
	middles_find(p->image, functions, p->n_entries, false, &p->middles);
}

static int judge_left_out(const struct placing_returns *p, const char *path, struct error *e)
{
	const struct target_list *list = p->m->out;

	if (list->n > p->m->scope->limit)
		return error_set(e, -E2BIG, "'%s' matches more than %zu places", p->m->spec->text,
				 p->m->scope->limit);
	if (p->n_left_out && list->n == p->first)
		return error_set(e, -EOPNOTSUPP,
				 "the returns of %s in %s cannot be traced: %s (0x%" PRIx64 ")",
				 p->last->name, path, p->why, p->why_at);
	if (p->n_left_out > p->n_without)
		log_warn("the returns of %zu of %zu functions of %s are not traced: not all of "
			 "their exits are known%s",
			 p->n_left_out - p->n_without, p->n_entries, path,
			 log_level() < LOG_DEBUG ? " (--debug lists them)" : "");
	return 0;
}

static int place_returns(struct matching *m, size_t first, struct image *image, struct error *e)
{
	struct target_list *list = m->out;
	struct placing_returns p = {
		.m = m,
		.image = image,
		.first = first,
		.n_entries = list->n - first,
		.entries = xcalloc(list->n - first + 1, sizeof(*p.entries)),
	};
	int err;

	p.is_old_go = !go_table_of(image, &p.go) && image_is_go(image);
	for (size_t i = 0; i < p.n_entries; i++)
		p.entries[i] = list->targets[first + i];
	list->n = first;
	find_middles(&p);
	for (size_t i = 0; i < p.n_entries; i++)
		replace_entry(&p, i);
	matching_renumber(m);
	err = p.n_entries ? judge_left_out(&p, p.entries[0].path, e) : 0;
	middles_fini(&p.middles);
	u64_map_fini(&p.offsets);
	free(p.entries);
	return err;
}

/* --- functions and USDT probes of one file --- */

struct file_walk {
	struct matching *m;
	struct image *image;
	const char *path;
	uint64_t number;      /* number_of_file() */
	size_t n;             /* matches, new or listed before */
	const char *own_name; /* the loader's, if the file is a library of this program */
	void *own;            /* of dlopen(); NULL: it is none */
	uint64_t own_base;    /* its addresses are by so much higher than as linked */
	size_t n_indirect;    /* functions of which only the resolver is known */
	char indirect[128];   /* the last of them */
	size_t n_mistaken;    /* probes: see image_usdt */
	struct error *e;
};

/*
 * List @t, of which kind, names and offset are set. If a function begins with a USDT probe, there
 * are two places, and one has a semaphore. The place is a function's entry, wherever its probe is.
 */
static int add_in_file(struct file_walk *walk, struct target *t)
{
	t->path = walk->path;
	t->is_32_bit = !image_is_64_bit(walk->image);
	t->place = hash_mix(hash_mix(walk->number + t->kind) ^ t->offset);
	walk->n++;
	return matching_add(walk->m, t, walk->e);
}

/* Old programs need these to start: glibc keeps them in libpthread.so.0 and others. */
static bool is_placeholder(const char *symbol)
{
	return strncmp(symbol, "__lib", 5) == 0 && strstr(symbol, "_version_placeholder");
}

/* "f.cold": its returns are those of f. */
static bool is_cold_part(const char *symbol)
{
	return strstr(symbol, ".cold");
}

/*
 * An IFUNC symbol is the address of a resolver: code that tests the CPU and returns the address of
 * the implementation. We do not run code of a foreign file. But libc's resolvers have run already,
 * in this program, and the loader's answer can be read. It is the same in all processes of this
 * machine that map the same file, apart from GLIBC_TUNABLES.
 */
static int find_own_library(struct dl_phdr_info *info, size_t size, void *context)
{
	struct file_walk *walk = context;

	(void)size;
	if (!is_same_inode(info->dlpi_name, walk->path))
		return 0;
	walk->own_name = info->dlpi_name;
	walk->own_base = info->dlpi_addr;
	return 1;
}

/*
 * Find the implementation of IFUNC symbol @name in the file. False: unknown, because the file is
 * not a library of this program. Then only the symbol's resolver knows.
 */
static bool find_implementation(struct file_walk *walk, const char *name, struct target *t)
{
	if (!walk->own)
		return false;
	/* gettimeofday and time lead into the vdso. */
	t->vaddr = (uintptr_t)dlsym(walk->own, name) - walk->own_base;
	return image_vaddr_to_offset(walk->image, t->vaddr, &t->offset);
}

static int match_symbol(void *context, const struct image_symbol *s)
{
	struct file_walk *walk = context;
	const bool is_return = walk->m->spec->is_return;
	struct target t = {
		.kind = is_return ? TARGET_USER_RETURN : TARGET_USER_FUNCTION,
		.symbol = s->name,
		.vaddr = s->vaddr,
	};

	if (!names_match(walk->m->spec->name, s->name) || is_placeholder(s->name) ||
	    (is_return && is_cold_part(s->name)))
		return 0;
	if (s->is_indirect && !find_implementation(walk, s->name, &t)) {
		(void)snprintf(walk->indirect, sizeof(walk->indirect), "%s", s->name);
		walk->n_indirect++;
		return 0;
	}
	if (!s->is_indirect && !image_vaddr_to_offset(walk->image, s->vaddr, &t.offset))
		return 0;

	cleanup_free char *written = names_written(s->name, walk->m->scope->raw_names);

	t.name = written;
	return add_in_file(walk, &t);
}

/* A probe may be at many places, and each place is a target. */
static int match_usdt_probe(void *context, const struct image_usdt *p)
{
	struct file_walk *walk = context;
	const struct probe_spec *spec = walk->m->spec;
	char name[512];
	struct target t = {
		.kind = TARGET_USDT,
		.name = name,
		.offset = p->offset,
		.semaphore = p->semaphore,
		.arguments = p->arguments,
	};

	if (!pattern_matches(spec->name, p->name) ||
	    (spec->provider && !pattern_matches(spec->provider, p->provider)))
		return 0;
	(void)snprintf(name, sizeof(name), "%s:%s", p->provider, p->name);
	walk->n_mistaken += p->is_mistaken;
	return add_in_file(walk, &t);
}

static int match_probes(struct file_walk *walk)
{
	const int err = image_each_usdt(walk->image, match_usdt_probe, walk, walk->e);

	if (walk->n_mistaken)
		log_warn("%s: %zu of its probes have a semaphore in a page that two writable "
			 "segments share: in a process that starts later, the kernel raises a "
			 "copy of it, and the program does not see that it is traced (-p of one "
			 "that runs is right; so are programs linked with -z norelro)",
			 walk->path, walk->n_mistaken);
	return err == -ENOENT ? 0 : err; /* the file has no probes; another one may have them */
}

static int match_functions(struct file_walk *walk)
{
	int err;

	if (dl_iterate_phdr(find_own_library, walk))
		walk->own = dlopen(walk->own_name, RTLD_LAZY | RTLD_NOLOAD);
	err = image_each_function(walk->image, match_symbol, walk);
	if (walk->own)
		(void)dlclose(walk->own);
	return err;
}

/* Some functions are IFUNCs, of which only the resolver is known. Have others matched? */
static int judge_indirect(const struct file_walk *walk)
{
	const struct probe_spec *spec = walk->m->spec;

	/* An old version of the name may be a plain function, but hardly anything calls it. */
	if (!walk->n || pattern_literal(spec->name))
		return error_set(
			walk->e, -EOPNOTSUPP,
			"%s of %s is an IFUNC: the loader picks an implementation for this "
			"CPU; trace those that -l '%s:*%s_*' lists, if any",
			walk->indirect, walk->path, spec->library,
			walk->indirect + strspn(walk->indirect, "_"));
	log_debug("left out %zu functions of %s: the loader picks their implementation (IFUNC)",
		  walk->n_indirect, walk->path);
	return 0;
}

/* Match what is in one file. *@ret_n grows by the number of matches, new or listed before. */
static int match_file(struct matching *m, const char *path, size_t *ret_n, struct error *e)
{
	const size_t first = m->out->n;
	cleanup_image struct image *image = NULL;
	int err = image_open(path, &image, e);

	if (err)
		return err;

	struct file_walk walk = {
		.m = m,
		.image = image,
		.path = path,
		.number = number_of_file(path),
		.e = e,
	};

	err = m->spec->kind == PROBE_USDT ? match_probes(&walk) : match_functions(&walk);
	if (err)
		return err;
	if (m->spec->is_return)
		err = place_returns(m, first, image, e);
	else
		place_probes(m, first, image);
	if (!err && walk.n_indirect)
		err = judge_indirect(&walk);
	*ret_n += walk.n;
	return err;
}

/* --- near names --- */

static int offer_function(void *context, const struct image_symbol *s)
{
	cleanup_free char *name = names_bare(s->name);

	if (!s->is_indirect)
		near_offer(context, name);
	return 0;
}

static int offer_usdt_name(void *context, const struct image_usdt *p)
{
	near_offer(context, p->name);
	return 0;
}

static int offer_usdt_probe(void *context, const struct image_usdt *p)
{
	char name[512];

	(void)snprintf(name, sizeof(name), "%s:%s", p->provider, p->name);
	near_offer(context, name);
	return 0;
}

/*
 * Offer the functions of a file, or its USDT probes as "provider:name" or "name". False: it cannot
 * be read, or has no probes.
 */
static bool offer_names(const struct probe_spec *spec, const char *path, struct near *near)
{
	cleanup_image struct image *image = NULL;

	if (image_open(path, &image, NULL) != 0)
		return false;
	if (spec->kind == PROBE_USDT)
		return image_each_usdt(image, spec->provider ? offer_usdt_probe : offer_usdt_name,
				       near, NULL) == 0;
	(void)image_each_function(image, offer_function, near);
	return true;
}

/* --- files --- */

struct file_list {
	char **paths;
	size_t n, capacity;
};

static void file_list_fini(struct file_list *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->paths[i]);
	free(files->paths);
	*files = (struct file_list){};
}

/*
 * Cut "/proc/7/root" from "/proc/7/root/usr/bin/x", if the rest is the same file. The short path
 * outlives process 7.
 */
static char *without_proc_root(char *path)
{
	static const char root[] = "/root/";
	const char *at = strncmp(path, "/proc/", 6) == 0 ? path + 6 : path;
	size_t n = strspn(at, "0123456789");

	if (at == path || n == 0 || strncmp(at + n, root, sizeof(root) - 1) != 0)
		return path;
	at += n + sizeof(root) - 2;
	if (!is_same_inode(path, at))
		return path;

	char *plain = xstrdup(at);

	free(path);
	return plain;
}

static void add_matched_file(struct file_list *files, char *path)
{
	for (size_t i = 0; i < files->n; i++) {
		if (is_same_inode(files->paths[i], path)) {
			free(path);
			return;
		}
	}
	array_push(files->paths, files->n, files->capacity, path);
}

static void begin_matched_file(const struct matching *m, const char *name)
{
	if (m->scope->on_file)
		m->scope->on_file(m->scope->context, name);
}

/* Find the files that @library stands for, in each of the processes. */
static int find_files(const struct matching *m, const char *library, struct file_list *files,
		      struct error *e)
{
	const uint32_t system = 0;
	const uint32_t *pids = m->scope->n_pids ? m->scope->pids : &system;
	size_t n_pids = m->scope->n_pids ? m->scope->n_pids : 1;
	int err = 0;

	begin_matched_file(m, library);
	for (size_t i = 0; i < n_pids; i++) {
		struct error why;
		char *path;
		int code = library_find(library, pids[i], &path, &why);

		if (code == 0)
			add_matched_file(files, without_proc_root(path));
		else if (code == -ENOENT || code == -ESRCH)
			err = err ? err : error_set(e, code, "%s", why.text);
		else
			return error_set(e, code, "%s", why.text);
	}
	return files->n ? 0 : err;
}

static int match_files(struct matching *m, const struct file_list *files, size_t *ret_n,
		       struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < files->n && !err; i++) {
		begin_matched_file(m, files->paths[i]);
		err = match_file(m, files->paths[i], ret_n, e);
	}
	return err;
}

/*
 * The libc that @library is a part of since glibc 2.34; the caller frees it. NULL: it is no part.
 */
static char *libc_of(const char *library)
{
	static const char *const parts[] = { "pthread", "dl", "rt", "util", "anl" };
	const char *slash = strrchr(library, '/');
	const char *name = slash ? slash + 1 : library;

	if (strncmp(name, "lib", 3) == 0)
		name += 3;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t n = strlen(parts[i]);

		if (strncmp(name, parts[i], n) != 0 || (name[n] != '\0' && name[n] != '.'))
			continue;
		if (!slash)
			return xstrdup("c");
		return xasprintf("%.*s/libc.so.6", (int)(slash - library), library);
	}
	return NULL;
}

static int explain_no_place_in_files(const struct matching *m, const struct file_list *files,
				     struct error *e)
{
	const struct probe_spec *spec = m->spec;
	const bool is_usdt = spec->kind == PROBE_USDT;
	cleanup_free char *wanted =
		spec->provider
			? xasprintf("%s:%s", pattern_text(spec->provider), pattern_text(spec->name))
			: xstrdup(pattern_text(spec->name));
	bool has_names = false;
	struct near near;

	near_init(&near, wanted);
	for (size_t i = 0; i < files->n; i++)
		has_names |= offer_names(spec, files->paths[i], &near);
	if (is_usdt && !has_names)
		return error_set(e, -ENOENT, "no USDT probe matches '%s': %s has none", spec->text,
				 files->paths[0]);
	return error_set(e, -ENOENT, "no %s of %s matches '%s'%s",
			 is_usdt ? "USDT probe" : "function", files->paths[0], spec->text,
			 near_text(&near));
}

int match_user(struct matching *m, struct error *e)
{
	cleanup(file_list_fini) struct file_list files = {}, libc_files = {};
	cleanup_free char *libc = libc_of(m->spec->library);
	size_t n = 0;
	int err = find_files(m, m->spec->library, &files, e);

	if (err && (err != -ENOENT || !libc))
		return err;
	if (!err)
		err = match_files(m, &files, &n, e);
	if (n || (err && err != -ENOENT))
		return err;

	struct error none;

	if (libc && find_files(m, libc, &libc_files, &none) == 0) {
		log_debug("'%s': %s is a part of libc here", m->spec->text, m->spec->library);
		err = match_files(m, &libc_files, &n, e);
		if (err || n)
			return err;
	}
	if (libc_files.n || files.n)
		return explain_no_place_in_files(m, libc_files.n ? &libc_files : &files, e);
	return err;
}
