/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/program_wait.h - wait until the programs that run now have ended. */
#pragma once

#include "base/error.h"

/*
 * @map: any array. *@outer is -1 at first, and then perhaps the descriptor of a map, which is the
 * caller's. Errors: the kernel's.
 */
must_check int program_wait(int map, int *outer, struct error *e);
