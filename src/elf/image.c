// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "elf/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strtab.h"
#include "elf/internal.h"

#define cleanup_image cleanup(image_freep)

/* --- headers --- */

/*
 * libelf knows the odd forms of header tables, such as counts beyond 16 bits in section 0.
 * It does not check offsets and sizes, so this file does.
 */
static void end_elf(Elf **elf)
{
	elf_end(*elf); /* takes NULL */
}

/* Check the first bytes. Up to e_version they have the same layout in files of both classes. */
static int check_start(const struct image *im, struct error *e)
{
	const uint8_t *d = im->data;
	size_t least = sizeof(Elf32_Ehdr);

	if (im->size < SELFMAG || memcmp(d, ELFMAG, SELFMAG) != 0)
		return error_set(e, -ENOEXEC, "%s: not an ELF file", im->name);
	if (im->size > EI_CLASS && d[EI_CLASS] == ELFCLASS64)
		least = sizeof(Elf64_Ehdr);
	if (im->size < least)
		return error_set(e, -ENOEXEC, "%s: too short for an ELF file", im->name);
	if (d[EI_CLASS] != ELFCLASS64 && d[EI_CLASS] != ELFCLASS32)
		return error_set(e, -ENOEXEC, "%s: neither a 32-bit nor a 64-bit ELF file",
				 im->name);
	if (d[EI_DATA] != ELFDATA2LSB)
		return error_set(e, -ENOEXEC, "%s: its byte order is not this machine's", im->name);
	return 0;
}

static int check_header(const struct image *im, const GElf_Ehdr *header, struct error *e)
{
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return error_set(e, -ENOEXEC, "%s: neither a program nor a library%s", im->name,
				 header->e_type == ET_REL    ? " (an object file)"
				 : header->e_type == ET_CORE ? " (a core dump)"
							     : "");
	/* Neither x32: code of 64 bits in a file of 32. */
	if (header->e_machine != (im->is_64_bit ? ARCH_MACHINE : ARCH_MACHINE_32))
		return error_set(e, -ENOEXEC, "%s: built for another processor (machine %u)",
				 im->name, header->e_machine);
	return 0;
}

/* Cut a segment that ends outside of the file, and leave out one that begins there. */
static void add_load_segment(struct image *im, const GElf_Phdr *h)
{
	uint64_t bytes = h->p_filesz;
	uint64_t end;

	if (h->p_type != PT_LOAD || h->p_offset >= im->size || !bytes)
		return;
	if (bytes > im->size - h->p_offset)
		bytes = im->size - h->p_offset;
	if (__builtin_add_overflow(h->p_vaddr, bytes, &end))
		return;
	im->segments[im->n_segments++] = (struct segment){ .offset = h->p_offset,
							   .vaddr = h->p_vaddr,
							   .file_bytes = bytes,
							   .is_executable = h->p_flags & PF_X,
							   .is_writable = h->p_flags & PF_W };
}

static void add_other_segment(struct image *im, const GElf_Phdr *h)
{
	if (h->p_offset > im->size || h->p_filesz > im->size - h->p_offset)
		return;

	const struct slice bytes = { im->data + h->p_offset, h->p_filesz };

	if (h->p_type == PT_NOTE)
		im->notes[im->n_notes++] = bytes;
	else if (h->p_type == PT_DYNAMIC)
		im->dynamic = bytes;
	else if (h->p_type == PT_INTERP)
		im->linker = bytes;
}

static void read_segments(struct image *im, Elf *elf)
{
	GElf_Phdr h;
	size_t n;

	if (elf_getphdrnum(elf, &n) != 0 || n > im->size / sizeof(Elf32_Phdr))
		return;
	im->segments = xcalloc(n, sizeof(*im->segments));
	im->notes = xcalloc(n, sizeof(*im->notes));
	for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, &h); i++) {
		add_load_segment(im, &h);
		add_other_segment(im, &h);
	}
}

/* Keep every section, because symbols name them by number. A bad section becomes an empty one. */
static void read_sections(struct image *im, Elf *elf)
{
	size_t names_at;
	size_t n;

	if (elf_getshdrnum(elf, &n) != 0 || n > im->size / sizeof(Elf32_Shdr))
		return;
	im->sections = xcalloc(n, sizeof(*im->sections));
	im->n_sections = n;

	cleanup_free uint32_t *name_offsets = xcalloc(n, sizeof(*name_offsets));

	for (size_t i = 0; i < n; i++) {
		struct section *s = &im->sections[i];
		GElf_Shdr h;
		uint64_t end;

		s->name = "";
		if (!gelf_getshdr(elf_getscn(elf, i), &h) ||
		    __builtin_add_overflow(h.sh_addr, h.sh_size, &end))
			continue;
		*s = (struct section){ .name = "",
				       .flags = h.sh_flags,
				       .vaddr = h.sh_addr,
				       .offset = h.sh_offset,
				       .size = h.sh_size,
				       .type = h.sh_type,
				       .link = h.sh_link };
		name_offsets[i] = h.sh_name;
	}

	if (elf_getshdrstrndx(elf, &names_at) != 0 || names_at >= n)
		return;

	struct slice names = section_strings(im, &im->sections[names_at]);

	for (size_t i = 0; i < n; i++)
		if (name_offsets[i] < names.size)
			im->sections[i].name = (const char *)names.data + name_offsets[i];
}

/* Warn of symbol tables that are not read, once for a file, which may be opened many times. */
static void warn_of_unread_tables(const struct image *im)
{
	const size_t bytes = im->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);

	for (size_t i = 0; i < im->n_sections; i++) {
		const struct section *s = &im->sections[i];
		const struct section *names = &im->sections[s->link < im->n_sections ? s->link : i];

		if (s->type != SHT_SYMTAB && s->type != SHT_DYNSYM)
			continue;
		if ((s->flags | names->flags) & SHF_COMPRESSED)
			log_warn_once("%s: skipping %s: it is compressed", im->name, s->name);
		else if (section_bytes(im, s).size / bytes > MOST_SYMBOLS)
			log_warn_once("%s: skipping %s: more than %u symbols", im->name, s->name,
				      MOST_SYMBOLS);
	}
}

/* Fill in @im's segments and sections from its data. Errors: -ENOEXEC. */
static must_check int read_headers(struct image *im, struct error *e)
{
	int err = check_start(im, e);
	if (err)
		return err;
	im->is_64_bit = im->data[EI_CLASS] == ELFCLASS64;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_set(e, -ENOEXEC, "%s: libelf is too old", im->name);

	/* libelf does not write to memory that it opens for reading. */
	cleanup(end_elf) Elf *elf = elf_memory(im->memory, im->size);
	if (!elf)
		return error_set(e, -ENOEXEC, "%s: %s", im->name, elf_errmsg(-1));

	GElf_Ehdr header;
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return error_set(e, -ENOEXEC, "%s: invalid ELF header", im->name);
	err = check_header(im, &header, e);
	if (err)
		return err;

	im->is_fixed = header.e_type == ET_EXEC;
	im->entry = header.e_entry;
	read_segments(im, elf);
	read_sections(im, elf);
	warn_of_unread_tables(im);
	return 0;
}

const struct section *section_named(const struct image *im, const char *name)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (strcmp(im->sections[i].name, name) == 0)
			return &im->sections[i];
	return NULL;
}

/* A sparse file may have any size, and cost nothing. */
#define MOST_SECTION_BYTES (512UL << 20)

struct slice section_bytes(const struct image *im, const struct section *section)
{
	struct slice none = {};

	if (section->type == SHT_NOBITS || section->type == SHT_NULL ||
	    (section->flags & SHF_COMPRESSED) || section->offset > im->size ||
	    section->size > im->size - section->offset)
		return none;
	if (section->size > MOST_SECTION_BYTES) {
		log_warn_once("%s: skipping %s: larger than %u MiB", im->name,
			      section->name ? section->name : "the table of section names",
			      (unsigned)(MOST_SECTION_BYTES >> 20));
		return none;
	}
	return (struct slice){ im->data + section->offset, section->size };
}

struct slice section_strings(const struct image *im, const struct section *section)
{
	return whole_strings(section_bytes(im, section));
}

struct slice whole_strings(struct slice strings)
{
	if (strings.size) {
		const size_t n = strings.size < MAX_NAME ? strings.size : MAX_NAME;
		const uint8_t *last = memrchr(strings.data + strings.size - n, '\0', n);

		strings.size = last ? (size_t)(last - strings.data) + 1 : 0;
	}
	return strings;
}

/* --- PT_DYNAMIC --- */

/* Entry *@i of the dynamic segment, and move on. False: there are no more. */
static bool next_dynamic_entry(const struct image *im, size_t *i, uint64_t *tag, uint64_t *value)
{
	const size_t word = im->is_64_bit ? 8 : 4;

	if (*i >= im->dynamic.size / (2 * word))
		return false;

	const uint8_t *at = im->dynamic.data + 2 * word * (*i)++;

	*tag = uint_at(at, word);
	*value = uint_at(at + word, word);
	return *tag != DT_NULL;
}

/* The value of the last entry that has @tag; 0: none has. */
static uint64_t dynamic_value(const struct image *im, uint64_t tag)
{
	uint64_t has, value, found = 0;

	for (size_t i = 0; next_dynamic_entry(im, &i, &has, &value);)
		if (has == tag)
			found = value;
	return found;
}

bool dynamic_is_program(const struct image *im)
{
	return dynamic_value(im, DT_FLAGS_1) & DF_1_PIE;
}

void image_each_need(const struct image *im, image_need_visit *visit, void *context)
{
	struct slice strings = image_bytes_from(im, dynamic_value(im, DT_STRTAB));
	const uint64_t n = dynamic_value(im, DT_STRSZ);
	uint64_t tag, offset;

	if (strings.size > n)
		strings.size = n;
	if (im->linker.size && im->linker.data[im->linker.size - 1] == '\0')
		visit(context, NEED_LINKER, (const char *)im->linker.data);
	for (size_t i = 0; next_dynamic_entry(im, &i, &tag, &offset);)
		if (tag == DT_NEEDED && offset < strings.size &&
		    memchr(strings.data + offset, '\0', strings.size - offset))
			visit(context, NEED_LIBRARY, (const char *)strings.data + offset);
}

/* --- images --- */

/* O_NONBLOCK, because the name may lead to a FIFO that nobody ever writes to. */
int image_open(const char *path, struct image **ret, struct error *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_errno(e, "open %s", path);
	return image_open_fd(fd, path, ret, e);
}

static struct image *image_new(const char *name)
{
	struct image *im = xcalloc(1, sizeof(*im));

	im->name = xstrdup(name);
	return im;
}

/*
 * The kernel puts breakpoints of uprobes, anybody's, into all private mappings of a file, ours too.
 * So map it shared. FUSE may refuse that.
 */
static void *map_image_file(int fd, size_t size)
{
	void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	return data == MAP_FAILED ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : data;
}

int image_open_fd(int fd, const char *name, struct image **ret, struct error *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return error_errno(e, "stat %s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(e, -ENOEXEC, "%s: not a regular file", name);
	if (st.st_size == 0)
		return error_set(e, -ENOEXEC, "%s: not an ELF file: it is empty", name);

	void *data = map_image_file(fd, (size_t)st.st_size);
	if (data == MAP_FAILED)
		return error_errno(e, "map %s", name);

	cleanup_image struct image *im = image_new(name);
	im->data = im->memory = data;
	im->size = (size_t)st.st_size;
	im->is_mapped = true;

	int err = read_headers(im, e);
	if (err)
		return err;

	*ret = TAKE(im);
	return 0;
}

int image_open_memory(const void *data, size_t size, const char *name, struct image **ret,
		      struct error *e)
{
	cleanup_image struct image *im = image_new(name);

	im->data = im->memory = xmalloc(size);
	im->size = size;
	memcpy(im->memory, data, size);

	int err = read_headers(im, e);
	if (err)
		return err;

	*ret = TAKE(im);
	return 0;
}

void image_close(struct image *im) /* NOLINT(misc-no-recursion): a debug file has none */
{
	if (!im)
		return;
	lines_free(im->lines); /* it uses the memory of both images */
	image_close(im->debug);
	if (im->is_mapped)
		(void)munmap(im->memory, im->size);
	else
		free(im->memory);
	symbol_index_free(im->index);
	strtab_free(im->short_names);
	free(im->segments);
	free(im->sections);
	free(im->notes);
	free(im->name);
	free(im);
}

void image_freep(struct image **im)
{
	image_close(*im);
	*im = NULL;
}

/*
 * Segments may share bytes of the file: a linker that packs them without padding maps
 * the same page twice. Callers nearly always look for code, so prefer an executable
 * segment.
 */
static const struct segment *prefer_executable(const struct segment *old, const struct segment *new)
{
	return old && (old->is_executable || !new->is_executable) ? old : new;
}

bool image_offset_to_vaddr(const struct image *im, uint64_t offset, uint64_t *ret_vaddr)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < im->n_segments; i++) {
		const struct segment *s = &im->segments[i];

		if (offset >= s->offset && offset - s->offset < s->file_bytes)
			found = prefer_executable(found, s);
	}
	if (!found)
		return false;
	*ret_vaddr = found->vaddr + (offset - found->offset);
	return true;
}

const struct segment *image_segment_of(const struct image *im, uint64_t vaddr)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < im->n_segments; i++) {
		const struct segment *s = &im->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->file_bytes)
			found = prefer_executable(found, s);
	}
	return found;
}

struct slice image_bytes_from(const struct image *im, uint64_t vaddr)
{
	const struct segment *s = vaddr ? image_segment_of(im, vaddr) : NULL;

	if (!s)
		return (struct slice){};

	const uint64_t skip = vaddr - s->vaddr;

	return (struct slice){ im->data + s->offset + skip, s->file_bytes - skip };
}

bool image_vaddr_to_offset(const struct image *im, uint64_t vaddr, uint64_t *ret_offset)
{
	const struct segment *s = image_segment_of(im, vaddr);

	if (!s)
		return false;
	*ret_offset = s->offset + (vaddr - s->vaddr);
	return true;
}

struct slice image_code(const struct image *im, uint64_t vaddr, size_t n)
{
	const struct segment *s = image_segment_of(im, vaddr);

	if (!s || !s->is_executable)
		return (struct slice){ im->data, 0 };

	const uint64_t skip = vaddr - s->vaddr, left = s->file_bytes - skip;

	return (struct slice){ im->data + s->offset + skip, n < left ? n : left };
}

/* Which instruction ends at a return address? Nothing can read instructions backwards. */
bool image_is_behind_call(const struct image *im, uint64_t vaddr)
{
	for (size_t n = ARCH_CALL_BYTES; n; n--) {
		const struct slice code = image_code(im, vaddr - n, n);

		if (vaddr >= n && code.size == n)
			return arch_is_behind_call(code.data + n, n);
	}
	return false;
}

bool image_section(const struct image *im, const char *name, struct image_section *ret)
{
	const struct section *s = section_named(im, name);

	if (!s)
		return false;

	struct slice bytes = section_bytes(im, s);

	*ret = (struct image_section){ bytes.data, bytes.size, s->vaddr };
	return bytes.size > 0;
}

size_t image_code_ranges(const struct image *im, struct code_range *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < im->n_segments && n < max; i++) {
		const struct segment *s = &im->segments[i];

		if (s->is_executable)
			ret[n++] = (struct code_range){ s->vaddr, s->vaddr + s->file_bytes };
	}
	return n;
}

uint64_t image_entry(const struct image *im)
{
	return im->entry;
}

bool image_is_64_bit(const struct image *im)
{
	return im->is_64_bit;
}
