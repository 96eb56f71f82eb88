/* match/private.h - what the files of match/ share; for no other room. */
#pragma once

#include <stdbool.h>

#include "base/hash.h"
#include "match/match.h"
#include "match/near.h"

/* One call of match_targets(). */
struct matching {
	const struct probe_spec *spec;
	struct host *host;
	const struct match_scope *scope;
	struct target_list *out;
	size_t n_before;     /* targets of earlier calls */
	struct u64_map seen; /* places that are listed: see place_*(); the target's number */
};

/*
 * A place as one number. Two places have the same one by accident once in 2^64
 * pairs, which would leave one of them out.
 */
uint64_t place_of_name(const char *name);       /* a kernel function without address */
uint64_t place_of_named_addr(const char *name); /* some address of that name is listed */
uint64_t place_of_addr(uint64_t addr);
uint64_t place_of_tracepoint(const char *category, const char *event);

struct file_place {
	uint64_t dev, ino; /* both 0: by path */
	const char *path;
	bool is_distant; /* on FUSE or a network, or others may put another file there */
};

/* May nobody but root change the file, or what its path leads to? */
bool is_roots_alone(const char *path);
void file_place_of(const char *path, struct file_place *ret);
/*
 * @kind: a function that begins with a USDT probe is two places, one of which has a semaphore.
 * @offset: of a function its entry, wherever its probe is.
 */
uint64_t place_in_file(const struct file_place *file, enum target_kind kind, uint64_t offset);

/*
 * List @t at @place unless something is listed there; its strings are copied. What is listed
 * there by another name gets an alias.
 * *@ret (may be NULL) is the target that is listed there now, lent until the next call.
 * Errors: -E2BIG.
 */
must_check int matching_add(struct matching *m, const struct target *t, uint64_t place,
			    struct target **ret, struct error *e);

/* Note that @listed, a target of the list, has @name too. The name is copied. */
void matching_add_alias(struct matching *m, const struct target *listed, const char *name);

/* One for each kind. Return with something added or listed before, or with an error. */
must_check int match_kernel(struct matching *m, struct error *e);
must_check int match_tracepoints(struct matching *m, struct error *e);
must_check int match_user(struct matching *m, struct error *e);

/* What match_user() does with one file; *@ret_n counts what matched, listed before or not. */
must_check int match_functions(struct matching *m, const char *path, size_t *ret_n,
			       struct error *e);
must_check int match_usdt(struct matching *m, const char *path, size_t *ret_n, struct error *e);

/*
 * Put the probes of targets from @first on, which are all of @image, where the kernel can
 * have one; or say what is in the way (obstacle).
 */
struct image;
void place_probes(struct target_list *list, size_t first, struct image *image);

/* Offer the names of a file's functions. What cannot be read offers nothing. */
void near_functions(const char *path, struct near *near);

/* Offer the names of a file's probes, "provider:name" or "name"; false where there are none. */
bool near_usdt(const char *path, bool with_provider, struct near *near);
