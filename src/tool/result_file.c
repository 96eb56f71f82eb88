// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "tool/privileges.h"

static void drop_temporary(struct result_file *f)
{
	if (f->temporary)
		(void)unlink(f->temporary);
	cleanup_free_p(&f->temporary);
	cleanup_close_fd(&f->fd);
}

static int make_temporary(struct result_file *f, mode_t mode, struct error *e)
{
	cleanup_free char *path = NULL;
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_errno(e, "get random numbers");
	path = xasprintf("%s.%016llx", f->name, (unsigned long long)number);
	f->fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
	if (f->fd < 0)
		return error_errno(e, "write %s", f->name);
	f->temporary = TAKE(path);
	return 0;
}

static int find_result_file(struct result_file *f, struct error *e)
{
	struct stat st;
	int err;

	f->is_file = stat(f->name, &st) < 0 || S_ISREG(st.st_mode);
	if (f->is_file) {
		/* Whoever protects a file from us does not expect another one in its place. */
		cleanup_close int fd = open(f->name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

		if (fd < 0 && errno != ENOENT)
			return error_errno(e, "open %s", f->name);
		err = make_temporary(f, 0600, e); /* a bad path fails at once */
		drop_temporary(f);
		return err;
	}
	f->fd = open(f->name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return error_errno(e, "open %s", f->name);
	if (S_ISREG(st.st_mode)) /* this follows links, and somebody has made one */
		return error_set(e, -ELOOP, "open %s: it has become a link to a file", f->name);
	return 0;
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
	free(f->name);
	*f = (struct result_file)RESULT_FILE_NONE;
}

int result_file_begin(struct result_file *f, struct error *e)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();
	struct stat old;
	int err;

	if (f->fd >= 0)
		return 0;

	const bool is_old = lstat(f->name, &old) == 0 && S_ISREG(old.st_mode);

	err = make_temporary(f, is_old ? 0600 : 0666, e);
	if (err || !is_old)
		return err;
	if (fchown(f->fd, old.st_uid, old.st_gid) < 0) { /* only CAP_CHOWN may give a file away */
		old.st_mode &= 0700;
		log_warn("%s had another owner or group, and is yours alone now", f->name);
	}
	return fchmod(f->fd, old.st_mode & 0777) < 0
		       ? error_errno(e, "set permissions of %s", f->name)
		       : 0;
}

int result_file_commit(struct result_file *f, struct error *e)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();

	if (!f->is_file)
		return 0;

	/* Some file systems report a full disk or quota only when a descriptor is closed. */
	const int copy = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);

	if ((copy >= 0 && close(copy) < 0) || (f->temporary && rename(f->temporary, f->name) < 0))
		return error_errno(e, "write %s", f->name);
	cleanup_free_p(&f->temporary);
	f->n_whole = lseek(f->fd, 0, SEEK_CUR);
	return 0;
}

void result_file_undo(struct result_file *f)
{
	if (f->is_file && ftruncate(f->fd, f->n_whole) == 0)
		(void)lseek(f->fd, f->n_whole, SEEK_SET);
}
