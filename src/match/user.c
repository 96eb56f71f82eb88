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
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "elf/image.h"
#include "match/names.h"
#include "match/private.h"
#include "reader/libraries.h"
#include "reader/mappings.h"

#define cleanup_image cleanup(image_freep)

/* --- IFUNCs --- */

/*
 * An IFUNC symbol is the address of a resolver: code that tests the CPU and returns the address of
 * the implementation. We do not run code of a foreign file. But libc's resolvers have run already,
 * in this program, and the loader's answer can be read. It is the same in all processes of this
 * machine that map the same file, apart from GLIBC_TUNABLES.
 */

/* The implementations of one file. A zeroed one is empty; the first question fills it. */
struct indirect {
	const char *path; /* borrowed */
	bool is_asked;
	struct mapping_list own; /* the mappings of this program */
	const struct mapping *file;
	void *library; /* from dlopen() */
};

static bool is_mapping_of_file(const struct mapping *m, const struct stat *st)
{
	struct stat own;

	return m->inode == st->st_ino && m->path[0] == '/' && stat(m->path, &own) == 0 &&
	       own.st_ino == st->st_ino && own.st_dev == st->st_dev;
}

static void find_own_library(struct indirect *in)
{
	struct stat st;

	in->is_asked = true;
	if (stat(in->path, &st) < 0 || mapping_list_read((uint32_t)getpid(), &in->own, NULL) != 0)
		return;
	for (size_t i = 0; i < in->own.n && !in->file; i++)
		if (is_mapping_of_file(&in->own.mappings[i], &st))
			in->file = &in->own.mappings[i];
	if (in->file)
		in->library = dlopen(in->file->path, RTLD_LAZY | RTLD_NOLOAD);
}

/*
 * Put the file offset of the implementation for IFUNC symbol @name into *@ret_offset. False:
 * unknown, because the file is not a library of this program. Then only the symbol's resolver
 * knows.
 */
static bool indirect_offset(struct indirect *in, const char *name, uint64_t *ret_offset)
{
	if (!in->is_asked)
		find_own_library(in);
	if (!in->library)
		return false;

	uint64_t addr = (uintptr_t)dlsym(in->library, name);
	const struct mapping *m = mapping_list_at(&in->own, addr);

	/* gettimeofday and time lead into the vdso. */
	if (!m || m->inode != in->file->inode || m->dev != in->file->dev)
		return false;
	*ret_offset = addr - m->start + m->offset;
	return true;
}

static void indirect_fini(struct indirect *in)
{
	if (in->library)
		(void)dlclose(in->library);
	mapping_list_fini(&in->own);
	*in = (struct indirect){};
}

/* --- functions: the symbols of one file --- */

struct function_walk {
	struct matching *m;
	struct image *image;
	const char *path;
	struct file_place file;
	size_t n;
	struct name_pattern name;
	struct indirect implementations;
	size_t n_indirect;  /* functions of which only the resolver is known */
	char indirect[128]; /* the last of them */
	struct error *e;
};

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

static int match_symbol(void *context, const struct image_symbol *s)
{
	struct function_walk *walk = context;
	struct target t = {
		.kind = walk->m->spec->is_return ? TARGET_USER_RETURN : TARGET_USER_FUNCTION,
		.symbol = s->name,
		.path = walk->path,
		.is_distant = walk->file.is_distant,
		.is_32_bit = !image_has_64_bit_code(walk->image),
	};

	if (!names_match(&walk->name, s->name) || is_placeholder(s->name) ||
	    (t.kind == TARGET_USER_RETURN && is_cold_part(s->name)))
		return 0;
	if (s->is_indirect && !indirect_offset(&walk->implementations, s->name, &t.offset)) {
		(void)snprintf(walk->indirect, sizeof(walk->indirect), "%s", s->name);
		walk->n_indirect++;
		return 0;
	}
	if (!s->is_indirect && !image_vaddr_to_offset(walk->image, s->vaddr, &t.offset))
		return 0;

	/* For an implementation chosen at run time, only the offset is known. */
	if (!image_offset_to_vaddr(walk->image, t.offset, &t.vaddr))
		t.vaddr = s->vaddr;

	cleanup_free char *written = names_written(s->name, walk->m->scope->raw_names);
	struct target_list *list = walk->m->out;
	struct target *listed;
	size_t n_before = list->n;

	t.name = written;

	int err = matching_add(walk->m, &t, place_in_file(&walk->file, t.kind, t.offset), &listed,
			       walk->e);

	if (err)
		return err;
	walk->n++;
	/* This call has listed the place by a worse name: __libc_malloc, not malloc. */
	if (list->n == n_before && (size_t)(listed - list->targets) >= walk->m->n_before &&
	    names_is_better(s->name, listed->symbol)) {
		const char *before = listed->name;

		listed->symbol = strtab_add(list->strings, s->name);
		listed->name = strtab_add(list->strings, written);
		matching_add_alias(walk->m, listed, before);
	}
	return 0;
}

/* The search for an IFUNC's implementations: "__memcpy_avx_unaligned" for memcpy. */
struct implementations {
	const char *of;
	struct strbuf names;
	size_t n;
};

static int add_implementation(void *context, const struct image_symbol *s)
{
	struct implementations *found = context;
	const char *name = s->name + strspn(s->name, "_");
	size_t n = strlen(found->of);

	if (s->is_indirect || s->name[0] != '_' || strncmp(name, found->of, n) != 0 ||
	    name[n] != '_' || found->n >= 6)
		return 0;
	/* .symtab and .dynsym may both have it. */
	if (found->names.text && strstr(found->names.text, s->name))
		return 0;
	strbuf_printf(&found->names, "%s%s", found->n++ ? ", " : "", s->name);
	return 0;
}

static int explain_indirect(struct function_walk *walk)
{
	struct implementations found = { .of = walk->indirect + strspn(walk->indirect, "_") };
	const char *names = "their names are not in its symbol table";
	int code;

	(void)image_each_function(walk->image, add_implementation, &found);
	if (found.n)
		names = found.names.text;
	code = error_set(walk->e, -EOPNOTSUPP,
			 "%s of %s is an IFUNC: the loader picks an implementation for this CPU; "
			 "trace one of these (%s)",
			 walk->indirect, walk->path, names);
	strbuf_fini(&found.names);
	return code;
}

/*
 * Match the functions of one file. *@ret_n grows by the number of matches, new or listed before.
 */
static int match_functions(struct matching *m, const char *path, size_t *ret_n, struct error *e)
{
	cleanup_image struct image *image = NULL;
	int err = image_open(path, &image, e);

	if (err)
		return err;

	struct function_walk walk = {
		.m = m,
		.image = image,
		.path = path,
		.implementations.path = path,
		.e = e,
	};

	const size_t first = m->out->n, first_alias = m->out->n_aliases;

	file_place_of(path, &walk.file);
	name_pattern_init(&walk.name, m->spec->name);
	err = image_each_function(image, match_symbol, &walk);
	indirect_fini(&walk.implementations);
	if (err)
		return err;
	if (m->spec->is_return)
		err = place_returns(m, first, first_alias, image, e);
	else
		place_probes(m, first, image);
	if (err)
		return err;
	/* An old version of the name may be a plain function, but hardly anything calls it. */
	if (walk.n_indirect && (!walk.n || pattern_literal(m->spec->name)))
		return explain_indirect(&walk);
	if (walk.n_indirect)
		log_debug("left out %zu functions of %s: the loader picks their implementation "
			  "(IFUNC)",
			  walk.n_indirect, path);
	*ret_n += walk.n;
	return 0;
}

static int offer_function(void *context, const struct image_symbol *s)
{
	cleanup_free char *name = names_bare(s->name);

	if (!s->is_indirect)
		near_offer(context, name);
	return 0;
}

/* Offer the names of a file's functions to @near. An unreadable file offers nothing. */
static void near_functions(const char *path, struct near *near)
{
	cleanup_image struct image *image = NULL;

	if (image_open(path, &image, NULL) == 0)
		(void)image_each_function(image, offer_function, near);
}

/* --- USDT probes of one file --- */

/* A probe may be at many places, and each place is a target. */

struct usdt_walk {
	struct matching *m;
	const char *path;
	struct file_place file;
	bool is_32_bit;
	size_t n, n_mistaken;
	struct error *e;
};

static int match_usdt_probe(void *context, const struct image_usdt *p)
{
	struct usdt_walk *walk = context;
	const struct probe_spec *spec = walk->m->spec;
	char name[512];
	const struct target t = {
		.kind = TARGET_USDT,
		.name = name,
		.path = walk->path,
		.is_distant = walk->file.is_distant,
		.offset = p->offset,
		.semaphore = p->semaphore,
		.arguments = p->arguments,
		.is_32_bit = walk->is_32_bit,
	};

	if (!pattern_matches(spec->name, p->name) ||
	    (spec->provider && !pattern_matches(spec->provider, p->provider)))
		return 0;
	(void)snprintf(name, sizeof(name), "%s:%s", p->provider, p->name);
	walk->n++;
	walk->n_mistaken += p->is_mistaken;
	return matching_add(walk->m, &t, place_in_file(&walk->file, t.kind, t.offset), NULL,
			    walk->e);
}

/* Likewise, for probes. */
static int match_usdt(struct matching *m, const char *path, size_t *ret_n, struct error *e)
{
	cleanup_image struct image *image = NULL;
	int err = image_open(path, &image, e);

	if (err)
		return err;

	struct usdt_walk walk = { .m = m, .path = path, .e = e };
	walk.is_32_bit = !image_has_64_bit_code(image);
	size_t first = m->out->n;

	file_place_of(path, &walk.file);
	err = image_each_usdt(image, match_usdt_probe, &walk, e);
	if (!err)
		place_probes(m, first, image);
	if (walk.n_mistaken)
		log_warn("%s: %zu of its probes have a semaphore in a page that two writable "
			 "segments share: in a process that starts later, the kernel raises a "
			 "copy of it, and the program does not see that it is traced (-p of one "
			 "that runs is right; so are programs linked with -z norelro)",
			 path, walk.n_mistaken);
	*ret_n += walk.n;
	return err == -ENOENT ? 0 : err; /* the file has no probes; another one may have them */
}

struct usdt_offer {
	struct near *near;
	bool with_provider;
};

static int offer_usdt_probe(void *context, const struct image_usdt *p)
{
	struct usdt_offer *to = context;
	char name[512];

	(void)snprintf(name, sizeof(name), "%s:%s", p->provider, p->name);
	near_offer(to->near, to->with_provider ? name : p->name);
	return 0;
}

/* Offer the names of a file's USDT probes, "provider:name" or "name". False: it has none. */
static bool near_usdt(const char *path, bool with_provider, struct near *near)
{
	cleanup_image struct image *image = NULL;
	struct usdt_offer to = { near, with_provider };

	return image_open(path, &image, NULL) == 0 &&
	       image_each_usdt(image, offer_usdt_probe, &to, NULL) == 0;
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

static bool is_same_inode(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_ino == sb.st_ino &&
	       sa.st_dev == sb.st_dev;
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
		if (m->spec->kind == PROBE_USDT)
			err = match_usdt(m, files->paths[i], ret_n, e);
		else
			err = match_functions(m, files->paths[i], ret_n, e);
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
	char hint[NEAR_HINT];
	bool has_probes = false;
	struct near near;

	near_init(&near, wanted);
	for (size_t i = 0; i < files->n; i++) {
		if (is_usdt)
			has_probes |= near_usdt(files->paths[i], spec->provider, &near);
		else
			near_functions(files->paths[i], &near);
	}
	near_text(&near, hint, sizeof(hint));
	if (is_usdt && !has_probes)
		return error_set(e, -ENOENT, "no USDT probe matches '%s': %s has none", spec->text,
				 files->paths[0]);
	return error_set(e, -ENOENT, "no %s of %s matches '%s'%s",
			 is_usdt ? "USDT probe" : "function", files->paths[0], spec->text, hint);
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
