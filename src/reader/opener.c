// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An opener reads lists of /proc, finds mapped files, and sends open ones to a parser.
 * opener_files.c has the part that works with handles. Each of these calls may hang. Then another
 * opener takes over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "reader/mappings.h"
#include "reader/opener.h"
#include "reader/perf_file.h"
#include "reader/roles.h"

#define MOST_LIST_BYTES (24UL << 20) /* the opener may have 64 MiB of data (helper/sandbox.c) */

static void answer_list(struct seat *seat, uint32_t pid, struct answer *answer)
{
	cleanup(mapping_list_fini) struct mapping_list list = { .most_bytes = MOST_LIST_BYTES };
	cleanup_free void *block = NULL;
	struct error e;
	size_t n;

	answer->result = mapping_list_read(pid, &list, &e);
	if (answer->result) {
		(void)snprintf(answer->words, sizeof(answer->words), "%.95s", e.text);
		return;
	}
	block = block_make(list.mappings, list.n, list.tid, seat->n_area, &n);
	memcpy(seat->area, block, n);
	answer->n_bytes = n;
}

/* File systems whose contents come from a process or from another machine. */
static bool is_of_others(int handle)
{
	static const unsigned magics[] = {
		0x65735546, /* FUSE */
		0x794C7630, /* overlayfs, which may lie on any of these */
		0x00006969, /* NFS */
		0xFF534D42, /* CIFS */
		0xFE534D42, /* SMB2 */
		0x01021997, /* 9P */
		0x5346414F, /* AFS */
		0x00C36400, /* Ceph */
	};
	struct statfs fs;

	if (fstatfs(handle, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if ((unsigned)fs.f_type == magics[i])
			return true;
	return false;
}

struct file_fact opener_fact_of(int handle, const struct stat *st)
{
	const bool is_roots = st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH));

	return (struct file_fact){ .dev = st->st_dev,
				   .inode = st->st_ino,
				   .size = (uint64_t)st->st_size,
				   .changed = (uint64_t)st->st_mtim.tv_sec,
				   .changed_ns = (uint32_t)st->st_mtim.tv_nsec,
				   .owner = st->st_uid,
				   .is_there = 1,
				   .is_roots = is_roots && !is_of_others(handle) };
}

static struct file_fact find_mapped(const struct ask *ask, uint32_t pid, const struct mapping *m,
				    int *ret_handle, int *ret_err)
{
	struct error e;
	struct stat st;

	const struct finding at = { (uint32_t)ask->flags, pid, -1 };

	*ret_err = at.where == FIND_BELOW ? -EINVAL : finding_find(&at, m, ret_handle, &st, &e);
	return *ret_err ? (struct file_fact){} : opener_fact_of(*ret_handle, &st);
}

static bool is_of_one_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->dev == b->dev && a->is_deleted == b->is_deleted &&
	       strcmp(a->path, b->path) == 0;
}

static void answer_states(struct seat *seat, const struct ask *ask, const struct mapping_list *list,
			  struct answer *answer)
{
	const size_t most = seat->n_area / sizeof(struct file_fact);
	const size_t n = list->n < most ? list->n : most;
	struct file_fact fact = {};
	int err;

	for (size_t i = 0; i < n; i++) {
		const struct mapping *m = &list->mappings[i];
		cleanup_held int handle = -1;

		if (i == 0 || !fact.is_there || !is_of_one_file(m, m - 1))
			fact = find_mapped(ask, list->tid, m, &handle, &err);
		if (err == -EMFILE || err == -ENFILE)
			answer->result = err;
		memcpy(seat->area + i * sizeof(fact), &fact, sizeof(fact));
	}
	answer->n_bytes = n * sizeof(fact);
}

static int pass_mapped_file(const struct ask *ask, const struct mapping_list *list,
			    const struct file_payload *what)
{
	const struct passed_file file = { .number = what->number, .to = what->to };
	cleanup_held int handle = -1;
	cleanup_close int fd = -1;
	struct error e;
	int err;

	if (list->n != 1)
		return -EINVAL;

	const struct file_fact fact =
		find_mapped(ask, list->tid, &list->mappings[0], &handle, &err);

	if (!err && memcmp(&fact, &what->expected, sizeof(fact)) != 0)
		err = -ESTALE;
	if (!err)
		err = mapping_reopen(handle, &fd, &e);
	return err ? err : seat_pass((int)what->files, file, fd);
}

static void answer_file(const struct ask *ask, const char *payload, struct answer *answer)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	struct file_payload what;

	answer->result = -EINVAL;
	if (ask->n_bytes < sizeof(what))
		return;
	memcpy(&what, payload, sizeof(what));
	if (block_read(payload + sizeof(what), ask->n_bytes - sizeof(what), true, &list))
		answer->result = pass_mapped_file(ask, &list, &what);
}

static bool answer_of_handles(struct seat *seat, const struct ask *ask, const void *payload,
			      struct answer *answer)
{
	switch (ask->what) {
	case ASK_OPEN:
		opener_answer_open(seat, ask, payload, answer);
		return true;
	case ASK_ROOT:
		opener_answer_root(seat, ask, answer);
		return true;
	case ASK_OPEN_DEBUG:
		opener_answer_debug(seat, ask, payload, answer);
		return true;
	case ASK_FACTS:
		opener_answer_facts(seat, ask, payload, answer);
		return true;
	case ASK_SEND:
		opener_answer_send(ask, payload, answer);
		return true;
	case ASK_CLOSE:
		opener_answer_close(ask, payload);
		return true;
	case ASK_PERF_MAP:
		perf_file_answer(seat, payload, ask->n_bytes, answer);
		return true;
	default:
		return false;
	}
}

void opener_answer(void *state, struct seat *seat, const struct ask *ask, const void *payload,
		   struct answer *answer)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};

	(void)state;
	if (answer_of_handles(seat, ask, payload, answer))
		return;
	if (ask->what == ASK_LIST)
		answer_list(seat, ask->pid, answer);
	else if (ask->what == ASK_STATES && block_read(payload, ask->n_bytes, true, &list))
		answer_states(seat, ask, &list, answer);
	else if (ask->what == ASK_FILE)
		answer_file(ask, payload, answer);
	else
		answer->result = -EINVAL;
}
