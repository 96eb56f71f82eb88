/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/terminal.h - the whole terminal for one picture: the alternate screen, and keys one by one.
 * The former contents of the terminal come back at the end, or while the program is stopped
 * (Ctrl-Z).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "report/screen.h"

struct terminal;

/*
 * Can standard input and output show pictures? Errors: -ENOTTY if one of them is no terminal;
 * -EINVAL if $TERM says that it cannot move the cursor ("dumb").
 */
must_check int terminal_check(struct error *e);

/* Take the terminal of standard input and output. Errors: those of terminal_check(). */
must_check int terminal_open(struct terminal **ret, struct error *e);

/* Give it back. */
void terminal_free(struct terminal *t);
void terminal_freep(struct terminal **t);

/* Becomes readable with each key. Lent. */
int terminal_fd(const struct terminal *t);

/* Keys that have more than one byte. All others are their byte; TERMINAL_NO_KEY: none is there. */
enum terminal_key {
	TERMINAL_NO_KEY = -1,
	TERMINAL_UP = 256,
	TERMINAL_DOWN,
	TERMINAL_PAGE_UP,
	TERMINAL_PAGE_DOWN,
	TERMINAL_HOME,
};

/*
 * The next key. Ctrl-Z stops the program here, with the terminal as it was before, and takes the
 * terminal again when the program goes on. It is no key of its own then: returns
 * TERMINAL_NO_KEY, and terminal_was_changed() is true.
 */
int terminal_key(struct terminal *t);

/* Has the picture to be drawn again, because the size has changed or the program was stopped? */
bool terminal_was_changed(struct terminal *t);

struct screen_size terminal_size(const struct terminal *t);

/* Show @n bytes. */
void terminal_put(struct terminal *t, const char *bytes, size_t n);
