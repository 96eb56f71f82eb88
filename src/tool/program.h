/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/program.h - check that a command's program exists, before anything is attached for it. */
#pragma once

#include "base/error.h"

/*
 * Look for @name as execvp(3) will. Messages call it @shown. Another process does this, because
 * $PATH may lead into a file system that does not answer. Meanwhile a signal ends the program.
 * Errors: those of execvp(3); -ETIMEDOUT a file system does not answer; no process can be made.
 */
must_check int program_check(const char *name, const char *shown, struct error *e);
