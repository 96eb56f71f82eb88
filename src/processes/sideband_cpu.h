/* processes/sideband_cpu.h - the perf events and the ring that follow what one CPU's tasks do. */
#pragma once

#include "processes/sideband_ring.h"

struct sideband_cpu {
	uint32_t cpu;
	int fd, build_id_fd, birth_fd; /* -1: none */
	void *memory;
	size_t n_bytes;
	bool has_gone; /* the owner's: offline */
	struct sideband_ring ring;
};

/*
 * Nothing is left to its default in @options.
 * Errors: as sideband_open(); -ENODEV the CPU is offline, -EINVAL the kernel knows of none.
 */
must_check int sideband_cpu_open(uint32_t cpu, const struct sideband_options *options,
				 struct sideband_cpu **ret, struct error *e);
void sideband_cpu_free(struct sideband_cpu *c);
void sideband_cpu_freep(struct sideband_cpu **c);
