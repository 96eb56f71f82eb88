// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/image_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "elf/debug.h"
#include "elf/image.h"
#include "reader/debug_symbols.h"

#define MAX_IMAGES 256
#define MAX_IMAGE_BYTES (12ULL << 20)

struct file {
	uint32_t image;
	struct image *symbols; /* NULL: not in memory */
	uint64_t bytes;        /* that they take */
	uint64_t last_used;    /* by the clock of look-ups */
	uint32_t asked;        /* images_newest() when another file of its build was looked for */
	bool is_bad;           /* it has none */
};

struct image_names {
	struct images *images;
	struct debug_symbols *debug;
	struct file *list;
	size_t n, capacity;
	struct u64_map by_image; /* index in @list */
	uint64_t clock;
	size_t n_open;
	uint64_t bytes;
};

struct image_names *image_names_new(struct images *images, struct debuginfod *servers)
{
	struct image_names *f = xcalloc(1, sizeof(*f));

	f->images = images;
	f->debug = debug_symbols_new(servers);
	return f;
}

void image_names_free(struct image_names *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		image_close(f->list[i].symbols);
	free(f->list);
	u64_map_fini(&f->by_image);
	debug_symbols_free(f->debug);
	free(f);
}

static void drop_symbols(struct image_names *f, struct file *file)
{
	if (!file->symbols)
		return;
	image_freep(&file->symbols);
	f->n_open--;
	f->bytes -= file->bytes;
	file->bytes = 0;
}

void image_names_refresh(struct image_names *f)
{
	size_t n = 0;

	u64_map_clear(&f->by_image);
	for (size_t i = 0; i < f->n; i++) {
		struct file *file = &f->list[i];

		if (!images_is_good(f->images, file->image))
			drop_symbols(f, file);
		if (!file->symbols && !file->is_bad && !file->asked)
			continue; /* nothing is known of it */
		if (!images_is_known(f->images, file->image)) {
			drop_symbols(f, file);
			continue;
		}
		*u64_map_put(&f->by_image, file->image, 0, NULL) = (uint32_t)n;
		f->list[n++] = *file;
	}
	f->n = n;
}

/* NULL: nothing was asked of it. Lent until the next file_of(). */
static struct file *known_file(const struct image_names *f, uint32_t image)
{
	const uint32_t *at = u64_map_get(&f->by_image, image);

	return at ? &f->list[*at] : NULL;
}

static struct file *file_of(struct image_names *f, uint32_t image)
{
	bool is_new;
	const uint32_t at = *u64_map_put(&f->by_image, image, (uint32_t)f->n, &is_new);

	if (is_new)
		array_push(f->list, f->n, f->capacity, ((struct file){ .image = image }));
	return &f->list[at];
}

/* --- symbols --- */

static bool is_of_build(const struct file_stamp *stamp, const struct image *symbols)
{
	const uint8_t *bytes;

	return image_told_build_id(symbols, &bytes) == stamp->n &&
	       memcmp(bytes, stamp->bytes, stamp->n) == 0;
}

/* The vdso has no file; the kernel puts the same bytes into every 64-bit process. */
static int open_vdso(struct image **ret, struct error *e)
{
	size_t bytes = 0;
	const void *vdso = own_vdso(&bytes);

	if (!vdso)
		return error_set(e, -ENOENT, "this process has no vdso");
	return image_open_memory(vdso, bytes, "[vdso]", ret, e);
}

/* Is the open file @fd, which is closed, of the build that @file is of? */
static bool take_twin(struct image_names *f, const struct file *file,
		      const struct image_about *about, int fd, struct image **ret)
{
	cleanup_close int own = fd;
	cleanup(image_freep) struct image *symbols = NULL;
	struct error e;

	if (own < 0 || image_open_fd(own, about->module, &symbols, &e) != 0 ||
	    !is_of_build(&about->stamp, symbols))
		return false;
	images_take_twin(f->images, file->image, own);
	*ret = TAKE(symbols);
	return true;
}

static bool find_twin(struct image_names *f, struct file *file, const struct image_about *about,
		      struct image **ret)
{
	const uint32_t newest = images_newest(f->images);
	uint32_t at = UINT32_MAX;
	int fd;

	if (file->asked == newest)
		return false;
	while ((fd = images_next_twin(f->images, file->image, file->asked, &at)) >= 0)
		if (take_twin(f, file, about, fd, ret))
			return true;
	if (!file->asked &&
	    take_twin(f, file, about, images_open_ours(f->images, file->image), ret))
		return true;
	file->asked = newest;
	return false;
}

/* False: the file cannot be had now, and no other one of its build. */
static bool read_symbols(struct image_names *f, struct file *file, const struct image_about *about,
			 int *ret_err, struct error *e)
{
	cleanup_close int fd = -1;

	*ret_err = 0;
	if (about->kind == IMAGE_VDSO) {
		*ret_err = open_vdso(&file->symbols, e);
		return true;
	}
	fd = images_open(f->images, file->image);
	if (fd < 0)
		return find_twin(f, file, about, &file->symbols);
	*ret_err = image_open_fd(fd, about->module, &file->symbols, e);
	/* What was found at the path is of the build that the process had mapped, if that is known.
	 */
	if (!*ret_err && about->stamp.n && !is_of_build(&about->stamp, file->symbols))
		*ret_err = error_set(e, -ESTALE, "%s: another build is there now", about->path);
	return true;
}

static bool is_damaged(struct image_names *f, struct file *file)
{
	if (!file->symbols || !image_is_damaged(file->symbols))
		return false;
	images_give_up(f->images, file->image);
	drop_symbols(f, file);
	return true;
}

static bool open_symbols(struct image_names *f, struct file *file)
{
	cleanup(image_about_fini) struct image_about about = {};
	struct error e;
	int err;

	if (is_damaged(f, file) || !images_is_good(f->images, file->image)) {
		drop_symbols(f, file);
		return false;
	}
	if (file->symbols)
		return true;
	if (file->is_bad || !images_about(f->images, file->image, &about) ||
	    about.kind == IMAGE_NO_FILE || !read_symbols(f, file, &about, &err, &e))
		return false;
	if (err) {
		log_debug("%s has no names: %s", about.module, e.text);
		file->is_bad = true;
		image_freep(&file->symbols);
		images_close(f->images, file->image);
		return false;
	}
	f->n_open++;
	if (about.kind == IMAGE_FILE)
		debug_symbols_add(f->debug, file->symbols, about.root, about.path, about.module);
	return true;
}

/* After a look-up in @used: its index may have been built by it. */
static void keep_bounds(struct image_names *f, struct file *used)
{
	f->bytes -= used->bytes;
	used->bytes = image_bytes(used->symbols);
	f->bytes += used->bytes;
	while (f->n_open > MAX_IMAGES || f->bytes > MAX_IMAGE_BYTES) {
		struct file *least = NULL;

		for (size_t i = 0; i < f->n; i++)
			if (f->list[i].symbols && &f->list[i] != used &&
			    (!least || f->list[i].last_used < least->last_used))
				least = &f->list[i];
		if (!least)
			return;
		drop_symbols(f, least);
	}
}

/* --- questions --- */

void image_names_look_up(struct image_names *f, uint32_t image, uint64_t offset,
			 struct file_place *ret)
{
	struct file *file = file_of(f, image);
	struct image_symbol symbol;

	*ret = (struct file_place){ .vaddr = offset };
	if (!open_symbols(f, file))
		return;
	file->last_used = ++f->clock;
	if (!image_offset_to_vaddr(file->symbols, offset, &ret->vaddr))
		return;
	if (image_function_at(file->symbols, ret->vaddr, &symbol)) {
		ret->function = symbol.name;
		ret->start = symbol.vaddr;
		ret->has_start = true;
		ret->is_last = ret->vaddr - symbol.vaddr + 1 == symbol.size;
	} else {
		ret->has_start = image_function_start(file->symbols, ret->vaddr, &ret->start);
	}
	if (is_damaged(f, file)) {
		*ret = (struct file_place){ .vaddr = ret->vaddr };
		return;
	}
	keep_bounds(f, file);
}

size_t image_names_calls(struct image_names *f, uint32_t image, uint64_t vaddr,
			 struct image_call *to, size_t most)
{
	const struct file *file = known_file(f, image);

	return file && file->symbols ? image_calls_at(file->symbols, vaddr, to, most) : 0;
}

bool image_names_is_behind_call(const struct image_names *f, uint32_t image, uint64_t vaddr)
{
	const struct file *file = known_file(f, image);

	return file && file->symbols && image_is_behind_call(file->symbols, vaddr);
}

bool image_names_may_be_made(const struct image_names *f, uint32_t image)
{
	const struct file *file = known_file(f, image);

	return images_is_memory(f->images, image) && !(file && file->symbols);
}

bool image_names_has_places(const struct image_names *f, uint32_t image)
{
	return images_has_places(f->images, image);
}

bool image_names_is_file(const struct image_names *f, uint32_t image)
{
	return images_is_in_file(f->images, image) && !image_names_may_be_made(f, image);
}
