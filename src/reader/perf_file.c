// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/perf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/read.h"
#include "helper/held.h"
#include "helper/seat.h"
#include "reader/asks.h"
#include "reader/mappings.h"

#define PERF_TEXT_BYTES (1UL << 20)

/* Read the last of the numbers after @key in /proc/PID/status; the second one with @is_second. */
static bool parse_status_id(const char *status, const char *key, bool is_second, uint32_t *ret)
{
	const char *at = strstr(status, key);
	uint64_t value = 0;
	size_t n = 0;

	if (!at)
		return false;
	for (at += strlen(key); *at == '\t' || *at == ' '; n++) {
		at++;
		if (is_second && n == 2)
			break;
		if (!take_decimal(&at, &value))
			return false;
	}
	*ret = (uint32_t)value;
	return n > 0;
}

/*
 * Field 22 of /proc/PID/stat, in ticks. The search begins after the name, which may hold any
 * character.
 */
static uint64_t start_of(uint32_t pid)
{
	char path[64], text[1024];
	uint64_t ticks;
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	at++;
	return take_decimal(&at, &ticks) ? ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)) : 0;
}

bool process_identity_read(uint32_t pid, struct process_identity *ret)
{
	char path[64], text[4096];

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	*ret = (struct process_identity){ .number = pid, .started = start_of(pid) };
	/* The name, in the first line, cannot hold a newline: the kernel escapes it. */
	(void)parse_status_id(text, "\nNSpid:", false, &ret->number);
	return parse_status_id(text, "\nUid:", true, &ret->user) && ret->number; /* 0: gone */
}

void perf_file_path(uint32_t number, char to[PERF_FILE_PATH_BYTES])
{
	(void)snprintf(to, PERF_FILE_PATH_BYTES, "/tmp/perf-%u.map", number);
}

/* O_PATH does not open the file, which could block (a FIFO) or have an effect (a device). */
static int open_perf_handle(int root, uint32_t number)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS };
	char path[PERF_FILE_PATH_BYTES];

	perf_file_path(number, path);
	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int check_perf_file(const struct stat *st, uint32_t user, struct error *e)
{
	if (!S_ISREG(st->st_mode))
		return error_set(e, -EPERM, "it is not a regular file");
	if (st->st_uid != user && st->st_uid != 0)
		return error_set(e, -EPERM, "it is user %u's, and the process is user %u's",
				 st->st_uid, user);
	return 0;
}

int perf_file_find(int root, uint32_t number, uint32_t user, int *ret_handle, struct stat *ret,
		   struct error *e)
{
	cleanup_held int handle = held_note(open_perf_handle(root, number));
	int err;

	if (handle < 0 && errno == ELOOP)
		return error_set(e, -EPERM, "there is a symbolic link");
	/*
	 * With ESRCH, the root directory belongs to /proc of a process that has ended (browsers'
	 * sandboxes).
	 */
	if (handle < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ESRCH))
		return error_set(e, -ENOENT, "there is none");
	if (handle < 0 || fstat(handle, ret) < 0)
		return error_set(e, -EPERM, "%s", strerror(errno));
	err = check_perf_file(ret, user, e);
	if (!err)
		*ret_handle = TAKE_FD(handle);
	return err;
}

/* -- An opener's side. -- */

static struct perf_fact perf_fact_of(const struct stat *st)
{
	return (struct perf_fact){
		.dev = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.changed_ns =
			(uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec,
		.handle = -1,
	};
}

/* Does the file still have the text that was read before? If not, somebody has rewritten it. */
static bool is_perf_file_continued(const struct perf_payload *p, int fd, const struct stat *st)
{
	char now[PERF_TAIL_BYTES];

	return (uint64_t)st->st_size >= p->offset && p->n_tail <= p->offset &&
	       pread(fd, now, p->n_tail, (off_t)(p->offset - p->n_tail)) == (ssize_t)p->n_tail &&
	       memcmp(now, p->tail, p->n_tail) == 0;
}

/* Answer with the new text of the held file, after its fact. */
static int read_held(struct seat *seat, const struct perf_payload *p, struct answer *answer)
{
	cleanup_close int fd = -1;
	struct error e;
	struct stat st;
	int err = mapping_reopen(p->held, &fd, &e);

	if (!err && fstat(fd, &st) < 0)
		err = -errno;
	if (err)
		return err;

	struct perf_fact fact = perf_fact_of(&st);

	fact.is_anew = !is_perf_file_continued(p, fd, &st);

	const size_t room = seat->n_area - sizeof(fact);
	const ssize_t n = pread(fd, seat->area + sizeof(fact),
				room < PERF_TEXT_BYTES ? room : PERF_TEXT_BYTES,
				fact.is_anew ? 0 : (off_t)p->offset);

	memcpy(seat->area, &fact, sizeof(fact));
	answer->n_bytes = sizeof(fact) + (n > 0 ? (size_t)n : 0);
	return 0;
}

static int give_other(struct seat *seat, int handle, const struct stat *st, struct answer *answer)
{
	struct perf_fact fact = perf_fact_of(st);

	fact.handle = fcntl(handle, F_DUPFD_CLOEXEC, SEAT_OURS);
	if (fact.handle < 0)
		return -errno;
	memcpy(seat->area, &fact, sizeof(fact));
	answer->n_bytes = sizeof(fact);
	return 0;
}

void perf_file_answer(struct seat *seat, const void *payload, size_t n, struct answer *answer)
{
	cleanup_held int handle = -1;
	struct error e = {};
	struct perf_payload p;
	struct stat st = {};

	answer->result = -EINVAL;
	if (n != sizeof(p))
		return;
	memcpy(&p, payload, sizeof(p));
	if (p.n_tail > sizeof(p.tail))
		return;
	answer->result = p.number ? perf_file_find(p.root, p.number, p.user, &handle, &st, &e) : 0;
	(void)snprintf(answer->words, sizeof(answer->words), "%.95s", e.text);
	if (answer->result)
		return;
	if (p.held >= 0 && (!p.number || (st.st_dev == p.dev && st.st_ino == p.inode)))
		answer->result = read_held(seat, &p, answer);
	else if (p.number)
		answer->result = give_other(seat, handle, &st, answer);
	else
		answer->result = -ENOENT;
}
