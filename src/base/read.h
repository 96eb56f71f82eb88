/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/read.h - read small files of /proc, /sys and tracefs, and numbers in them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Read at most @size - 1 bytes of a small file into @to, NUL-terminated, without a
 * trailing newline. Returns the length, or -1 with errno set.
 */
ssize_t read_small(int dir_fd, const char *path, char *to, size_t size);

/* The state of process @pid in /proc/PID/stat: 'R', 'D', 'T'. 0: it has gone. */
int process_state(pid_t pid);

/*
 * How long a perf event has been enabled, with PERF_FORMAT_TOTAL_TIME_ENABLED in its read_format.
 * 0: it cannot be read. The time stops for ever when the event's CPU goes offline, as all but one
 * do when the machine is suspended: the kernel does not restore the event.
 */
uint64_t read_enabled_ns(int event_fd);

/* Read a number of 1 to @most digits at *@at, and move *@at past it. False: none is there. */
static inline bool take_digits(const char **at, unsigned base, int most, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;

	for (;; p++) {
		unsigned digit = (unsigned char)*p - '0';

		if (digit > 9) {
			digit = ((unsigned char)*p | 0x20) - 'a';
			digit = digit > 5 ? base : digit + 10;
		}
		if (digit >= base)
			break;
		value = value * base + digit;
	}
	if (p == *at || p - *at > most)
		return false;
	*at = p;
	*ret = value;
	return true;
}

static inline bool take_hex(const char **at, uint64_t *ret)
{
	return take_digits(at, 16, 16, ret);
}

static inline bool take_decimal(const char **at, uint64_t *ret)
{
	return take_digits(at, 10, 18, ret);
}
