/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/batch.h - attach many places by one link, except those that the kernel refuses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/backend.h"
#include "attach/link.h"

/* A batch for one call; the caller lends all. The arrays run in parallel, and some may be NULL. */
struct batch {
	struct attaching *at;
	const uint32_t *targets;
	const uint64_t *places; /* addresses or offsets */
	const uint64_t *semaphores;
	const uint64_t *cookies;
	const char *const *symbols;
	const char *path;
	uint32_t pid;
	enum object_program program;
	/* Attach places [first, first + n) as one. Returns 0 or the kernel's refusal. */
	int (*link)(const struct batch *b, size_t first, size_t n);
};

/* The places [first, first + n), for link(). */
struct link_places batch_range(const struct batch *b, size_t first, size_t n);

/* Attach places [0, n) by as few links as possible. Notes each target as placed or refused. */
void batch_attach(const struct batch *b, size_t n);

/* Attach them by one link. False: the kernel refuses, and no target has an outcome. */
bool batch_attach_whole(const struct batch *b, size_t n);
