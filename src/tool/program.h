/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/program.h - is a command's program there? So that one that is not there attaches nothing. */
#pragma once

#include "base/error.h"

/*
 * Look for @name as execvp(3) will. @shown is what messages call it. Another process does it,
 * because $PATH may lead into a file system that does not answer: a signal ends the wait.
 * Errors: as execvp(3) has them; -ETIMEDOUT a file system does not answer; others.
 */
must_check int program_check(const char *name, const char *shown, struct error *e);
