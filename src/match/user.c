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
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/memory.h"
#include "elf/image.h"
#include "files/libraries.h"
#include "files/mappings.h"
#include "match/names.h"
#include "match/private.h"

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
