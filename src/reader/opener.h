/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reader/opener.h - the parts of an opener. */
#pragma once

#include <sys/stat.h>

#include "helper/seat.h"
#include "reader/asks.h"

struct file_fact opener_fact_of(int handle, const struct stat *st);

/* Answers to requests about handles (reader/asks.h). */
void opener_answer_open(struct seat *seat, const struct ask *ask, const char *payload,
			struct answer *answer);
void opener_answer_root(struct seat *seat, const struct ask *ask, struct answer *answer);
void opener_answer_debug(struct seat *seat, const struct ask *ask, const char *payload,
			 struct answer *answer);
void opener_answer_facts(struct seat *seat, const struct ask *ask, const char *payload,
			 struct answer *answer);
void opener_answer_send(const struct ask *ask, const char *payload, struct answer *answer);
void opener_answer_close(const struct ask *ask, const char *payload);
