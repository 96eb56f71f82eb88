#include "host/kernel_types.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define PIECE_BYTES (64UL << 10)
#define MOST_MEMBERS 32
#define MOST_NAME 64 /* characters of a name that is looked for */
#define NO_STRING UINT32_MAX

/* Newer than the headers that the distribution has: include/uapi/linux/btf.h of Linux 6.0. */
#define ABI_BTF_KIND_ENUM64 19
#define ABI_BTF_KINDS 20

/*
 * Part of the file, of which a piece is in memory: all of it where it can be mapped (since Linux
 * 6.16), which saves hundreds of reads of a page each.
 */
struct stream {
	int fd;
	const uint8_t *mapped; /* NULL: it is not */
	size_t n_mapped;
	off_t next; /* in the file: what comes behind the piece */
	off_t end;
	const uint8_t *piece;
	size_t at, n; /* in the piece */
	uint8_t read[PIECE_BYTES];
};

struct reader {
	struct stream stream;
	struct btf_header header;
	const struct kernel_member *members;
	size_t n_members;
	/* Places of the names among the strings. */
	uint32_t types[MOST_MEMBERS], names[MOST_MEMBERS];
	bool is_done[MOST_MEMBERS]; /* its structure, or variable, has been seen */
	/* By first character and length: those that the names have. */
	bool may_be[256][MOST_NAME];
	uint32_t *ret;
};

/* The kernel's own file alone: it is as large as it says for as long as it is there. */
static void map_file(struct stream *s)
{
	struct statfs fs;
	struct stat st;
	void *memory;

	if (fstatfs(s->fd, &fs) < 0 || fs.f_type != SYSFS_MAGIC || fstat(s->fd, &st) < 0 ||
	    st.st_size <= 0)
		return;
	memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, s->fd, 0);
	if (memory == MAP_FAILED)
		return;
	s->mapped = memory;
	s->n_mapped = (size_t)st.st_size;
}

static void unmap_file(const struct stream *s)
{
	if (s->mapped)
		(void)munmap((void *)s->mapped, s->n_mapped);
}

static void stream_begin(struct stream *s, uint64_t offset, uint64_t bytes)
{
	s->next = (off_t)offset;
	s->end = (off_t)(offset + bytes);
	s->piece = s->read;
	s->at = s->n = 0;
	if (offset > s->n_mapped || bytes > s->n_mapped - offset)
		return;
	s->piece = s->mapped + offset;
	s->n = bytes;
	s->next = s->end;
}

/* As much more as there is room for, and is there. */
static void stream_fill(struct stream *s)
{
	size_t left = (size_t)(s->end - s->next);
	ssize_t got;

	if (!left)
		return;
	memmove(s->read, s->piece + s->at, s->n - s->at);
	s->n -= s->at;
	s->at = 0;
	if (left > sizeof(s->read) - s->n)
		left = sizeof(s->read) - s->n;
	got = pread(s->fd, s->read + s->n, left, s->next);
	if (got > 0) {
		s->n += (size_t)got;
		s->next += got;
	}
}

/* The next @bytes, less than a piece; NULL: there are not so many. Lent until the next call. */
static const void *take(struct stream *s, size_t bytes)
{
	if (s->n - s->at < bytes)
		stream_fill(s);
	if (s->n - s->at < bytes)
		return NULL;
	s->at += bytes;
	return s->piece + s->at - bytes;
}

/* The next string; NULL: there is none, or it is longer than a piece. */
static const char *take_string(struct stream *s, size_t *ret_length, uint64_t *ret_place)
{
	const uint8_t *end = memchr(s->piece + s->at, '\0', s->n - s->at);

	if (!end) {
		stream_fill(s);
		end = memchr(s->piece + s->at, '\0', s->n - s->at);
	}
	if (!end)
		return NULL;
	*ret_length = (size_t)(end - s->piece) - s->at;
	*ret_place = (uint64_t)s->next - (s->n - s->at);
	s->at += *ret_length + 1;
	return (const char *)end - *ret_length;
}

/* A variable has no type to compare: its name identifies it. */
static const char *type_of(const struct kernel_member *member)
{
	return member->type ? member->type : member->name;
}

static void note_string(struct reader *r, const char *string, uint32_t place)
{
	for (size_t i = 0; i < r->n_members; i++) {
		if (strcmp(type_of(&r->members[i]), string) == 0)
			r->types[i] = place;
		if (strcmp(r->members[i].name, string) == 0)
			r->names[i] = place;
	}
}

static void expect(struct reader *r, const char *name)
{
	r->may_be[(uint8_t)name[0]][strlen(name) % MOST_NAME] = true;
}

static void find_strings(struct reader *r)
{
	const uint64_t begin = (uint64_t)r->header.hdr_len + r->header.str_off;
	const char *string;
	uint64_t place;
	size_t length;

	for (size_t i = 0; i < r->n_members; i++) {
		expect(r, type_of(&r->members[i]));
		expect(r, r->members[i].name);
	}
	stream_begin(&r->stream, begin, r->header.str_len);
	while ((string = take_string(&r->stream, &length, &place)) != NULL)
		if (length < MOST_NAME && r->may_be[(uint8_t)string[0]][length])
			note_string(r, string, (uint32_t)(place - begin));
}

/* The structures that are looked for have been seen: no other is of interest. */
static bool has_all(const struct reader *r)
{
	for (size_t i = 0; i < r->n_members; i++)
		if (!r->is_done[i] && r->types[i] != NO_STRING)
			return false;
	return true;
}

static void note_member(struct reader *r, uint32_t type, const struct btf_member *m, bool has_bits)
{
	const uint32_t bits = has_bits ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset;

	for (size_t i = 0; i < r->n_members; i++)
		if (!r->is_done[i] && r->members[i].type && r->types[i] == type &&
		    r->names[i] == m->name_off)
			r->ret[i] = bits / 8;
}

static int read_structure(struct reader *r, const struct btf_type *type)
{
	const uint32_t n = BTF_INFO_VLEN(type->info), name = type->name_off;
	const bool has_bits = BTF_INFO_KFLAG(type->info);

	for (uint32_t i = 0; i < n; i++) {
		const struct btf_member *m = take(&r->stream, sizeof(*m));

		if (!m)
			return -EINVAL;
		note_member(r, name, m, has_bits);
	}
	for (size_t i = 0; i < r->n_members; i++)
		r->is_done[i] = r->is_done[i] || (r->members[i].type && r->types[i] == name);
	return 0;
}

/* What follows a type's head, for each of its entries or once. */
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

static int skip(struct stream *s, const struct btf_type *type)
{
	const uint32_t kind = BTF_INFO_KIND(type->info);

	if (kind >= ABI_BTF_KINDS)
		return -EINVAL;
	for (size_t left = sizes[kind].once + (size_t)sizes[kind].each * BTF_INFO_VLEN(type->info);
	     left;) {
		const size_t part = left < PIECE_BYTES / 2 ? left : PIECE_BYTES / 2;

		if (!take(s, part))
			return -EINVAL;
		left -= part;
	}
	return 0;
}

static void note_variable(struct reader *r, const struct btf_type *type, uint32_t id)
{
	for (size_t i = 0; i < r->n_members; i++) {
		if (r->members[i].type || r->names[i] != type->name_off)
			continue;
		r->ret[i] = id;
		r->is_done[i] = true;
	}
}

static int find_structures(struct reader *r)
{
	const void *taken;
	int err = 0;

	stream_begin(&r->stream, (uint64_t)r->header.hdr_len + r->header.type_off,
		     r->header.type_len);
	for (uint32_t id = 1;
	     !err && !has_all(r) && (taken = take(&r->stream, sizeof(struct btf_type))); id++) {
		const struct btf_type type = *(const struct btf_type *)taken;

		if (BTF_INFO_KIND(type.info) == BTF_KIND_VAR)
			note_variable(r, &type, id);
		if (BTF_INFO_KIND(type.info) == BTF_KIND_STRUCT)
			err = read_structure(r, &type);
		else
			err = skip(&r->stream, &type);
	}
	return err;
}

/* Newer headers declare more members than the kernel's BTF may have. */
#define HEADER_BYTES (offsetof(struct btf_header, str_len) + sizeof(__u32))

static bool has_header(struct reader *r)
{
	const struct btf_header *h;

	stream_begin(&r->stream, 0, HEADER_BYTES);
	h = take(&r->stream, HEADER_BYTES);
	if (!h || h->magic != BTF_MAGIC || h->version != BTF_VERSION || h->hdr_len < HEADER_BYTES)
		return false;
	memcpy(&r->header, h, HEADER_BYTES);
	return true;
}

static int read_members(struct reader *r, const char *path, struct error *e)
{
	if (!has_header(r))
		return error_set(e, -EINVAL, "'%s' is not BTF", path);
	find_strings(r);
	if (find_structures(r))
		return error_set(e, -EINVAL, "'%s' is not well-formed, or newer than this program",
				 path);
	return 0;
}

int kernel_types_read(const char *path, const struct kernel_member *members, size_t n,
		      uint32_t *ret, struct error *e)
{
	cleanup_free struct reader *r = xcalloc(1, sizeof(*r));
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return error_errno(e, "open '%s'", path);
	if (n > MOST_MEMBERS)
		return error_set(e, -EINVAL, "too many members are asked for");
	r->stream.fd = fd;
	r->members = members;
	r->n_members = n;
	r->ret = ret;
	for (size_t i = 0; i < n; i++)
		r->types[i] = r->names[i] = NO_STRING;
	for (size_t i = 0; i < n; i++)
		ret[i] = NO_MEMBER;
	map_file(&r->stream);
	err = read_members(r, path, e);
	unmap_file(&r->stream);
	return err;
}
