/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/pprof.h - the form of pprof files (profile.proto), for the writer (report/render_pprof.c)
 * and the reader (pprof.c). All fields are standard ones.
 *
 * A stack is a sample, a frame with all that is inlined into it a location, an image a mapping.
 * Code with a name from a perf map has a mapping of that map's name. A mark is a function "[cut:
 * depth]" at address 0, in the kernel's mapping if it ends a kernel stack, else in none. Comments
 * "stackcount:KEY=VALUE" say what no field says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "profile/profile.h"

/* Wire types of protobuf. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

enum {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME_NS = 9,
	PPROF_DURATION_NS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_TYPE = 14,
};

enum { TYPE_NAME = 1, TYPE_UNIT = 2 };

enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };

enum { LABEL_KEY = 1, LABEL_STRING = 2, LABEL_NUMBER = 3, LABEL_UNIT = 4 };

enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
};

enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };

enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };

enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

#define PPROF_COMMENT_PREFIX "stackcount:"
#define PPROF_KERNEL "[kernel.kallsyms]" /* perf's name for it; the image's path is "[kernel]" */
#define PPROF_CUT "[cut: "
#define PPROF_UNVERIFIED "[unverified: "
#define PPROF_LABEL_PID "pid"
#define PPROF_LABEL_COMM "comm"
#define PPROF_LABEL_SLICE "slice"
#define PPROF_LABEL_BASE "pprof::base" /* "true": values before a change, negated */

/* Give @put the text of each other comment: the origin of @p, its losses, what it leaves out, its
 * slices. */
void pprof_put_comments(const struct profile *p, void (*put)(void *context, const char *text),
			void *context);

/*
 * Read the unpacked pprof file @name, of ours or of another program. The value that the file calls
 * its default becomes the first one. Comments of other programs are left out. Errors: those of
 * saved_read(), and -E2BIG for values that do not fit.
 */
must_check int pprof_read(const void *bytes, size_t n, const char *name, struct profile **ret,
			  struct error *e);

/* --- appending fields of protobuf's messages to a buffer --- */

/* A number alone: an element of packed numbers. */
void proto_varint(struct strbuf *m, uint64_t value);

/* Nothing if @value is 0, as protobuf has it. */
void proto_number(struct strbuf *m, unsigned field, uint64_t value);

/* The same, even of 0. */
void proto_any_number(struct strbuf *m, unsigned field, uint64_t value);

/* A text, packed numbers or a message of @n bytes, even of none. */
void proto_bytes(struct strbuf *m, unsigned field, const void *bytes, size_t n);

/* Is this a mapping's name of a file? Others are "[vdso]", "[anon]". */
static inline bool pprof_is_in_file(const char *path)
{
	return path && path[0] && path[0] != '[';
}

/* The part of a mapping's @path that is frame.module. The kernel's have brackets around it. */
static inline const char *pprof_module(const char *path)
{
	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}
