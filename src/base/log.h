/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/log.h - messages for the user beside the report: a line each, to standard error. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

enum log_level { LOG_WARN, LOG_DEBUG };

/* Print @name in front of every line. LOG_DEBUG shows all messages. Keeps @name. */
void log_setup(const char *name, enum log_level level);
enum log_level log_level(void);

/* Write @text, of 15 bytes at most, before each message: it may erase a line that is rewritten. */
void log_begin_with(const char *text);

/*
 * Append messages to @to instead of printing them, a line each, for a program that has the whole
 * terminal, or no standard error. Above 256 KiB they are only counted. Keeps @to. NULL: print them.
 */
void log_hold(struct strbuf *to);

/* Print the messages that are held, if any, and from now on each one at once. */
void log_release(void);

__attribute__((format(printf, 1, 2))) void log_warn(const char *format, ...);
void log_error(const struct error *e);
/* Print a text, unless it is among the last LOG_KNOWN that this function has printed. */
__attribute__((format(printf, 1, 2))) void log_warn_once(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *format, ...);

/*
 * Foreign files may cause any number of warnings. Of these, log_few() prints the first LOG_FEW
 * texts, and counts the others: a text that is among the last LOG_KNOWN does not count again. At
 * the end, log_few_end() prints the count: "stackcount: 7 more messages about @about are left out".
 */
#define LOG_FEW 8
#define LOG_KNOWN 256
struct log_few {
	uint64_t known[LOG_KNOWN]; /* hashes of texts */
	size_t n_known, n_more;
};
__attribute__((format(printf, 2, 3))) void log_few(struct log_few *few, const char *format, ...);
void log_few_end(const struct log_few *few, const char *about);
