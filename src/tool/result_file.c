// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "tool/privileges.h"

#define MOST_LINKS 40 /* as in the kernel */

static int refuse_file(const struct result_file *f, const char *what, struct error *e)
{
	return error_errno(e, "%s %s", what, f->name);
}

/* The path that symbolic link @path leads to. NULL: it is none, or errno says why not. */
static char *follow_link(const char *path)
{
	char target[PATH_MAX];
	const ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *slash = strrchr(path, '/');

	errno = n < 0 && errno == EINVAL ? 0 : errno;
	if (n < 0)
		return NULL;
	target[n] = '\0';
	if (target[0] == '/' || !slash)
		return xstrdup(target);
	return xasprintf("%.*s/%s", (int)(slash - path), path, target);
}

/*
 * The path of a file that is not there (yet): a link may lead to it. Whoever may write to a sticky
 * directory of others' could lead us anywhere by a link there, so the kernel must have followed it
 * (fs.protected_symlinks). It follows none to a missing file.
 */
static char *path_of_missing(const char *name)
{
	char *path = xstrdup(name);
	int why = ELOOP;

	for (int i = 0; i < MOST_LINKS; i++) {
		char *next = follow_link(path);
		const int fd = next ? open(path, O_PATH | O_CLOEXEC) : -1;
		const bool is_refused = next && fd < 0 && errno != ENOENT;

		if (!next)
			return path;
		if (fd >= 0)
			(void)close(fd);
		if (is_refused) {
			why = errno;
			free(next);
			break;
		}
		free(path);
		path = next;
	}
	free(path);
	errno = why;
	return NULL;
}

/* The path of the file itself, without links at its end. */
static int find_result_path(const struct result_file *f, char **ret, struct error *e)
{
	cleanup_close int fd = open(f->name, O_PATH | O_CLOEXEC);
	char link[40], path[PATH_MAX];

	if (fd < 0 && errno == ENOENT) {
		*ret = path_of_missing(f->name);
		return *ret ? 0 : refuse_file(f, "open", e);
	}
	if (fd < 0)
		return refuse_file(f, "open", e);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);

	const ssize_t n = readlink(link, path, sizeof(path) - 1);

	path[n < 0 ? 0 : n] = '\0';
	*ret = xstrdup(path[0] == '/' ? path : f->name);
	return 0;
}

static int open_result_directory(struct result_file *f, const char *path, struct error *e)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");

	f->base = xstrdup(slash ? slash + 1 : path);
	f->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return f->dir < 0 ? refuse_file(f, "open the directory of", e) : 0;
}

static int set_temporary_name(struct result_file *f, struct error *e)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_errno(e, "get random numbers");
	(void)snprintf(f->temporary, sizeof(f->temporary), ".stackcount-%016llx",
		       (unsigned long long)number);
	return 0;
}

/*
 * A file without a name leaves nothing behind, however we end. Some file systems cannot make it
 * (NFS). It gets a name by /proc.
 */
static int make_temporary(struct result_file *f, struct error *e)
{
	int err = 0;

	f->fd = access("/proc/self/fd", X_OK) == 0
			? openat(f->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
			: -1;
	if (f->fd >= 0)
		return 0;
	err = set_temporary_name(f, e);
	if (err)
		return err;
	f->fd = openat(f->dir, f->temporary, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (f->fd >= 0)
		return 0;
	f->temporary[0] = '\0';
	return refuse_file(f, "write", e);
}

/* False: nothing is there, or a file that must be replaced. */
static bool is_written_through(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && !S_ISREG(st.st_mode);
}

static int open_through(struct result_file *f, struct error *e)
{
	f->fd = open(f->name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return f->fd < 0 ? refuse_file(f, "open", e) : 0;
}

static int open_regular(struct result_file *f, struct error *e)
{
	cleanup_free char *path = NULL;
	int err = find_result_path(f, &path, e);

	if (err || !path)
		return err;
	err = open_result_directory(f, path, e);
	return err ? err : make_temporary(f, e);
}

int result_file_open(struct result_file *f, const char *name, struct error *e)
{
	*f = (struct result_file)RESULT_FILE_NONE;
	f->name = xstrdup(name);

	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();
	const int err = is_written_through(name) ? open_through(f, e) : open_regular(f, e);

	if (err)
		result_file_close(f);
	return err;
}

void result_file_close(struct result_file *f)
{
	if (f->temporary[0] && f->dir >= 0) {
		cleanup(privileges_take_back) uint64_t before = privileges_lend_files();

		(void)unlinkat(f->dir, f->temporary, 0);
	}
	if (f->fd >= 0)
		(void)close(f->fd);
	if (f->dir >= 0)
		(void)close(f->dir);
	free(f->name);
	free(f->base);
	*f = (struct result_file)RESULT_FILE_NONE;
}

bool result_file_is_regular(const struct result_file *f)
{
	return f->dir >= 0;
}

static mode_t usual_mode(void)
{
	const mode_t mask = umask(077);

	(void)umask(mask);
	return 0666 & ~mask;
}

/*
 * The file gets another owner and group. Whoever is in neither may be in the old group, and our
 * group may be among the others of before. So both get only what both had.
 */
static mode_t mode_for_strangers(mode_t mode)
{
	const mode_t shared = mode >> 3 & mode & 07;

	return (mode & 0700) | shared << 3 | shared;
}

/* Permissions and owner of the file that was there, or those of a new one. */
static int set_rights(const struct result_file *f, struct error *e)
{
	struct stat before;
	const bool is_old = fstatat(f->dir, f->base, &before, AT_SYMLINK_NOFOLLOW) == 0 &&
			    S_ISREG(before.st_mode);
	mode_t mode = is_old ? before.st_mode & 0777 : usual_mode();

	/* Only CAP_CHOWN may give a file away. */
	if (is_old && (before.st_uid != geteuid() || before.st_gid != getegid()) &&
	    fchown(f->fd, before.st_uid, before.st_gid) < 0) {
		mode = mode_for_strangers(mode);
		log_warn("%s had another owner or group, and is yours now", f->name);
	}
	return fchmod(f->fd, mode) < 0 ? refuse_file(f, "set permissions of", e) : 0;
}

static int give_temporary_name(struct result_file *f, struct error *e)
{
	char link[40];
	int err;

	if (f->temporary[0])
		return 0;
	err = set_temporary_name(f, e);
	if (err)
		return err;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	if (linkat(AT_FDCWD, link, f->dir, f->temporary, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	f->temporary[0] = '\0';
	return refuse_file(f, "write", e);
}

/* Some file systems report a full disk or quota only when a descriptor is closed. */
static int flush_file(const struct result_file *f, struct error *e)
{
	const int copy = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);

	return copy >= 0 && close(copy) < 0 ? refuse_file(f, "write", e) : 0;
}

static int take_name(struct result_file *f, struct error *e)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();
	int err = flush_file(f, e);

	if (!err)
		err = give_temporary_name(f, e);
	if (!err)
		err = set_rights(f, e);
	if (err)
		return err;
	if (renameat(f->dir, f->temporary, f->dir, f->base) < 0)
		return refuse_file(f, "write", e);
	f->temporary[0] = '\0';
	f->is_there = true;
	return 0;
}

int result_file_commit(struct result_file *f, struct error *e)
{
	int err;

	if (!result_file_is_regular(f))
		return 0;
	err = f->is_there ? flush_file(f, e) : take_name(f, e);
	if (!err)
		f->n_whole = lseek(f->fd, 0, SEEK_CUR);
	return err;
}

void result_file_undo(struct result_file *f)
{
	if (result_file_is_regular(f) && f->is_there && ftruncate(f->fd, f->n_whole) == 0)
		(void)lseek(f->fd, f->n_whole, SEEK_SET);
}
