/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/warm.h - take the kernel's wait for the first uprobe while we do other things. */
#pragma once

#include <stdint.h>

/*
 * The first uprobe in a while makes the kernel wait for RCU, 10 ms; later ones do not wait. So a
 * thread puts one into a file that nobody runs. @pmu is perf's type of uprobes. Failures are
 * silent.
 */
void warm_uprobes(uint32_t pmu);

/* All probes are in place: remove this one. */
void warm_end(void);
