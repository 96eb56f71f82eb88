/*
 * elf/image.h - every question put to an ELF file.
 *
 * Files are hostile: sizes and offsets are checked against the file's size,
 * and what is wrong is refused or left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct image;

/* Errors: -ENOEXEC with the reason, others from opening. @fd is borrowed (image_open_fd: not kept).
 */
must_check int image_open(const char *path, struct image **ret, struct error *e);
must_check int image_open_fd(int fd, const char *name, struct image **ret, struct error *e);

/* An image in memory, as the vdso is. @data is copied. */
must_check int image_open_memory(const void *data, size_t size, const char *name,
				 struct image **ret, struct error *e);
/* Was part of its file, or of its debug file, missing when it was read (elf/guard.h)? */
bool image_is_damaged(const struct image *im);
void image_close(struct image *im);
void image_freep(struct image **im);

/* File offset <-> address as linked, by the loadable segments. False where none holds it. */
bool image_offset_to_vaddr(const struct image *im, uint64_t offset, uint64_t *ret_vaddr);
bool image_vaddr_to_offset(const struct image *im, uint64_t vaddr, uint64_t *ret_offset);

/* One function. @name is lent by the image, as in its table (mangled). */
struct image_symbol {
	const char *name;
	uint64_t vaddr;
	uint64_t size;    /* of one that says 0, look-ups find out what is surely its */
	bool is_indirect; /* STT_GNU_IFUNC: the code at vaddr is the resolver */
	bool is_global;
};

/*
 * Call @visit for each function of .symtab and .dynsym (defined, in executable
 * sections; version suffixes "@..." cut), and where there is no .symtab for those that Go's
 * runtime knows. A non-zero result ends the walk and is returned.
 */
typedef int image_symbol_visit(void *context, const struct image_symbol *symbol);
int image_each_function(struct image *im, image_symbol_visit *visit, void *context);

/*
 * The function that @vaddr lies in; a sorted index is built at the first call. Besides what
 * image_each_function() visits these are stubs of a procedure linkage table ("puts@plt"), and
 * of a stripped program _start and main (elf/entry.c).
 * Past a function's end there is no answer, never the neighbour. Among aliases it takes
 * the name that a person would write: global before local, then fewer leading
 * underscores, then shorter, then fewer capitals, then by the alphabet.
 */
bool image_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret);

/*
 * The beginning, by .eh_frame, of the function without a symbol that @vaddr lies in. False:
 * .eh_frame has none there.
 */
bool image_function_start(struct image *im, uint64_t vaddr, uint64_t *ret_start);

/*
 * Did a call leave the return address @vaddr? False: no call or syscall ends there. Then the kernel
 * or a library put it on the stack, as for the return from a signal handler.
 */
bool image_is_behind_call(const struct image *im, uint64_t vaddr);

/* A USDT probe's place: the note's address moved by what the file was moved by (prelink). */
struct image_usdt {
	const char *provider;
	const char *name;
	uint64_t offset;    /* of the probe's instruction, in the file */
	uint64_t semaphore; /* file offset of its reference counter, 0 if none */
};

typedef int image_usdt_visit(void *context, const struct image_usdt *probe);

/*
 * Call @visit for each probe of .note.stapsdt.
 * Errors: -ENOENT no such notes; -ENOEXEC notes that make no sense.
 */
must_check int image_each_usdt(struct image *im, image_usdt_visit *visit, void *context,
			       struct error *e);

/* Where a program begins, as the file's header says; of a library it may be anything. */
uint64_t image_entry(const struct image *im);

/* The first @n bytes of machine code at @vaddr; returns how many the file holds there (0: none). */
size_t image_code_at(const struct image *im, uint64_t vaddr, uint8_t *to, size_t n);

/* The bytes of section @name that the file holds, as they lie there. Lent by @im. */
struct image_section {
	const uint8_t *data;
	size_t size;
	uint64_t vaddr;
};

/* False: there is none, or not one that can be read where it lies (empty, compressed). */
bool image_section(const struct image *im, const char *name, struct image_section *ret);

/* Executable segments, as the file holds them: [@start, @end). */
struct code_range {
	uint64_t start;
	uint64_t end;
};

/* The first @max of them; returns how many. */
size_t image_code_ranges(const struct image *im, struct code_range *ret, size_t max);

/*
 * A place in code, behind the instructions that lie from @entry to it. @owner is the
 * caller's; @is_entered the answer.
 */
struct code_place {
	uint64_t vaddr;
	uint64_t entry;
	uint32_t owner;
	bool is_entered;
};

/*
 * Set is_entered of the places that one may get to otherwise than from what lies between entry
 * and place: a function begins there, or a jump or call (of x86) with a displacement leads
 * there. Never too few of those: what looks like one counts. But jumps through registers and
 * tables cannot be seen. Sorts @places by vaddr. Reads all code once, however many they are.
 */
void image_find_entered(struct image *im, struct code_place *places, size_t n);

/* Can the image be traced on this machine (x86-64, or x86 compat code)? ELFCLASS of it. */
bool image_is_64_bit(const struct image *im);

/* Does its code run in the machine's 64-bit mode? So does that of x32, of ELFCLASS32. */
bool image_has_64_bit_code(const struct image *im);

/* Bytes of memory held, for budgets. */
size_t image_bytes(const struct image *im);
