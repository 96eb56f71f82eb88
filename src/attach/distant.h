/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attach/distant.h - probes in files that others may hold up: the kernel looks their path up, and
 * may read them, as we do. So another process puts the probes there, and hands them over.
 */
#pragma once

#include "attach/backend.h"

typedef void attach_by(struct attaching *at, const struct selection *chosen);

/*
 * Have @attach do the @chosen, which are all places in files, for each distant file in a process of
 * its own, and here for the others.
 * Errors: -ETIMEDOUT a file system does not answer; -EPIPE the process was killed; no process.
 */
must_check int distant_attach(struct attaching *at, attach_by *attach,
			      const struct selection *chosen, struct error *e);
