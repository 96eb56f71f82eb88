/*
 * kernel/modules.h - which kernel modules are where, and since when.
 *
 *	ext4 917504 1 - Live 0xffffffffc0401000
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module_line {
	const char *name; /* of @n bytes, in the line */
	size_t n;
	uint64_t start, end; /* of its code; since Linux 6.4 @end counts its data too */
};

/* A line of /proc/modules. False: not well-formed, or the address is hidden. */
bool module_line_parse(const char *line, struct module_line *ret);

/* One number for which modules are where, from that of the lines before (0: the first). */
uint64_t module_line_hash(uint64_t before, const struct module_line *line);

/* A zeroed one has seen nothing. */
struct modules {
	struct module_seen *seen; /* all that ever were, by when they were seen first */
	size_t n, capacity;
	uint64_t now; /* the present ones as one number */
};

void modules_fini(struct modules *m);

/* Look at @path ("/proc/modules") now. */
void modules_look(struct modules *m, const char *path);

/*
 * Since when (ns of CLOCK_MONOTONIC) what lies where module @name is now is surely its own; 0: from
 * the beginning, as nothing else was ever seen there.
 */
uint64_t modules_since(const struct modules *m, const char *name);
