// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/symbol_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "reader/debug_symbols.h"
#include "reader/spending.h"

#define USER_NOBODY 65534U

/* A parser opens so many files in search of one of the same build. */
#define MOST_TWINS 64

/* CPU time for all files of one user. */
#define MOST_OF_USER_NS (30 * NS_PER_S)

/* The pause before a debug file is searched again, if nobody could search. It doubles each time. */
#define LEAST_PAUSE_NS NS_PER_S
#define MOST_PAUSE_NS (64 * NS_PER_S)

/* A search for a debug file that has to be repeated. */
struct search_again {
	struct symbols_fact fact;
	uint64_t pause, due; /* ns */
	bool is_due;         /* in this report */
	bool is_searched;    /* struct parsed_file */
};

struct file {
	uint32_t image;
	bool is_read;   /* a parser has read its symbols */
	bool is_bad;    /* it has none, or a parser failed at it */
	uint32_t asked; /* images_newest() at the last find_twin() */
	int32_t parser; /* PID of the parser that has it; 0: none */
	unsigned role;  /* of that parser */
	struct image_build build;
	uint64_t dev;               /* of its file */
	uint32_t owner;             /* user */
	uint64_t missed;            /* images_version() + 1 when nobody could open it; 0: never */
	struct search_again *again; /* if nobody could search for its debug file; else NULL */
};

struct symbol_files {
	struct images *images;
	struct remote_files *files;
	struct asking *asking; /* of @files */
	struct debug_symbols *debug;
	struct spending spending;
	struct file *list;
	size_t n, capacity;
	struct u64_map by_image; /* index in @list */
	struct log_few failed;   /* at these files, a parser failed */
	struct log_few changed;
};

struct symbol_files *symbol_files_new(struct images *images, struct remote_files *files,
				      struct debuginfod *servers)
{
	struct symbol_files *sf = xcalloc(1, sizeof(*sf));

	sf->images = images;
	sf->files = files;
	sf->asking = remote_files_asking(files);
	sf->debug = debug_symbols_new(files, servers);
	sf->spending =
		(struct spending){ .most_ns = MOST_OF_USER_NS,
				   .after = "frames in this user's other files have no names" };
	return sf;
}

void symbol_files_free(struct symbol_files *sf)
{
	if (!sf)
		return;
	log_few_end(&sf->failed, "files whose readers failed");
	log_few_end(&sf->changed, "files that were changed");
	spending_fini(&sf->spending);
	for (size_t i = 0; i < sf->n; i++)
		free(sf->list[i].again);
	free(sf->list);
	u64_map_fini(&sf->by_image);
	debug_symbols_free(sf->debug);
	free(sf);
}

void symbol_files_refresh(struct symbol_files *sf)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t n = 0;

	u64_map_clear(&sf->by_image);
	for (size_t i = 0; i < sf->n; i++) {
		struct file *file = &sf->list[i];

		file->missed = 0;
		if (!images_is_known(sf->images, file->image)) {
			free(file->again);
			continue;
		}
		if (file->again)
			file->again->is_due = now >= file->again->due;
		*u64_map_put(&sf->by_image, file->image, 0, NULL) = (uint32_t)n;
		sf->list[n++] = *file;
	}
	sf->n = n;
}

bool symbol_files_has(const struct symbol_files *sf, uint32_t image)
{
	const uint32_t *at = u64_map_get(&sf->by_image, image);

	return at && sf->list[*at].is_read;
}

/* The entry of @image, new if necessary. Lent until the next call. */
static struct file *file_of_image(struct symbol_files *sf, uint32_t image)
{
	bool is_new;
	const uint32_t at = *u64_map_put(&sf->by_image, image, (uint32_t)sf->n, &is_new);

	if (is_new)
		array_push(sf->list, sf->n, sf->capacity, ((struct file){ .image = image }));
	return &sf->list[at];
}

/* -- Asking a parser. -- */

static void lock_parsers(const struct symbol_files *sf)
{
	if (sf->asking->client)
		client_lock(sf->asking->client);
}

static void unlock_parsers(const struct symbol_files *sf)
{
	if (sf->asking->client)
		client_unlock(sf->asking->client);
}

/* The parser of @role now, as asking_address(). */
static int find_parser(const struct symbol_files *sf, unsigned role, uint32_t *files,
		       int32_t *parser, struct error *e)
{
	lock_parsers(sf);

	const int err = asking_address(sf->asking, role, files, parser, e);

	unlock_parsers(sf);
	return err;
}

/* A parser failed at @file, which is called @name. */
static void note_failed(struct symbol_files *sf, struct file *file, const char *name,
			const struct lane_event *event)
{
	char why[128];

	file->is_bad = true;
	client_explain(event, why, sizeof(why));
	log_few(&sf->failed, "no symbols for %s: %s", name, why);
}

/* @name was written over or cut short. Its symbols may belong to other code than the mapped one. */
static void warn_changed(struct symbol_files *sf, const char *name)
{
	log_few(&sf->changed, "no symbols for %s: the file was changed while it was mapped", name);
}

/* A copy of an answer's area. */
struct copy {
	char *bytes;
	size_t n;
};

/* Ask the parser of @file. The caller holds the lock. */
static int ask_parser_of_file(struct symbol_files *sf, struct file *file, const char *name,
			      struct ask *what, const void *payload, struct copy *ret)
{
	struct lane_event event;
	struct error e;
	const uint64_t began = clock_ns(CLOCK_MONOTONIC);
	what->place = devices_place_of_contents(file->dev, file->owner);

	int err = asking_ask(sf->asking, file->role, what, payload, &event, &e);
	const uint64_t took = clock_ns(CLOCK_MONOTONIC) - began;

	spending_add(&sf->spending, file->owner, event.cpu_ns, took);
	if (err == -EIO)
		note_failed(sf, file, name, &event);
	if (err)
		return err;
	if (event.answer.result) {
		log_debug("%s: %.95s", name, event.answer.words);
		return event.answer.result;
	}
	asking_print_words(sf->asking, &event);
	ret->n = event.answer.n_bytes;
	ret->bytes = asking_copy(&event);
	return ret->bytes ? 0 : -EBADMSG;
}

/* The parser sent an invalid answer: have it end, and give up the file. */
static int distrust_parser(struct symbol_files *sf, struct file *file, const char *name)
{
	const struct lane_event event = { .why = LANE_LIED };

	client_distrust(sf->asking->client);
	note_failed(sf, file, name, &event);
	return -EBADMSG;
}

/* -- A file. -- */

static bool is_fact_of_build(const struct file_stamp *stamp, const struct symbols_fact *fact)
{
	return stamp->n == fact->n_build_id && memcmp(fact->build_id, stamp->bytes, stamp->n) == 0;
}

static bool is_sound_fact(const struct symbols_fact *fact)
{
	return fact->n_build_id <= sizeof(fact->build_id) && debug_hint_is_sound(&fact->hint);
}

static int ask_parser_to_open(struct symbol_files *sf, struct file *file, const char *name,
			      struct ask *what, const void *payload, struct symbols_fact *ret)
{
	struct copy copy = {};

	lock_parsers(sf);

	int err = ask_parser_of_file(sf, file, name, what, payload, &copy);

	if (!err && copy.n == sizeof(*ret))
		memcpy(ret, copy.bytes, sizeof(*ret));
	if (!err && (copy.n != sizeof(*ret) || !is_sound_fact(ret)))
		err = distrust_parser(sf, file, name);
	unlock_parsers(sf);
	free(copy.bytes);
	return err;
}

static int send_to_parser(struct symbol_files *sf, const struct file *file,
			  const struct remote_handle *handle, uint32_t files, int32_t parser,
			  struct error *e)
{
	const uint64_t began = clock_ns(CLOCK_MONOTONIC);
	const int err = remote_send(sf->files, handle, file->image, files, parser, e);

	spending_add(&sf->spending, file->owner, 0, clock_ns(CLOCK_MONOTONIC) - began);
	return err;
}

/* Have a parser open the file of @handle. */
static int open_in_parser(struct symbol_files *sf, struct file *file, const char *name,
			  const struct remote_handle *handle, struct symbols_fact *ret)
{
	struct ask what = { .what = ASK_SYMBOLS, .file = file->image, .n_bytes = strlen(name) };
	struct error e;
	uint32_t files;
	int32_t parser = 0;

	file->role = handle->fact.is_roots ? ROLE_PARSER : ROLE_PARSER_OF_OTHERS;
	file->owner = handle->fact.owner;
	file->dev = handle->dev;
	if (spending_check(&sf->spending, file->owner))
		return -EDQUOT;

	int err = find_parser(sf, file->role, &files, &parser, &e);

	if (!err)
		err = send_to_parser(sf, file, handle, files, parser, &e);
	if (err) {
		log_debug("%s: %s", name, e.text);
		return err == -ENOEXEC ? -EAGAIN : err;
	}
	err = ask_parser_to_open(sf, file, name, &what, name, ret);
	if (!err)
		file->parser = parser;
	return err == -ESTALE ? -EAGAIN : err; /* the file went to another parser */
}

/* The vdso has no file; the kernel puts the same bytes into every 64-bit process. */
static int open_vdso(struct symbol_files *sf, struct file *file, struct symbols_fact *ret)
{
	struct ask what = { .what = ASK_SYMBOLS_OF_MEMORY, .file = file->image };
	const void *vdso = own_vdso(&what.n_bytes);
	uint32_t files;
	int32_t parser = 0;
	struct error e;

	file->role = ROLE_PARSER;
	if (!vdso)
		return -ENOENT;

	int err = find_parser(sf, file->role, &files, &parser, &e);

	if (!err)
		err = ask_parser_to_open(sf, file, "[vdso]", &what, vdso, ret);
	if (!err)
		file->parser = parser;
	return err;
}

/* Is the file of @handle of the same build as @file? Then a parser has it open for @file. */
static bool is_twin(struct symbol_files *sf, struct file *file, const struct image_about *about,
		    const struct remote_handle *handle, struct symbols_fact *ret)
{
	if (open_in_parser(sf, file, about->module, handle, ret) == 0 &&
	    is_fact_of_build(&about->stamp, ret)) {
		log_debug("%s is gone: another file of its build is taken", about->path);
		return true;
	}
	file->parser = 0;
	return false;
}

/* If the build of @other is not known, its name must be equal. */
static bool may_be_twin(const struct image_about *about, const struct image_file *other)
{
	return other->stamp->n ? stamp_is_same(other->stamp, &about->stamp)
			       : strcmp(other->module, about->module) == 0;
}

/*
 * The file has gone with its process. Or nobody can reach it: a container may have a file system of
 * its own. Open another file of the same build, which has the same names.
 */
static bool find_twin(struct symbol_files *sf, struct file *file, const struct image_about *about,
		      struct symbols_fact *ret)
{
	const uint32_t newest = images_newest(sf->images);
	struct remote_handle handle;
	unsigned n_tried = 0;

	if (file->asked == newest || !about->stamp.n)
		return false;
	for (size_t i = images_n_open(sf->images); i-- > 0 && n_tried < MOST_TWINS;) {
		const struct image_file other = images_open_at(sf->images, i);

		if (other.image <= file->asked || other.image == file->image ||
		    !may_be_twin(about, &other))
			continue;
		n_tried++;
		if (is_twin(sf, file, about, &other.file, ret))
			return true;
	}
	if (!file->asked && images_open_ours(sf->images, file->image, &handle)) {
		const bool is_found = is_twin(sf, file, about, &handle, ret);

		if (is_found)
			images_take_twin(sf->images, file->image, &handle);
		else
			remote_close(sf->files, handle.handle);
		if (is_found)
			return true;
	}
	file->asked = newest;
	return false;
}

/*
 * Have a parser open the file or its twin. -EAGAIN: nobody can open them now. Other errors: there
 * are no symbols.
 */
static int open_file_or_twin(struct symbol_files *sf, struct file *file,
			     const struct image_about *about, struct symbols_fact *ret)
{
	struct remote_handle handle;
	int err;

	if (about->kind == IMAGE_VDSO)
		return open_vdso(sf, file, ret);
	if (!images_open(sf->images, file->image, &handle))
		return find_twin(sf, file, about, ret) ? 0 : -EAGAIN;
	err = open_in_parser(sf, file, about->module, &handle, ret);
	if (err == -ESTALE) {
		images_give_up(sf->images, file->image);
		warn_changed(sf, about->module);
	}
	/* The file at the path must be of the build that was mapped, if that is known. */
	if (!err && about->stamp.n && !is_fact_of_build(&about->stamp, ret)) {
		log_debug("%s: another build is there now", about->path);
		err = -ENOEXEC;
	}
	return err;
}

/* -- Its debug file. -- */

static void search_later(struct file *file, const struct parsed_file *parsed)
{
	struct search_again *again = file->again;

	if (!again)
		again = file->again = xcalloc(1, sizeof(*again));
	again->fact = parsed->fact;
	again->is_searched = parsed->is_searched;
	again->pause = again->pause ? 2 * again->pause : LEAST_PAUSE_NS;
	if (again->pause > MOST_PAUSE_NS)
		again->pause = MOST_PAUSE_NS;
	again->due = clock_ns(CLOCK_MONOTONIC) + again->pause;
	again->is_due = false;
}

static void search_debug(struct symbol_files *sf, struct file *file,
			 const struct image_about *about, const struct symbols_fact *fact,
			 bool is_searched)
{
	struct parsed_file parsed = {
		.role = file->role,
		.parser = file->parser,
		.number = file->image,
		/* another user's file system may claim that root owns a file */
		.owner = file->owner || file->role == ROLE_PARSER ? file->owner : USER_NOBODY,
		.dev = file->dev,
		.name = about->module,
		.fact = *fact,
		.is_searched = is_searched,
	};
	uint64_t cpu_ns = 0;
	const int err = debug_symbols_add(sf->debug, &parsed, about->root, about->path, &cpu_ns);

	spending_add(&sf->spending, file->owner, cpu_ns, cpu_ns); /* waits may be for a server */
	if (err)
		search_later(file, &parsed);
	else
		cleanup_free_p(&file->again);
}

static void keep_build(struct file *file, const struct symbols_fact *fact)
{
	file->build.n = fact->n_build_id;
	memcpy(file->build.id, fact->build_id, fact->n_build_id);
	file->build.is_go = fact->is_go;
}

static int open_and_search(struct symbol_files *sf, struct file *file,
			   const struct image_about *about, bool searches)
{
	struct symbols_fact fact = {};
	const int err = open_file_or_twin(sf, file, about, &fact);

	if (err)
		file->parser = 0;
	if (asking_is_passing(err)) {
		file->missed = images_version(sf->images) + 1;
		return err;
	}
	if (err) {
		file->is_bad = true;
		images_close(sf->images, file->image);
		return err;
	}
	file->is_read = true;
	keep_build(file, &fact);
	if (about->kind == IMAGE_FILE && searches)
		search_debug(sf, file, about, &fact, false);
	return 0;
}

/* Does the parser that has the file still live? */
static bool has_living_parser(struct symbol_files *sf, const struct file *file)
{
	uint32_t files;
	int32_t parser = 0;
	struct error e;

	return file->parser && find_parser(sf, file->role, &files, &parser, &e) == 0 &&
	       parser == file->parser;
}

/* -- Names. -- */

static int ask_parser_for_names(struct symbol_files *sf, struct file *file, const char *name,
				struct ask *what, const uint64_t *offsets,
				struct symbol_answer *ret)
{
	struct copy copy = {};

	lock_parsers(sf);

	int err = ask_parser_of_file(sf, file, name, what, offsets, &copy);

	ret->memory = copy.bytes;
	if (!err && (!name_block_read(copy.bytes, copy.n, what->n, &ret->view) ||
		     (what->n && !ret->view.head->n)))
		err = distrust_parser(sf, file, name);
	unlock_parsers(sf);
	if (err)
		cleanup_free_p(&ret->memory);
	return err;
}

static bool may_read_file(const struct symbol_files *sf, const struct file *file)
{
	return !file->is_bad && images_is_good(sf->images, file->image) &&
	       spending_check(&sf->spending, file->owner) == 0;
}

static bool was_file_missed(const struct symbol_files *sf, const struct file *file)
{
	return file->missed == images_version(sf->images) + 1;
}

/* Have a parser open the file. If a new search for its debug file is due, search. */
static int have_parser(struct symbol_files *sf, struct file *file, const struct image_about *about)
{
	if (!has_living_parser(sf, file))
		return open_and_search(sf, file, about, true);
	if (file->again && file->again->is_due)
		search_debug(sf, file, about, &file->again->fact, file->again->is_searched);
	return 0;
}

/* Ask again if the parser has closed the file meanwhile, which is rare. */
static int ask_again_if_closed(struct symbol_files *sf, struct file *file,
			       const struct image_about *about, const struct ask *what,
			       const uint64_t *offsets, struct symbol_answer *ret)
{
	int err = -ESTALE;

	for (int i = 0; i < 2 && err == -ESTALE && may_read_file(sf, file); i++) {
		struct ask again = *what;

		err = have_parser(sf, file, about);
		if (err)
			return err;
		err = ask_parser_for_names(sf, file, about->module, &again, offsets, ret);
		if (err)
			file->parser = 0;
	}
	return err;
}

void symbol_files_build(struct symbol_files *sf, uint32_t image, bool opens,
			struct image_build *ret)
{
	cleanup(image_about_fini) struct image_about about = {};
	struct file *file = file_of_image(sf, image);
	const bool is_known = images_about(sf->images, image, &about);

	if (is_known && opens && !file->is_read && about.kind == IMAGE_FILE &&
	    may_read_file(sf, file) && !was_file_missed(sf, file))
		(void)open_and_search(sf, file, &about, false);
	*ret = file->build;
	if (is_known && about.stamp.n && about.stamp.n <= sizeof(ret->id)) {
		memcpy(ret->id, about.stamp.bytes, about.stamp.n);
		ret->n = about.stamp.n;
	}
}

int symbol_files_ask(struct symbol_files *sf, uint32_t image, const uint64_t *offsets, size_t n,
		     uint64_t flags, struct symbol_answer *ret)
{
	cleanup(image_about_fini) struct image_about about = {};
	struct file *file = file_of_image(sf, image);
	const struct ask what = { .what = ASK_NAMES,
				  .flags = flags,
				  .file = image,
				  .n = (uint32_t)n,
				  .n_bytes = n * sizeof(*offsets) };

	*ret = (struct symbol_answer){};
	if (!images_about(sf->images, image, &about) || about.kind == IMAGE_NO_FILE)
		return -ENOENT;
	/* A file without symbols is closed, too (is_bad), but it has not changed. */
	if (!file->is_bad && !images_is_good(sf->images, image))
		warn_changed(sf, about.module);
	if (!may_read_file(sf, file))
		return -ENOENT;
	if (was_file_missed(sf, file))
		return -EAGAIN;

	const int err = ask_again_if_closed(sf, file, &about, &what, offsets, ret);

	if (err)
		return asking_is_passing(err) && may_read_file(sf, file) ? -EAGAIN : -ENOENT;
	ret->is_missed = file->again;
	if (!ret->view.head->is_changed)
		return 0;
	images_give_up(sf->images, image);
	warn_changed(sf, about.module);
	cleanup_free_p(&ret->memory);
	return -ENOENT;
}
