/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reader/parser.h - the parts of a parser: unwind tables and names of files that openers send. */
#pragma once

#include <stdint.h>

#include "helper/seat.h"
#include "reader/asks.h"

/*
 * Receive file @number from an opener. Closes files that were sent before it. Returns -ESTALE if it
 * was not sent.
 */
int parser_take_file(const struct seat *seat, uint32_t number, int *ret_fd);

struct parser_names;

struct parser_names *parser_names_new(void);

/* Answers to ASK_SYMBOLS and ASK_SYMBOLS_OF_MEMORY, ASK_DEBUG, ASK_NAMES (reader/asks.h). */
void parser_answer_symbols(struct parser_names *p, struct seat *seat, const struct ask *ask,
			   const void *payload, struct answer *answer);
void parser_answer_debug(struct parser_names *p, struct seat *seat, const struct ask *ask,
			 struct answer *answer);
void parser_answer_names(struct parser_names *p, struct seat *seat, const struct ask *ask,
			 const void *payload, struct answer *answer);
