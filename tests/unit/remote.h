/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* remote.h - real helpers, made when they are first asked for. They end with the test. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "helper/warden.h"
#include "reader/remote_files.h"
#include "reader/roles.h"

static inline struct remote_files *helpers_files(void)
{
	static struct role roles[READER_ROLES];
	static struct remote_files *files;
	static struct warden warden;
	struct error e;

	if (files)
		return files;
	memcpy(roles, reader_roles, sizeof(roles));
	for (size_t i = 0; i < READER_ROLES; i++)
		roles[i].wall_ns = 120 * NS_PER_S; /* the machine may be busy */
	if (warden_start(roles, READER_ROLES, &warden, &e))
		abort();
	files = remote_files_new(
		client_new(lane_new(warden_take_control(&warden, 0), roles, READER_ROLES)),
		devices_new(DEVICES_PAUSE_NS), "names are missing");
	return files;
}
