/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/pprof.h - the form of pprof files (profile.proto), for the writer (report/render_pprof.c)
 * and the reader (saved/pprof.c).
 *
 * A stack is a sample, a frame with all that is inlined into it a location, an image a mapping.
 * Comments "stackcount:KEY=VALUE" say what no field says. Fields from number 1001 on are our own:
 * other programs skip them. They have what the other fields cannot express, so that a profile reads
 * back as it was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
	/* Ours, 1: no other program has written the file anew, with other numbers of mappings. */
	PPROF_AS_WRITTEN = 1001,
};

enum { TYPE_NAME = 1, TYPE_UNIT = 2 };

enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };

enum {
	LABEL_KEY = 1,
	LABEL_STRING = 2,
	LABEL_NUMBER = 3,
	LABEL_UNIT = 4,
	LABEL_IS_TEXT = 1001, /* 1: the empty text, not the number 0 */
};

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
	/* Ours. pprof refuses a file whose GNU build ID is not that of field 6. */
	MAPPING_GO_BUILD_ID = 1001,
};

enum {
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	/* Ours. Differences are in zigzag form. Those of an inlined frame are fields of its line.
	 */
	FRAME_OFFSET = 1001,        /* frame.offset */
	FRAME_ADDR = 1002,          /* frame.addr minus the address */
	FRAME_FILE_OFFSET = 1003,   /* frame.file_offset minus pprof_file_offset() */
	FRAME_MODULE_OFFSET = 1004, /* frame.module_offset minus frame.file_offset */
	FRAME_FLAGS = 1005,         /* enum frame_flags */
	FRAME_MODULE = 1006,        /* frame.module, if no mapping tells it; 0: NULL */
};

enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };

enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

enum frame_flags {
	FLAG_MACHINERY = 1,
	FLAG_NOT_AS_FILE = 2, /* frame.is_in_file is not pprof_is_in_file() */
	FLAG_HAS_START = 4,
	FLAG_KERNEL_SIDE = 8,  /* a mark among kernel frames */
	FLAG_NO_MARK = 16,     /* looks like a mark, but is a function */
	FLAG_NO_FUNCTION = 32, /* the last line is of an inlined frame, too */
};

#define PPROF_COMMENT_PREFIX "stackcount:"
#define PPROF_KERNEL "[kernel.kallsyms]" /* perf's name for it; the image's path is "[kernel]" */
#define PPROF_CUT "[cut: "
#define PPROF_UNVERIFIED "[unverified: "
#define PPROF_LABEL_PID "pid"
#define PPROF_LABEL_COMM "comm"
#define PPROF_LABEL_SLICE "slice"
#define PPROF_LABEL_BASE "pprof::base" /* "true": values before a change, negated */

static inline uint64_t pprof_zigzag(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t pprof_unzigzag(uint64_t n)
{
	return n >> 1 ^ -(n & 1);
}

/* Is this a mapping's name of a file? Others are "[vdso]", "[anon]". */
static inline bool pprof_is_in_file(const char *path)
{
	return path && path[0] && path[0] != '[';
}

/* The offset in the file of the byte that a mapping has at @address. 0: not known. */
static inline uint64_t pprof_file_offset(uint64_t address, uint64_t start, uint64_t limit,
					 uint64_t offset)
{
	return address >= start && address < limit ? address - start + offset : 0;
}

/*
 * The part of a mapping's @path that is frame.module: *@n bytes. NULL: none. It is the last part,
 * and for the kernel's modules the text in brackets.
 */
static inline const char *pprof_module(const char *path, bool is_kernel, size_t *n)
{
	if (!path || !path[0] || (is_kernel && strcmp(path, PPROF_KERNEL) == 0))
		return NULL;

	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;
	const char *module = slash && slash[1] ? slash + 1 : path;

	*n = strlen(module);
	if (is_kernel && *n > 2 && module[0] == '[' && module[*n - 1] == ']') {
		module++;
		*n -= 2;
	}
	return module;
}
