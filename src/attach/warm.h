/* attach/warm.h - have the kernel wait for what a uprobe waits for, while we do other things. */
#pragma once

#include <stdint.h>

/*
 * The first uprobe in a while makes the kernel wait for RCU, 10 ms; those behind it do not. So one
 * is put, in a thread, where nobody comes by. @pmu: perf's type of uprobes. Fails in silence.
 */
void warm_uprobes(uint32_t pmu);

/* All probes are there: it is taken away again. */
void warm_end(void);
