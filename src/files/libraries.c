// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A name means a library, or else a program. bcc has the same order.
 *
 * With a process given, only its mappings count. A file of the same name elsewhere may be another
 * one: in a container, after an upgrade, in a snap. Its paths are reached through /proc/PID/root.
 */
#include "files/libraries.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "files/mappings.h"

static const char ld_cache[] = "/etc/ld.so.cache";
static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* --- ldconfig's cache --- */

#define MAX_CACHE_BYTES (64u << 20)

/*
 * ldconfig's cache, /etc/ld.so.cache, in glibc's format:
 *
 *	"glibc-ld.so.cache" "1.1"  u32 n  24 bytes
 *	n entries, the loader's first choice of a name before others
 *	strings, of which one may be the end of another
 *
 * Flags differ between architectures, so we look into the files themselves. Before glibc 2.32 an
 * older form stood in front: then folders are searched. With -p the process's mappings count.
 */
static const char cache_magic[] = "glibc-ld.so.cache1.1";

enum { HEADER_BYTES = 48 };

struct cache_entry {
	uint32_t flags, name, path, os; /* name and path: offsets from the magic */
	uint64_t level; /* the file is for CPUs of some level: .../x86-64-v3/libz.so.1 */
};

static bool is_version(const char *text)
{
	if (*text == '\0')
		return true;
	if (*text != '.')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '.' && *text != '_')
			return false;
	return true;
}

/*
 * Returns the version in @rest, the end of a file's name: ".so", ".so.6" or "-2.31.so". NULL: it is
 * none of these.
 */
static const char *version_behind(const char *rest)
{
	if (strncmp(rest, ".so", 3) == 0)
		return is_version(rest + 3) ? rest + 3 : NULL;
	if (rest[0] != '-' || !isdigit((unsigned char)rest[1]))
		return NULL;

	size_t n = strspn(rest + 1, "0123456789.");

	/* The span takes the dot of ".so" too. */
	return strcmp(rest + n, ".so") == 0 ? rest : NULL;
}

const char *library_version(const char *file, const char *wanted)
{
	size_t n = strlen(wanted);

	if (strcmp(file, wanted) == 0)
		return file + n;
	if (n == 0 || strncmp(file, "lib", 3) != 0)
		return NULL;
	if (strncmp(file + 3, wanted, n) == 0)
		return version_behind(file + 3 + n);
	if (strncmp(file, wanted, n) != 0)
		return NULL;
	if (n > 3 && strcmp(wanted + n - 3, ".so") == 0)
		return is_version(file + n) ? file + n : NULL;
	return n > 3 ? version_behind(file + n) : NULL;
}

/*
 * Is @path an ELF file for this machine? A linker script named libc.so is not. Checks only the
 * magic, the class (64-bit) and the machine, as the loader would.
 */
static bool is_native_elf(const char *path)
{
	static const char magic[] = { '\177', 'E', 'L', 'F', 2 };
	struct {
		char ident[16];
		uint16_t type;
		uint16_t machine;
	} header;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;

	cleanup_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && read(fd, &header, sizeof(header)) == sizeof(header) &&
	       memcmp(header.ident, magic, sizeof(magic)) == 0 && header.machine == ARCH_MACHINE;
}

/* Set *@best to @path if that is the wanted library, and newer than *@best. */
static void offer_library(const char *path, const char *wanted, char **best)
{
	const char *version = library_version(path_end(path), wanted);
	const char *old = *best ? library_version(path_end(*best), wanted) : NULL;

	if (!version || (old && strverscmp(version, old) <= 0) || !is_native_elf(path))
		return;
	free(*best);
	*best = xstrdup(path);
}

/* @data has a NUL behind it. */
static char *find_in_cache(const char *data, size_t size, const char *wanted)
{
	struct cache_entry entry;
	char *best = NULL;
	uint32_t n;

	if (size < HEADER_BYTES || memcmp(data, cache_magic, sizeof(cache_magic) - 1) != 0)
		return NULL;
	memcpy(&n, data + sizeof(cache_magic) - 1, sizeof(n));
	for (size_t at = HEADER_BYTES; n-- && at + sizeof(entry) <= size; at += sizeof(entry)) {
		memcpy(&entry, data + at, sizeof(entry));
		if (entry.path < size && !entry.level)
			offer_library(data + entry.path, wanted, &best);
	}
	return best;
}

char *ldcache_find(const char *cache, const char *wanted)
{
	cleanup_close int fd = open(cache, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > MAX_CACHE_BYTES)
		return NULL;

	cleanup_free char *data = xcalloc(1, (size_t)st.st_size + 1);
	const ssize_t size = read(fd, data, (size_t)st.st_size);

	return size > 0 ? find_in_cache(data, (size_t)size, wanted) : NULL;
}

/* --- without a process --- */

static int find_library_by_path(const char *path, char **ret, struct error *e)
{
	cleanup_free char *real = realpath(path, NULL);
	struct stat st;

	if (!real || stat(real, &st) < 0)
		return error_errno(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(e, -ENOENT, "%s: not a regular file", path);
	*ret = TAKE(real);
	return 0;
}

/* For systems without a cache (musl, a minimal image), and for libraries newer than the cache. */
static char *find_library_in_folders(const char *wanted)
{
	static const char *const folders[] = {
		"/lib/" ARCH_TRIPLET, "/usr/lib/" ARCH_TRIPLET, "/lib64",
		"/usr/lib64",         "/usr/local/lib64",       "/lib",
		"/usr/lib",           "/usr/local/lib",
	};
	char *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(folders) && !best; i++) {
		cleanup_closedir DIR *d = opendir(folders[i]);
		const struct dirent *entry;

		while (d && (entry = readdir(d))) {
			cleanup_free char *path = NULL;

			if (!library_version(entry->d_name, wanted))
				continue;
			path = xasprintf("%s/%s", folders[i], entry->d_name);
			offer_library(path, wanted, &best);
		}
	}
	return best;
}

static char *find_library_on_path(const char *program)
{
	const char *at = getenv("PATH");

	for (at = at && *at ? at : default_path; *at; at += strspn(at, ":")) {
		const size_t n = strcspn(at, ":");
		cleanup_free char *path = xasprintf("%.*s/%s", (int)n, at, program);
		struct stat st;

		/* From the current directory the user has to write ./prog. */
		if (at[0] == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(path, X_OK) == 0)
			return TAKE(path);
		at += n;
	}
	return NULL;
}

static int find_library_by_name(const char *name, char **ret, struct error *e)
{
	cleanup_free char *path = ldcache_find(ld_cache, name);

	if (!path)
		path = find_library_in_folders(name);
	if (!path)
		path = find_library_on_path(name);
	if (!path)
		return error_set(e, -ENOENT,
				 "no library or program '%s' (looked in %s, the folders of "
				 "libraries, and PATH)",
				 name, ld_cache);
	return find_library_by_path(path, ret, e);
}

/* --- in a process --- */

/*
 * Find @path below the root of @pid, with symbolic links resolved as the process would. The
 * descriptor's path is the one that we see. So cut the root's path off its front.
 */
static int below_root(uint32_t pid, const char *path, char **ret, struct error *e)
{
	char root[64], link[64], root_at[4096] = "", at[4096] = "";
	struct stat st, found;

	(void)snprintf(root, sizeof(root), "/proc/%u/root", pid);

	cleanup_close int root_fd = open_root_of(pid);
	if (root_fd < 0)
		return error_errno(e, "open %s", root);

	cleanup_close int fd = open_below(root_fd, path, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(e, "%s in process %u", path, pid);
	if (!S_ISREG(st.st_mode))
		return error_set(e, -ENOENT, "%s in process %u: not a regular file", path, pid);

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, at, sizeof(at) - 1) < 0 ||
	    readlink(root, root_at, sizeof(root_at) - 1) < 0)
		return error_errno(e, "%s in process %u", path, pid);

	size_t n = strcmp(root_at, "/") == 0 ? 0 : strlen(root_at);
	const char *inside = strncmp(at, root_at, n) == 0 ? at + n : at;
	cleanup_free char *result = xasprintf("%s%s", root, inside);

	if (stat(result, &found) < 0 || found.st_ino != st.st_ino || found.st_dev != st.st_dev)
		return error_set(e, -ENOENT, "%s in process %u: cannot tell its real path", path,
				 pid);
	*ret = TAKE(result);
	return 0;
}

/* The mapping that @wanted names best: by path or file name, else by short name. */
static const struct mapping *find_mapping(const struct mapping_list *list, const char *wanted)
{
	bool is_path = strchr(wanted, '/');
	const struct mapping *best = NULL;
	const char *best_version = NULL;

	for (size_t i = 0; i < list->n; i++) {
		const struct mapping *m = &list->mappings[i];

		if (m->inode == 0 || m->path[0] != '/')
			continue;
		if (strcmp(is_path ? m->path : path_end(m->path), wanted) == 0)
			return m;

		const char *version = is_path ? NULL : library_version(path_end(m->path), wanted);

		if (version && (!best || strverscmp(version, best_version) > 0)) {
			best = m;
			best_version = version;
		}
	}
	return best;
}

static int find_library_in_process(const char *wanted, uint32_t pid, char **ret, struct error *e)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	int err = mapping_list_read(pid, &list, e);

	if (err)
		return err;

	const struct mapping *m = find_mapping(&list, wanted);

	if (!m && wanted[0] == '/')
		return below_root(list.tid, wanted, ret, e);
	if (!m)
		return error_set(e, -ENOENT,
				 "process %u has mapped no library or program '%s' (looked in "
				 "/proc/%u/maps)",
				 pid, wanted, pid);

	cleanup_close int handle = -1;
	struct mapping mapped = *m;
	struct stat found, st;
	char path[4096 + 64];

	err = mapping_find_by_process(list.tid, m, &handle, &found, e);
	if (err)
		return err;
	mapping_path(list.tid, m, path, sizeof(path));
	/* An upgrade may have replaced the file. Then use the mapping itself. */
	if (stat(path, &st) < 0 || st.st_ino != found.st_ino || st.st_dev != found.st_dev) {
		mapped.is_deleted = true;
		mapping_path(list.tid, &mapped, path, sizeof(path));
	}
	*ret = xstrdup(path);
	return 0;
}

int library_find(const char *library, uint32_t pid, char **ret, struct error *e)
{
	/* A relative path is the user's own, whatever process is traced. */
	bool is_relative = library[0] != '/' && strchr(library, '/');

	if (library[0] == '\0')
		return error_set(e, -ENOENT, "no library or program with an empty name");
	if (pid && !is_relative)
		return find_library_in_process(library, pid, ret, e);
	return strchr(library, '/') ? find_library_by_path(library, ret, e)
				    : find_library_by_name(library, ret, e);
}
