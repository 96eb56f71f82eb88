// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"

#define MOST_LINE 1024

/* Global, so that every room can log without passing this on. */
static struct {
	const char *name;
	enum log_level level;
	char before[16];     /* each message */
	struct log_few once; /* of log_warn_once() */
	struct strbuf *held; /* NULL: print messages at once */
	size_t n_dropped;    /* for which there was no room */
} setup = { .name = "stackcount", .level = LOG_WARN };

void log_setup(const char *name, enum log_level level)
{
	setup.name = name;
	setup.level = level;
}

void log_begin_with(const char *text)
{
	(void)snprintf(setup.before, sizeof(setup.before), "%s", text);
}

enum log_level log_level(void)
{
	return setup.level;
}

/*
 * Put the character at *@at, escaped if necessary, and move *@at past it. Writes at most 16 bytes
 * and a NUL; returns the number of bytes. Names of files and symbols are foreign, so a message must
 * not drive the terminal or begin another line.
 */
static size_t put_visible(char *to, const unsigned char **at)
{
	uint32_t c = 0;
	const size_t n = utf8_at(*at, &c);
	const bool is_plain = n && (!utf8_is_active(c) || c == '\t');
	size_t n_put = 0;

	for (size_t i = 0; i < (n ? n : 1); i++, ++*at)
		n_put += (size_t)sprintf(to + n_put, is_plain ? "%c" : "\\x%02x", **at);
	return n_put;
}

#define MOST_HELD ((size_t)256 << 10) /* bytes */

void log_hold(struct strbuf *to)
{
	setup.held = to;
}

void log_release(void)
{
	struct strbuf *held = setup.held;

	setup.held = NULL;
	if (!held)
		return;
	(void)fwrite(held->n ? held->text : "", 1, held->n, stderr);
	strbuf_fini(held);
	if (setup.n_dropped)
		log_warn("%zu more messages are left out", setup.n_dropped);
	setup.n_dropped = 0;
}

/* Write the text in one piece, because other processes may write to the same terminal or file. */
static void write_log_text(const char *text, bool has_lines)
{
	char out[64 + 4 * MOST_LINE];
	size_t n;

	n = (size_t)snprintf(out, 64, "%s%.45s: ", setup.before, setup.name);
	for (const unsigned char *at = (const unsigned char *)text; *at;)
		if (has_lines && *at == '\n')
			out[n++] = (char)*at++;
		else
			n += put_visible(out + n, &at);
	out[n++] = '\n';
	if (!setup.held)
		(void)fwrite(out, 1, n, stderr);
	else if (setup.held->n + n <= MOST_HELD)
		strbuf_put(setup.held, out, n);
	else
		setup.n_dropped++;
}

static void write_log_line(const char *format, va_list args)
{
	char line[MOST_LINE];

	(void)vsnprintf(line, sizeof(line), format, args);
	write_log_text(line, false);
}

void log_error(const struct error *e)
{
	write_log_text(e->text, e->has_lines);
}

void log_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_log_line(format, args);
	va_end(args);
}

/* Make @line. Is it new among the last texts of @few? Then notes it. */
static bool make_new_line(struct log_few *few, char line[MOST_LINE], const char *format,
			  va_list args)
{
	uint64_t hash;

	(void)vsnprintf(line, MOST_LINE, format, args);
	hash = hash_bytes(line, strlen(line));
	for (size_t i = 0; i < LOG_KNOWN && i < few->n_known; i++)
		if (few->known[i] == hash)
			return false;
	few->known[few->n_known++ % LOG_KNOWN] = hash;
	return true;
}

void log_warn_once(const char *format, ...)
{
	char line[MOST_LINE];
	va_list args;

	va_start(args, format);
	if (make_new_line(&setup.once, line, format, args))
		log_warn("%s", line);
	va_end(args);
}

void log_few(struct log_few *few, const char *format, ...)
{
	char line[MOST_LINE];
	va_list args;
	bool is_new;

	va_start(args, format);
	is_new = make_new_line(few, line, format, args);
	va_end(args);
	if (is_new && few->n_known <= LOG_FEW)
		log_warn("%s", line);
	else
		few->n_more += is_new;
}

void log_few_end(const struct log_few *few, const char *about)
{
	if (few->n_more)
		log_warn("%zu more messages about %s are left out", few->n_more, about);
}

void log_debug(const char *format, ...)
{
	va_list args;

	if (setup.level < LOG_DEBUG)
		return;
	va_start(args, format);
	write_log_line(format, args);
	va_end(args);
}
