// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/text.h"

/* The names so far. Equal names are one pointer. */
struct making {
	const struct target_list *targets;
	struct strtab *strings;
	const char **names; /* of each target */
};

/* A function and its returns differ: "malloc", "r:malloc". */
static const char *own_name(const struct making *m, const struct target *t)
{
	const bool is_return = t->kind == TARGET_KERNEL_RETURN || t->kind == TARGET_USER_RETURN;
	cleanup_free char *name = xasprintf("%s%s", is_return ? "r:" : "", t->name);

	return strtab_add(m->strings, name);
}

/* --- several places of one name --- */

enum difference { BY_MODULE, BY_PATH, BY_ADDRESS, DIFFERENCES };

/* A text by which a target differs from its namesakes, or NULL. Equal texts may be two pointers. */
static const char *difference_of(const struct making *m, const struct target *t, int by)
{
	const bool is_kernel = target_is_kernel_function(t);
	const char *slash = t->path ? strrchr(t->path, '/') : NULL;
	char text[32];

	if (by == BY_MODULE)
		return slash ? slash + 1 : t->path ? t->path : t->module;
	if (by == BY_PATH)
		return t->path;
	if (!is_kernel && t->kind != TARGET_USER_FUNCTION && t->kind != TARGET_USER_RETURN)
		return NULL; /* a USDT probe may be at many places */
	(void)snprintf(text, sizeof(text), "0x%" PRIx64, is_kernel ? t->addr : t->vaddr);
	return strtab_add(m->strings, text);
}

/* Append the difference to the names of targets that have the same name, and differ in it. */
static void append_differences(const struct making *m, int by)
{
	const struct target *targets = m->targets->targets;
	const size_t n = m->targets->n;
	cleanup_free bool *differ = xcalloc(n + 1, sizeof(*differ)); /* by a name's first target */
	cleanup_free uint32_t *first = xcalloc(n + 1, sizeof(*first));
	struct u64_map named = {};

	for (size_t i = 0; i < n; i++) {
		first[i] = *u64_map_put(&named, (uintptr_t)m->names[i], (uint32_t)i, NULL);
		if (first[i] != i && !differ[first[i]])
			differ[first[i]] = !text_is_same(difference_of(m, &targets[i], by),
							 difference_of(m, &targets[first[i]], by));
	}
	for (size_t i = 0; i < n; i++) {
		const char *what = differ[first[i]] ? difference_of(m, &targets[i], by) : NULL;
		cleanup_strbuf struct strbuf name = {};

		if (!what)
			continue;
		strbuf_printf(&name, "%s [%s]", m->names[i], what);
		m->names[i] = strtab_add(m->strings, name.text);
	}
	u64_map_fini(&named);
}

/* --- rows --- */

static void make_name_rows(const struct making *m, struct target_names *ret)
{
	struct u64_map rows = {};

	for (size_t i = 0; i < m->targets->n; i++) {
		bool is_new;

		ret->rows[i] =
			*u64_map_put(&rows, (uintptr_t)m->names[i], (uint32_t)ret->n, &is_new);
		if (is_new)
			ret->names[ret->n++] = m->names[i];
	}
	u64_map_fini(&rows);
}

void target_names_make(const struct target_list *targets, struct target_names *ret)
{
	const size_t n = targets->n;
	cleanup_free const char **names = xcalloc(n + 1, sizeof(*names));

	*ret = (struct target_names){
		.names = xcalloc(n + 1, sizeof(*ret->names)),
		.rows = xcalloc(n + 1, sizeof(*ret->rows)),
		.strings = strtab_new(),
	};

	const struct making m = { .targets = targets, .strings = ret->strings, .names = names };

	for (size_t i = 0; i < n; i++)
		names[i] = own_name(&m, &targets->targets[i]);
	for (int by = 0; by < DIFFERENCES; by++)
		append_differences(&m, by);
	make_name_rows(&m, ret);
}

void target_names_fini(struct target_names *t)
{
	free(t->names);
	free(t->rows);
	strtab_free(t->strings);
	*t = (struct target_names){};
}
