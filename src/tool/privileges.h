/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/privileges.h - the main process gives up privileges when everything is attached, because it
 * still reads bytes that foreign processes control.
 *
 * If it cannot give something up, --debug prints that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Give up the capabilities that counting does not need, in this thread and those that it makes
 * later. A command that is held (tool/command.h) keeps its own. With @writes_files, those for the
 * user's files stay permitted, but have no effect except between the next two functions.
 */
void privileges_drop(bool writes_files);

/*
 * Let the capabilities for the user's files (of -o) have effect, in this thread. Returns a number
 * for privileges_take_back(), which restores the former state.
 */
uint64_t privileges_lend_files(void);
void privileges_take_back(const uint64_t *before);

/*
 * Tracing is over: give up all capabilities, but those of privileges_lend_files() if it
 * @writes_files.
 */
void privileges_end(bool writes_files);

/*
 * Give up everything for good: real and effective user, and all capabilities. Call it before
 * foreign files are read by a run that needs no privilege. A set-user-ID program becomes its user.
 * Errors: the kernel refuses it.
 */
must_check int privileges_leave(struct error *e);

/*
 * In all threads, gain no privilege by execve(2), and deny system calls that counting does not
 * need. Deny execve(2) itself, too, unless @executes. Call it when the command runs.
 */
void privileges_seal(bool executes);
