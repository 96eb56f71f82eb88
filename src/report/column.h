/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/column.h - numbers in columns, aligned to the right. printf() takes most of the time of a
 * tree with many nodes. Each returns the number of bytes without the NUL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLUMN_SIZE 40 /* room for any of these, with its NUL */

/* "  42", with @has_sign "  +42". @width: at most 30. Longer numbers are whole. */
size_t column_number(char *to, size_t width, int64_t number, bool has_sign);

/* " 42.0%". Shares beyond any use are cut at 1e12 %. */
size_t column_share(char *to, size_t width, double percent, bool has_sign);

/* Any text of at most 30 bytes. */
size_t column_text(char *to, size_t width, const char *text);
