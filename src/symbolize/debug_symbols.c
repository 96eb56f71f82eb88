#include "symbolize/debug_symbols.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/debug.h"
#include "symbolize/debuginfod.h"

struct debug_symbols {
	struct debuginfod *servers; /* NULL: not asked */
};

struct debug_symbols *debug_symbols_new(bool asks_servers)
{
	struct debug_symbols *ds = xcalloc(1, sizeof(*ds));

	ds->servers = asks_servers ? debuginfod_new() : NULL;
	return ds;
}

void debug_symbols_free(struct debug_symbols *ds)
{
	if (!ds)
		return;
	debuginfod_free(ds->servers);
	free(ds);
}

/* A server may send anything. */
static int ask_servers(struct debug_symbols *ds, const struct image *im, const char *name,
		       struct image **ret, struct error *e)
{
	cleanup_close int fd = -1;
	const uint8_t *id = NULL;
	size_t n = image_build_id(im, &id);
	int err = debuginfod_get(ds->servers, id, n, name, &fd, e);

	if (!err)
		err = image_open_fd(fd, name, ret, e);
	if (!err && !image_is_same_build(im, *ret)) {
		image_freep(ret);
		err = error_set(e, -ENOENT, "%s: debuginfod gave what is of another build", name);
	}
	return err;
}

void debug_symbols_add(struct debug_symbols *ds, struct image *im, int root, const char *path,
		       const char *name)
{
	struct image *debug = NULL;
	struct error e;
	int err;

	if (image_has_symtab(im))
		return;
	err = debug_file_find(im, root, path, &debug, &e);
	if (err && root >= 0)
		err = debug_file_find(im, -1, path, &debug, &e);
	if (err)
		err = image_open_embedded(im, &debug, &e);
	if (err && err != -ENOENT)
		log_debug("not taken: %s", e.text);
	if (err && ds->servers)
		err = ask_servers(ds, im, name, &debug, &e);
	if (err)
		log_debug("exported functions only: %s", e.text);
	else
		image_set_debug(im, debug);
}
