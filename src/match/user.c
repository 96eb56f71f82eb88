// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Places in files. Finds the files that the user means, for each process, and where else to look if
 * they have no match.
 *
 * A uprobe is put into the file, not into a process. So a file that several processes have mapped
 * is one file, whatever its paths.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "match/private.h"
#include "reader/libraries.h"

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
