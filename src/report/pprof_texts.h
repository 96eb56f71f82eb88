/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/pprof_texts.h - the table of strings of a pprof file: each text has a number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "report/protobuf.h"

struct pprof_texts {
	const char **texts; /* number 0 is "" */
	size_t n, capacity;
	struct u64_map numbers;    /* by hash of the text */
	struct u64_map by_address; /* of texts that pprof_text() has seen */
	struct strtab *made;       /* owns texts that the profile does not own */
};

void pprof_texts_init(struct pprof_texts *t);
void pprof_texts_fini(struct pprof_texts *t);

/* The number of @text, which must stay. 0 if it is NULL. */
uint64_t pprof_text(struct pprof_texts *t, const char *text);

/* The same of a text that is copied. */
__attribute__((format(printf, 2, 3))) uint64_t pprof_text_made(struct pprof_texts *t,
							       const char *format, ...);

/*
 * Write all texts. Strings of protobuf are UTF-8, so each other byte becomes \xff (its value in hex
 * digits).
 */
void pprof_texts_put(const struct pprof_texts *t, struct proto *to);
