/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/sideband_cpu.h - the perf events that follow the tasks of one CPU, and their ring. */
#pragma once

#include "processes/sideband_ring.h"

struct sideband_cpu {
	uint32_t cpu;
	int fd, build_id_fd, birth_fd; /* the three perf events; -1: none */
	size_t n_bytes;                /* of the mapped ring, with its first page */
	uint64_t enabled_ns;           /* at the last check */
	bool has_gone; /* the CPU has gone offline, and the kernel has ended the events */
	struct sideband_ring ring;
};

/*
 * options->ring_bytes must not be 0.
 * Errors: as sideband_open(); -ENODEV the CPU is offline; -EINVAL there is no such CPU.
 */
must_check int sideband_cpu_open(uint32_t cpu, const struct sideband_options *options,
				 struct sideband_cpu **ret, struct error *e);
void sideband_cpu_free(struct sideband_cpu *c);
void sideband_cpu_freep(struct sideband_cpu **c);
