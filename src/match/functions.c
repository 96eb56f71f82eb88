// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* User functions: the symbols of one file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "elf/image.h"
#include "match/indirect.h"
#include "match/names.h"
#include "match/private.h"

#define cleanup_image cleanup(image_freep)

struct function_walk {
	struct matching *m;
	struct image *image;
	const char *path;
	struct file_place file;
	size_t n;
	struct name_pattern name;
	struct indirect implementations;
	size_t n_indirect;  /* functions of which only the resolver is known */
	char indirect[128]; /* the last of them */
	struct error *e;
};

/* Old programs need these to start: glibc keeps them in libpthread.so.0 and others. */
static bool is_placeholder(const char *symbol)
{
	return strncmp(symbol, "__lib", 5) == 0 && strstr(symbol, "_version_placeholder");
}

/* "f.cold": its returns are those of f. */
static bool is_cold_part(const char *symbol)
{
	return strstr(symbol, ".cold");
}

static int match_symbol(void *context, const struct image_symbol *s)
{
	struct function_walk *walk = context;
	struct target t = {
		.kind = walk->m->spec->is_return ? TARGET_USER_RETURN : TARGET_USER_FUNCTION,
		.symbol = s->name,
		.path = walk->path,
		.is_distant = walk->file.is_distant,
		.is_32_bit = !image_has_64_bit_code(walk->image),
	};

	if (!names_match(&walk->name, s->name) || is_placeholder(s->name) ||
	    (t.kind == TARGET_USER_RETURN && is_cold_part(s->name)))
		return 0;
	if (s->is_indirect && !indirect_offset(&walk->implementations, s->name, &t.offset)) {
		(void)snprintf(walk->indirect, sizeof(walk->indirect), "%s", s->name);
		walk->n_indirect++;
		return 0;
	}
	if (!s->is_indirect && !image_vaddr_to_offset(walk->image, s->vaddr, &t.offset))
		return 0;

	/* For an implementation chosen at run time, only the offset is known. */
	if (!image_offset_to_vaddr(walk->image, t.offset, &t.vaddr))
		t.vaddr = s->vaddr;

	cleanup_free char *written = names_written(s->name, walk->m->scope->raw_names);
	struct target_list *list = walk->m->out;
	struct target *listed;
	size_t n_before = list->n;

	t.name = written;

	int err = matching_add(walk->m, &t, place_in_file(&walk->file, t.kind, t.offset), &listed,
			       walk->e);

	if (err)
		return err;
	walk->n++;
	/* This call has listed the place by a worse name: __libc_malloc, not malloc. */
	if (list->n == n_before && (size_t)(listed - list->targets) >= walk->m->n_before &&
	    names_is_better(s->name, listed->symbol)) {
		const char *before = listed->name;

		listed->symbol = strtab_add(list->strings, s->name);
		listed->name = strtab_add(list->strings, written);
		matching_add_alias(walk->m, listed, before);
	}
	return 0;
}

/* The search for an IFUNC's implementations: "__memcpy_avx_unaligned" for memcpy. */
struct implementations {
	const char *of;
	struct strbuf names;
	size_t n;
};

static int add_implementation(void *context, const struct image_symbol *s)
{
	struct implementations *found = context;
	const char *name = s->name + strspn(s->name, "_");
	size_t n = strlen(found->of);

	if (s->is_indirect || s->name[0] != '_' || strncmp(name, found->of, n) != 0 ||
	    name[n] != '_' || found->n >= 6)
		return 0;
	/* .symtab and .dynsym may both have it. */
	if (found->names.text && strstr(found->names.text, s->name))
		return 0;
	strbuf_printf(&found->names, "%s%s", found->n++ ? ", " : "", s->name);
	return 0;
}

static int explain_indirect(struct function_walk *walk)
{
	struct implementations found = { .of = walk->indirect + strspn(walk->indirect, "_") };
	const char *names = "their names are not in its symbol table";
	int code;

	(void)image_each_function(walk->image, add_implementation, &found);
	if (found.n)
		names = found.names.text;
	code = error_set(walk->e, -EOPNOTSUPP,
			 "%s of %s is an IFUNC: the loader picks an implementation for this CPU; "
			 "trace one of these (%s)",
			 walk->indirect, walk->path, names);
	strbuf_fini(&found.names);
	return code;
}

int match_functions(struct matching *m, const char *path, size_t *ret_n, struct error *e)
{
	cleanup_image struct image *image = NULL;
	int err = image_open(path, &image, e);

	if (err)
		return err;

	struct function_walk walk = {
		.m = m,
		.image = image,
		.path = path,
		.implementations.path = path,
		.e = e,
	};

	const size_t first = m->out->n, first_alias = m->out->n_aliases;

	file_place_of(path, &walk.file);
	name_pattern_init(&walk.name, m->spec->name);
	err = image_each_function(image, match_symbol, &walk);
	indirect_fini(&walk.implementations);
	if (err)
		return err;
	if (m->spec->is_return)
		err = place_returns(m, first, first_alias, image, e);
	else
		place_probes(m, first, image);
	if (err)
		return err;
	/* An old version of the name may be a plain function, but hardly anything calls it. */
	if (walk.n_indirect && (!walk.n || pattern_literal(m->spec->name)))
		return explain_indirect(&walk);
	if (walk.n_indirect)
		log_debug("left out %zu functions of %s: the loader picks their implementation "
			  "(IFUNC)",
			  walk.n_indirect, path);
	*ret_n += walk.n;
	return 0;
}

static int offer_function(void *context, const struct image_symbol *s)
{
	cleanup_free char *name = names_bare(s->name);

	if (!s->is_indirect)
		near_offer(context, name);
	return 0;
}

void near_functions(const char *path, struct near *near)
{
	cleanup_image struct image *image = NULL;

	if (image_open(path, &image, NULL) == 0)
		(void)image_each_function(image, offer_function, near);
}
