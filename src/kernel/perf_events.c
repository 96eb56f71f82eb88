// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/perf_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/read.h"

#define MOST_TEXT 1024
#define MOST_NAME 128

struct code_parse {
	const char *sources, *pmu;
	struct perf_code *code;
	struct error *e;
};

/* A name of a folder or file must not lead elsewhere. */
static bool is_plain_event_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < MOST_NAME;
}

/* Read SOURCES/PMU/FOLDER/NAME. False: there is none. */
static bool read_part(const struct code_parse *p, const char *folder, const char *name,
		      char text[MOST_TEXT])
{
	char path[PATH_MAX];
	const int n = snprintf(path, sizeof(path), "%s/%s%s%s/%s", p->sources, p->pmu,
			       folder ? "/" : "", folder ? folder : "", name);

	return is_plain_event_name(name) && n > 0 && (size_t)n < sizeof(path) &&
	       read_small(AT_FDCWD, path, text, MOST_TEXT) >= 0;
}

static uint64_t *config_of(struct perf_code *code, const char **at)
{
	static const char *const names[] = { "config2", "config1", "config" };
	uint64_t *const configs[] = { &code->config2, &code->config1, &code->config };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strncmp(*at, names[i], strlen(names[i])) == 0) {
			*at += strlen(names[i]);
			return configs[i];
		}
	}
	return NULL;
}

/*
 * Put @value into the bits that @format names: "config:0-7,32-35". False: the format is none that
 * we know, or the value does not fit.
 */
static bool put_value(struct perf_code *code, const char *format, uint64_t value)
{
	const char *at = format;
	uint64_t *config = config_of(code, &at);

	if (!config || *at != ':')
		return false;
	do {
		uint64_t first, last, n;

		at++;
		if (!take_decimal(&at, &first))
			return false;
		last = first;
		if (*at == '-' && (at++, !take_decimal(&at, &last)))
			return false;
		if (last < first || last > 63)
			return false;
		n = last - first + 1;

		const uint64_t mask = n == 64 ? ~0ULL : (1ULL << n) - 1;

		*config = (*config & ~(mask << first)) | (value & mask) << first;
		value = n == 64 ? 0 : value >> n;
	} while (*at == ',');
	return *at == '\0' && value == 0;
}

static int refuse_term(const struct code_parse *p, int code, const char *term, const char *reason)
{
	return error_set(p->e, code, "%s: '%.64s' %s", p->pmu, term, reason);
}

static bool read_sysfs_number(const char *text, uint64_t *ret)
{
	const bool is_hex = strncmp(text, "0x", 2) == 0;
	const char *at = text + (is_hex ? 2 : 0);

	return (is_hex ? take_hex(&at, ret) : take_decimal(&at, ret)) && *at == '\0';
}

/* "event=0x3c", or "inv" for 1. */
static int put_term(const struct code_parse *p, char *term)
{
	char format[MOST_TEXT], whole[MOST_NAME];
	char *equals = strchr(term, '=');
	uint64_t value = 1;

	(void)snprintf(whole, sizeof(whole), "%s", term);
	if (equals)
		*equals++ = '\0';
	if (equals && !read_sysfs_number(equals, &value))
		return refuse_term(p, -EINVAL, whole, "has no number");
	if (strcmp(term, "config") == 0 || strcmp(term, "config1") == 0 ||
	    strcmp(term, "config2") == 0)
		(void)snprintf(format, sizeof(format), "%s:0-63", term);
	else if (!read_part(p, "format", term, format))
		return refuse_term(p, -ENOENT, whole, "is no event or term of it");
	if (!put_value(p->code, format, value))
		return refuse_term(p, -EINVAL, whole,
				   "is too large, or has bits of an unknown format");
	return 0;
}

/* Call @put for each of @terms, which it may change. */
static int put_terms(const struct code_parse *p, char *terms,
		     int (*put)(const struct code_parse *p, char *term))
{
	char *rest = terms;
	int err = 0;

	for (char *term; !err && (term = strsep(&rest, ","));)
		err = *term ? put(p, term) : 0;
	return err;
}

/* A term without a value may name an event, which stands for further terms. */
static int put_named(const struct code_parse *p, char *term)
{
	char text[MOST_TEXT];

	if (strchr(term, '=') || !read_part(p, "events", term, text))
		return put_term(p, term);
	return put_terms(p, text, put_term);
}

int perf_code_parse(const char *sources, const char *pmu, const char *terms, struct perf_code *ret,
		    struct error *e)
{
	const struct code_parse p = { sources, pmu, ret, e };
	char text[MOST_TEXT];
	const char *at = text;
	uint64_t type;

	*ret = (struct perf_code){};
	if (!is_plain_event_name(pmu) || !read_part(&p, NULL, "type", text) ||
	    !take_decimal(&at, &type) || type > UINT32_MAX)
		return error_set(e, -ENOENT,
				 "this machine has no event source '%.64s' (few virtual "
				 "machines have counters); e:cpu-clock samples by a timer",
				 pmu);
	ret->type = (uint32_t)type;
	if (strlen(terms) >= sizeof(text))
		return error_set(e, -EINVAL, "%s: the terms are too long", pmu);
	(void)snprintf(text, sizeof(text), "%s", terms);
	return put_terms(&p, text, put_named);
}

/* The period is long, and the event is disabled. */
bool perf_code_works(const struct perf_code *code)
{
	const struct perf_event_attr attr = {
		.type = code->type,
		.size = sizeof(attr),
		.config = code->config,
		.config1 = code->config1,
		.config2 = code->config2,
		.sample_period = 1000000000,
		.disabled = 1,
	};
	cleanup_close int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0;
}
