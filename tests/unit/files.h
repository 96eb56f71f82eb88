/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files.h - a zygote, made when it is first asked for. It ends with the test. */
#pragma once

#include <stdlib.h>

#include "base/clock.h"
#include "files/files.h"
#include "files/zygote.h"

static const struct files_purpose long_purpose = {
	.lost = "names are missing",
	.after = "names are missing",
	.most_of_user_ns = UINT64_MAX,
	.finder_ns = 120 * NS_PER_S, /* the machine may be busy */
	.parser_ns = 120 * NS_PER_S,
};

/* They begin with the first call of files_of_test(). */
static struct zygote zygote_of_test = ZYGOTE_NONE;
static struct places *places_of_test;

static inline struct files *files_of_test(void)
{
	static struct files *files;

	if (files)
		return files;
	if (zygote_start(files_work, &zygote_of_test, NULL))
		abort();
	places_of_test = places_new();
	files = files_new(TAKE_FD(zygote_of_test.controls[0]), places_of_test, &long_purpose);
	return files;
}
