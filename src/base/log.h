/* base/log.h - what the user should know besides the report. Standard error, one line each. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_WARN, LOG_DEBUG };

/* @name is the program's, before every line; @level LOG_DEBUG shows everything. */
void log_setup(const char *name, enum log_level level);
enum log_level log_level(void);

__attribute__((format(printf, 1, 2))) void log_warn(const char *format, ...);
/* The same text once, as far as is remembered. */
__attribute__((format(printf, 1, 2))) void log_warn_once(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *format, ...);

/*
 * Warnings that foreign files cause, as many as they like: the first LOG_FEW are shown, each text
 * once. Further ones are counted, and log_few_end() says how many: "stackcount: 7 more messages
 * about @about are left out".
 */
#define LOG_FEW 8
struct log_few {
	uint64_t told[LOG_FEW]; /* hashes */
	size_t n_told, n_more;
};
__attribute__((format(printf, 2, 3))) void log_few(struct log_few *few, const char *format, ...);
void log_few_end(const struct log_few *few, const char *about);

/*
 * For a process without standard error: lines are kept from here on, and log_take() moves the first
 * one to @to, cut to @size bytes, or "". Others are lost. Not escaped: whoever prints it does that.
 */
void log_divert(void);
void log_take(char *to, size_t size);
