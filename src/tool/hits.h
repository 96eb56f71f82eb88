/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/hits.h - what the programs note about their own hits. */
#pragma once

#include "bpf/kernel_tables.h"

struct run;

/*
 * The mean price of a hit in the traced program, in ns, since the last call with *@before, which
 * begins zeroed: the time that our program takes. The kernel's price of the probe itself comes on
 * top. 0: not measured, with fewer than 65 hits on each CPU (16 samples), or in funccount.
 */
double hits_cost_ns(const struct run *r, struct hit_cost *before);

/* Log both, for --debug: the price, and how many hits of our own processes were left out. */
void hits_describe(const struct run *r);
