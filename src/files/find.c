// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Each call here may wait for a file system that does not answer, or for a lock of a process. So a
 * child notes it before (child_note_step()).
 */
#include "files/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "files/files.h"

void child_set_name(struct child *c, const char *path)
{
	(void)snprintf(c->name, sizeof(c->name), "%s", path_end(path));
}

static struct file_fact fact_of(int handle, const struct stat *st)
{
	const bool is_roots = st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH));
	struct statfs fs;

	return (struct file_fact){ .dev = st->st_dev,
				   .inode = st->st_ino,
				   .size = (uint64_t)st->st_size,
				   .changed = (uint64_t)st->st_mtim.tv_sec,
				   .changed_ns = (uint32_t)st->st_mtim.tv_nsec,
				   .owner = st->st_uid,
				   .is_there = 1,
				   .is_roots = is_roots && fstatfs(handle, &fs) == 0 &&
					       is_file_system_local(&fs) };
}

bool find_fact(int handle, struct file_fact *ret)
{
	struct stat st;

	if (fstat(handle, &st) < 0)
		return false;
	*ret = fact_of(handle, &st);
	return true;
}

/* --- mapped files --- */

/* Does @err mean that another location may have the file? */
static bool is_elsewhere(int err)
{
	return err == -ENOENT || err == -ESRCH || err == -ESTALE || err == -EACCES ||
	       err == -EPERM || err == -ENOTDIR;
}

/* Find it below the process's root directory, below ours, and below the question's. */
static int find_by_path(const struct child *c, uint32_t tid, const struct mapping *m,
			const struct stat *mapped, int *ret_handle, struct stat *st)
{
	struct error e;

	for (int i = 0; i < 2; i++) {
		cleanup_close int fd = i ? open("/", O_PATH | O_CLOEXEC) : open_root_of(tid);
		const int err =
			fd < 0 ? -errno : mapping_find_in(fd, m, mapped, ret_handle, st, &e);

		if (!is_elsewhere(err))
			return err;
	}
	return c->question.root == HANDLE_NONE
		       ? -ENOENT
		       : mapping_find_in(c->question.root, m, mapped, ret_handle, st, &e);
}

static int find_ours(struct child *c, const char *path, int *ret_handle, struct file_fact *ret,
		     struct error *e)
{
	struct stat st;

	if (c->question.flags & SKIP_PATHS)
		return error_set(e, -EAGAIN, "its file system does not answer");
	child_note_step(c, STEP_PATH, 0);

	cleanup_close int handle = open(path, O_PATH | O_CLOEXEC);

	if (handle < 0 || fstat(handle, &st) < 0)
		return error_errno(e, "open %s", path);
	if (path[0] != '/' || !S_ISREG(st.st_mode))
		return error_set(e, -ENOENT, "%s: not a file", path);
	*ret = fact_of(handle, &st);
	*ret_handle = TAKE_FD(handle);
	return 0;
}

static int find_mapped(struct child *c, uint32_t tid, const struct mapping *m, int *ret_handle,
		       struct file_fact *ret, struct error *e)
{
	const unsigned flags = c->question.flags;
	int err = error_set(e, -EAGAIN, "its file system does not answer");
	struct stat mapped = {}, st = {};

	if (!(flags & SKIP_MAPPED)) {
		child_note_step(c, STEP_MAPPED, m->dev);
		err = mapping_find(tid, m, ret_handle, &mapped, e);
		st = mapped;
	}
	if ((is_elsewhere(err) || flags & SKIP_MAPPED) && !(flags & SKIP_PATHS)) {
		child_note_step(c, STEP_PATH, 0);
		if (find_by_path(c, tid, m, &mapped, ret_handle, &st) == 0)
			err = 0;
	}
	if (!err)
		*ret = fact_of(*ret_handle, &st);
	return err;
}

int find_wanted(struct child *c, int *ret_handle, struct file_fact *ret, struct error *e)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};

	if (!mapping_list_parse(c->payload, &list) || list.n != 1)
		return error_set(e, -EINVAL, "no mapping");
	child_set_name(c, list.mappings[0].path);
	if (c->question.flags & FIND_OURS)
		return find_ours(c, list.mappings[0].path, ret_handle, ret, e);
	return find_mapped(c, c->question.pid, &list.mappings[0], ret_handle, ret, e);
}

static bool is_of_one_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->dev == b->dev && a->is_deleted == b->is_deleted &&
	       strcmp(a->path, b->path) == 0;
}

static bool is_left_out(const struct child *c, uint64_t dev)
{
	const uint64_t *silent = (const void *)c->payload;

	for (uint32_t i = 0; i < c->question.n; i++)
		if (((silent[i] ^ dev) & PLACE_NUMBERS) == 0)
			return true;
	return false;
}

/* Fill in @ret for each mapping. -EMFILE, -ENFILE: some are missing for lack of descriptors. */
static int find_states(struct child *c, const struct mapping_list *list, struct file_fact *ret)
{
	struct error e;
	int err = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct mapping *m = &list->mappings[i];
		cleanup_close int handle = -1;

		if (i && ret[i - 1].is_there && is_of_one_file(m, m - 1)) {
			ret[i] = ret[i - 1];
			continue;
		}
		if (!m->inode || is_left_out(c, m->dev))
			continue;

		const int found = find_mapped(c, list->tid, m, &handle, &ret[i], &e);

		if (found == -EMFILE || found == -ENFILE)
			err = found;
	}
	child_note_step(c, STEP_NONE, 0);
	return err;
}

/* Put as many of the mappings to @text as fit, with the room for their states. */
static void put_list(const struct child *c, struct mapping_list *list, struct strbuf *text)
{
	const size_t room = c->n_data / 2 < MAX_LIST_BYTES ? c->n_data / 2 : MAX_LIST_BYTES;

	strbuf_puts(text, "");
	for (size_t i = 0; i < list->n; i++) {
		const size_t before = text->n;

		mapping_put(&list->mappings[i], text);
		if (text->n < room && (i + 1) * sizeof(struct file_fact) <= room)
			continue;
		text->text[before] = '\0';
		text->n = before;
		list->n = i;
	}
}

static int list_mappings(struct child *c, struct error *e)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	cleanup_free struct file_fact *facts = NULL;
	cleanup_strbuf struct strbuf text = {};
	int err = mapping_list_read(c->question.pid, &list, e);
	size_t n_facts = 0;

	if (err)
		return err;
	put_list(c, &list, &text);
	if (c->question.flags & LIST_STATES) {
		n_facts = list.n * sizeof(*facts);
		facts = xcalloc(list.n, sizeof(*facts));
		c->answer->result = find_states(c, &list, facts);
		memcpy(c->data + text.n + 1, facts, n_facts);
	}
	memcpy(c->data, text.text, text.n + 1);
	c->answer->n = list.tid;
	c->answer->n_bytes = text.n + 1 + n_facts;
	return 0;
}

/* --- handles --- */

static int find_root(struct child *c, int *ret_handle, struct file_fact *ret, struct error *e)
{
	struct stat st;

	child_note_step(c, STEP_PATH, 0);
	*ret_handle = open_root_of(c->question.pid);
	if (*ret_handle < 0 || fstat(*ret_handle, &st) < 0)
		return error_errno(e, "open the root of process %u", c->question.pid);
	*ret = (struct file_fact){ .dev = st.st_dev, .inode = st.st_ino };
	return 0;
}

/* Leave a copy of its handle in the table. */
static int hold_file(struct child *c, struct error *e)
{
	cleanup_close int handle = -1;
	struct file_fact fact;
	const int err = c->question.n_bytes ? find_wanted(c, &handle, &fact, e)
					    : find_root(c, &handle, &fact, e);
	const int kept = err ? -1 : fcntl(handle, F_DUPFD_CLOEXEC, FIRST_HANDLE);

	if (err)
		return err;
	if (kept < 0)
		return error_errno(e, "keep it open");
	memcpy(c->data, &fact, sizeof(fact));
	c->answer->n = (uint32_t)kept;
	c->answer->n_bytes = sizeof(fact);
	return 0;
}

static int look_at_handle(struct child *c)
{
	struct file_fact fact = {};

	child_note_step(c, STEP_HANDLE, 0);
	(void)find_fact(c->question.handle, &fact);
	memcpy(c->data, &fact, sizeof(fact));
	c->answer->n_bytes = sizeof(fact);
	return 0;
}

static int find(struct child *c, struct error *e)
{
	switch (c->question.what) {
	case QUESTION_LIST:
		return list_mappings(c, e);
	case QUESTION_OPEN:
		return hold_file(c, e);
	case QUESTION_FACT:
		return look_at_handle(c);
	case QUESTION_CLOSE:
		for (uint32_t i = 0; i < c->question.n; i++)
			(void)close(((const int32_t *)(const void *)c->payload)[i]);
		return 0;
	default:
		return error_set(e, -EINVAL, "no such question");
	}
}

int finder_work(struct child *c, struct error *e)
{
	int err;

	/* It holds no file, and leaves nothing in the zygote's table if it is killed. */
	if (c->question.what == QUESTION_LIST)
		(void)close_range(FIRST_HANDLE, ~0U, CLOSE_RANGE_UNSHARE);
	do
		err = find(c, e);
	while (child_next(c, err, e));
	return err;
}

/* --- debug files --- */

/*
 * A user's link may lead to any file that we can open. A file that the user may not read, and does
 * not own, must give his program no names. A debug file that others can write to must give root's
 * programs none.
 */
static bool may_name(const struct child *c, uint32_t user, int handle, const struct stat *st)
{
	return S_ISREG(st->st_mode) && (user == 0 || st->st_uid == user || st->st_mode & S_IROTH) &&
	       (!c->question.expected.is_roots || fact_of(handle, st).is_roots);
}

int find_debug(struct child *c, uint32_t user, int root, const char *path, bool *is_missed)
{
	struct stat st;
	struct error e;
	int fd;

	child_note_step(c, STEP_DEBUG, 0);

	/* O_PATH does not open the file, which may be a FIFO or a device. */
	cleanup_close int handle = root == HANDLE_NONE
					   ? open(path, O_PATH | O_CLOEXEC)
					   : open_below(root, path, RESOLVE_NO_MAGICLINKS);

	if (handle < 0 || fstat(handle, &st) < 0) {
		*is_missed |= errno == EMFILE || errno == ENFILE || errno == ENOMEM;
		return -1;
	}
	return may_name(c, user, handle, &st) && mapping_reopen(handle, &fd, &e) == 0 ? fd : -1;
}

/* --- perf maps --- */

int perf_file_find(int root, uint32_t number, uint32_t user, int *ret_handle, struct file_fact *ret,
		   struct error *e)
{
	char path[PERF_FILE_PATH_BYTES];
	struct stat st;

	perf_file_path(number, path);

	cleanup_close int handle = open_below(root, path, RESOLVE_NO_SYMLINKS);

	if (handle < 0 && errno == ELOOP)
		return error_set(e, -EPERM, "there is a symbolic link");
	/*
	 * With ESRCH, the root directory belongs to /proc of a process that has ended (browsers'
	 * sandboxes).
	 */
	if (handle < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ESRCH))
		return error_set(e, -ENOENT, "there is none");
	if (handle < 0 || fstat(handle, &st) < 0)
		return error_set(e, -EPERM, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(e, -EPERM, "it is not a regular file");
	if (st.st_uid != user && st.st_uid != 0)
		return error_set(e, -EPERM, "it is user %u's, and the process is user %u's",
				 st.st_uid, user);
	*ret = fact_of(handle, &st);
	*ret_handle = TAKE_FD(handle);
	return 0;
}
