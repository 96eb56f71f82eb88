// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/live.h"

#include "base/cleanup.h"
#include "base/log.h"

#define LEAST_PERCENT 0.001
#define MOST_PERCENT 50.0

/* The tree on the screen leaves out nodes with a smaller share of all hits. Keys change it. */
#define LIVE_PERCENT 1.0

int live_open(struct live *l, const char *what, const struct render_style *style, struct error *e)
{
	*l = (struct live){ .style = *style, .head.what = what };
	if (style->min_percent == 0)
		l->style.min_percent = LIVE_PERCENT;

	const int err = terminal_open(&l->terminal, e);

	if (!err)
		log_hold(&l->messages);
	return err;
}

void live_close(struct live *l)
{
	const bool was_open = l->terminal;

	terminal_freep(&l->terminal);
	if (was_open)
		log_release();
}

void live_fini(struct live *l)
{
	live_close(l);
	strbuf_fini(&l->text);
}

static void draw_live_view(struct live *l)
{
	const struct screen_size size = terminal_size(l->terminal);
	cleanup_strbuf struct strbuf picture = {};

	l->head.n_messages = l->messages.n;
	l->head.message = l->messages.text.n ? l->messages.text.text + l->messages.last : NULL;
	l->first = screen_put(&picture, &l->head, l->text.n ? l->text.text : "", l->first, &size,
			      l->style.ascii);
	terminal_put(l->terminal, picture.text, picture.n);
}

void live_look(struct live *l)
{
	if (terminal_was_changed(l->terminal))
		draw_live_view(l);
}

static int append_text(void *to, const char *bytes, size_t n)
{
	strbuf_put(to, bytes, n);
	return 0;
}

void live_render(struct live *l, const struct profile *profile)
{
	strbuf_clear(&l->text);
	(void)render_tree(profile, &l->style, append_text, &l->text);
}

void live_show(struct live *l, const struct profile *profile, const struct screen_head *head)
{
	const bool is_paused = l->head.is_paused;

	l->head = *head;
	l->head.is_paused = is_paused;
	if (!is_paused)
		live_render(l, profile);
	(void)terminal_was_changed(l->terminal);
	draw_live_view(l);
}

/* Scroll by @lines, down if it is positive. */
static void scroll_live_view(struct live *l, long lines)
{
	const long first = (long)l->first + lines;

	l->first = first < 0 ? 0 : (size_t)first;
}

static void change_percent(struct live *l, double factor)
{
	double percent = l->style.min_percent * factor;

	if (percent < LEAST_PERCENT)
		percent = LEAST_PERCENT;
	l->style.min_percent = percent < MOST_PERCENT ? percent : MOST_PERCENT;
}

/* A paused picture has no data to be rendered from in another way. */
static enum live_wish change_view(struct live *l, int key)
{
	if (l->head.is_paused)
		return LIVE_NOTHING;
	switch (key) {
	case 'i':
		l->style.invert = !l->style.invert;
		break;
	case 'v':
		l->is_interval = !l->is_interval;
		break;
	case '+':
		change_percent(l, 2);
		break;
	default:
		change_percent(l, 0.5);
	}
	l->first = 0;
	return LIVE_RENDER;
}

static enum live_wish take_key(struct live *l, int key)
{
	const long page = (long)terminal_size(l->terminal).lines - 3;

	switch (key) {
	case 'q':
		return LIVE_QUIT;
	case 'i':
	case 'v':
	case '+':
	case '-':
		return change_view(l, key);
	case ' ':
	case 'p':
		l->head.is_paused = !l->head.is_paused;
		return l->head.is_paused ? LIVE_NOTHING : LIVE_RENDER;
	case TERMINAL_DOWN:
	case 'j':
		scroll_live_view(l, 1);
		return LIVE_NOTHING;
	case TERMINAL_UP:
	case 'k':
		scroll_live_view(l, -1);
		return LIVE_NOTHING;
	case TERMINAL_PAGE_DOWN:
		scroll_live_view(l, page);
		return LIVE_NOTHING;
	case TERMINAL_PAGE_UP:
		scroll_live_view(l, -page);
		return LIVE_NOTHING;
	case TERMINAL_HOME:
	case 'g':
		l->first = 0;
		return LIVE_NOTHING;
	default:
		return LIVE_NOTHING;
	}
}

#define MOST_KEYS 64 /* at once */

enum live_wish live_take_keys(struct live *l)
{
	enum live_wish wish = LIVE_NOTHING;
	bool was_pressed = false;

	for (int n = 0; n < MOST_KEYS; n++) {
		const int key = terminal_key(l->terminal);
		enum live_wish now;

		if (key == TERMINAL_NO_KEY)
			break;
		now = take_key(l, key);
		was_pressed = true;
		wish = now > wish ? now : wish;
	}
	if (terminal_was_changed(l->terminal) || was_pressed)
		draw_live_view(l);
	return wish;
}
