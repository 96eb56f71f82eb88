/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel/perf_events.h - perf's events by number. Each source of events (PMU) has a folder in
 * sysfs, with its type, the places of its terms, and names for some events:
 *
 *	cpu/type               4
 *	cpu/format/event       config:0-7
 *	cpu/format/umask       config:8-15
 *	cpu/events/cache-misses    event=0x2e,umask=0x41
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define EVENT_SOURCES "/sys/bus/event_source/devices"

/* The members of struct perf_event_attr that choose an event. */
struct perf_code {
	uint32_t type;
	uint64_t config, config1, config2;
};

/*
 * The event of source @pmu that @terms name: "event=0x3c,umask=1", or a name such as
 * "cache-misses", in any order. @sources is EVENT_SOURCES, or the same in another folder.
 * Errors: -ENOENT no such source (then *@ret is zero) or term; -EINVAL no number, or one that does
 * not fit.
 */
must_check int perf_code_parse(const char *sources, const char *pmu, const char *terms,
			       struct perf_code *ret, struct error *e);

/* Can this machine sample the event on a CPU, and may this user? */
bool perf_code_works(const struct perf_code *code);
