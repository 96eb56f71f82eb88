// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libelf knows the odd forms of header tables, such as counts beyond 16 bits in section 0.
 * It does not check offsets and sizes, so this file does.
 */
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/internal.h"

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
	if (header->e_machine != ARCH_MACHINE && header->e_machine != ARCH_MACHINE_32)
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
	uint64_t end;

	if (h->p_offset > im->size || h->p_filesz > im->size - h->p_offset ||
	    __builtin_add_overflow(h->p_vaddr, h->p_filesz, &end))
		return;

	const struct slice bytes = { im->data + h->p_offset, h->p_filesz };

	if (h->p_type == PT_NOTE)
		im->notes[im->n_notes++] = bytes;
	else if (h->p_type == PT_DYNAMIC)
		im->dynamic = bytes;
	else if (h->p_type == PT_INTERP)
		im->linker = bytes;
	else if (h->p_type == PT_GNU_EH_FRAME)
		im->frame_header = (struct segment){ .offset = h->p_offset,
						     .vaddr = h->p_vaddr,
						     .file_bytes = h->p_filesz };
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

int image_read_headers(struct image *im, struct error *e)
{
	int err = check_start(im, e);
	if (err)
		return err;
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

	im->is_64_bit = im->data[EI_CLASS] == ELFCLASS64;
	im->has_64_bit_code = header.e_machine == ARCH_MACHINE;
	im->is_fixed = header.e_type == ET_EXEC;
	im->entry = header.e_entry;
	read_segments(im, elf);
	read_sections(im, elf);
	frames_find_sections(im);
	warn_of_unread_tables(im);
	return 0;
}

const struct section *section_named(const struct image *im, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(im->frames); i++)
		if (im->frames[i].name && strcmp(im->frames[i].name, name) == 0)
			return &im->frames[i];
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

/* Put a copy of the pages in their place. */
static bool make_pages_writable(const struct image *im, uint64_t offset, uint64_t n)
{
	cleanup_free char *copy = NULL;
	char *at;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t from = offset / page * page;

	if (offset > im->size || n > im->size - offset)
		return false;
	n = (offset + n + page - 1) / page * page - from;
	if (n > im->size - from)
		n = im->size - from;
	copy = xmalloc(n);
	at = (char *)im->memory + from;
	memcpy(copy, at, n);
	if (mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED)
		return false;
	memcpy(at, copy, n);
	return true;
}

bool image_unlock_headers(const struct image *im)
{
	const Elf64_Ehdr *wide = im->memory;
	const Elf32_Ehdr *narrow = im->memory;
	/* A file with more sections than e_shnum can hold has 0 there, and the number in section 0.
	 * libelf has checked that the table is in the file. */
	const uint64_t n_bytes = im->is_64_bit ? wide->e_shnum * sizeof(Elf64_Shdr)
					       : narrow->e_shnum * sizeof(Elf32_Shdr);
	const uint64_t at = im->is_64_bit ? wide->e_shoff : narrow->e_shoff;

	return make_pages_writable(im, 0, im->is_64_bit ? sizeof(*wide) : sizeof(*narrow)) &&
	       (n_bytes ? make_pages_writable(im, at, n_bytes)
			: !at || make_pages_writable(im, at, im->size - at));
}
