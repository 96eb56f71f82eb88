/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attach/distant.h - put probes into files that others may hold up. The kernel looks up their paths
 * and may read them, as we do. So another process attaches the probes, and hands them over.
 */
#pragma once

#include "attach/backend.h"

typedef void attach_by(struct attaching *at, const struct selection *chosen);

/*
 * Have @attach attach the @chosen targets, which all are places in files. Each distant file has a
 * process of its own; all others are attached here.
 * Errors: -ETIMEDOUT a file system does not answer; -EPIPE the process was killed; else the process
 *         could not be made.
 */
must_check int distant_attach(struct attaching *at, attach_by *attach,
			      const struct selection *chosen, struct error *e);
