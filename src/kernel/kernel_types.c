// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/kernel_types.h"

#include <assert.h>
#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define MOST_MEMBERS 32
#define MOST_NAME 62

/*
 * Before Linux 6.16 the file cannot be mapped. Then we read it in pieces, since each new page of
 * memory costs a page fault. No type is larger.
 */
#define PIECE_BYTES (128UL << 10)

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

/* Types refer to a name by its offset in the strings, which contain each name once. */
struct name {
	const char *text; /* NULL: there is none */
	uint32_t offset;  /* NO_MEMBER: not found yet */
};

struct reader {
	FILE *f;
	char *memory;         /* PIECE_BYTES; or, with @n_mapped, the whole file */
	size_t n_mapped;      /* bytes */
	const char *at, *end; /* the part of the file that is read: its bytes in memory, */
	size_t left;          /* and how many follow */
	/* The things that no type has been so far. */
	struct wanted {
		struct name name, member; /* of the type; of the member in it */
		bool is_structure;
		uint32_t *ret;
	} wanted[MOST_MEMBERS];
	size_t n;
};

static void btf_reader_fini(struct reader *r)
{
	cleanup_fclose_p(&r->f);
	if (r->n_mapped)
		(void)munmap(r->memory, r->n_mapped);
	else
		free(r->memory);
}

/* Begin to read a part of the file. */
static void begin_part(struct reader *r, size_t offset, size_t bytes)
{
	const bool is_mapped = r->n_mapped;

	r->at = r->memory + (is_mapped ? offset : 0);
	r->end = r->at + (is_mapped ? bytes : 0);
	r->left = is_mapped ? 0 : bytes;
	(void)fseeko(r->f, (off_t)offset, SEEK_SET);
}

/* Have more bytes behind those in memory. False: there are none. */
static bool read_more(struct reader *r)
{
	const size_t n = (size_t)(r->end - r->at), room = PIECE_BYTES - n;
	size_t got;

	if (!r->left)
		return false;
	memmove(r->memory, r->at, n);
	got = fread(r->memory + n, 1, r->left < room ? r->left : room, r->f);
	r->left -= got;
	r->at = r->memory;
	r->end = r->memory + n + got;
	return got;
}

/* Take the next @bytes. NULL: there are not so many. Lent until the next call. */
static inline const void *take(struct reader *r, size_t bytes)
{
	if ((size_t)(r->end - r->at) < bytes)
		(void)read_more(r);
	if ((size_t)(r->end - r->at) < bytes)
		return NULL;
	r->at += bytes;
	return r->at - bytes;
}

/* Look for a name in the strings in memory, which begin at @offset. 1: it is known now; 0: not. */
static unsigned find_name(const struct reader *r, size_t offset, struct name *name)
{
	char whole[MOST_NAME + 2] = ""; /* between the ends of two strings */
	const char *found;
	size_t n;

	if (name->offset != NO_MEMBER)
		return 1;
	n = strnlen(name->text, MOST_NAME);
	memcpy(whole + 1, name->text, n);
	found = memmem(r->at, (size_t)(r->end - r->at), whole, n + 2);
	if (found)
		name->offset = (uint32_t)(offset + (size_t)(found + 1 - r->at));
	return found != NULL;
}

/*
 * Find the names in the strings, of @bytes. Drop what has a name that is not there. To compare the
 * texts of all types' names instead took 1.6 ms more.
 */
static void find_names(struct reader *r, size_t bytes)
{
	size_t n_known;

	do {
		const size_t offset = bytes - r->left - (size_t)(r->end - r->at);

		n_known = 0;
		for (size_t i = 0; i < r->n; i++)
			n_known += find_name(r, offset, &r->wanted[i].name) &
				   find_name(r, offset, &r->wanted[i].member);
		if (r->end - r->at > MOST_NAME + 1)
			r->at = r->end - (MOST_NAME + 1); /* a name may be in two pieces */
	} while (n_known < r->n && read_more(r));
	for (size_t i = r->n; i-- > 0;)
		if (r->wanted[i].name.offset == NO_MEMBER ||
		    r->wanted[i].member.offset == NO_MEMBER)
			r->wanted[i] = r->wanted[--r->n];
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

		if (w->name.offset != type->name_off || w->is_structure != (members != NULL))
			continue;
		if (members && w->member.text)
			at = find_member(type, members, w->member.offset);
		if (at == NO_MEMBER && !type->name_off)
			continue; /* another structure without a name may have it */
		*w->ret = at;
		*w = r->wanted[--r->n];
	}
}

/* Read types until all that is wanted has been found. False: they make no sense. */
static bool read_types(struct reader *r)
{
	const struct btf_type *head;

	for (uint32_t id = 1; r->n && (head = take(r, sizeof(*head))); id++) {
		const struct btf_type type = *head;
		const uint32_t kind = BTF_INFO_KIND(type.info);
		const void *rest;

		if (kind >= ABI_BTF_KINDS)
			return false;
		rest = take(r,
			    sizes[kind].once + (size_t)sizes[kind].each * BTF_INFO_VLEN(type.info));
		if (!rest)
			return false;
		if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_VAR || kind == BTF_KIND_FUNC)
			read_type(r, &type, kind == BTF_KIND_STRUCT ? rest : NULL, id);
	}
	return true;
}

/* Newer headers declare more members than a kernel's BTF may have. */
#define HEADER_BYTES (offsetof(struct btf_header, str_len) + sizeof(__u32))

/*
 * Map the file if it is the kernel's own, which cannot shrink. Else get memory for a piece. False:
 * the file does not contain the parts that @h locates.
 */
static bool has_parts(struct reader *r, const char *path, const struct btf_header *h)
{
	const uint64_t types = (uint64_t)h->hdr_len + h->type_off + h->type_len;
	const uint64_t strings = (uint64_t)h->hdr_len + h->str_off + h->str_len;
	struct stat st;
	void *all;

	if (fstat(fileno(r->f), &st) < 0 || types > (uint64_t)st.st_size ||
	    strings > (uint64_t)st.st_size)
		return false;
	all = strcmp(path, KERNEL_BTF) != 0
		      ? MAP_FAILED
		      : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fileno(r->f), 0);
	r->n_mapped = all == MAP_FAILED ? 0 : (size_t)st.st_size;
	r->memory = r->n_mapped ? all : xmalloc(PIECE_BYTES);
	return true;
}

static struct name name_of(const char *text)
{
	return (struct name){ text, text && *text ? NO_MEMBER : 0 };
}

int kernel_types_read(const char *path, const struct kernel_member *members, size_t n,
		      uint32_t *ret, struct error *e)
{
	cleanup(btf_reader_fini) struct reader r = { .f = fopen(path, "re") };
	struct btf_header h = {};

	if (!r.f)
		return error_errno(e, "open '%s'", path);
	assert(n <= MOST_MEMBERS);
	for (size_t i = 0; i < n; i++) {
		const char *type = members[i].type, *name = members[i].name;

		ret[i] = NO_MEMBER;
		if (type || name)
			r.wanted[r.n++] = (struct wanted){ .name = name_of(type ? type : name),
							   .member = name_of(type ? name : NULL),
							   .is_structure = type != NULL,
							   .ret = &ret[i] };
	}
	if (fread(&h, 1, HEADER_BYTES, r.f) != HEADER_BYTES || h.magic != BTF_MAGIC ||
	    h.version != BTF_VERSION || h.hdr_len % 4 || h.type_off % 4 || !has_parts(&r, path, &h))
		return error_set(e, -EINVAL, "'%s' is not BTF, or is truncated", path);
	begin_part(&r, (size_t)h.hdr_len + h.str_off, h.str_len);
	find_names(&r, h.str_len);
	begin_part(&r, (size_t)h.hdr_len + h.type_off, h.type_len);
	if (!read_types(&r))
		return error_set(e, -EINVAL, "'%s' is not well-formed, or newer than this program",
				 path);
	return 0;
}
