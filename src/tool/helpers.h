/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/helpers.h - the processes that open and read files of others for a run (helper/warden.h).
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
	struct client *clients[READER_LANES]; /* NULL: there are none. Each waits by itself */
	struct remote_files *files[READER_LANES];
	struct remote *remote; /* NULL: there are none */
	struct devices *devices;
	bool prepares_tables;  /* until another thread asks those that make them */
	pthread_mutex_t mutex; /* of these: */
	struct own_processes own;
	struct trace_state *state; /* where the programs look; NULL: nowhere yet */
};

#define HELPERS_NONE                                                       \
	(struct helpers)                                                   \
	{                                                                  \
		.warden = WARDEN_NONE, .mutex = PTHREAD_MUTEX_INITIALIZER, \
	}

/* Before anything else: without helpers all questions to @files fail. */
void helpers_init(struct helpers *h);

/*
 * Start the warden, before anything else is opened and while there is one thread. @h stays where it
 * is. Those that make tables are begun only if any are to be made. Errors: no process can be made.
 */
must_check int helpers_start(struct helpers *h, bool makes_tables, struct error *e);

/* Let those that have been made meanwhile begin: they start while programs are loaded. */
void helpers_prepare(struct helpers *h);

/* Another thread asks those that make tables from now on: helpers_prepare() would wait for it. */
void helpers_hand_tables_over(struct helpers *h);

/* While a name is waited for. */
void helpers_wait_for_names(struct helpers *h, const struct client_manner *manner);

/* A signal has come, and the user waits for the report. Also while a name is waited for. */
void helpers_hurry(struct helpers *h);

/* From now on the programs leave out hits of helpers: all that there are, and those to come. */
void helpers_leave_out(struct helpers *h, struct trace_state *state);

/* Nobody waits for a helper any more, and @state is not written to. */
void helpers_end(struct helpers *h);

/* When no thread asks any more. */
void helpers_fini(struct helpers *h);
