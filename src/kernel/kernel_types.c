// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/kernel_types.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/hash.h"
#include "base/memory.h"

/*
 * libbpf reads the whole BTF and makes an index of its types. A function whose arguments the
 * compiler has changed (.isra, .constprop) is not in it.
 */
#define FILES "/sys/kernel/btf"
#define MOST_STEPS 64 /* from a type to what it stands for */
#define TYPE_BYTES 256

/* The types of the kernel or of a module. */
struct type_file {
	char *name;
	struct btf *btf;       /* NULL: it cannot be read */
	struct btf_dump *dump; /* NULL: nobody has asked for a text */
	struct u64_map ids;    /* hash of a function's name -> its ID; empty before a question */
	char text[TYPE_BYTES]; /* of the last type */
	size_t n_text;
};

struct kernel_types {
	struct type_file **files; /* [0] is the kernel's; modules as far as callers wanted them */
	size_t n, capacity;
};

static struct type_file *add_type_file(struct kernel_types *t, const char *name, struct btf *btf)
{
	struct type_file *f = xcalloc(1, sizeof(*f));

	f->name = xstrdup(name);
	f->btf = btf;
	array_push(t->files, t->n, t->capacity, f);
	return f;
}

int kernel_types_read(struct kernel_types **ret, struct error *e)
{
	(void)libbpf_set_print(NULL); /* the error says it */

	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return error_set(e, -ENOENT, "this kernel's BTF cannot be read: %s",
				 error_words(-errno));
	*ret = xcalloc(1, sizeof(**ret));
	(void)add_type_file(*ret, "vmlinux", btf);
	return 0;
}

void kernel_types_free(struct kernel_types *t)
{
	if (!t)
		return;
	while (t->n) { /* the modules' types refer to the kernel's */
		struct type_file *f = t->files[--t->n];

		btf_dump__free(f->dump);
		btf__free(f->btf);
		u64_map_fini(&f->ids);
		free(f->name);
		free(f);
	}
	free(t->files);
	free(t);
}

/* --- members --- */

static uint32_t find_member(const struct btf *btf, const struct btf_type *type, const char *name)
{
	for (uint32_t i = 0; i < btf_vlen(type); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), name) == 0)
			return btf_member_bit_offset(type, i) / 8;
	return NO_MEMBER;
}

void kernel_types_find(const struct kernel_types *t, const struct kernel_member *members, size_t n,
		       uint32_t *ret)
{
	const struct btf *btf = t->files[0]->btf;
	const uint32_t n_types = btf__type_cnt(btf);

	memset(ret, 0xff, n * sizeof(*ret)); /* NO_MEMBER */
	for (uint32_t id = 1; id < n_types; id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const bool is_structure = btf_is_struct(type);

		if (!is_structure && !btf_is_var(type) && !btf_is_func(type))
			continue;

		const char *name = btf__name_by_offset(btf, type->name_off);

		for (size_t i = 0; i < n; i++) {
			const struct kernel_member *m = &members[i];
			const char *wanted = m->type ? m->type : m->name;

			if (ret[i] == NO_MEMBER && is_structure == (m->type != NULL) &&
			    strcmp(name, wanted) == 0)
				ret[i] = m->type && m->name ? find_member(btf, type, m->name) : id;
		}
	}
}

/* --- functions --- */

static struct type_file *module_file(struct kernel_types *t, const char *name)
{
	for (size_t i = 1; i < t->n; i++)
		if (strcmp(t->files[i]->name, name) == 0)
			return t->files[i];
	return add_type_file(t, name, btf__load_module_btf(name, t->files[0]->btf));
}

/* Of several functions of one name, the first one counts. A module's types follow the kernel's. */
static void index_functions(struct type_file *f)
{
	const struct btf *kernel = btf__base_btf(f->btf);
	const uint32_t n = btf__type_cnt(f->btf);

	for (uint32_t id = kernel ? btf__type_cnt(kernel) : 1; id < n; id++) {
		const struct btf_type *type = btf__type_by_id(f->btf, id);
		const char *name;

		if (!btf_is_func(type))
			continue;
		name = btf__name_by_offset(f->btf, type->name_off);
		(void)u64_map_put(&f->ids, hash_bytes(name, strlen(name)), id, NULL);
	}
}

/* libbpf would compare all names, for each question. */
static const struct btf_type *find_prototype(struct type_file *f, const char *function)
{
	if (f->btf && !f->ids.n)
		index_functions(f);

	const uint32_t *id = u64_map_get(&f->ids, hash_bytes(function, strlen(function)));
	const struct btf_type *found = id ? btf__type_by_id(f->btf, *id) : NULL;
	const struct btf_type *prototype = found ? btf__type_by_id(f->btf, found->type) : NULL;

	return prototype && btf_is_func_proto(prototype) ? prototype : NULL;
}

/* Find the function in @module; NULL: in the kernel, or else in any module. */
static const struct btf_type *find_described(struct kernel_types *t, const char *function,
					     const char *module, struct type_file **ret)
{
	const struct btf_type *found;
	const struct dirent *entry;

	*ret = module ? module_file(t, module) : t->files[0];
	found = find_prototype(*ret, function);

	cleanup_closedir DIR *d = found || module ? NULL : opendir(FILES);

	while (d && !found && (entry = readdir(d))) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "vmlinux") == 0)
			continue;
		*ret = module_file(t, entry->d_name);
		found = find_prototype(*ret, function);
	}
	return found;
}

/* Describe type @id, if it is a number or a pointer. */
static void describe_type(const struct btf *btf, uint32_t id, struct function_value *ret)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	for (int i = 0; type && i < MOST_STEPS && (btf_is_mod(type) || btf_is_typedef(type)); i++) {
		const char *name = btf__name_by_offset(btf, type->name_off);

		ret->is_size |= btf_is_typedef(type) &&
				(strcmp(name, "size_t") == 0 || strcmp(name, "ssize_t") == 0);
		type = btf__type_by_id(btf, type->type);
	}
	if (!type)
		return;
	if (btf_is_ptr(type)) {
		ret->bytes = sizeof(uint64_t);
	} else if (btf_is_int(type)) {
		ret->bytes = type->size <= sizeof(uint64_t) ? type->size : 0;
		ret->is_signed = btf_int_encoding(type) & BTF_INT_SIGNED;
	} else if (btf_is_any_enum(type)) {
		ret->bytes = type->size;
		ret->is_signed = btf_kflag(type);
	}
}

static int visit_values(struct type_file *file, const struct btf_type *prototype,
			function_types_visit *visit, void *context)
{
	const struct btf *btf = file->btf;
	const struct btf_param *params = btf_params(prototype);
	const uint32_t n = btf_vlen(prototype);
	struct function_value result = { .name = "", .file = file, .type = prototype->type };
	bool is_known = true;

	for (uint32_t i = 0; i < n; i++) {
		struct function_value value = {
			.name = btf__name_by_offset(btf, params[i].name_off),
			.number = i + 1,
			.file = file,
			.type = params[i].type,
		};
		int err;

		describe_type(btf, params[i].type, &value);
		is_known = is_known && value.bytes;
		value.position = is_known ? i + 1 : 0;
		err = value.name ? visit(context, &value) : 0;
		if (err)
			return err;
	}
	describe_type(btf, prototype->type, &result);
	return visit(context, &result);
}

int function_types_each(struct kernel_types *t, const char *function, const char *module,
			function_types_visit *visit, void *context, struct error *e)
{
	struct type_file *file;
	const struct btf_type *prototype = find_described(t, function, module, &file);

	if (!prototype)
		return error_set(e, -ENODATA, "the kernel's BTF does not describe %s", function);
	return visit_values(file, prototype, visit, context);
}

/* libbpf makes a text in pieces. */
static void append_type_text(void *context, const char *format, va_list arguments)
{
	struct type_file *f = context;
	const size_t room = sizeof(f->text) - f->n_text;
	const int n = vsnprintf(f->text + f->n_text, room, format, arguments);

	if (n > 0)
		f->n_text += (size_t)n < room ? (size_t)n : room - 1;
}

const char *function_types_text(const struct function_value *value)
{
	struct type_file *f = value->file;
	LIBBPF_OPTS(btf_dump_emit_type_decl_opts, how, .field_name = "");

	if (!value->type)
		return "void";
	if (!f->dump)
		f->dump = btf_dump__new(f->btf, append_type_text, f, NULL);
	f->n_text = 0;
	f->text[0] = '\0';
	if (!f->dump || btf_dump__emit_type_decl(f->dump, value->type, &how))
		return "?";
	for (size_t i = 0; i < f->n_text; i++)
		if (f->text[i] == '\n' || f->text[i] == '\t')
			f->text[i] = ' ';
	return f->text;
}
