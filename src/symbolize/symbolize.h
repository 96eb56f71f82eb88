/*
 * symbolize/symbolize.h - addresses to frames.
 *
 * A return address is looked up at minus one, in one function, because a call
 * may be the last instruction of its function (noreturn); the offset and the
 * address shown are the return address's own, as bcc shows them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "host/host.h"
#include "symbolize/frame.h"

struct symbolizer;

/* When are two addresses the same frame? */
enum frame_identity {
	IDENTITY_FUNCTION, /* same function of the same file; unnamed: same place in the file */
	IDENTITY_OFFSET,   /* and same offset in it (-s) */
	IDENTITY_ADDRESS,  /* same address (-v) */
};

struct symbolizer_options {
	enum frame_identity identity;
	bool raw_names;     /* as in the symbol table */
	bool lines;         /* with source lines, and inlined functions as frames of their own */
	bool no_debuginfod; /* ask no server for symbols, whatever DEBUGINFOD_URLS says */
};

struct symbolizer *symbolizer_new(struct host *host, const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *s);
void symbolizer_freep(struct symbolizer **s);

/*
 * A report begins: what was read of processes and modules may be old now, and an
 * address that has no name is looked for once more in what they have mapped.
 */
void symbolizer_refresh(struct symbolizer *s);

/* A process was seen; what it has mapped is read now, while it lives. @comm: in case it has gone.
 */
void symbolizer_process(struct symbolizer *s, uint32_t tgid, const char *comm);

/* Its name, group leader's; "" if never known. Lent by @s. */
const char *symbolizer_comm(struct symbolizer *s, uint32_t tgid);

/*
 * The number of the frame at @addr. @is_exact: not a return address. Never fails:
 * what cannot be named is a frame without a name.
 */
uint32_t symbolize_kernel(struct symbolizer *s, uint64_t addr, bool is_exact);
uint32_t symbolize_user(struct symbolizer *s, uint32_t tgid, uint64_t addr, bool is_exact);

/*
 * The frames at @addr, innermost first: before the one that symbolize_user() gives those of
 * functions that were inlined there, if lines were asked for. Returns how many: at least one, and
 * at most @most, which must not be 0.
 */
size_t symbolize_user_all(struct symbolizer *s, uint32_t tgid, uint64_t addr, bool is_exact,
			  uint32_t *to, size_t most);
uint32_t symbolize_cut(struct symbolizer *s, const char *reason);

/* Lent by @s; grows with every call above. */
const struct frame_table *symbolizer_frames(const struct symbolizer *s);

/* Why kernel frames have no names (kptr_restrict), or NULL. Lent by @s. */
const char *symbolizer_kernel_trouble(const struct symbolizer *s);
