/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files/asking.h - ask children of the zygote. For files.c only. */
#pragma once

#include "base/log.h"
#include "files/files.h"
#include "files/question.h"

#define MOST_PENDING 32
#define MOST_PLACES 3

/* A question to be asked. */
struct ask {
	struct question question;
	const void *payload;
	uint64_t file;                /* a hash of what the parser opens: only then it stays */
	uint64_t places[MOST_PLACES]; /* the question is a try of these */
	size_t n_places;
};

/* A question that was asked, and its child. */
struct pending {
	struct ask ask;
	uint32_t child; /* struct order */
	int area;       /* -1: this slot is free */
	uint64_t began;
	uint64_t cpu_ns;    /* of the child, for its earlier questions */
	uint64_t killed_at; /* ns; 0: not */
	bool goes_on;       /* the child has answered a question before */
	bool is_late;       /* it was killed because its time was over */
	bool is_parked;     /* the child may be asked again */
	bool is_given_up;   /* nobody waits for it any more */
	bool is_over;       /* @news has its outcome */
	bool is_hung;       /* places_note_hung() */
	struct news news;
};

struct files {
	int control;  /* -1: there are no children */
	bool is_none; /* there never were */
	bool is_over; /* files_end() was called; */
	int over;     /* then this is readable */
	struct places *places;
	struct files_purpose purpose;
	struct files_manner manner;
	struct pending pending[MOST_PENDING];
	uint32_t last_number;
	struct spending spending;
	struct log_few words;  /* warnings about files that were read in part */
	struct log_few failed; /* files at which children failed */
	bool has_warned_list, has_logged_layers;
	int32_t *to_close;
	size_t n_to_close, to_close_capacity;
};

/* The outcome of a question. */
struct reply {
	struct answer answer;
	char *data;      /* of the answer, with a NUL behind it; for the caller to free */
	uint64_t cpu_ns; /* of the child */
	uint64_t took_ns;
	char why[128]; /* the child failed; for messages */
};

/*
 * Ask, and wait for the answer. The caller frees ret->data. Errors: passing ones; -EIO: the child
 * failed, and ret->why says how. The result of the answer is no error of this function.
 */
must_check int ask_child(struct files *f, const struct ask *a, struct reply *ret, struct error *e);

/* The same, with the answer's result as an error, too. */
must_check int ask_for_result(struct files *f, const struct ask *a, struct reply *ret,
			      struct error *e);

/* The answer makes no sense. Returns -EIO. */
int refuse_answer(struct reply *r, struct error *e);

int fail_unanswered(struct error *e); /* -EAGAIN */

/* The question is a try of @place. False: it is silent. */
bool try_place(struct files *f, struct ask *a, uint64_t place);

/* Leave out where nothing answers. @m: a mapping of a process of the question's user. */
void skip_silent(struct files *f, struct ask *a, const struct mapping *m);

bool is_handle(uint32_t handle);
