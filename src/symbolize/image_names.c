// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/image_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "symbolize/symbol_files.h"

/*
 * With more known places than this, all are forgotten. The symbolizer keeps the frames (frames.h).
 */
#define MANY_PLACES 131072

struct known {
	uint64_t offset;
	uint32_t image;
	uint32_t call; /* the first of place.n_calls in @calls */
	bool is_asked; /* false: it is put off */
	struct file_place place;
};

struct image_names {
	struct images *images;
	struct symbol_files *symbols;
	uint64_t flags;
	bool has_none;
	struct strtab *strings;
	struct known *known;
	size_t n, capacity;
	struct u64_map numbers; /* hash of image and offset -> index in @known */
	struct image_call *calls;
	size_t n_calls, cap_calls;
	uint64_t version; /* images_version() at the last forget_places() */
	size_t n_put_off; /* at the end of @known */
	bool is_deferring;
};

struct image_names *image_names_new(struct images *images, struct files *files,
				    struct debuginfod *servers, uint64_t flags, bool has_none)
{
	struct image_names *f = xcalloc(1, sizeof(*f));

	f->images = images;
	f->symbols = symbol_files_new(images, files, servers);
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
	symbol_files_free(f->symbols);
	strtab_free(f->strings);
	free(f->known);
	free(f->calls);
	u64_map_fini(&f->numbers);
	free(f);
}

void image_names_refresh(struct image_names *f)
{
	forget_places(f);
	symbol_files_refresh(f->symbols);
}

/* -- Known places. -- */

static struct known *known_place_of(struct image_names *f, uint32_t image, uint64_t offset,
				    bool *is_new)
{
	for (uint64_t hash = hash_mix(offset) ^ image;; hash++) {
		const uint32_t number = *u64_map_put(&f->numbers, hash, (uint32_t)f->n, is_new);

		if (*is_new)
			array_push(f->known, f->n, f->capacity,
				   ((struct known){ .offset = offset, .image = image }));
		if (f->known[number].image == image && f->known[number].offset == offset)
			return &f->known[number];
	}
}

static const char *copy_to_strings(struct image_names *f, const struct name_view *view, uint32_t at)
{
	const char *text = name_view_text(view, at);

	return text ? strtab_add(f->strings, text) : NULL;
}

static void add_calls(struct image_names *f, const struct name_view *view,
		      const struct name_fact *fact, struct known *k)
{
	k->call = (uint32_t)f->n_calls;
	k->place.n_calls = fact->n_calls;
	for (uint32_t i = 0; i < fact->n_calls; i++) {
		const struct call_fact *call = &view->calls[fact->call + i];
		const struct image_call kept = { copy_to_strings(f, view, call->name),
						 copy_to_strings(f, view, call->file), call->line };

		array_push(f->calls, f->n_calls, f->cap_calls, kept);
	}
}

static void add_name_fact(struct image_names *f, const struct name_view *view,
			  const struct name_fact *fact, struct known *k)
{
	k->is_asked = true;
	if (!(fact->has & NAME_HAS_PLACE))
		return;
	k->place.vaddr = fact->vaddr;
	k->place.start = fact->start;
	k->place.function = copy_to_strings(f, view, fact->function);
	k->place.has_start = fact->has & NAME_HAS_START;
	k->place.is_last = fact->has & NAME_IS_LAST;
	k->place.is_behind_call = fact->has & NAME_IS_BEHIND_CALL;
	add_calls(f, view, fact, k);
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
	while (done < n && !(err = symbol_files_ask(f->symbols, image, offsets + done, n - done,
						    f->flags, &answer))) {
		for (uint32_t i = 0; i < answer.view.head->n; i++) {
			struct known *k = &f->known[numbers[done + i]];

			add_name_fact(f, &answer.view, &answer.view.facts[i], k);
			k->place.is_missed = answer.fact.is_debug_missed;
		}
		done += answer.view.head->n;
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

void image_names_defer(struct image_names *f)
{
	f->is_deferring = true;
	if (f->n > MANY_PLACES || f->version != images_version(f->images))
		forget_places(f);
}

size_t image_names_n_put_off(const struct image_names *f)
{
	return f->n_put_off;
}

bool image_names_fetch(struct image_names *f)
{
	const size_t n = f->n_put_off;

	f->n_put_off = 0;
	f->is_deferring = n != 0;
	if (n)
		ask_all_images(f, f->n - n);
	return n != 0;
}

bool image_names_look_up(struct image_names *f, uint32_t image, uint64_t offset,
			 struct file_place *ret)
{
	bool is_new;

	if (f->has_none && images_kind(f->images, image) == IMAGE_FILE) {
		*ret = (struct file_place){ .vaddr = offset };
		return true;
	}

	struct known *k = known_place_of(f, image, offset, &is_new);

	if (is_new)
		k->place.vaddr = offset;
	if (is_new && f->is_deferring) {
		f->n_put_off++;
	} else if (!k->is_asked && !f->is_deferring) {
		const uint32_t number = (uint32_t)(k - f->known);

		ask_image(f, &number, 1);
		k = &f->known[number];
	}
	*ret = k->place;
	ret->calls = f->calls + k->call;
	return k->is_asked;
}

void image_names_build(struct image_names *f, uint32_t image, struct image_build *ret)
{
	*ret = (struct image_build){};
	if (images_kind(f->images, image) == IMAGE_FILE)
		symbol_files_build(f->symbols, image,
				   f->has_none && !images_is_memory(f->images, image), ret);
}

bool image_names_may_be_made(const struct image_names *f, uint32_t image)
{
	return images_is_memory(f->images, image) && !symbol_files_has(f->symbols, image);
}

bool image_names_is_file(const struct image_names *f, uint32_t image)
{
	return images_kind(f->images, image) == IMAGE_FILE && !image_names_may_be_made(f, image);
}
