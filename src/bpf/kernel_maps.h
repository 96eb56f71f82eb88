/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/kernel_maps.h - give the programs the images by which they walk kernel stacks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/kernel_tables.h"

struct bpf_map;

/* Lent by the object (object_kernel_maps()). */
struct kernel_maps {
	struct kernel_walks *walks;
	const struct bpf_map *images, *scratch, *memory; /* memory: contains @walks */
	uint32_t walks_at;                               /* byte offset of @walks in it */
};

/* Write an image to @to. */
typedef void kernel_image_fill(void *context, void *to);

/*
 * Give the programs image @number, of @bytes. They do not use it before @walks says so. This waits
 * for RCU, some milliseconds. Errors: the kernel's.
 */
must_check int kernel_maps_add(const struct kernel_maps *m, enum kernel_image_number number,
			       size_t bytes, kernel_image_fill *fill, void *context,
			       struct error *e);

/*
 * Have a program count in walks->generation when modules go. Returns a descriptor, the caller's,
 * which ends that when it is closed; -1: the kernel has no modules, or refuses it.
 */
int kernel_maps_watch_modules(const struct kernel_maps *m);

/* The counts of all slots and CPUs together. False: they cannot be read. */
bool kernel_maps_counts(const struct kernel_maps *m, uint32_t n_cpus, struct slot_counts *ret);
