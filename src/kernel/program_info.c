// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/program_info.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* The BTF of a program has some KiB. */
#define MOST_BTF_BYTES (64u << 20)

/* From include/uapi/linux/btf.h of Linux 6.0, newer than the distribution's headers. */
#define ABI_BTF_KIND_ENUM64 19

static int query_bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	const long ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return ret < 0 ? -errno : (int)ret;
}

int program_next(uint32_t *id)
{
	union bpf_attr attr = { .start_id = *id };
	const int err = query_bpf(BPF_PROG_GET_NEXT_ID, &attr);

	if (!err)
		*id = attr.next_id;
	return err;
}

int program_open(uint32_t id)
{
	union bpf_attr attr = { .prog_id = id };

	return query_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
}

/* The kernel leaves out members that this header does not have. */
static int query_bpf_info(int fd, void *info, uint32_t size)
{
	union bpf_attr attr = {
		.info = { .bpf_fd = (uint32_t)fd, .info_len = size, .info = (uintptr_t)info }
	};

	return query_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

static uint32_t at_most_functions(uint32_t n)
{
	return n < MOST_FUNCTIONS ? n : MOST_FUNCTIONS;
}

bool program_read(int fd, struct program_info *ret)
{
	struct bpf_prog_info *i = &ret->info, counts = {};

	if (query_bpf_info(fd, &counts, sizeof(counts)) != 0)
		return false;
	*i = (struct bpf_prog_info){};
	i->nr_jited_ksyms = at_most_functions(counts.nr_jited_ksyms);
	i->jited_ksyms = (uintptr_t)ret->starts;
	i->nr_jited_func_lens = at_most_functions(counts.nr_jited_func_lens);
	i->jited_func_lens = (uintptr_t)ret->lengths;
	i->nr_prog_tags = at_most_functions(counts.nr_prog_tags);
	i->prog_tags = (uintptr_t)ret->tags;
	i->nr_func_info = at_most_functions(counts.nr_func_info);
	i->func_info = (uintptr_t)ret->functions;
	i->func_info_rec_size = sizeof(ret->functions[0]);
	if (query_bpf_info(fd, i, sizeof(*i)) != 0)
		return false;
	/* The kernel returns the number of all, not of those that it wrote. */
	i->nr_jited_ksyms = at_most_functions(i->nr_jited_ksyms);
	i->nr_jited_func_lens = at_most_functions(i->nr_jited_func_lens);
	i->nr_prog_tags = at_most_functions(i->nr_prog_tags);
	i->nr_func_info = at_most_functions(i->nr_func_info);
	return true;
}

/* --- names, by BTF --- */

/* The number of bytes behind a type; UINT32_MAX: an unknown kind. */
static uint32_t bytes_behind(const struct btf_type *type)
{
	const uint32_t n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * (uint32_t)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * (uint32_t)sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return n * (uint32_t)sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
	case ABI_BTF_KIND_ENUM64:
		return n * (uint32_t)sizeof(struct btf_var_secinfo);
	default:
		return BTF_INFO_KIND(type->info) > ABI_BTF_KIND_ENUM64 ? UINT32_MAX : 0;
	}
}

/* The kernel has checked this BTF. We do not trust it all the same. */
static void read_type_names(struct program_names *n, uint32_t size)
{
	const struct btf_header *h = (const void *)n->btf;
	const struct btf_type *type;
	uint64_t at = (uint64_t)h->hdr_len + h->type_off;
	const uint64_t end = at + h->type_len;
	const uint64_t strings = (uint64_t)h->hdr_len + h->str_off;

	if (h->magic != BTF_MAGIC || end > size || strings + h->str_len > size || at % 4)
		return;
	n->strings = (const char *)n->btf + strings;
	n->n_strings = h->str_len;
	n->types = xcalloc(h->type_len / sizeof(*type) + 1, sizeof(*n->types));
	for (n->n_types = 1; at + sizeof(*type) <= end; n->n_types++) {
		type = (const void *)(n->btf + at);
		n->types[n->n_types] = type->name_off;
		if (bytes_behind(type) == UINT32_MAX)
			return;
		at += sizeof(*type) + bytes_behind(type);
	}
}

void program_names_init(struct program_names *n, const struct program_info *program)
{
	union bpf_attr attr = { .btf_id = program->info.btf_id };
	struct bpf_btf_info info = {};

	*n = (struct program_names){};
	if (!attr.btf_id || !program->info.nr_func_info)
		return;

	cleanup_close int fd = query_bpf(BPF_BTF_GET_FD_BY_ID, &attr);

	if (fd < 0 || query_bpf_info(fd, &info, sizeof(info)) != 0 ||
	    info.btf_size > MOST_BTF_BYTES || info.btf_size < sizeof(struct btf_header))
		return;

	const uint32_t size = info.btf_size;

	n->btf = xcalloc(size, 1);
	info = (struct bpf_btf_info){ .btf = (uintptr_t)n->btf, .btf_size = size };
	if (query_bpf_info(fd, &info, sizeof(info)) == 0)
		read_type_names(n, size);
}

void program_names_fini(struct program_names *n)
{
	free(n->btf);
	free(n->types);
	*n = (struct program_names){};
}

static const char *type_name(const struct program_names *n, uint32_t type)
{
	const uint32_t at = type < n->n_types ? n->types[type] : 0;

	return at < n->n_strings && memchr(n->strings + at, '\0', n->n_strings - at)
		       ? n->strings + at
		       : "";
}

/* Same as bpf_get_prog_name() of the kernel. */
char *program_name(const struct program_info *program, uint32_t i, const struct program_names *n)
{
	const struct bpf_prog_info *info = &program->info;
	const uint8_t *tag = i < info->nr_prog_tags ? program->tags[i] : info->tag;
	const char *own = i ? "F" : info->name;
	char hex[2 * BPF_TAG_SIZE + 1];

	for (size_t byte = 0; byte < BPF_TAG_SIZE; byte++)
		(void)snprintf(hex + 2 * byte, 3, "%02x", tag[byte]);
	if (i < info->nr_func_info)
		own = type_name(n, program->functions[i].type_id);
	return own[0] ? xasprintf("bpf_prog_%s_%s", hex, own) : xasprintf("bpf_prog_%s", hex);
}
