// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/ahead.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/thread.h"
#include "elf/image.h"
#include "reader/mappings.h"
#include "tables/table_set.h"

#define MOST_AHEAD 1024 /* each is compared with all before: a process may map very many */

struct made {
	struct file_state file;
	struct unwind_table table; /* zeroed: there is none, or it was taken */
};

struct ahead {
	pthread_t thread;
	bool is_running; /* or has ended, and was not waited for */
	bool is_over;
	uint32_t *pids;
	size_t n_pids;
	uint64_t bytes, max_bytes;
	struct made *made;
	size_t n, capacity;
};

bool file_state_is_equal(const struct file_state *a, const struct file_state *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static struct made *find(const struct ahead *a, const struct file_state *file)
{
	for (size_t i = 0; i < a->n; i++)
		if (file_state_is_equal(&a->made[i].file, file))
			return &a->made[i];
	return NULL;
}

/* A zeroed table: none. Of a file that is cut short meanwhile zeros are read (elf/guard.h). */
static struct unwind_table make(int fd, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct unwind_table table = {};
	struct image *im = NULL;
	struct error e;

	if (image_open_fd(fd, slash ? slash + 1 : path, &im, &e))
		return table;
	if (unwind_table_make(im, MAX_TABLE_BYTES, &table, &e) == 0 && image_is_damaged(im))
		unwind_table_fini(&table);
	image_close(im);
	return table;
}

static void make_of(struct ahead *a, uint32_t tid, const struct mapping *m)
{
	cleanup_close int fd = -1;
	struct made made = {};
	struct error e;
	struct stat st;

	if (!m->inode || mapping_open(tid, m, &fd, &e) || fstat(fd, &st) < 0)
		return;
	made.file = (struct file_state){ m->dev, m->inode, (uint64_t)st.st_size, st.st_mtim };
	if (find(a, &made.file))
		return;
	made.table = make(fd, m->path);
	a->bytes += unwind_table_bytes(&made.table);
	array_push(a->made, a->n, a->capacity, made);
}

static bool is_over(const struct ahead *a)
{
	return __atomic_load_n(&a->is_over, __ATOMIC_RELAXED) || a->bytes >= a->max_bytes ||
	       a->n >= MOST_AHEAD;
}

static void *work(void *argument)
{
	struct ahead *a = argument;

	for (size_t i = 0; i < a->n_pids && !is_over(a); i++) {
		cleanup(mapping_list_fini) struct mapping_list list = {};
		struct error e;

		if (mapping_list_read(a->pids[i], &list, &e))
			continue;
		for (size_t k = 0; k < list.n && !is_over(a); k++)
			make_of(a, list.tid, &list.mappings[k]);
	}
	return NULL;
}

static int start_thread(struct ahead *a, struct error *e)
{
	const int err = thread_start(&a->thread, work, a);

	a->is_running = !err;
	return err ? error_set(e, err, "start a thread for unwind tables: %s",
			       error_start_words(err))
		   : 0;
}

int ahead_start(const uint32_t *pids, size_t n, uint64_t max_bytes, struct ahead **ret,
		struct error *e)
{
	struct ahead *a = xcalloc(1, sizeof(*a));
	int err;

	a->pids = xcalloc(n, sizeof(*pids));
	memcpy(a->pids, pids, n * sizeof(*pids));
	a->n_pids = n;
	a->max_bytes = max_bytes;
	err = start_thread(a, e);
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

bool ahead_take(struct ahead *a, const struct file_state *file, struct unwind_table *ret)
{
	struct made *made;

	wait_for_thread(a);
	made = find(a, file);
	if (!made || !made->table.n_pages)
		return false;
	*ret = made->table;
	made->table = (struct unwind_table){};
	return true;
}

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	__atomic_store_n(&a->is_over, true, __ATOMIC_RELAXED);
	if (a->is_running && !thread_join_soon(a->thread))
		return; /* it has its memory as long as we live */
	for (size_t i = 0; i < a->n; i++)
		unwind_table_fini(&a->made[i].table);
	free(a->made);
	free(a->pids);
	free(a);
}
