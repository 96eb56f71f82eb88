/* tool/reporter.h - from counted rows to bytes on standard output. */
#pragma once

#include <stdbool.h>

#include "attach/attach.h"
#include "base/error.h"
#include "store/store.h"
#include "symbolize/symbolize.h"
#include "tool/options.h"
#include "tool/wait.h"

struct reporter {
	const struct options *options;
	struct store *store;
	struct symbolizer *symbolizer;
	const struct attachment *attachment;
	uint64_t missed_before; /* by the kernel at the probes, up to the last report */
	struct waiter *waiter;  /* for the signals that come while nobody reads */
	bool is_file;           /* standard output is a file, whose reader cannot be slow */
	bool has_no_reader;     /* standard output was closed: nothing more is written */
	bool must_end;          /* a signal has asked for the end; the next one does not ask */
	bool was_trouble_told;
};

/*
 * Print what the store's rows hold, and what was lost since the last report; then
 * the rows are cleared. Errors: writing failed (a closed pipe is none), or a second
 * signal came while nobody read.
 */
must_check int reporter_print(struct reporter *r, struct error *e);

/* To standard output; flushed. */
must_check int reporter_put(struct reporter *r, const char *bytes, size_t n, struct error *e);
