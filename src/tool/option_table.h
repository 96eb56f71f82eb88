/*
 * tool/option_table.h - every option of every tool, once. The parser, --help and the
 * completions of shells are made from it. Needs nothing linked: scripts/completions.c is
 * compiled with the table alone.
 */
#pragma once

#include <stddef.h>

#include "tool/options.h"

/* What takes a value; all others are flags. */
enum option_key {
	OPTION_FLAG,
	OPTION_PID,
	OPTION_CPU,
	OPTION_INTERVAL,
	OPTION_DURATION,
	OPTION_EVENTS,
	OPTION_TOP,
	OPTION_MIN,
	OPTION_DEPTH,
	OPTION_MEMORY,
	OPTION_UNWIND,
	OPTION_UNWIND_MEMORY,
	OPTION_WITHOUT,
	OPTION_READY_FD,
};

/* Tools may call one thing by different letters, and by one letter different things. */
struct option_row {
	unsigned tools; /* 1 << enum tool, an OR: those that have it */
	enum option_key key;
	size_t flag; /* offset of its bool in struct options; flags only */
	char letter; /* '\0': none */
	const char *name;
	const char *argument; /* NULL: takes none */
	const char *help;
};

/* All rows, in the order of --help. */
const struct option_row *option_rows(size_t *n);

/* Has @tool this one? */
bool option_is_of(const struct option_row *row, enum tool tool);

/* What --without takes, by names with spaces between. */
extern const char option_backends[];
/* Those of --unwind, likewise. */
extern const char option_ways[];
