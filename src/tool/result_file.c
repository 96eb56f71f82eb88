// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "tool/privileges.h"

static int refuse_file(const struct result_file *f, const char *what, struct error *e)
{
	return error_errno(e, "%s %s", what, f->name);
}

static int make_temporary(struct result_file *f, mode_t mode, struct error *e)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_errno(e, "get random numbers");
	(void)snprintf(f->temporary, sizeof(f->temporary), ".stackcount-%016llx",
		       (unsigned long long)number);
	f->fd = openat(f->dir, f->temporary, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC,
		       mode);
	return f->fd < 0 ? refuse_file(f, "write", e) : 0;
}

static void drop_temporary(struct result_file *f)
{
	if (f->temporary[0])
		(void)unlinkat(f->dir, f->temporary, 0);
	f->temporary[0] = '\0';
	cleanup_close_fd(&f->fd);
}

/*
 * The kernel follows links, as it does for everybody: in a directory that all may write to, only
 * links of our own or of the directory's owner (fs.protected_symlinks).
 */
static int find_result_file(struct result_file *f, struct error *e)
{
	cleanup_close int fd = open(f->name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	char link[40], path[PATH_MAX] = "";
	struct stat st;
	char *base;
	int err;

	if (fd < 0 && errno != ENOENT)
		return refuse_file(f, "open", e);
	if (fd < 0 && lstat(f->name, &st) == 0)
		return error_set(e, -ENOENT, "open %s: the link leads to no file", f->name);
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		f->fd = TAKE_FD(fd);
		return 0;
	}
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd < 0)
		(void)snprintf(path, sizeof(path), "%s", f->name);
	else if (readlink(link, path, sizeof(path) - 1) < 0)
		return refuse_file(f, "find", e);
	base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	f->base = xstrdup(base);
	*base = '\0';
	f->dir = open(path[0] ? path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0)
		return refuse_file(f, "open the directory of", e);
	err = make_temporary(f, 0600, e); /* a bad path fails at once */
	drop_temporary(f);
	return err;
}

int result_file_open(struct result_file *f, const char *name, struct error *e)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();

	*f = (struct result_file)RESULT_FILE_NONE;
	f->name = xstrdup(name);

	const int err = find_result_file(f, e);

	if (err)
		result_file_close(f);
	return err;
}

void result_file_close(struct result_file *f)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();

	drop_temporary(f);
	cleanup_close_fd(&f->dir);
	free(f->name);
	free(f->base);
	*f = (struct result_file)RESULT_FILE_NONE;
}

int result_file_begin(struct result_file *f, struct error *e)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();
	struct stat old;
	int err;

	if (f->fd >= 0)
		return 0;

	const bool is_old =
		fstatat(f->dir, f->base, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode);

	err = make_temporary(f, is_old ? 0600 : 0666, e);
	if (err || !is_old)
		return err;
	if (fchown(f->fd, old.st_uid, old.st_gid) < 0) { /* only CAP_CHOWN may give a file away */
		old.st_mode &= 0700;
		log_warn("%s had another owner or group, and is yours alone now", f->name);
	}
	return fchmod(f->fd, old.st_mode & 0777) < 0 ? refuse_file(f, "set permissions of", e) : 0;
}

int result_file_commit(struct result_file *f, struct error *e)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();

	if (f->dir < 0)
		return 0;

	/* Some file systems report a full disk or quota only when a descriptor is closed. */
	const int copy = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);

	if (copy >= 0 && close(copy) < 0)
		return refuse_file(f, "write", e);
	if (f->temporary[0] && renameat(f->dir, f->temporary, f->dir, f->base) < 0)
		return refuse_file(f, "write", e);
	f->temporary[0] = '\0';
	f->n_whole = lseek(f->fd, 0, SEEK_CUR);
	return 0;
}

void result_file_undo(struct result_file *f)
{
	if (f->dir >= 0 && ftruncate(f->fd, f->n_whole) == 0)
		(void)lseek(f->fd, f->n_whole, SEEK_SET);
}
