/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel/modules.h - kernel modules: their places, and since when.
 *
 *	ext4 917504 1 - Live 0xffffffffc0401000
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module_line {
	const char *name; /* @n bytes of the line */
	size_t n;
	uint64_t start, end; /* of its code; since Linux 6.4 @end includes the data */
};

/* Parse a line of /proc/modules. False: it is malformed, or the address is hidden. */
bool module_line_parse(const char *line, struct module_line *ret);

/*
 * The modules and their places as one number. @before is the result for the lines before; 0: this
 * is the first.
 */
uint64_t module_line_hash(uint64_t before, const struct module_line *line);

/* A zeroed one has seen no module. */
struct modules {
	struct module_seen *seen; /* all modules so far, by the time when they were first seen */
	size_t n, capacity;
	uint64_t now; /* the present modules as one number */
};

void modules_fini(struct modules *m);

/* Read @path ("/proc/modules") now. */
void modules_look(struct modules *m, const char *path);

/*
 * Since when (ns of CLOCK_MONOTONIC) do the addresses of module @name belong to it for sure? 0:
 * from the start, as no other module was ever seen there.
 */
uint64_t modules_since(const struct modules *m, const char *name);
