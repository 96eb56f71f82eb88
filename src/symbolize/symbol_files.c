// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/symbol_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "files/debuginfod.h"

/* So many files are opened in search of one of the same build. */
#define MOST_TWINS 64

struct file {
	uint32_t image;
	bool is_read;     /* @fact is known */
	bool is_bad;      /* it has no symbols, or a parser failed at it */
	bool wants_debug; /* symbols_fact */
	bool has_asked_servers;
	uint32_t twin;            /* an image whose file is of the same build; IMAGE_NONE: none */
	uint32_t tried;           /* images_newest() at the last find_twin() */
	struct symbols_fact fact; /* as foreign as the file */
	char *fetched;            /* a debug file from a server */
	uint64_t missed;          /* images_version() + 1 when nobody could open it; 0: never */
};

struct symbol_files {
	struct images *images;
	struct files *files;
	struct debuginfod *servers; /* NULL: ask none */
	struct file *list;
	size_t n, capacity;
	struct u64_map by_image; /* index in @list */
	struct log_few changed, refused;
};

struct symbol_files *symbol_files_new(struct images *images, struct files *files,
				      struct debuginfod *servers)
{
	struct symbol_files *sf = xcalloc(1, sizeof(*sf));

	sf->images = images;
	sf->files = files;
	sf->servers = servers;
	return sf;
}

void symbol_files_free(struct symbol_files *sf)
{
	if (!sf)
		return;
	log_few_end(&sf->changed, "files that were changed");
	log_few_end(&sf->refused, "debug files that are not taken");
	for (size_t i = 0; i < sf->n; i++)
		free(sf->list[i].fetched);
	free(sf->list);
	u64_map_fini(&sf->by_image);
	debuginfod_free(sf->servers);
	free(sf);
}

void symbol_files_refresh(struct symbol_files *sf)
{
	size_t n = 0;

	u64_map_clear(&sf->by_image);
	for (size_t i = 0; i < sf->n; i++) {
		struct file *file = &sf->list[i];

		file->missed = 0;
		if (!images_is_known(sf->images, file->image)) {
			free(file->fetched);
			continue;
		}
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
		array_push(sf->list, sf->n, sf->capacity,
			   ((struct file){ .image = image, .twin = IMAGE_NONE }));
	return &sf->list[at];
}

/* @name was written over or cut short. Its symbols may belong to other code than the mapped one. */
static void give_up_changed(struct symbol_files *sf, const struct file *file, const char *name)
{
	images_give_up(sf->images, file->image);
	log_few(&sf->changed, "no symbols for %s: the file was changed while it was mapped", name);
}

/* --- what a file is --- */

static bool is_of_build(const struct file_stamp *stamp, const struct symbols_fact *fact)
{
	return stamp->n == fact->n_build_id && memcmp(fact->build_id, stamp->bytes, stamp->n) == 0;
}

/* Read the fact of @held, or of the vdso (NULL). */
static int read_fact(struct symbol_files *sf, const struct image_about *about,
		     const struct held_file *held, struct symbols_fact *ret)
{
	struct file_names names;
	const int err = files_names(sf->files,
				    &(struct names_question){ .file = held,
							      .name = about->module,
							      .root = HANDLE_NONE,
							      .path = about->path },
				    &names);

	if (!err)
		*ret = names.fact;
	free(names.memory);
	return err;
}

/* If the build of @other is not known, its name must be equal. */
static bool may_be_twin(const struct image_about *about, const struct image_file *other)
{
	return other->stamp->n ? stamp_is_same(other->stamp, &about->stamp)
			       : strcmp(other->module, about->module) == 0;
}

/* Is @held of the build of @file? Then its fact is known. */
static bool is_twin(struct symbol_files *sf, struct file *file, const struct image_about *about,
		    const struct held_file *held)
{
	struct symbols_fact fact;

	if (read_fact(sf, about, held, &fact) || !is_of_build(&about->stamp, &fact))
		return false;
	log_debug("%s is gone: another file of its build is taken", about->path);
	file->fact = fact;
	file->is_read = true;
	return true;
}

/* Find the file at the same path in our file system, if it is of the same build. */
static bool find_ours(struct symbol_files *sf, struct file *file, const struct image_about *about)
{
	struct held_file held;

	if (file->tried || !images_open_ours(sf->images, file->image, &held))
		return false;
	if (!is_twin(sf, file, about, &held)) {
		files_close(sf->files, held.handle);
		return false;
	}
	images_take_twin(sf->images, file->image, &held);
	return true;
}

/*
 * The file has gone with its process. Or nobody can reach it: a container may have a file system of
 * its own. Find another file of the same build, which has the same names.
 */
static bool find_twin(struct symbol_files *sf, struct file *file, const struct image_about *about)
{
	const uint32_t newest = images_newest(sf->images);
	unsigned n_tried = 0;

	if (file->tried == newest || !about->stamp.n)
		return false;
	for (size_t i = images_n_open(sf->images); i-- > 0 && n_tried < MOST_TWINS;) {
		const struct image_file other = images_open_at(sf->images, i);

		if (other.image <= file->tried || other.image == file->image ||
		    !may_be_twin(about, &other))
			continue;
		n_tried++;
		if (!is_twin(sf, file, about, &other.file))
			continue;
		file->twin = other.image;
		return true;
	}
	if (find_ours(sf, file, about))
		return true;
	file->tried = newest;
	return false;
}

/* Open the file, or a twin that was found before. */
static bool open_known(struct symbol_files *sf, const struct file *file, struct held_file *ret)
{
	return images_open(sf->images, file->image, ret) ||
	       (file->twin != IMAGE_NONE && images_open(sf->images, file->twin, ret));
}

/* The file at the path must be of the build that was mapped, if that is known. */
static int check_build(const struct image_about *about, const struct symbols_fact *fact)
{
	if (!about->stamp.n || is_of_build(&about->stamp, fact))
		return 0;
	log_debug("%s: another build is there now", about->path);
	return -ENOEXEC;
}

/* Open the file or a twin. Sets *@ret to NULL for the vdso. -EAGAIN: nobody can open it now. */
static int open_file(struct symbol_files *sf, struct file *file, const struct image_about *about,
		     struct held_file *held, const struct held_file **ret)
{
	*ret = about->kind == IMAGE_VDSO ? NULL : held;
	if (!*ret || open_known(sf, file, held) ||
	    (find_twin(sf, file, about) && open_known(sf, file, held)))
		return 0;
	return -EAGAIN;
}

/* Note the outcome of a question about @file. Returns -EAGAIN or -ENOENT for an error. */
static int note_outcome(struct symbol_files *sf, struct file *file, const struct image_about *about,
			int err)
{
	if (!err)
		return 0;
	if (err == -ESTALE) {
		give_up_changed(sf, file, about->module);
		return -ENOENT;
	}
	if (files_is_passing(err)) {
		file->missed = images_version(sf->images) + 1;
		return err == -EDQUOT ? -ENOENT : -EAGAIN;
	}
	file->is_bad = true;
	images_close(sf->images, file->image);
	return -ENOENT;
}

static bool may_read_file(const struct symbol_files *sf, const struct file *file)
{
	return !file->is_bad && images_is_good(sf->images, file->image);
}

static bool was_file_missed(const struct symbol_files *sf, const struct file *file)
{
	return file->missed == images_version(sf->images) + 1;
}

static void read_build(struct symbol_files *sf, struct file *file, const struct image_about *about)
{
	const struct held_file *opened;
	struct held_file held;
	int err = open_file(sf, file, about, &held, &opened);

	if (!err && !file->is_read)
		err = read_fact(sf, about, opened, &file->fact);
	if (!err)
		err = check_build(about, &file->fact);
	file->is_read |= !err;
	(void)!note_outcome(sf, file, about, err);
}

void symbol_files_build(struct symbol_files *sf, uint32_t image, bool opens,
			struct image_build *ret)
{
	cleanup(image_about_fini) struct image_about about = {};
	struct file *file = file_of_image(sf, image);
	const bool is_known = images_about(sf->images, image, &about);

	if (is_known && opens && !file->is_read && about.kind == IMAGE_FILE &&
	    may_read_file(sf, file) && !was_file_missed(sf, file))
		read_build(sf, file, &about);
	*ret = (struct image_build){};
	if (file->is_read) {
		ret->is_go = file->fact.is_go;
		ret->n = file->fact.n_build_id;
		memcpy(ret->id, file->fact.build_id, ret->n);
	}
	if (is_known && about.stamp.n && about.stamp.n <= sizeof(ret->id)) {
		memcpy(ret->id, about.stamp.bytes, about.stamp.n);
		ret->n = about.stamp.n;
	}
}

/* --- names --- */

/*
 * Ask servers for the debug file, once. A .symtab may be incomplete, but most are complete, so this
 * is not worth waiting for then.
 */
static bool fetch_debug(struct symbol_files *sf, struct file *file, const struct image_about *about)
{
	const struct debug_hint *hint = &file->fact.hint;
	struct error e;

	if (file->has_asked_servers || !sf->servers || file->fact.has_symtab)
		return false;
	file->has_asked_servers = true;
	return debuginfod_get_path(sf->servers, hint->build_id, hint->n_build_id, about->module,
				   &file->fetched, &e) == 0;
}

/* Ask, and note what the file is. */
static int ask_once(struct symbol_files *sf, struct file *file, const struct image_about *about,
		    struct names_question *q, struct file_names *ret)
{
	int err;

	q->hint = file->wants_debug ? &file->fact.hint : NULL;
	q->fetched = file->fetched;
	err = files_names(sf->files, q, ret);
	if (!err)
		err = check_build(about, &ret->fact);
	if (err) {
		cleanup_free_p(&ret->memory);
		return err;
	}
	file->fact = ret->fact;
	file->is_read = true;
	return 0;
}

/* Ask; again if there may be a debug file, and again if a server has one. */
static int ask_for_names(struct symbol_files *sf, struct file *file,
			 const struct image_about *about, struct names_question *q,
			 struct file_names *ret)
{
	int err = ask_once(sf, file, about, q, ret);
	struct file_names fetched;

	if (!err && !file->wants_debug && ret->fact.wants_debug) {
		free(ret->memory);
		file->wants_debug = true;
		err = ask_once(sf, file, about, q, ret);
	}
	if (err || !q->file || ret->fact.source != DEBUG_NONE || !fetch_debug(sf, file, about))
		return err;
	if (ask_once(sf, file, about, q, &fetched))
		return 0;
	free(ret->memory);
	*ret = fetched;
	if (ret->fact.source == DEBUG_NONE)
		log_few(&sf->refused,
			"debuginfod: %s is not taken: it is no debug file of this build",
			file->fetched);
	return 0;
}

int symbol_files_ask(struct symbol_files *sf, uint32_t image, const uint64_t *offsets, size_t n,
		     uint64_t flags, struct file_names *ret)
{
	cleanup(image_about_fini) struct image_about about = {};
	struct file *file = file_of_image(sf, image);
	struct names_question q = { .offsets = offsets, .n = n, .flags = (unsigned)flags };
	struct held_file held;
	int err;

	*ret = (struct file_names){};
	if (!images_about(sf->images, image, &about) || about.kind == IMAGE_NO_FILE)
		return -ENOENT;
	/* A file without symbols is closed, too (is_bad), but it has not changed. */
	if (!file->is_bad && !images_is_good(sf->images, image))
		give_up_changed(sf, file, about.module);
	if (!may_read_file(sf, file))
		return -ENOENT;
	if (was_file_missed(sf, file))
		return -EAGAIN;
	q.name = about.module;
	q.root = about.root;
	q.path = about.path;
	err = open_file(sf, file, &about, &held, &q.file);
	if (!err)
		err = ask_for_names(sf, file, &about, &q, ret);
	if (!err && ret->view.head->is_changed) {
		cleanup_free_p(&ret->memory);
		err = -ESTALE;
	}
	if (err == -ESTALE && file->twin != IMAGE_NONE) {
		file->twin = IMAGE_NONE; /* another one may do later */
		err = -EAGAIN;
	}
	return note_outcome(sf, file, &about, err);
}
