/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/regions.h - lists of the regions of a space, which hold their images. */
#pragma once

#include "processes/space.h"

struct regions {
	struct region *list;
	size_t n, capacity;
};

void regions_fini(struct spaces *all, struct regions *r);

/* Replace the @n_gone regions at @at by the @n of @list. */
void regions_splice(struct spaces *all, struct regions *r, size_t at, size_t n_gone,
		    const struct region *list, size_t n);

/* Forget the regions whose begin is not known. */
void regions_forget_first(struct spaces *all, struct regions *r);
