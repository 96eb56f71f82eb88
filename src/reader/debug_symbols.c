#include "reader/debug_symbols.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "elf/debug.h"
#include "reader/debuginfod.h"

struct debug_symbols {
	struct debuginfod *servers; /* NULL: not asked */
	struct u64_map wrong;       /* build IDs for which they sent something else, by hash */
};

struct debug_symbols *debug_symbols_new(struct debuginfod *servers)
{
	struct debug_symbols *ds = xcalloc(1, sizeof(*ds));

	ds->servers = servers;
	return ds;
}

void debug_symbols_free(struct debug_symbols *ds)
{
	if (!ds)
		return;
	debuginfod_free(ds->servers);
	u64_map_fini(&ds->wrong);
	free(ds);
}

/* Once: the same is asked for again where an image is closed and opened. */
static void tell_wrong(struct debug_symbols *ds, const uint8_t *id, size_t n, const struct error *e)
{
	bool is_new;

	(void)u64_map_put(&ds->wrong, hash_bytes(id, n), 0, &is_new);
	if (is_new)
		log_warn("debuginfod: %s is not taken: %s", debuginfod_source(ds->servers),
			 e->text);
}

/* A server may send anything. */
static int ask_servers(struct debug_symbols *ds, const struct image *im, const char *name,
		       struct image **ret, struct error *e)
{
	cleanup_close int fd = -1;
	const uint8_t *id = NULL;
	size_t n = image_build_id(im, &id);
	int err = debuginfod_get(ds->servers, id, n, name, &fd, e);

	if (err)
		return err;
	err = image_open_fd(fd, name, ret, e);
	if (!err && !image_is_same_build(im, *ret)) {
		image_freep(ret);
		err = error_set(e, -ENOENT, "%s: of another build", name);
	}
	if (err)
		tell_wrong(ds, id, n, e);
	return err;
}

void debug_symbols_add(struct debug_symbols *ds, struct image *im, int root, const char *path,
		       const char *name)
{
	struct image *debug = NULL;
	struct error e;
	int err;

	err = debug_file_find(im, root, path, &debug, &e);
	if (err && root >= 0)
		err = debug_file_find(im, -1, path, &debug, &e);
	if (err)
		err = image_open_embedded(im, &debug, &e);
	if (err == -E2BIG)
		log_warn_once("%s", e.text);
	else if (err && err != -ENOENT)
		log_debug("not taken: %s", e.text);
	/* A .symtab may have been stripped in part, but most have all: that is not worth waiting.
	 */
	if (err && ds->servers && !image_has_symtab(im))
		err = ask_servers(ds, im, name, &debug, &e);
	if (err)
		log_debug("no symbols but its own: %s", e.text);
	else
		image_set_debug(im, debug);
}
