/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/helpers.h - the helper processes of a run, which open and read foreign files
 * (helper/warden.h).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "bpf/abi.h"
#include "helper/client.h"
#include "helper/warden.h"
#include "reader/remote_files.h"
#include "tables/remote.h"

struct helpers {
	struct warden warden;
	struct client *clients[READER_LANES]; /* by lane; NULL: no helpers */
	struct remote_files *files[READER_LANES];
	struct remote *remote; /* NULL: there are none */
	struct devices *devices;
	bool makes_tables;     /* the helpers of the lane FOR_TABLES start, too */
	pthread_mutex_t mutex; /* guards the next two */
	struct own_processes own;
	struct trace_state *state; /* has the copy that BPF programs read; NULL: none */
};

#define HELPERS_NONE                                                       \
	(struct helpers)                                                   \
	{                                                                  \
		.warden = WARDEN_NONE, .mutex = PTHREAD_MUTEX_INITIALIZER, \
	}

/* Call it first. Until helpers_start(), all questions to @files fail. */
void helpers_init(struct helpers *h);

/*
 * Start the warden and the first helpers. Call it before the run opens anything, and while it has
 * one thread. @h is kept and must not move. @makes_tables: helpers that make unwind tables start,
 * too. Errors: no process can be made; out of descriptors.
 */
must_check int helpers_start(struct helpers *h, bool makes_tables, struct error *e);

/*
 * Make the helpers that the run will need, and let those begin that are made. They start while
 * programs are loaded. Does not wait.
 */
void helpers_prepare(struct helpers *h);

/*
 * Set what the main thread does while it waits for names, and what ends its waits for helpers.
 * Following processes keeps its own patience, and serves nothing.
 */
void helpers_set_manner(struct helpers *h, const struct client_manner *manner);

/*
 * The user waits for the last report: have helpers cut short what may take long. May be called
 * while the main thread waits for names.
 */
void helpers_hurry(struct helpers *h);

/* Has somebody stopped the warden by a signal (SIGSTOP)? Then nobody makes or ends helpers. */
bool helpers_have_no_warden(const struct helpers *h);

/*
 * From now on, BPF programs leave out the hits of all helpers. @state is kept until helpers_end();
 * NULL: there are no programs any more.
 */
void helpers_leave_out(struct helpers *h, struct trace_state *state);

/* No more hits come: end all waiting for helpers that make unwind tables. */
void helpers_end_tables(struct helpers *h);

/* End all waiting for helpers. Nothing writes to the state of helpers_leave_out() any more. */
void helpers_end(struct helpers *h);

/* Free everything. No thread may use helpers any more. */
void helpers_fini(struct helpers *h);
