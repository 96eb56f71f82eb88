/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/live.h - --live: the hottest stacks as a tree on the whole terminal, drawn anew while the
 * run goes on. The keys are those of top(1) where it has them.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "profile/profile.h"
#include "report/render.h"
#include "report/screen.h"
#include "tool/terminal.h"

/* A key's request to the caller. Scrolling and the like are done here. */
enum live_wish { LIVE_NOTHING, LIVE_RENDER, LIVE_QUIT };

struct live {
	struct terminal *terminal;
	struct render_style style; /* of the tree */
	struct screen_head head;
	struct strbuf text; /* the tree, as it was rendered last */
	size_t first;       /* line of @text at the top */
	struct log_held messages;
	bool is_interval; /* shows the last interval, not the run so far */
};

/* Take the terminal. @what and @style say what is counted, and how it looks; their strings are
 * lent. Errors: those of terminal_open(). */
must_check int live_open(struct live *l, const char *what, const struct render_style *style,
			 struct error *e);

/* Give the terminal back, if it was taken, and print the messages that came meanwhile. */
void live_close(struct live *l);
void live_fini(struct live *l);

/* Render @profile to @l->text. */
void live_render(struct live *l, const struct profile *profile);

/* Take all keys that were pressed, and draw again what they change. */
enum live_wish live_take_keys(struct live *l);

/* Render @profile, unless the user has paused the view, and draw it. */
void live_show(struct live *l, const struct profile *profile, const struct screen_head *head);

/* Draw again if the terminal has another size now. */
void live_look(struct live *l);
