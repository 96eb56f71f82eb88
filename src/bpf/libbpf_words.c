// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/libbpf_words.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

static struct {
	char text[256];
} first_words;

/*
 * libbpf makes some maps a second time without BTF. That is no reason: its next message gives the
 * failure.
 */
static bool is_reason(const char *words)
{
	return !strstr(words, "Retrying without BTF");
}

/*
 * libbpf reports for each program that it has no source lines. scripts/without_lines removes them.
 */
static bool is_worth_logging(const char *words)
{
	return *words && !strstr(words, ".BTF.ext line info");
}

static int keep_first_words(enum libbpf_print_level level, const char *format, va_list args)
{
	cleanup_free char *text = NULL;
	char *rest, *line;

	if (level == LIBBPF_DEBUG)
		return 0;
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return 0;
	}
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (!is_worth_logging(line))
			continue;
		log_debug("%s", line);
		if (is_reason(line) && !first_words.text[0])
			(void)snprintf(first_words.text, sizeof(first_words.text), "%.255s", line);
	}
	return 0;
}

void libbpf_words_begin(void)
{
	first_words.text[0] = '\0';
	(void)libbpf_set_print(keep_first_words);
}

int libbpf_words_refuse(int err, struct error *e)
{
	const char *words = first_words.text;

	if (strncmp(words, "libbpf: ", 8) == 0)
		words += 8;
	if (strstr(words, strerror(EMFILE)))
		err = -EMFILE; /* libbpf then takes the first thing that it looked for as missing */
	if (err == -EMFILE || err == -ENFILE)
		words = "";
	return error_set(e, err, "load the BPF programs: %s%s%s", error_words(err),
			 words[0] ? ": " : "", words);
}
