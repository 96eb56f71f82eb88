// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * images shared|apart STACKS IMAGES FILE... - call getppid() below STACKS distinct stacks of 16
 * frames. Their code is in IMAGES files, the first ones that have enough functions:
 *
 *	mapped    the code of a file, as the dynamic linker maps it; none of it runs
 *	chained   frames { next frame, return address }, as functions with frame pointers leave
 *	          them on the stack
 *
 * Each return address is in the middle of a function with a symbol and a size, so all frames have
 * names. "shared": stacks share outer frames, as in programs, where a function calls two others.
 * "apart": each frame of each stack is any function.
 *
 * Prints "ready IMAGES FUNCTIONS" when all is mapped, waits for a byte on standard input, calls,
 * prints "done", and lives until its standard input ends.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH 16
#define MOST_PER_IMAGE 1000
#define FEWEST_PER_IMAGE 200
#define PAGE 4096ULL

struct functions {
	uint64_t *middles;
	size_t n;
};

/* A frame pointer points to this: the saved frame pointer, and the return address of the call. */
struct frame {
	const struct frame *next;
	uint64_t return_address;
};

static void push(struct functions *f, uint64_t middle)
{
	if ((f->n & (f->n - 1)) == 0)
		f->middles = realloc(f->middles, (f->n ? 2 * f->n : 1) * sizeof(*f->middles));
	if (!f->middles)
		abort();
	f->middles[f->n++] = middle;
}

static int compare(const void *left, const void *right)
{
	const uint64_t *l = left, *r = right;

	return (*l > *r) - (*l < *r);
}

/* The section of @type, or NULL. */
static Elf_Scn *find_table(Elf *elf, GElf_Word type, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, ret) && ret->sh_type == type)
			return section;
	return NULL;
}

/* Read the middles of functions in @segment, as linked addresses. Aliases have the same one. */
static void read_functions(Elf *elf, const GElf_Phdr *segment, struct functions *ret)
{
	GElf_Shdr header;
	Elf_Scn *table = find_table(elf, SHT_SYMTAB, &header);
	GElf_Sym symbol;

	if (!table)
		table = find_table(elf, SHT_DYNSYM, &header);

	Elf_Data *data = table ? elf_getdata(table, NULL) : NULL;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++)
		if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size >= 4 &&
		    symbol.st_value - segment->p_vaddr < segment->p_filesz)
			push(ret, symbol.st_value + symbol.st_size / 2);
	if (ret->n)
		qsort(ret->middles, ret->n, sizeof(*ret->middles), compare);
}

static int find_code(Elf *elf, GElf_Phdr *ret)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, ret) && ret->p_type == PT_LOAD && ret->p_flags & PF_X)
			return 1;
	return 0;
}

/* Choose functions evenly from the whole file. */
static void choose(const struct functions *all, uint64_t bias, struct functions *to)
{
	const size_t n = all->n < MOST_PER_IMAGE ? all->n : MOST_PER_IMAGE;
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t middle = all->middles[i * all->n / n];

		if (middle != last)
			push(to, middle + bias);
		last = middle;
	}
}

static int map_code(int fd, Elf *elf, struct functions *to)
{
	struct functions all = { 0 };
	GElf_Phdr code;

	if (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 ||
	    !find_code(elf, &code))
		return 0;
	read_functions(elf, &code, &all);

	const uint64_t skip = code.p_offset % PAGE;
	void *at = MAP_FAILED;

	if (all.n >= FEWEST_PER_IMAGE)
		at = mmap(NULL, code.p_filesz + skip, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			  (off_t)(code.p_offset - skip));
	if (at != MAP_FAILED)
		choose(&all, (uintptr_t)at + skip - code.p_vaddr, to);
	free(all.middles);
	return at != MAP_FAILED;
}

static int add_image(const char *path, struct functions *to)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), is_mapped;
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);

	is_mapped = elf && map_code(fd, elf, to);
	(void)elf_end(elf);
	if (fd >= 0)
		(void)close(fd);
	return is_mapped;
}

__attribute__((noinline)) static void hit(const struct frame *innermost)
{
	long number = SYS_getppid;

	__asm__ volatile("xchg %%rbp, %0\n\tsyscall\n\txchg %%rbp, %0"
			 : "+b"(innermost), "+a"(number)
			 :
			 : "rcx", "r11", "memory");
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/*
 * Depth 0 is the innermost frame of stack @i. At depth d, stacks share a frame if their numbers
 * agree but for the lowest d bits. Each function calls two others: the lowest of the remaining bits
 * selects one.
 */
static uint64_t frame_of(const struct functions *f, uint64_t i, unsigned depth, int is_apart)
{
	if (is_apart)
		return f->middles[mix(i * DEPTH + depth) % f->n];

	const uint64_t number = i >> depth;
	const uint64_t caller = mix((number >> 1) * DEPTH + depth);

	return f->middles[(caller % f->n + number % 2 * (f->n / 2)) % f->n];
}

static void make(const struct functions *f, uint64_t n_stacks, int is_apart)
{
	struct frame chain[DEPTH]; /* on the stack, as a chain has to be */

	for (uint64_t i = 0; i < n_stacks; i++) {
		for (unsigned d = 0; d < DEPTH; d++) {
			chain[d].next = d + 1 < DEPTH ? &chain[d + 1] : NULL;
			chain[d].return_address = frame_of(f, i, d, is_apart);
		}
		hit(chain);
	}
}

static void wait_for_line(const char *text, long n_images, size_t n_functions)
{
	char byte;

	(void)printf("%s %ld %zu\n", text, n_images, n_functions);
	(void)fflush(stdout);
	if (read(0, &byte, 1) < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	struct functions functions = { 0 };
	long n_images = 0;

	if (argc < 5 || elf_version(EV_CURRENT) == EV_NONE)
		return 2;
	for (int i = 4; i < argc && n_images < atol(argv[3]); i++)
		n_images += add_image(argv[i], &functions);
	wait_for_line("ready", n_images, functions.n);
	if (!functions.n)
		return 1;
	make(&functions, (uint64_t)atol(argv[2]), !strcmp(argv[1], "apart"));
	wait_for_line("done", n_images, functions.n);
	free(functions.middles);
	return 0;
}
