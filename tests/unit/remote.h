/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* remote.h - real helpers, made when they are first asked for. They end with the test. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "helper/warden.h"
#include "reader/remote_files.h"
#include "reader/roles.h"

static inline struct client *helpers_client(void)
{
	static struct role roles[READER_ROLES];
	static struct client *client;
	static struct warden warden;

	if (client)
		return client;
	memcpy(roles, reader_roles, sizeof(roles));
	for (size_t i = 0; i < READER_ROLES; i++)
		roles[i].wall_ns = 120 * NS_PER_S; /* the machine may be busy */
	if (warden_start(roles, READER_ROLES, &warden, NULL))
		abort();
	client = client_new(lane_new(warden_take_control(&warden, 0), roles, READER_ROLES));
	return client;
}

static inline struct remote_files *helpers_files(void)
{
	static struct remote_files *files;

	if (!files)
		files = remote_files_new(helpers_client(), devices_new(DEVICES_PAUSE_NS),
					 "names are missing");
	return files;
}
