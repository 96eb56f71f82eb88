// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/debug_symbols.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/debug.h"
#include "reader/debuginfod.h"

/* Numbers of debug files, for parsers. Those of images are lower. */
#define FIRST_NUMBER 0x80000000U

struct debug_symbols {
	struct remote_files *files;
	struct debuginfod *servers; /* NULL: ask none */
	uint32_t n_sent;
};

struct debug_symbols *debug_symbols_new(struct remote_files *files, struct debuginfod *servers)
{
	struct debug_symbols *ds = xcalloc(1, sizeof(*ds));

	ds->files = files;
	ds->servers = servers;
	return ds;
}

void debug_symbols_free(struct debug_symbols *ds)
{
	if (!ds)
		return;
	debuginfod_free(ds->servers);
	free(ds);
}

/* One search. */
struct search {
	struct debug_symbols *ds;
	struct parsed_file *file;
	uint64_t cpu_ns;
	bool is_found;  /* the debug file */
	bool is_missed; /* a helper or a file system did not answer, so a debug file may exist */
};

/* Ask the parser to take file @number on @dev as the debug file. Number 0: the embedded symbols. */
static int ask_for_debug_file(struct search *s, uint32_t number, uint64_t dev, struct error *e)
{
	struct ask what = {
		.what = ASK_DEBUG,
		.place = devices_place_of_contents(dev, s->file->owner),
		.file = s->file->number,
		.root = number,
	};
	struct asking *asking = remote_files_asking(s->ds->files);
	struct lane_event event;

	client_lock(asking->client);

	const int err = asking_ask(asking, s->file->role, &what, NULL, &event, e);

	client_unlock(asking->client);
	s->cpu_ns += event.cpu_ns;
	if (err)
		return err;
	asking_print_words(asking, &event);
	return event.answer.result ? error_set(e, event.answer.result, "%.95s", event.answer.words)
				   : 0;
}

/*
 * Here -EIO means a failed parser. No file ends an opener, so another one can send this file later.
 */
static int pass_debug_file(struct search *s, const struct remote_handle *handle, uint32_t number,
			   uint32_t files, int32_t parser, struct error *e)
{
	const int err = remote_send(s->ds->files, handle, number, files, parser, e);

	return err == -EIO ? error_set(e, -EAGAIN, "its opener was ended") : err;
}

/* Send the file of @handle to the parser as its debug file. Closes the handle. */
static int offer_debug_file(struct search *s, const struct remote_handle *handle, struct error *e)
{
	struct asking *asking = remote_files_asking(s->ds->files);
	const uint32_t number = FIRST_NUMBER + s->ds->n_sent++ % FIRST_NUMBER;
	uint32_t files;
	int32_t parser;

	/* Such a file could take over the parser that reads libc. */
	if (s->file->role == ROLE_PARSER && !handle->fact.is_roots) {
		remote_close(s->ds->files, handle->handle);
		return error_set(e, -EPERM, "%s: others may write to its debug file",
				 s->file->name);
	}
	client_lock(asking->client);

	int err = asking_address(asking, s->file->role, &files, &parser, e);

	client_unlock(asking->client);
	if (!err && parser != s->file->parser)
		err = error_set(e, -EIO, "its parser has gone");
	if (!err)
		err = pass_debug_file(s, handle, number, files, parser, e);
	if (!err)
		err = ask_for_debug_file(s, number, handle->dev, e);
	remote_close(s->ds->files, handle->handle);
	s->is_found = !err;
	s->is_missed = s->is_missed || asking_is_passing(err);
	return err;
}

/* Try the candidates below @root. -EIO: the parser has failed. */
static int search_below(struct search *s, int root, const char *path, struct error *e)
{
	struct debug_search search = {
		.hint = &s->file->fact.hint, .path = path, .root = root, .user = s->file->owner
	};
	struct remote_handle handle;
	int err = -ENOENT;

	for (; search.at < DEBUG_CANDIDATES; search.at++) {
		err = remote_open_debug(s->ds->files, &search, &handle, e);
		s->is_missed = s->is_missed || search.is_missed;
		if (err)
			return -ENOENT;
		err = offer_debug_file(s, &handle, e);
		if (!err) {
			log_debug("%s: symbols of its debug file", s->file->name);
			return 0;
		}
		if (err == -EIO)
			return err;
		log_debug("no debug file: %s", e->text);
	}
	return -ENOENT;
}

static bool has_hint(const struct parsed_file *file)
{
	return file->fact.hint.n_build_id || file->fact.hint.link[0];
}

static int search_files(struct search *s, int root, const char *path, struct error *e)
{
	int err = error_set(e, -ENOENT, "no debug file");

	if (has_hint(s->file) && root != HANDLE_NONE)
		err = search_below(s, root, path, e);
	if (has_hint(s->file) && err == -ENOENT)
		err = search_below(s, HANDLE_NONE, path, e);
	return err;
}

static int add_embedded(struct search *s, struct error *e)
{
	const int err = ask_for_debug_file(s, 0, s->file->dev, e);

	s->is_missed = s->is_missed || asking_is_passing(err);
	if (err == -E2BIG)
		log_few(&remote_files_asking(s->ds->files)->words, "%s", e->text);
	else if (err && err != -ENOENT)
		log_debug("not taken: %s", e->text);
	return err;
}

/* A server may send any file, so the parser checks its build ID. */
static int ask_servers_for_debug(struct search *s, struct error *e)
{
	const struct debug_hint *hint = &s->file->fact.hint;
	cleanup_free char *path = NULL;
	struct remote_handle handle;
	int err = debuginfod_get_path(s->ds->servers, hint->build_id, hint->n_build_id,
				      s->file->name, &path, e);

	if (err)
		return err;

	/* Any inode number but 0 means a file. */
	const struct mapping m = { .end = 1, .path = path, .inode = 1 };

	err = remote_open_ours(s->ds->files, &m, &handle, e);
	if (!err)
		err = offer_debug_file(s, &handle, e);
	if (err == -ENOENT)
		err = error_set(e, -ENOENT, "%s: of another build", s->file->name);
	if (err)
		log_few(&remote_files_asking(s->ds->files)->words,
			"debuginfod: %s is not taken: %s", path, e->text);
	return err;
}

/* For a file without a debug file. Unpack and ask servers only once. */
static int search_elsewhere(struct search *s, struct error *e)
{
	int err = add_embedded(s, e);

	s->file->is_searched = !asking_is_passing(err);
	/* A .symtab may be incomplete, but most are complete, so this is not worth waiting for. */
	if (err && err != -EIO && s->ds->servers && !s->file->fact.has_symtab)
		err = ask_servers_for_debug(s, e);
	return err;
}

int debug_symbols_add(struct debug_symbols *ds, struct parsed_file *file, int root,
		      const char *path, uint64_t *cpu_ns)
{
	struct search s = { .ds = ds, .file = file };
	struct error e = {};
	int err = search_files(&s, root, path, &e);

	if (err && err != -EIO && !file->is_searched)
		err = search_elsewhere(&s, &e);
	if (err)
		log_debug("%s: no symbols but its own: %s", file->name, e.text);
	*cpu_ns += s.cpu_ns;
	return s.is_missed && !s.is_found ? -EAGAIN : 0;
}
