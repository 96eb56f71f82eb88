/* attach/batch.h - many places by one link, whatever single ones the kernel refuses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/backend.h"
#include "attach/link.h"

/* Lent by the caller, for one call. The arrays run in parallel; some may be NULL. */
struct batch {
	struct attaching *at;
	const uint32_t *targets;
	const uint64_t *places; /* addresses or offsets */
	const uint64_t *semaphores;
	const uint64_t *cookies;
	const char *const *symbols;
	const char *path;
	uint32_t pid;
	int prog_fd;
	enum object_program program; /* for those that have no prog_fd */
	/* Attach places [first, first + n) as one; 0 or the kernel's refusal. */
	int (*link)(const struct batch *b, size_t first, size_t n);
};

/* Places [first, first + n), for link(). */
struct link_places batch_range(const struct batch *b, size_t first, size_t n);

/* Attach places [0, n) by as few links as it takes; each target ends as placed or refused. */
void batch_attach(const struct batch *b, size_t n);

/* Attach them by one link; false, and no target has an outcome, if the kernel refuses. */
bool batch_attach_whole(const struct batch *b, size_t n);
