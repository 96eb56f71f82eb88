// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* USDT probes of one file. A probe may be at many places, and each place is a target. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "elf/image.h"
#include "match/private.h"

#define cleanup_image cleanup(image_freep)

struct usdt_walk {
	struct matching *m;
	const char *path;
	struct file_place file;
	bool is_32_bit;
	size_t n, n_mistaken;
	struct error *e;
};

static int match_usdt_probe(void *context, const struct image_usdt *p)
{
	struct usdt_walk *walk = context;
	const struct probe_spec *spec = walk->m->spec;
	char name[512];
	const struct target t = {
		.kind = TARGET_USDT,
		.name = name,
		.path = walk->path,
		.is_distant = walk->file.is_distant,
		.offset = p->offset,
		.semaphore = p->semaphore,
		.arguments = p->arguments,
		.is_32_bit = walk->is_32_bit,
	};

	if (!pattern_matches(spec->name, p->name) ||
	    (spec->provider && !pattern_matches(spec->provider, p->provider)))
		return 0;
	(void)snprintf(name, sizeof(name), "%s:%s", p->provider, p->name);
	walk->n++;
	walk->n_mistaken += p->is_mistaken;
	return matching_add(walk->m, &t, place_in_file(&walk->file, t.kind, t.offset), NULL,
			    walk->e);
}

int match_usdt(struct matching *m, const char *path, size_t *ret_n, struct error *e)
{
	cleanup_image struct image *image = NULL;
	int err = image_open(path, &image, e);

	if (err)
		return err;

	struct usdt_walk walk = { .m = m, .path = path, .e = e };
	walk.is_32_bit = !image_has_64_bit_code(image);
	size_t first = m->out->n;

	file_place_of(path, &walk.file);
	err = image_each_usdt(image, match_usdt_probe, &walk, e);
	if (!err)
		place_probes(m, first, image);
	if (walk.n_mistaken)
		log_warn("%s: %zu of its probes have a semaphore in a page that two writable "
			 "segments share: in a process that starts later, the kernel raises a "
			 "copy of it, and the program does not see that it is traced (-p of one "
			 "that runs is right; so are programs linked with -z norelro)",
			 path, walk.n_mistaken);
	*ret_n += walk.n;
	return err == -ENOENT ? 0 : err; /* the file has no probes; another one may have them */
}

struct usdt_offer {
	struct near *near;
	bool with_provider;
};

static int offer_usdt_probe(void *context, const struct image_usdt *p)
{
	struct usdt_offer *to = context;
	char name[512];

	(void)snprintf(name, sizeof(name), "%s:%s", p->provider, p->name);
	near_offer(to->near, to->with_provider ? name : p->name);
	return 0;
}

bool near_usdt(const char *path, bool with_provider, struct near *near)
{
	cleanup_image struct image *image = NULL;
	struct usdt_offer to = { near, with_provider };

	return image_open(path, &image, NULL) == 0 &&
	       image_each_usdt(image, offer_usdt_probe, &to, NULL) == 0;
}
