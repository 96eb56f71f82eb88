// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/devices.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"

/* One that could be ended was only slow, perhaps: its device is tried once more. */
struct silent {
	uint64_t dev;
	bool is_dead;
};

struct devices {
	pthread_mutex_t mutex;
	struct silent *silent;
	size_t n, capacity;
};

struct devices *devices_new(void)
{
	struct devices *d = xcalloc(1, sizeof(*d));

	(void)pthread_mutex_init(&d->mutex, NULL);
	return d;
}

void devices_free(struct devices *d)
{
	if (!d)
		return;
	(void)pthread_mutex_destroy(&d->mutex);
	free(d->silent);
	free(d);
}

static struct silent *find(const struct devices *d, uint64_t dev)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->silent[i].dev == dev)
			return &d->silent[i];
	return NULL;
}

bool devices_is_dead(struct devices *d, uint64_t dev)
{
	(void)pthread_mutex_lock(&d->mutex);

	const struct silent *known = find(d, dev);
	const bool is_dead = known && known->is_dead;

	(void)pthread_mutex_unlock(&d->mutex);
	return is_dead;
}

void devices_note_answer(struct devices *d, uint64_t dev)
{
	(void)pthread_mutex_lock(&d->mutex);

	struct silent *known = find(d, dev);

	if (known)
		*known = d->silent[--d->n];
	(void)pthread_mutex_unlock(&d->mutex);
}

/* True: it is dead from now on. */
static bool note_silence(struct devices *d, uint64_t dev, bool is_in_call)
{
	struct silent *known = find(d, dev);

	if (!known) {
		array_push(d->silent, d->n, d->capacity, ((struct silent){ dev, is_in_call }));
		return is_in_call;
	}

	const bool was_dead = known->is_dead;

	known->is_dead = true;
	return !was_dead;
}

void devices_note_silence(struct devices *d, uint64_t dev, bool is_in_call)
{
	(void)pthread_mutex_lock(&d->mutex);

	const bool is_new = note_silence(d, dev, is_in_call);

	(void)pthread_mutex_unlock(&d->mutex);
	if (is_new)
		log_warn("a file system does not answer (device %u:%u): nothing more of it is "
			 "opened, and user stacks in its files are cut or have no names",
			 major(dev), minor(dev));
}
