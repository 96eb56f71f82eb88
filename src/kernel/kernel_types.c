// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/kernel_types.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define MOST_MEMBERS 32
#define MOST_NAME 62 /* bytes; no wanted name has more */

/*
 * Before Linux 6.16 the file cannot be mapped. Then we read its types in pieces, so that the memory
 * stays in the cache. No type is larger.
 */
#define PIECE_BYTES (128UL << 10)

/* From include/uapi/linux/btf.h of Linux 6.0, newer than the distribution's headers. */
#define ABI_BTF_KIND_ENUM64 19
#define ABI_BTF_KINDS 20

struct reader {
	int fd;
	void *mapped; /* the whole file, or NULL */
	size_t n_mapped;
	char *read_strings; /* or these two; the reader owns them */
	uint8_t *piece;
	/* The types in memory, and the range of the file with the others. */
	const uint8_t *at, *end;
	uint64_t next, types_end;
	const char *strings;
	uint32_t n_strings; /* bytes; the last one is NUL */
	const struct kernel_member *members;
	size_t n_members;
	/* The names that no type had so far: of structures, and of variables and functions. */
	struct wanted_names {
		struct wanted_name {
			uint32_t name; /* where the strings contain it */
			uint32_t member;
		} all[MOST_MEMBERS];
		size_t n;
	} structures, objects;
	size_t n_wanted; /* of both */
	uint32_t *ret;
};

static void btf_reader_fini(struct reader *r)
{
	if (r->mapped)
		(void)munmap(r->mapped, r->n_mapped);
	free(r->read_strings);
	free(r->piece);
	cleanup_close_fd(&r->fd);
}

/* Read up to @bytes. Returns fewer at the end of the file. */
static size_t read_file_at(int fd, uint64_t offset, void *to, size_t bytes)
{
	size_t n = 0;
	ssize_t got = 1;

	for (; n < bytes && got > 0; n += got > 0 ? (size_t)got : 0)
		got = pread(fd, (char *)to + n, bytes - n, (off_t)(offset + n));
	return n;
}

/* Map the file if it is the kernel's own: only that one cannot shrink. */
static void map_file(struct reader *r, size_t bytes)
{
	struct statfs fs;
	void *at;

	if (fstatfs(r->fd, &fs) < 0 || fs.f_type != SYSFS_MAGIC)
		return;
	at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, r->fd, 0);
	if (at == MAP_FAILED)
		return;
	r->mapped = at;
	r->n_mapped = bytes;
}

static void fill_piece(struct reader *r)
{
	const size_t kept = (size_t)(r->end - r->at);
	const uint64_t left = r->types_end - r->next;
	size_t got;

	if (!left)
		return;
	memmove(r->piece, r->at, kept);
	got = read_file_at(r->fd, r->next, r->piece + kept,
			   left < PIECE_BYTES - kept ? left : PIECE_BYTES - kept);
	r->at = r->piece;
	r->end = r->piece + kept + got;
	r->next += got;
}

/* Take the next @bytes. NULL: there are not so many. Lent until the next call. */
static inline const void *read_btf(struct reader *r, size_t bytes)
{
	if ((size_t)(r->end - r->at) < bytes)
		fill_piece(r);
	if ((size_t)(r->end - r->at) < bytes)
		return NULL;
	r->at += bytes;
	return r->at - bytes;
}

/* The byte offset of the member @name among the @n of @type. */
static uint32_t find_member(const struct reader *r, const struct btf_type *type,
			    const struct btf_member *members, const char *name)
{
	const uint32_t n = BTF_INFO_VLEN(type->info);

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = members[i].name_off, offset = members[i].offset;

		if (at < r->n_strings && strcmp(&r->strings[at], name) == 0)
			return (BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(offset)
							   : offset) /
			       8;
	}
	return NO_MEMBER;
}

static void set_result(struct reader *r, struct wanted_names *from, size_t i, uint32_t result)
{
	r->ret[from->all[i].member] = result;
	from->all[i] = from->all[--from->n];
	r->n_wanted--;
}

static void read_structure(struct reader *r, const struct btf_type *type,
			   const struct btf_member *members, uint32_t id)
{
	for (size_t i = 0; i < r->structures.n;) {
		const struct wanted_name *wanted = &r->structures.all[i];
		const char *member = r->members[wanted->member].name;
		uint32_t at = id;

		if (wanted->name != type->name_off) {
			i++;
			continue;
		}
		if (member)
			at = find_member(r, type, members, member);
		if (at != NO_MEMBER || type->name_off)
			set_result(r, &r->structures, i, at);
		else
			i++;
	}
}

static void read_object(struct reader *r, const struct btf_type *type, uint32_t id)
{
	for (size_t i = 0; i < r->objects.n; i++)
		if (r->objects.all[i].name == type->name_off) {
			set_result(r, &r->objects, i, id);
			return;
		}
}

/*
 * Put the offset of a name into *@ret, by which types refer to it. False: no type has that name.
 * The strings contain each name once, and begin with the empty one. To compare the names of 60,000
 * functions instead took 1.6 ms more.
 */
static bool find_name(const struct reader *r, const char *name, uint32_t *ret)
{
	char whole[MOST_NAME + 2] = ""; /* between the ends of two strings */
	const size_t n = strnlen(name, MOST_NAME);
	const char *found;

	*ret = 0;
	if (!n)
		return true;
	memcpy(whole + 1, name, n);
	found = memmem(r->strings, r->n_strings, whole, n + 2);
	if (found)
		*ret = (uint32_t)(found + 1 - r->strings);
	return found;
}

/* List the wanted names that this kernel's types have. */
static void find_names(struct reader *r)
{
	const char *last = NULL;
	uint32_t at = 0;
	bool exists = false;

	for (uint32_t i = 0; i < r->n_members; i++) {
		const struct kernel_member *member = &r->members[i];
		const char *name = member->type ? member->type : member->name;
		struct wanted_names *to = member->type ? &r->structures : &r->objects;

		if (name && (!last || strcmp(name, last) != 0))
			exists = find_name(r, name, &at);
		if (name && exists)
			to->all[to->n++] = (struct wanted_name){ at, i };
		last = name;
	}
	r->n_wanted = r->structures.n + r->objects.n;
}

/* The bytes that follow a type's head: once, and for each of its entries. */
static const struct {
	uint8_t once, each;
} sizes[ABI_BTF_KINDS] = {
	[BTF_KIND_INT] = { 4, 0 },
	[BTF_KIND_ARRAY] = { sizeof(struct btf_array), 0 },
	[BTF_KIND_STRUCT] = { 0, sizeof(struct btf_member) },
	[BTF_KIND_UNION] = { 0, sizeof(struct btf_member) },
	[BTF_KIND_ENUM] = { 0, sizeof(struct btf_enum) },
	[BTF_KIND_FUNC_PROTO] = { 0, sizeof(struct btf_param) },
	[BTF_KIND_VAR] = { sizeof(struct btf_var), 0 },
	[BTF_KIND_DATASEC] = { 0, sizeof(struct btf_var_secinfo) },
	[BTF_KIND_DECL_TAG] = { sizeof(struct btf_decl_tag), 0 },
	[ABI_BTF_KIND_ENUM64] = { 0, 12 },
};

/* Read types until all wanted names have been found. */
static int find_all_members(struct reader *r)
{
	const struct btf_type *taken;

	for (uint32_t id = 1; r->n_wanted && (taken = read_btf(r, sizeof(*taken))); id++) {
		const struct btf_type type = *taken;
		const uint32_t kind = BTF_INFO_KIND(type.info);
		const void *rest;

		if (kind >= ABI_BTF_KINDS)
			return -EINVAL;
		rest = read_btf(r, sizes[kind].once +
					   (size_t)sizes[kind].each * BTF_INFO_VLEN(type.info));
		if (!rest)
			return -EINVAL;
		if (kind == BTF_KIND_STRUCT)
			read_structure(r, &type, rest, id);
		else if (kind == BTF_KIND_VAR || kind == BTF_KIND_FUNC)
			read_object(r, &type, id);
	}
	return 0;
}

/* Newer headers declare more members than a kernel's BTF may have. */
#define HEADER_BYTES (offsetof(struct btf_header, str_len) + sizeof(__u32))

/* Locate the parts by the header @h, in a file of @bytes. False: the file does not contain them. */
static bool find_parts(struct reader *r, const struct btf_header *h, uint64_t bytes)
{
	const uint64_t types = (uint64_t)h->hdr_len + h->type_off;
	const uint64_t strings = (uint64_t)h->hdr_len + h->str_off;

	if (types + h->type_len > bytes || strings + h->str_len > bytes || types % 4 || !h->str_len)
		return false;
	r->n_strings = h->str_len;
	r->next = r->types_end = types + h->type_len;
	map_file(r, bytes);
	if (r->mapped) {
		r->strings = (const char *)r->mapped + strings;
		r->at = (const uint8_t *)r->mapped + types;
		r->end = r->at + h->type_len;
	} else {
		r->strings = r->read_strings = xmalloc(h->str_len);
		r->at = r->end = r->piece = xmalloc(PIECE_BYTES);
		r->next = types;
		if (read_file_at(r->fd, strings, r->read_strings, h->str_len) != h->str_len)
			return false;
	}
	return r->strings[h->str_len - 1] == '\0';
}

/* Read the header and locate the parts. False: the file is not BTF. */
static bool locate_btf_parts(struct reader *r)
{
	struct btf_header h = {};
	struct stat st;

	return fstat(r->fd, &st) == 0 && read_file_at(r->fd, 0, &h, HEADER_BYTES) == HEADER_BYTES &&
	       h.magic == BTF_MAGIC && h.version == BTF_VERSION && h.hdr_len >= HEADER_BYTES &&
	       find_parts(r, &h, (uint64_t)st.st_size);
}

int kernel_types_read(const char *path, const struct kernel_member *members, size_t n,
		      uint32_t *ret, struct error *e)
{
	cleanup(btf_reader_fini) struct reader r = { .fd = open(path, O_RDONLY | O_CLOEXEC),
						     .members = members,
						     .n_members = n,
						     .ret = ret };

	if (r.fd < 0)
		return error_errno(e, "open '%s'", path);
	if (n > MOST_MEMBERS)
		return error_set(e, -EINVAL, "too many members in one request");
	for (size_t i = 0; i < n; i++)
		ret[i] = NO_MEMBER;
	if (!locate_btf_parts(&r))
		return error_set(e, -EINVAL, "'%s' is not BTF, or is truncated", path);
	find_names(&r);
	if (find_all_members(&r))
		return error_set(e, -EINVAL, "'%s' is not well-formed, or newer than this program",
				 path);
	return 0;
}
