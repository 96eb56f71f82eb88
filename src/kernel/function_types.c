// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Unlike kernel_types.c, this needs types by their IDs, so libbpf reads the whole BTF and makes an
 * index. A function whose arguments the compiler has changed (.isra, .constprop) is not in it.
 */
#include "kernel/function_types.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "base/alloc.h"
#include "base/array.h"

#define MODULES "/sys/kernel/btf"
#define MOST_STEPS 64 /* from a type to what it stands for */

struct module_types {
	char *name;
	struct btf *btf; /* NULL: it cannot be read */
};

struct function_types {
	struct btf *vmlinux;
	struct module_types *modules; /* as far as callers wanted them */
	size_t n, capacity;
};

int function_types_read(struct function_types **ret, struct error *e)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return error_set(e, -ENOENT, "this kernel's BTF cannot be read: %s",
				 error_words(-errno));
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->vmlinux = btf;
	return 0;
}

void function_types_free(struct function_types *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++) {
		btf__free(t->modules[i].btf);
		free(t->modules[i].name);
	}
	free(t->modules);
	btf__free(t->vmlinux);
	free(t);
}

static const struct btf *module_btf(struct function_types *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->modules[i].name, name) == 0)
			return t->modules[i].btf;
	array_push(
		t->modules, t->n, t->capacity,
		((struct module_types){ xstrdup(name), btf__load_module_btf(name, t->vmlinux) }));
	return t->modules[t->n - 1].btf;
}

static const struct btf_type *find_prototype(const struct btf *btf, const char *function)
{
	const int id = btf ? btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) : -1;
	const struct btf_type *f = id > 0 ? btf__type_by_id(btf, (unsigned)id) : NULL;
	const struct btf_type *prototype = f ? btf__type_by_id(btf, f->type) : NULL;

	return prototype && btf_is_func_proto(prototype) ? prototype : NULL;
}

/* Find the function in any module. */
static const struct btf_type *find_in_modules(struct function_types *t, const char *function,
					      const struct btf **ret)
{
	const struct btf_type *found = NULL;
	const struct dirent *entry;
	DIR *d = opendir(MODULES);

	while (d && !found && (entry = readdir(d))) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "vmlinux") == 0)
			continue;
		*ret = module_btf(t, entry->d_name);
		found = find_prototype(*ret, function);
	}
	if (d)
		closedir(d);
	return found;
}

static const struct btf_type *find_described(struct function_types *t, const char *function,
					     const char *module, const struct btf **ret)
{
	const struct btf_type *found;

	*ret = module ? module_btf(t, module) : t->vmlinux;
	found = find_prototype(*ret, function);
	return found || module ? found : find_in_modules(t, function, ret);
}

static bool is_size_name(const char *name)
{
	return strcmp(name, "size_t") == 0 || strcmp(name, "ssize_t") == 0;
}

/* Describe type @id, if it is a number or a pointer. */
static void describe_type(const struct btf *btf, uint32_t id, struct function_value *ret)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	for (int i = 0; type && i < MOST_STEPS && (btf_is_mod(type) || btf_is_typedef(type)); i++) {
		ret->is_size |= btf_is_typedef(type) &&
				is_size_name(btf__name_by_offset(btf, type->name_off));
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

static int visit_values(const struct btf *btf, const struct btf_type *prototype,
			function_types_visit *visit, void *context)
{
	const struct btf_param *params = btf_params(prototype);
	const uint32_t n = btf_vlen(prototype);
	struct function_value result = { .name = "" };
	bool is_known = true;

	for (uint32_t i = 0; i < n; i++) {
		struct function_value value = {
			.name = btf__name_by_offset(btf, params[i].name_off),
			.number = i + 1,
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

int function_types_each(struct function_types *t, const char *function, const char *module,
			function_types_visit *visit, void *context, struct error *e)
{
	const struct btf *btf;
	const struct btf_type *prototype = find_described(t, function, module, &btf);

	if (!prototype)
		return error_set(e, -ENODATA, "the kernel's BTF does not describe %s", function);
	return visit_values(btf, prototype, visit, context);
}
