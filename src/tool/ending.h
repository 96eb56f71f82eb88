/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/ending.h - from the signal that ends a run, or its last hit, to its last report.
 *
 * After a signal, the user waits. So each part of the work has a bound then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "helper/client.h"

struct run;

struct ending {
	uint64_t signal_at;            /* ns: when a signal ended the run; 0: none has */
	uint64_t cpu_at_signal;        /* ns: CPU time of the main thread then */
	uint64_t looked_at;            /* ns: the last look for a signal, while there is work */
	uint64_t waited_for_others_ns; /* after the end, for helpers (ending_is_enough()) */
	uint64_t n_records;            /* of processes, that the run has read */
	bool has_no_warden;            /* helpers_have_no_warden() */
	bool is_too_late;              /* for records and notices */
	bool is_all_read; /* hits have ended, and so has the reading of records and notices */
};

/* The is_enough() of struct client_manner. @run is a struct run. */
bool ending_is_enough(void *run, const struct client_wait *wait);

/* Call it after each record of a process. False: leave the others to ending_settle(). */
bool ending_has_time(struct run *r);

/* Has a signal come, or is the time up? What only later hits need can be left out then. */
bool ending_is_near(void *run);

/* The run is over: stop counting, and do all work that is left before the last report. */
must_check int ending_settle(struct run *r, struct error *e);

/* For --debug: the time from the signal to the last report. */
void ending_describe(const struct run *r);
