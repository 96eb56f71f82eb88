// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/kernel_types.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/hash.h"
#include "base/memory.h"

/* --- members --- */

#define MOST_MEMBERS 32
#define MOST_NAME 62

/* The bytes that follow a type's head: once, and for each of its entries. */
static const struct {
	uint8_t once, each;
} sizes[BTF_KIND_ENUM64 + 1] = {
	[BTF_KIND_INT] = { 4, 0 },      [BTF_KIND_ARRAY] = { 12, 0 },
	[BTF_KIND_STRUCT] = { 0, 12 },  [BTF_KIND_UNION] = { 0, 12 },
	[BTF_KIND_ENUM] = { 0, 8 },     [BTF_KIND_FUNC_PROTO] = { 0, 8 },
	[BTF_KIND_VAR] = { 4, 0 },      [BTF_KIND_DATASEC] = { 0, 12 },
	[BTF_KIND_DECL_TAG] = { 4, 0 }, [BTF_KIND_ENUM64] = { 0, 12 },
};

struct reader {
	char *bytes; /* the whole file */
	size_t n_bytes;
	/*
	 * The things that no type has been so far. Types refer to a name by its offset in the
	 * strings, which contain each name once.
	 */
	struct wanted {
		uint32_t name, member; /* of the type; of the member in it, 0: none */
		bool is_structure;
		uint32_t *ret;
	} wanted[MOST_MEMBERS];
	size_t n;
};

static void btf_reader_fini(struct reader *r)
{
	(void)munmap(r->bytes, r->n_bytes);
}

/*
 * Map the file. Before Linux 6.16 the kernel's cannot be mapped. Then read it, a page for each
 * call, into memory that is there at once: a fault for each page would take longer.
 */
static void read_file(struct reader *r, int fd, size_t n)
{
	size_t n_read = 0;
	ssize_t got;

	r->bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (r->bytes == MAP_FAILED) {
		r->bytes = mmap(NULL, n, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		while (r->bytes != MAP_FAILED &&
		       (got = read(fd, r->bytes + n_read, n - n_read)) > 0)
			n_read += (size_t)got;
	}
	r->n_bytes = r->bytes == MAP_FAILED ? 0 : n;
}

/* The offset of @text in the strings; NO_MEMBER: it is not there. */
static uint32_t find_name(const char *strings, size_t n_bytes, const char *text)
{
	char whole[MOST_NAME + 2] = ""; /* between the ends of two strings */
	const size_t n = strnlen(text, MOST_NAME);
	const char *found;

	if (!n)
		return 0;
	memcpy(whole + 1, text, n);
	found = memmem(strings, n_bytes, whole, n + 2);
	return found ? (uint32_t)(found + 1 - strings) : NO_MEMBER;
}

/*
 * Note what can be found: that whose names are among the strings. To compare the texts of all
 * types' names instead took 1.6 ms more.
 */
static void find_names(struct reader *r, const char *strings, size_t n_bytes,
		       const struct kernel_member *members, size_t n, uint32_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		const char *type = members[i].type, *name = members[i].name;
		const char *first = type ? type : name, *member = type && name ? name : "";
		const struct wanted w = { .name = first ? find_name(strings, n_bytes, first)
							: NO_MEMBER,
					  .member = find_name(strings, n_bytes, member),
					  .is_structure = type != NULL,
					  .ret = &ret[i] };

		if (w.name != NO_MEMBER && w.member != NO_MEMBER)
			r->wanted[r->n++] = w;
	}
}

/* The byte offset of the member whose name is at @name. */
static uint32_t find_member(const struct btf_type *type, const struct btf_member *members,
			    uint32_t name)
{
	const uint32_t mask =
		BTF_INFO_KFLAG(type->info) ? 0xffffff : UINT32_MAX; /* of offsets in bits */

	for (uint32_t i = 0; i < BTF_INFO_VLEN(type->info); i++)
		if (members[i].name_off == name)
			return (members[i].offset & mask) / 8;
	return NO_MEMBER;
}

/* Type number @id is a structure with @members, or, if that is NULL, a variable or a function. */
static void read_type(struct reader *r, const struct btf_type *type,
		      const struct btf_member *members, uint32_t id)
{
	for (size_t i = r->n; i-- > 0;) {
		struct wanted *w = &r->wanted[i];
		uint32_t at = id;

		if (w->name != type->name_off || w->is_structure != (members != NULL))
			continue;
		if (members && w->member)
			at = find_member(type, members, w->member);
		if (at == NO_MEMBER && !type->name_off)
			continue; /* another structure without a name may have it */
		*w->ret = at;
		*w = r->wanted[--r->n];
	}
}

/* Read types until all that is wanted has been found. False: they make no sense. */
static bool read_types(struct reader *r, const char *at, size_t n_bytes)
{
	const char *end = at + n_bytes;

	for (uint32_t id = 1; r->n && (size_t)(end - at) >= sizeof(struct btf_type); id++) {
		const struct btf_type *type = (const void *)at;
		const uint32_t kind = BTF_INFO_KIND(type->info);
		const struct btf_member *rest = (const void *)(type + 1);

		if (kind > BTF_KIND_ENUM64)
			return false;
		at += sizeof(*type);

		const size_t n =
			sizes[kind].once + (size_t)sizes[kind].each * BTF_INFO_VLEN(type->info);

		if ((size_t)(end - at) < n)
			return false;
		at += n;
		if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_VAR || kind == BTF_KIND_FUNC)
			read_type(r, type, kind == BTF_KIND_STRUCT ? rest : NULL, id);
	}
	return true;
}

/* Newer headers declare more members than a kernel's BTF may have. */
#define HEADER_BYTES (offsetof(struct btf_header, str_len) + sizeof(__u32))

/* Copy the header. False: the file is no BTF, or does not contain the parts that it locates. */
static bool read_header(const struct reader *r, struct btf_header *ret)
{
	*ret = (struct btf_header){};
	if (r->n_bytes < HEADER_BYTES)
		return false;
	memcpy(ret, r->bytes, HEADER_BYTES);
	return ret->magic == BTF_MAGIC && ret->version == BTF_VERSION && ret->hdr_len % 4 == 0 &&
	       ret->type_off % 4 == 0 &&
	       (uint64_t)ret->hdr_len + ret->type_off + ret->type_len <= r->n_bytes &&
	       (uint64_t)ret->hdr_len + ret->str_off + ret->str_len <= r->n_bytes;
}

int kernel_types_read(const char *path, const struct kernel_member *members, size_t n,
		      uint32_t *ret, struct error *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup(btf_reader_fini) struct reader r = {};
	struct btf_header h;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(e, "open '%s'", path);
	assert(n <= MOST_MEMBERS);
	memset(ret, 0xff, n * sizeof(*ret)); /* NO_MEMBER */
	read_file(&r, fd, (size_t)st.st_size);
	if (!read_header(&r, &h))
		return error_set(e, -EINVAL, "'%s' is not BTF, or is truncated", path);
	find_names(&r, r.bytes + h.hdr_len + h.str_off, h.str_len, members, n, ret);
	if (!read_types(&r, r.bytes + h.hdr_len + h.type_off, h.type_len))
		return error_set(e, -EINVAL, "'%s' is not well-formed, or newer than this program",
				 path);
	return 0;
}

/* --- functions --- */

/*
 * Unlike the search above, this needs types by their IDs, so libbpf reads the whole BTF and makes
 * an index. A function whose arguments the compiler has changed (.isra, .constprop) is not in it.
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

struct function_types {
	struct type_file **files; /* [0] is the kernel's; modules as far as callers wanted them */
	size_t n, capacity;
};

static struct type_file *add_type_file(struct function_types *t, const char *name, struct btf *btf)
{
	struct type_file *f = xcalloc(1, sizeof(*f));

	f->name = xstrdup(name);
	f->btf = btf;
	array_push(t->files, t->n, t->capacity, f);
	return f;
}

int function_types_read(struct function_types **ret, struct error *e)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return error_set(e, -ENOENT, "this kernel's BTF cannot be read: %s",
				 error_words(-errno));
	*ret = xcalloc(1, sizeof(**ret));
	(void)add_type_file(*ret, "vmlinux", btf);
	return 0;
}

void function_types_free(struct function_types *t)
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

static struct type_file *module_file(struct function_types *t, const char *name)
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
static const struct btf_type *find_described(struct function_types *t, const char *function,
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

int function_types_each(struct function_types *t, const char *function, const char *module,
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
