/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/table_maps.h - the maps that hold mappings and unwind tables (bpf/tables.h): slabs of memory,
 * mapped here, and two hash maps. bpf/object.h has the contract of each function.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/tables.h"

/* The caller sets the maps, which are lent, and has_files. All else begins with zeros. */
struct table_maps {
	struct bpf_map *slab0, *slabs, *spaces, *files;
	bool has_files;
	void *at[MOST_SLABS];
	uint32_t n_slabs;
};

/* To be called before loading, when the maps have their sizes. */
void table_maps_give_inner(struct table_maps *t);

/* Map the first slab. To be called after loading. */
must_check int table_maps_open(struct table_maps *t, struct error *e);
void table_maps_fini(struct table_maps *t);

must_check int table_maps_add_slab(struct table_maps *t, struct error *e);
size_t table_maps_spaces(const struct table_maps *t, uint32_t *tgids, struct unwind_space *to,
			 size_t most);
must_check int table_maps_set_space(const struct table_maps *t, uint32_t tgid,
				    const struct unwind_space *space, struct error *e);
bool table_maps_replace_space(const struct table_maps *t, uint32_t tgid,
			      const struct unwind_space *space);
must_check int table_maps_set_file(const struct table_maps *t, const struct unwind_file_key *key,
				   const struct unwind_file *file, struct error *e);
