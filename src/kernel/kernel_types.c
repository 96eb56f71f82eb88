// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/kernel_types.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MOST_MEMBERS 32
#define MOST_NAME 62

/* From include/uapi/linux/btf.h of Linux 6.0, newer than the distribution's headers. */
#define ABI_BTF_KIND_ENUM64 19
#define ABI_BTF_KINDS 20

/* The bytes that follow a type's head: once, and for each of its entries. */
static const struct {
	uint8_t once, each;
} sizes[ABI_BTF_KINDS] = {
	[BTF_KIND_INT] = { 4, 0 },      [BTF_KIND_ARRAY] = { 12, 0 },
	[BTF_KIND_STRUCT] = { 0, 12 },  [BTF_KIND_UNION] = { 0, 12 },
	[BTF_KIND_ENUM] = { 0, 8 },     [BTF_KIND_FUNC_PROTO] = { 0, 8 },
	[BTF_KIND_VAR] = { 4, 0 },      [BTF_KIND_DATASEC] = { 0, 12 },
	[BTF_KIND_DECL_TAG] = { 4, 0 }, [ABI_BTF_KIND_ENUM64] = { 0, 12 },
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

		if (kind >= ABI_BTF_KINDS)
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
