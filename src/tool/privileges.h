/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/privileges.h - what the main process gives up when everything is attached: it still reads
 * what foreign processes and files say.
 *
 * What cannot be given up is told with --debug.
 */
#pragma once

#include <stdbool.h>

/*
 * Give up capabilities, in this thread and those that it makes from now on. A command that is held
 * (tool/command.h) keeps its own.
 */
void privileges_drop(void);

/*
 * Gain none by execve(2), and make no call that counting does not need, in all threads; and no
 * execve(2) itself unless @executes. The command has to run by now.
 */
void privileges_seal(bool executes);
