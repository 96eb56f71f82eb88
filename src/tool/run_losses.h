/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/run_losses.h - the accounts of a run: its losses, and the perf events that it samples. */
#pragma once

#include "tool/run.h"

/* Stop perf events, before counting ends: so each of their counts is a sample, or one left out. */
void samples_end(struct run *r);

/* Warn of samples that nobody could count, and log the hits that are no losses. */
void samples_describe(const struct run *r);
