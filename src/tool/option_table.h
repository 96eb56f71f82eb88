/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/option_table.h - every option of every tool, once. The parser, --help and the completions of
 * shells are made from it. It links with nothing else, because scripts/completions/generate.c runs
 * while the program is built.
 */
#pragma once

#include <stddef.h>

#include "tool/options.h"

/* What an option takes, and what is done with it. */
enum option_key {
	OPTION_FLAG, /* takes no value: sets a bool */
	OPTION_NUMBER,
	OPTION_SECONDS,
	OPTION_BYTES,
	OPTION_TEXT,
	OPTION_PID, /* three lists of numbers */
	OPTION_TID,
	OPTION_CPU,
	OPTION_SUM, /* as OPTION_TEXT */
	OPTION_UNIT,
	OPTION_UNTIL,
	OPTION_OUTPUT,
	OPTION_FORMAT,
	OPTION_MINUS,
	OPTION_MIN_PERCENT,
	OPTION_UNWIND,
	OPTION_KERNEL_UNWIND,
	OPTION_WITHOUT,
	OPTION_UNSUPPORTED, /* is refused */
};

/* --read excludes the option, because it traces nothing. */
#define OPTION_OF_TRACING (1U << TOOL_N)

/*
 * An option of one or more tools. Two tools may use different letters for one option, or one letter
 * for different options, so an option may have several rows.
 */
struct option_row {
	unsigned tools; /* 1 << enum tool, an OR: the tools that have it; and OPTION_OF_TRACING */
	enum option_key key;
	size_t member;        /* offset in struct options, if the key tells the type */
	uint64_t least, most; /* of numbers */
	char letter;          /* '\0': none */
	const char *name;
	const char *argument; /* NULL: takes none */
	const char *help;
};

/* All rows, in the order of --help. */
const struct option_row *option_rows(size_t *n);

/* Does @tool have the option? */
bool option_is_of(const struct option_row *row, enum tool tool);

/* The values of --without, with spaces between. */
extern const char option_backends[];
/* How patterns begin, likewise; "" if @tool takes none. */
const char *option_kinds(enum tool tool);
/* The values of --unwind, likewise. */
extern const char option_ways[];
/* The values of --kernel-unwind, likewise. */
extern const char option_walkers[];
/* The values of --unit that have a meaning of their own, likewise. */
extern const char option_units[];
/* The values of --format, likewise. */
extern const char *const option_formats;
