/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/strtab.h - strings, kept once each at an address that stays while the table lives. */
#pragma once

#include <stddef.h>

struct strtab;

struct strtab *strtab_new(void);
void strtab_free(struct strtab *t);

/* The table's copy of @text, or of its first @n bytes. Equal texts give equal pointers. Lent by
 * @t. */
const char *strtab_add(struct strtab *t, const char *text);
const char *strtab_add_or_null(struct strtab *t, const char *text); /* NULL for NULL */
const char *strtab_add_n(struct strtab *t, const char *text, size_t n);

/* Bytes of memory that the table holds, for budgets. */
size_t strtab_bytes(const struct strtab *t);
