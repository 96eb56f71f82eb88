/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * saved/reader.h - what the parts of the reader of pprof files share. For pprof*.c only.
 *
 * Tables of the file may be in any order, and its strings come last. So the first pass notes where
 * they are. Then come strings, mappings, functions, locations and, in a second pass, samples.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strtab.h"
#include "profile/builder.h"
#include "saved/wire.h"

/* The ids of a table's rows. Files may give any ids. Ours are 1, 2, 3, ... */
struct ids {
	struct id {
		uint64_t id;
		uint32_t row;
	} * of;
	size_t n, capacity;
	bool is_sorted; /* by id */
	bool is_odd;    /* not 1, 2, 3, ... */
};

struct text {
	const uint8_t *bytes;
	size_t n;
	const char *kept; /* in reader.strings; NULL: not yet */
};

struct mapping {
	uint64_t start, limit, offset;
	const char *path; /* NULL: none */
	const char *build_id;
	uint32_t image; /* NO_IMAGE: has only a name */
	bool is_kernel, has_no_image;
	enum frame_code code;
};

struct function {
	uint64_t name, raw_name, file; /* numbers of texts */
};

/* One location's frames in reader.chains. */
struct location {
	struct wire bytes;
	uint32_t first, n;
	bool is_kernel_side; /* a mark */
};

struct value_type {
	uint64_t name, unit; /* numbers of texts */
};

struct reader {
	const char *name; /* of the file, for messages */
	struct wire file;
	size_t memory; /* bytes that it may still take */
	struct strtab *strings;
	struct value_type types[PROFILE_MOST_VALUES];
	size_t n_types;
	size_t first_type; /* this one becomes value 0 */
	uint64_t default_type;
	uint64_t time_ns, duration_ns;
	struct value_type period_type;
	int64_t period;
	bool is_as_written;
	struct text *texts;
	size_t n_texts, text_capacity;
	struct wire *mapping_bytes, *function_bytes; /* until they are parsed */
	size_t n_mapping_bytes, mapping_bytes_capacity;
	size_t n_function_bytes, function_bytes_capacity;
	struct mapping *mappings;
	struct ids mapping_ids;
	struct function *functions;
	struct ids function_ids;
	struct location *locations;
	size_t n_locations, location_capacity;
	struct ids location_ids;
	uint32_t *chains;
	size_t n_chains, chain_capacity;
	struct frame_table frames;
	struct profile_builder *builder;
	size_t n_slices;
	uint64_t *comments;
	size_t n_comments, comment_capacity;
	uint64_t sums[PROFILE_MOST_VALUES]; /* of values without their signs */
	struct profile_about about, about_before;
	int64_t hidden;
	size_t n_hidden;
	bool has_version, is_difference, is_normalized;
};

/* The file is not as a pprof file should be: -EBADMSG. */
must_check printf_like(3, 4) int reader_refuse(const struct reader *r, struct error *e,
					       const char *format, ...);

/* Account for @bytes. -E2BIG if the file needs too much memory. */
must_check int reader_charge(struct reader *r, size_t bytes, struct error *e);

/* Text @number in *@ret, lent by @r. NULL if it is empty. -EBADMSG if there is none. */
must_check int reader_text(struct reader *r, uint64_t number, const char **ret, struct error *e);

/* Append @id of the next row. */
must_check int ids_add(struct reader *r, struct ids *ids, uint64_t id, struct error *e);

/* After the last ids_add(). -EBADMSG if an id comes twice. @what: "location". */
must_check int ids_finish(const struct reader *r, struct ids *ids, const char *what,
			  struct error *e);

/* -1: there is no such id. */
static inline int64_t ids_row(const struct ids *ids, uint64_t id)
{
	if (!ids->is_odd)
		return id - 1 < ids->n ? (int64_t)(id - 1) : -1;

	size_t low = 0, high = ids->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (ids->of[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ids->n && ids->of[low].id == id ? (int64_t)ids->of[low].row : -1;
}

/* pprof_comments.c: our own comments. Mappings must be there, and frames not yet. */
must_check int reader_comments(struct reader *r, struct error *e);
/* Losses need a profile. */
must_check int reader_losses(struct reader *r, struct profile *p, struct error *e);

/* pprof_tables.c */
must_check int reader_mappings(struct reader *r, struct error *e);
/* Give mappings images, after the comments. */
must_check int reader_images(struct reader *r, struct error *e);
must_check int reader_functions(struct reader *r, struct error *e);
must_check int reader_locations(struct reader *r, struct error *e);

/* pprof_samples.c: all samples, to the builder. */
must_check int reader_samples(struct reader *r, struct error *e);
