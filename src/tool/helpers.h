/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/helpers.h - the processes that open and read files of others for a run (helper/warden.h).
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "bpf/abi.h"
#include "helper/client.h"
#include "helper/warden.h"
#include "tables/remote.h"

struct helpers {
	struct warden warden;
	struct client *client; /* NULL: there are none */
	struct remote *remote;
	struct own_processes own;
	struct trace_state *state; /* where the programs look; NULL: nowhere yet */
};

#define HELPERS_NONE                   \
	(struct helpers)               \
	{                              \
		.warden = WARDEN_NONE, \
	}

/*
 * Start the warden, before anything else is opened and while there is one thread. @h stays where it
 * is. Errors: no process can be made.
 */
must_check int helpers_start(struct helpers *h, struct error *e);

/* Let those that have been made meanwhile begin: they start while programs are loaded. */
void helpers_prepare(struct helpers *h);

/* From now on the programs leave out hits of helpers: all that there are, and those to come. */
void helpers_leave_out(struct helpers *h, struct trace_state *state);

/* Nobody waits for a helper any more, and @state is not written to. */
void helpers_end(struct helpers *h);

/* When no thread asks any more. */
void helpers_fini(struct helpers *h);
