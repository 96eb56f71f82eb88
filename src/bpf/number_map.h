/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/number_map.h - maps that are sets of numbers: 'tgids' and 'tasks'. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bpf_map;

/* Add @n @numbers, which are of a @what, such as "process". Errors: the kernel's. */
must_check int number_map_add(const struct bpf_map *map, const uint32_t *numbers, size_t n,
			      const char *what, struct error *e);
