/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* usdt_gated.h - sys/sdt.h gives all probes of a file semaphores, or none. */
#pragma once

#include <stdint.h>

void fire_gated(uint64_t i);
unsigned gated_semaphore(void);
