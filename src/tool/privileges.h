/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/privileges.h - the main process gives up privileges when everything is attached, because it
 * still reads bytes that foreign processes control.
 *
 * If it cannot give something up, --debug prints that.
 */
#pragma once

#include <stdbool.h>

/*
 * Give up the capabilities that counting does not need, in this thread and those that it makes
 * later. A command that is held (tool/command.h) keeps its own.
 */
void privileges_drop(void);

/*
 * In all threads, gain no privilege by execve(2), and deny system calls that counting does not
 * need. Deny execve(2) itself, too, unless @executes. Call it when the command runs.
 */
void privileges_seal(bool executes);
