// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/thread.h"

#define MOST_AHEAD 1024 /* each is compared with all before it */

struct made {
	struct file_state file;
	struct remote_table table; /* zeroed: there is none, or it was taken */
};

struct ahead {
	pthread_t thread;
	bool is_running; /* or has ended, and was not joined */
	bool is_over;
	struct remote *remote;
	uint32_t *pids;
	size_t n_pids;
	uint64_t bytes, max_bytes;
	struct made *made;
	size_t n, capacity;
};

static struct made *find_made_ahead(const struct ahead *a, const struct file_state *file)
{
	for (size_t i = 0; i < a->n; i++)
		if (file_state_is_equal(&a->made[i].file, file))
			return &a->made[i];
	return NULL;
}

static void make_tables_ahead(struct ahead *a, uint32_t tid, const struct mapping *m,
			      const struct file_state *file)
{
	struct made made = { .file = *file };
	struct error e;

	if (!file->fact.is_there || find_made_ahead(a, file))
		return;
	if (remote_table_make(a->remote, tid, m, file, &made.table, &e))
		remote_table_fini(&made.table);
	a->bytes += remote_table_bytes(&made.table);
	array_push(a->made, a->n, a->capacity, made);
}

static bool is_ahead_over(const struct ahead *a)
{
	return __atomic_load_n(&a->is_over, __ATOMIC_RELAXED) || a->bytes >= a->max_bytes ||
	       a->n >= MOST_AHEAD;
}

static void *run_ahead(void *argument)
{
	struct ahead *a = argument;

	for (size_t i = 0; i < a->n_pids && !is_ahead_over(a); i++) {
		cleanup(remote_list_fini) struct remote_list list = {};
		struct error e;

		if (remote_list(remote_files_of(a->remote), a->pids[i], &list, &e))
			continue;
		remote_identify(remote_files_of(a->remote), &list);
		for (size_t k = 0; k < list.list.n && !is_ahead_over(a); k++)
			make_tables_ahead(a, list.list.tid, &list.list.mappings[k],
					  &list.states[k]);
	}
	return NULL;
}

static int start_ahead_thread(struct ahead *a, struct error *e)
{
	const int err = thread_start(&a->thread, run_ahead, a);

	a->is_running = !err;
	return err ? error_set(e, err, "start a thread for unwind tables: %s",
			       error_start_words(err))
		   : 0;
}

int ahead_start(struct remote *remote, const uint32_t *pids, size_t n, uint64_t max_bytes,
		struct ahead **ret, struct error *e)
{
	struct ahead *a = xcalloc(1, sizeof(*a));
	int err;

	a->remote = remote;
	a->pids = xcalloc(n, sizeof(*pids));
	memcpy(a->pids, pids, n * sizeof(*pids));
	a->n_pids = n;
	a->max_bytes = max_bytes;
	err = start_ahead_thread(a, e);
	if (err)
		ahead_free(a);
	else
		*ret = a;
	return err;
}

static void wait_for_thread(struct ahead *a)
{
	if (a->is_running)
		(void)pthread_join(a->thread, NULL);
	a->is_running = false;
}

bool ahead_take(struct ahead *a, const struct file_state *file, struct remote_table *ret)
{
	struct made *made;

	wait_for_thread(a);
	made = find_made_ahead(a, file);
	if (!made || !made->table.view.n_pages)
		return false;
	*ret = made->table;
	made->table = (struct remote_table){};
	return true;
}

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	__atomic_store_n(&a->is_over, true, __ATOMIC_RELAXED);
	if (a->is_running && !thread_join_soon(a->thread))
		return; /* the thread still uses @a */
	for (size_t i = 0; i < a->n; i++)
		remote_table_fini(&a->made[i].table);
	free(a->made);
	free(a->pids);
	free(a);
}
