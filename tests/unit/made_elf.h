/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tests/unit/made_elf.h - ELF files with unwind information of any bytes, made in memory. Two
 * executable segments hold the whole file: at MADE_VADDR, and far away at MADE_FAR.
 */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define MADE_VADDR 0x100000ULL
#define MADE_FAR (MADE_VADDR + (1ULL << 32))
#define MADE_HEAD (sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr)) /* .eh_frame begins behind it */

struct made_section {
	const char *name; /* at most 31 bytes */
	const void *data;
	size_t size;
};

/* At most 7 sections, then @n_code bytes of code. To free(). */
static inline void *made_elf(const struct made_section *sections, size_t n, size_t n_code,
			     size_t *ret_size)
{
	size_t n_data = 0;

	for (size_t i = 0; i < n; i++)
		n_data += sections[i].size;

	size_t names_at = MADE_HEAD + n_data;
	size_t headers_at = (names_at + 32 * (n + 2) + 7) / 8 * 8;
	size_t size = headers_at + (n + 2) * sizeof(Elf64_Shdr) + n_code;
	uint8_t *file = xcalloc(1, size);
	Elf64_Ehdr *head = (Elf64_Ehdr *)file;
	Elf64_Phdr *segments = (Elf64_Phdr *)(file + sizeof(*head));
	Elf64_Shdr *headers = (Elf64_Shdr *)(file + headers_at);
	size_t at = MADE_HEAD;

	memcpy(head->e_ident, ELFMAG, SELFMAG);
	head->e_ident[EI_CLASS] = ELFCLASS64;
	head->e_ident[EI_DATA] = ELFDATA2LSB;
	head->e_ident[EI_VERSION] = EV_CURRENT;
	head->e_type = ET_DYN;
	head->e_machine = EM_X86_64;
	head->e_version = EV_CURRENT;
	head->e_entry = MADE_VADDR + MADE_HEAD; /* where the first section begins */
	head->e_ehsize = sizeof(*head);
	head->e_phoff = sizeof(*head);
	head->e_phentsize = sizeof(*segments);
	head->e_phnum = 2;
	head->e_shoff = headers_at;
	head->e_shentsize = sizeof(*headers);
	head->e_shnum = (uint16_t)(n + 2);
	head->e_shstrndx = (uint16_t)(n + 1);
	for (int i = 0; i < 2; i++)
		segments[i] = (Elf64_Phdr){ .p_type = PT_LOAD,
					    .p_flags = PF_R | PF_X,
					    .p_vaddr = i ? MADE_FAR : MADE_VADDR,
					    .p_filesz = size,
					    .p_memsz = size };
	for (size_t i = 0; i <= n; i++) {
		int is_names = i == n;
		Elf64_Shdr *h = &headers[i + 1];

		h->sh_name = (uint32_t)(32 * (i + 1));
		h->sh_type = is_names ? SHT_STRTAB : SHT_PROGBITS;
		h->sh_offset = is_names ? names_at : at;
		h->sh_addr = MADE_VADDR + h->sh_offset;
		h->sh_size = is_names ? 32 * (n + 2) : sections[i].size;
		strncpy((char *)file + names_at + h->sh_name,
			is_names ? ".shstrtab" : sections[i].name, 31);
		if (!is_names && sections[i].size)
			memcpy(file + at, sections[i].data, sections[i].size);
		at += is_names ? 0 : sections[i].size;
	}
	*ret_size = size;
	return file;
}

/* Give the first section of such a @file the type of code, its last two those of symbols and names.
 */
static inline void made_symtab(void *file)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)file;
	Elf64_Shdr *headers = (Elf64_Shdr *)((uint8_t *)file + head->e_shoff);
	const unsigned names = head->e_shnum - 2U;

	headers[1].sh_flags = SHF_EXECINSTR | SHF_ALLOC;
	headers[names - 1].sh_type = SHT_SYMTAB;
	headers[names - 1].sh_entsize = sizeof(Elf64_Sym);
	headers[names - 1].sh_link = names;
	headers[names].sh_type = SHT_STRTAB;
}
