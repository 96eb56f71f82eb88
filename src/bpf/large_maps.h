/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/large_maps.h - make the large maps on two CPUs, before libbpf makes the others. The kernel
 * clears their memory or lays out their buckets, some tenths of a millisecond for each.
 */
#pragma once

#include <stddef.h>

struct bpf_map;

/*
 * Make the @n maps as libbpf would, if they have many entries. If the kernel refuses one, libbpf
 * tries again, and reports the reason. The list may have no map twice.
 */
void large_maps_make(struct bpf_map *const *maps, size_t n);
