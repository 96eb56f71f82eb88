// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/image_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strtab.h"
#include "files/debuginfod.h"
#include "files/files.h"

/* With more answers than this, all are forgotten. The symbolizer keeps the frames (frames.c). */
#define MANY_PLACES 131072

struct known {
	uint64_t offset;
	uint32_t image;
	uint32_t call; /* the first of place.n_calls in @calls */
	bool is_asked; /* false: it is put off */
	struct file_place place;
};

/* The file of an image. */
struct file {
	uint32_t image;
	bool is_read;     /* @fact is known */
	bool wants_debug; /* symbols_fact */
	bool has_asked_servers;
	bool has_no_lines;        /* its DWARF ended a parser, or took too long */
	struct symbols_fact fact; /* as foreign as the file */
	char *fetched;            /* a debug file from a server */
	uint64_t missed;          /* images_version() + 1 when nobody could open it; 0: never */
};

struct image_names {
	struct images *images;
	struct files *files;
	struct debuginfod *servers; /* NULL: ask none */
	uint64_t flags;
	bool has_none;

	struct file *list;
	size_t n_files, cap_files;
	struct u64_map by_image; /* index in @list */
	struct log_few changed, refused;

	struct strtab *strings;
	struct known *known;
	size_t n, capacity;
	struct u64_map numbers; /* hash of image and offset -> index in @known */
	struct image_call *calls;
	size_t n_calls, cap_calls;
	uint64_t version; /* images_version() at the last forget_places() */
	size_t n_put_off; /* at the end of @known */
};

struct image_names *image_names_new(struct images *images, struct files *files,
				    struct debuginfod *servers, uint64_t flags, bool has_none)
{
	struct image_names *f = xcalloc(1, sizeof(*f));

	f->images = images;
	f->files = files;
	f->servers = servers;
	f->flags = flags;
	f->has_none = has_none;
	f->strings = strtab_new();
	return f;
}

static void forget_places(struct image_names *f)
{
	u64_map_clear(&f->numbers);
	f->n = f->n_calls = f->n_put_off = 0;
	strtab_free(f->strings);
	f->strings = strtab_new();
	f->version = images_version(f->images);
}

void image_names_free(struct image_names *f)
{
	if (!f)
		return;
	log_few_end(&f->changed, "files that were changed");
	log_few_end(&f->refused, "debug files that are not taken");
	for (size_t i = 0; i < f->n_files; i++)
		free(f->list[i].fetched);
	free(f->list);
	u64_map_fini(&f->by_image);
	debuginfod_free(f->servers);
	strtab_free(f->strings);
	free(f->known);
	free(f->calls);
	u64_map_fini(&f->numbers);
	free(f);
}

void image_names_refresh(struct image_names *f)
{
	size_t n = 0;

	forget_places(f);
	u64_map_clear(&f->by_image);
	for (size_t i = 0; i < f->n_files; i++) {
		struct file *file = &f->list[i];

		file->missed = 0;
		if (!images_is_known(f->images, file->image)) {
			free(file->fetched);
			continue;
		}
		*u64_map_put(&f->by_image, file->image, 0, NULL) = (uint32_t)n;
		f->list[n++] = *file;
	}
	f->n_files = n;
}

/* -- Questions about files. -- */

/* The entry of @image, new if necessary. Lent until the next call. */
static struct file *file_of_image(struct image_names *f, uint32_t image)
{
	bool is_new;
	const uint32_t at = *u64_map_put(&f->by_image, image, (uint32_t)f->n_files, &is_new);

	if (is_new)
		array_push(f->list, f->n_files, f->cap_files, ((struct file){ .image = image }));
	return &f->list[at];
}

bool image_names_is_read(const struct image_names *f, uint32_t image)
{
	const uint32_t *at = u64_map_get(&f->by_image, image);

	return at && f->list[*at].is_read;
}

/*
 * Ask servers for the debug file, once. A .symtab may be incomplete, but most are complete, so this
 * is not worth waiting for then.
 */
static bool fetch_debug(struct image_names *f, struct file *file, const char *module)
{
	const struct debug_hint *hint = &file->fact.hint;

	if (file->has_asked_servers || !f->servers || file->fact.has_symtab)
		return false;
	file->has_asked_servers = true;
	file->fetched = debuginfod_fetch(f->servers, hint->build_id, hint->n_build_id, module);
	return file->fetched != NULL;
}

/* Ask, and note what the file is. It must be of the build that was mapped, if that is known. */
static int ask_once(struct image_names *f, struct file *file, const struct image_about *about,
		    struct names_question *q, struct file_names *ret)
{
	const struct file_stamp *stamp = &about->stamp;
	int err;

	q->hint = file->wants_debug ? &file->fact.hint : NULL;
	q->fetched = file->fetched;
	err = files_names(f->files, q, ret);
	if ((err == -EIO || err == -EINTR) && q->flags & NAMES_LINES) {
		file->has_no_lines = true;
		q->flags &= ~(unsigned)NAMES_LINES;
		err = files_names(f->files, q, ret);
	}
	if (!err && stamp->n &&
	    (stamp->n != ret->fact.n_build_id ||
	     memcmp(stamp->bytes, ret->fact.build_id, stamp->n) != 0)) {
		log_debug("%s: another build is there now", about->path);
		err = -ENOEXEC;
	}
	if (err) {
		cleanup_free_p(&ret->memory);
		return err;
	}
	file->fact = ret->fact;
	file->is_read = true;
	return 0;
}

/* Ask; again if there may be a debug file, and again if a server has one. */
static int ask_for_names(struct image_names *f, struct file *file, const struct image_about *about,
			 struct names_question *q, struct file_names *ret)
{
	int err = ask_once(f, file, about, q, ret);
	struct file_names fetched;

	if (!err && q->n && !file->wants_debug && ret->fact.wants_debug) {
		free(ret->memory);
		file->wants_debug = true;
		err = ask_once(f, file, about, q, ret);
	}
	if (err || !q->n || !q->file || ret->fact.source != DEBUG_NONE ||
	    !fetch_debug(f, file, about->module))
		return err;
	if (ask_once(f, file, about, q, &fetched))
		return 0;
	free(ret->memory);
	*ret = fetched;
	if (ret->fact.source == DEBUG_NONE)
		log_few(&f->refused,
			"debuginfod: %s is not taken: it is no debug file of this build",
			file->fetched);
	return 0;
}

/* Its symbols may be of other code than the mapped one. */
static void say_changed(struct image_names *f, const struct image_about *about)
{
	log_few(&f->changed, "no symbols for %s: the file was changed while it was mapped",
		about->module);
}

/*
 * Note that a question about @file failed with @err. Returns the error for callers, as ask_file().
 */
static int note_failure(struct image_names *f, struct file *file, const struct image_about *about,
			int err)
{
	if (err == -ESTALE)
		say_changed(f, about);
	if (err == -ESTALE || !files_is_passing(err)) {
		images_give_up(f->images, file->image, err == -ESTALE);
		return -ENOENT;
	}
	file->missed = images_version(f->images) + 1;
	return err == -EDQUOT ? -ENOENT : -EAGAIN;
}

/*
 * Ask for the names at @n @offsets of the image's file; for 0, only what it is. The user has had a
 * warning for errors that matter. Errors:
 *	-EAGAIN  no parser can open the file now; a later report may succeed
 *	-ENOENT  the file has no symbols, or nobody reads it any more
 */
static int ask_file(struct image_names *f, uint32_t image, const uint64_t *offsets, size_t n,
		    struct file_names *ret)
{
	cleanup(image_about_fini) struct image_about about = {};
	struct file *file = file_of_image(f, image);
	struct names_question q = { .offsets = offsets, .n = n, .flags = (unsigned)f->flags };
	struct held_file held;
	bool is_twin = false;
	int err = -EAGAIN;

	*ret = (struct file_names){};
	if (file->has_no_lines)
		q.flags &= ~(unsigned)NAMES_LINES;
	if (!images_about(f->images, image, &about) || about.kind == IMAGE_NO_FILE)
		return -ENOENT;
	if (about.is_changed)
		say_changed(f, &about);
	if (about.is_bad)
		return -ENOENT;
	if (file->missed == images_version(f->images) + 1)
		return -EAGAIN;
	q.name = about.module;
	q.root = about.root;
	q.path = about.path;
	q.file = about.kind == IMAGE_VDSO ? NULL : &held;
	if (!q.file || images_open(f->images, image, &held, &is_twin))
		err = ask_for_names(f, file, &about, &q, ret);
	if (!err && n && ret->fact.is_changed) {
		cleanup_free_p(&ret->memory);
		err = -ESTALE;
	}
	if (err && is_twin)
		err = -EAGAIN; /* another file may do later */
	return err ? note_failure(f, file, &about, err) : 0;
}

/* -- Known places. -- */

static struct known *known_place_of(struct image_names *f, uint32_t image, uint64_t offset)
{
	const uint64_t words[] = { image, offset };
	bool is_new;
	const uint32_t number = *u64_map_put(&f->numbers, hash_bytes(words, sizeof(words)),
					     (uint32_t)f->n, &is_new);

	if (is_new) {
		array_push(f->known, f->n, f->capacity,
			   ((struct known){
				   .offset = offset, .image = image, .place.vaddr = offset }));
		f->n_put_off++;
	}
	return &f->known[number];
}

static const char *copy_to_strings(struct image_names *f, const struct file_names *names,
				   uint32_t at)
{
	const char *text = names_text(names, at);

	return text ? strtab_add(f->strings, text) : NULL;
}

static void add_calls(struct image_names *f, const struct file_names *names,
		      const struct name_fact *fact, struct known *k)
{
	k->call = (uint32_t)f->n_calls;
	k->place.n_calls = fact->n_calls;
	for (uint32_t i = 0; i < fact->n_calls; i++) {
		const struct call_fact *call = &names->calls[fact->call + i];
		const struct image_call kept = { copy_to_strings(f, names, call->name),
						 copy_to_strings(f, names, call->file),
						 call->line };

		array_push(f->calls, f->n_calls, f->cap_calls, kept);
	}
}

static void add_name_fact(struct image_names *f, const struct file_names *names,
			  const struct name_fact *fact, struct known *k)
{
	k->is_asked = true;
	if (!(fact->has & NAME_HAS_PLACE))
		return;
	k->place.vaddr = fact->vaddr;
	k->place.start = fact->start;
	k->place.function = copy_to_strings(f, names, fact->function);
	k->place.has_start = fact->has & NAME_HAS_START;
	k->place.is_last = fact->has & NAME_IS_LAST;
	k->place.is_behind_call = fact->has & NAME_IS_BEHIND_CALL;
	add_calls(f, names, fact, k);
}

/* -- Asking. -- */

/* Ask for the names of @n places of one image. @numbers are their indexes in @known. */
static void ask_image(struct image_names *f, const uint32_t *numbers, size_t n)
{
	cleanup_free uint64_t *offsets = xcalloc(n, sizeof(*offsets));
	const uint32_t image = f->known[numbers[0]].image;
	struct file_names answer;
	size_t done = 0;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		offsets[i] = f->known[numbers[i]].offset;
	while (done < n && !(err = ask_file(f, image, offsets + done, n - done, &answer))) {
		for (uint32_t i = 0; i < answer.fact.n; i++) {
			struct known *k = &f->known[numbers[done + i]];

			add_name_fact(f, &answer, &answer.facts[i], k);
			k->place.is_missed = answer.fact.is_debug_missed;
		}
		done += answer.fact.n;
		free(answer.memory);
	}
	for (; done < n; done++) {
		f->known[numbers[done]].is_asked = true;
		f->known[numbers[done]].place.is_missed = err == -EAGAIN;
	}
}

static int compare_asked_images(const void *left, const void *right, void *known)
{
	const struct known *all = known, *a = &all[*(const uint32_t *)left],
			   *b = &all[*(const uint32_t *)right];

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void ask_all_images(struct image_names *f, size_t first)
{
	const size_t n = f->n - first;
	cleanup_free uint32_t *numbers = xcalloc(n, sizeof(*numbers));

	for (size_t i = 0; i < n; i++)
		numbers[i] = (uint32_t)(first + i);
	qsort_r(numbers, n, sizeof(*numbers), compare_asked_images, f->known);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n; next++)
			if (f->known[numbers[next]].image != f->known[numbers[i]].image)
				break;
		ask_image(f, numbers + i, next - i);
	}
}

/* -- Questions. -- */

size_t image_names_n_put_off(const struct image_names *f)
{
	return f->n_put_off;
}

bool image_names_fetch(struct image_names *f)
{
	const size_t n = f->n_put_off;

	/*
	 * This also forgets what is put off, so callers look it up again. It may not follow from
	 * the version then: whoever writes over files all the time could keep us from an answer.
	 */
	if (f->n - n > MANY_PLACES || (!n && f->version != images_version(f->images))) {
		forget_places(f);
		return n != 0;
	}
	f->n_put_off = 0;
	if (n)
		ask_all_images(f, f->n - n);
	return n != 0;
}

bool image_names_look_up(struct image_names *f, uint32_t image, uint64_t offset,
			 struct file_place *ret)
{
	const struct known *k = known_place_of(f, image, offset);

	*ret = k->place;
	ret->calls = f->calls + k->call;
	return k->is_asked;
}

void image_names_build(struct image_names *f, uint32_t image, struct image_build *ret)
{
	cleanup(image_about_fini) struct image_about about = {};
	struct file_names none = {};

	*ret = (struct image_build){};
	if (!images_about(f->images, image, &about) || about.kind != IMAGE_FILE)
		return;
	if (f->has_none && !about.is_memory && !image_names_is_read(f, image))
		(void)!ask_file(f, image, NULL, 0, &none);
	free(none.memory);
	if (image_names_is_read(f, image)) {
		const struct symbols_fact *fact = &file_of_image(f, image)->fact;

		ret->n = fact->n_build_id;
		memcpy(ret->id, fact->build_id, ret->n);
	}
	if (about.stamp.n) {
		memcpy(ret->id, about.stamp.bytes, about.stamp.n);
		ret->n = about.stamp.n;
	}
}
