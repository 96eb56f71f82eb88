// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The part of an opener that works with handles (O_PATH). It keeps them for the main process, in
 * the table that it shares with the warden and other openers. They outlive the opener.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "reader/mappings.h"
#include "reader/opener.h"

/* Keep a copy of @handle, with a number above those of the warden and its helpers. */
static int keep_handle(int handle, struct seat *seat, struct open_fact fact, struct answer *answer)
{
	fact.handle = fcntl(handle, F_DUPFD_CLOEXEC, SEAT_OURS);
	if (fact.handle < 0)
		return -errno;
	memcpy(seat->area, &fact, sizeof(fact));
	answer->n_bytes = sizeof(fact);
	return 0;
}

/* -- Files that processes have mapped. -- */

void opener_answer_open(struct seat *seat, const struct ask *ask, const char *payload,
			struct answer *answer)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	cleanup_held int handle = -1;
	struct open_payload head;
	struct error e = {};
	struct stat st;

	answer->result = -EINVAL;
	if (ask->n_bytes < sizeof(head))
		return;
	memcpy(&head, payload, sizeof(head));
	if (!block_read(payload + sizeof(head), ask->n_bytes - sizeof(head), true, &list) ||
	    list.n != 1)
		return;
	const struct finding at = { head.where, ask->pid, head.root };

	answer->result = finding_find(&at, &list.mappings[0], &handle, &st, &e);
	if (!answer->result)
		answer->result = keep_handle(
			handle, seat, (struct open_fact){ .fact = opener_fact_of(handle, &st) },
			answer);
	if (answer->result)
		(void)snprintf(answer->words, sizeof(answer->words), "%.95s", e.text);
}

void opener_answer_root(struct seat *seat, const struct ask *ask, struct answer *answer)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%u/root", ask->pid);

	cleanup_held int handle = held_note(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));

	if (handle < 0 || fstat(handle, &st) < 0) {
		answer->result = -errno;
		return;
	}
	answer->result = keep_handle(
		handle, seat,
		(struct open_fact){ .fact = { .dev = st.st_dev, .inode = st.st_ino } }, answer);
}

/* -- Debug files. -- */

/* O_PATH does not open the file, which may be a FIFO or a device. */
static int find_below_root(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	if (root < 0)
		return open(path, O_PATH | O_CLOEXEC);
	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/*
 * A user's link may lead to any file that we can open. A file that the user may not read, and does
 * not own, must give his program no names.
 */
static bool may_user_read(const struct stat *st, uint32_t user)
{
	return S_ISREG(st->st_mode) && (user == 0 || st->st_uid == user || st->st_mode & S_IROTH);
}

/*
 * Is the file certainly out of reach? Other errors may pass: too few descriptors, a dead server.
 * With ESRCH, the root directory belongs to /proc of a process that has ended.
 */
static bool is_absent(int err)
{
	return err == ENOENT || err == ENOTDIR || err == ELOOP || err == EACCES || err == EPERM ||
	       err == ENAMETOOLONG || err == EXDEV || err == EINVAL || err == ESRCH;
}

/* Returns a handle, or -1. Adds 1 to *@n_missed if the file may be there. */
static int find_debug(const struct debug_payload *what, const char *path, unsigned number,
		      struct stat *st, uint32_t *n_missed)
{
	cleanup_free char *at = debug_hint_path(&what->hint, path, number);
	cleanup_held int handle = at ? held_note(find_below_root(what->root, at)) : -1;

	if (!at)
		return -1;
	if (handle < 0 || fstat(handle, st) < 0) {
		*n_missed += !is_absent(errno);
		return -1;
	}
	return may_user_read(st, what->user) ? TAKE_FD(handle) : -1;
}

void opener_answer_debug(struct seat *seat, const struct ask *ask, const char *payload,
			 struct answer *answer)
{
	const char *path = payload + sizeof(struct debug_payload);
	struct debug_payload what;
	struct stat st;

	answer->result = -EINVAL;
	if (ask->n_bytes <= sizeof(what) || payload[ask->n_bytes - 1])
		return;
	memcpy(&what, payload, sizeof(what));
	if (!debug_hint_is_sound(&what.hint))
		return;
	answer->result = -ENOENT;
	for (unsigned i = what.from; i < DEBUG_CANDIDATES; i++) {
		cleanup_held int handle = find_debug(&what, path, i, &st, &answer->n);

		if (handle < 0)
			continue;
		answer->result = keep_handle(
			handle, seat,
			(struct open_fact){ .fact = opener_fact_of(handle, &st), .at = i }, answer);
		return;
	}
}

/* -- Handles. -- */

void opener_answer_facts(struct seat *seat, const struct ask *ask, const char *payload,
			 struct answer *answer)
{
	const size_t n = ask->n_bytes / sizeof(int32_t);

	answer->result = n * sizeof(struct file_fact) > seat->n_area ? -E2BIG : 0;
	for (size_t i = 0; i < n && !answer->result; i++) {
		struct file_fact fact = {};
		int32_t handle;
		struct stat st;

		memcpy(&handle, payload + i * sizeof(handle), sizeof(handle));
		if (fstat(handle, &st) == 0)
			fact = opener_fact_of(handle, &st);
		memcpy(seat->area + i * sizeof(fact), &fact, sizeof(fact));
		answer->n_bytes += sizeof(fact);
	}
}

void opener_answer_send(const struct ask *ask, const char *payload, struct answer *answer)
{
	struct send_payload what;
	struct stat st;
	struct error e;

	answer->result = -EINVAL;
	if (ask->n_bytes != sizeof(what))
		return;
	memcpy(&what, payload, sizeof(what));
	if (fstat(what.handle, &st) < 0) {
		answer->result = -errno;
		return;
	}

	const struct file_fact fact = opener_fact_of(what.handle, &st);
	const struct passed_file file = { .number = what.number, .to = what.to };
	cleanup_close int fd = -1;

	answer->result = file_fact_is_equal(&fact, &what.expected)
				 ? mapping_reopen(what.handle, &fd, &e)
				 : -ESTALE;
	if (!answer->result)
		answer->result = seat_pass((int)what.files, file, fd);
}

void opener_answer_close(const struct ask *ask, const char *payload)
{
	for (size_t i = 0; i < ask->n_bytes / sizeof(int32_t); i++) {
		int32_t handle;

		memcpy(&handle, payload + i * sizeof(handle), sizeof(handle));
		if (handle >= SEAT_OURS)
			(void)close(handle);
	}
}
