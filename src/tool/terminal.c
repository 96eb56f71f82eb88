// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"

/* xterm's private modes: 1049 is the alternate screen, 25 the cursor, 7 wrapping of long lines. */
#define ENTER "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
#define LEAVE "\x1b[?7h\x1b[?25h\x1b[?1049l"

#define CTRL_Z 0x1a
#define ESCAPE 0x1b
#define ESCAPE_MS 20 /* the rest of a key's sequence comes at once */
#define WRITE_MS 1000

struct terminal {
	struct termios before;
	struct screen_size size;
	bool is_changed;
};

static void look_at_size(struct terminal *t)
{
	struct screen_size size = { 80, 24 };
	struct winsize of;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &of) == 0 && of.ws_col && of.ws_row)
		size = (struct screen_size){ of.ws_col, of.ws_row };
	if (size.columns != t->size.columns || size.lines != t->size.lines)
		t->is_changed = true;
	t->size = size;
}

void terminal_put(struct terminal *t, const char *bytes, size_t n)
{
	struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLOUT };

	(void)t;
	/* A terminal that was stopped (Ctrl-S) must not stop us: leave out the rest of a picture.
	 */
	while (n > 0 && poll(&fd, 1, WRITE_MS) > 0) {
		const ssize_t done = write(STDOUT_FILENO, bytes, n > 512 ? 512 : n);

		if (done < 0 && errno != EINTR)
			return;
		bytes += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
}

/* Ctrl-C stays a signal. Ctrl-Z becomes a key, so that the terminal can be given back first. */
static void take_terminal(struct terminal *t)
{
	struct termios mode = t->before;

	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	mode.c_cc[VMIN] = 0;
	mode.c_cc[VTIME] = 0;
	mode.c_cc[VSUSP] = _POSIX_VDISABLE;
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
	terminal_put(t, ENTER, strlen(ENTER));
	t->is_changed = true;
}

static void give_terminal_back(struct terminal *t)
{
	terminal_put(t, LEAVE, strlen(LEAVE));
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
}

int terminal_check(struct error *e)
{
	const char *kind = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return error_set(e, -ENOTTY,
				 "--live: standard input and output must be a terminal");
	if (!kind || strcmp(kind, "dumb") == 0)
		return error_set(e, -EINVAL, "--live: the terminal '%s' cannot move its cursor",
				 kind ? kind : "");
	return 0;
}

int terminal_open(struct terminal **ret, struct error *e)
{
	struct termios before;
	const int err = terminal_check(e);

	if (err)
		return err;
	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return error_errno(e, "--live: look at the terminal");

	struct terminal *t = xcalloc(1, sizeof(*t));

	t->before = before;
	look_at_size(t);
	take_terminal(t);
	*ret = t;
	return 0;
}

void terminal_free(struct terminal *t)
{
	if (t)
		give_terminal_back(t);
	free(t);
}

void terminal_freep(struct terminal **t)
{
	terminal_free(*t);
	*t = NULL;
}

int terminal_fd(const struct terminal *t)
{
	(void)t;
	return STDIN_FILENO;
}

/* The shell that started us sees that we are stopped, and wakes us with SIGCONT (fg). */
static void stop_with_terminal(struct terminal *t)
{
	give_terminal_back(t);
	(void)raise(SIGSTOP);
	take_terminal(t);
}

static int read_byte(int wait_ms)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned char byte;

	if (poll(&fd, 1, wait_ms) <= 0 || read(STDIN_FILENO, &byte, 1) != 1)
		return TERMINAL_NO_KEY;
	return byte;
}

/* The rest of a sequence that ESC begins: "[A", "OA", "[5~". An unknown one is no key. */
static int read_sequence(void)
{
	static const struct {
		const char *rest;
		enum terminal_key key;
	} known[] = {
		{ "[A", TERMINAL_UP },   { "OA", TERMINAL_UP },       { "[B", TERMINAL_DOWN },
		{ "OB", TERMINAL_DOWN }, { "[5~", TERMINAL_PAGE_UP }, { "[6~", TERMINAL_PAGE_DOWN },
		{ "[H", TERMINAL_HOME }, { "OH", TERMINAL_HOME },     { "[1~", TERMINAL_HOME },
	};
	char rest[8] = {};

	for (size_t n = 0; n + 1 < sizeof(rest); n++) {
		const int byte = read_byte(ESCAPE_MS);

		if (byte < 0)
			break;
		rest[n] = (char)byte;
		if (n > 0 && (byte == '~' || (byte >= 'A' && byte <= 'Z')))
			break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(rest, known[i].rest) == 0)
			return known[i].key;
	return TERMINAL_NO_KEY;
}

int terminal_key(struct terminal *t)
{
	const int byte = read_byte(0);

	if (byte == CTRL_Z) {
		stop_with_terminal(t);
		return TERMINAL_NO_KEY;
	}
	return byte == ESCAPE ? read_sequence() : byte;
}

bool terminal_was_changed(struct terminal *t)
{
	look_at_size(t);

	const bool ret = t->is_changed;

	t->is_changed = false;
	return ret;
}

struct screen_size terminal_size(const struct terminal *t)
{
	return t->size;
}
