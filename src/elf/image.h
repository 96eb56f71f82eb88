/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/image.h - an open ELF file, and the questions that other rooms ask about it.
 *
 * Files may be hostile. The functions check sizes and offsets against the file's
 * size, and refuse or leave out wrong ones. If a file is truncated while it is read, a read past
 * the new end ends the process (SIGBUS), so read foreign files in a child.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/cursor.h"

struct image;

/*
 * Open a file. The caller owns *@ret and ends it with image_close(). image_open_fd() borrows @fd
 * during the call; @name is for messages.
 * Errors: -ENOEXEC  it is no ELF file of this machine; others from opening and mapping it
 */
must_check int image_open(const char *path, struct image **ret, struct error *e);
must_check int image_open_fd(int fd, const char *name, struct image **ret, struct error *e);

/* Likewise, for a file in memory, such as the vdso. Copies @data. Errors: -ENOEXEC. */
must_check int image_open_memory(const void *data, size_t size, const char *name,
				 struct image **ret, struct error *e);

void image_close(struct image *im);
void image_freep(struct image **im);

/* Convert between file offset and address as linked, by the loadable segments. False: no segment
 * has it. */
bool image_offset_to_vaddr(const struct image *im, uint64_t offset, uint64_t *ret_vaddr);
bool image_vaddr_to_offset(const struct image *im, uint64_t vaddr, uint64_t *ret_offset);

/* A function. */
struct image_symbol {
	uint64_t vaddr;
	uint64_t size;    /* 0: not known. image_function_at() finds out which code is certain */
	const char *name; /* mangled, as in the symbol table. Lent by the image */
	bool is_indirect; /* STT_GNU_IFUNC: the code at vaddr is the resolver */
	bool is_global;
};

/*
 * Call @visit for each function of .symtab, .dynsym and the debug file that is defined
 * in an executable section. Names have no version ("@..."). If there is no .symtab, call
 * it for the functions that Go's runtime knows, too. A non-zero result of @visit ends the
 * calls and is returned.
 */
typedef int image_symbol_visit(void *context, const struct image_symbol *symbol);
int image_each_function(struct image *im, image_symbol_visit *visit, void *context);

/*
 * The function that @vaddr lies in. The first call builds a sorted index.
 *
 * Besides the functions of image_each_function() it finds stubs of procedure linkage
 * tables ("puts@plt"), and _start of a stripped program (elf/index.c). Past a function's
 * end there is no answer: it never guesses by the neighbour.
 *
 * Of several names for one function it takes the one that people write. A global name
 * comes before a local one. Then come fewer leading underscores, then fewer characters,
 * then fewer capitals, then the alphabet.
 */
bool image_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret);

/* Does it seem to have a symbol of every function? */
bool image_has_all(struct image *im);

/*
 * Does a call or system call end at the return address @vaddr? If not, the kernel or a library has
 * put the address on the stack, as for the return from a signal handler.
 */
bool image_is_behind_call(const struct image *im, uint64_t vaddr);

/* A function, and the source line where it is at an address. Strings are lent by the image. */
struct image_call {
	const char *name; /* mangled if possible; NULL: not inlined, the function itself */
	const char *file; /* the path that the compiler got; NULL, with @line 0: not known */
	uint32_t line;
};

/*
 * The functions that @vaddr lies in, innermost first: the inlined ones, and last the one that
 * image_function_at() names. By the DWARF of the file, or of its debug file. The first question
 * reads the list of units, and each unit is read when needed. Returns their number, at most @most;
 * 0: no DWARF has them.
 */
size_t image_calls_at(struct image *im, uint64_t vaddr, struct image_call *to, size_t most);

/* A USDT probe. Addresses in its note are adjusted if prelink has moved the file. */
struct image_usdt {
	const char *provider; /* all three lent by the image */
	const char *name;
	const char *arguments; /* as in the note: "-4@$7 8@..."; "": none */
	uint64_t offset;       /* file offset of the probe's instruction */
	uint64_t semaphore;    /* file offset of its reference counter, 0 if none */
	bool is_mistaken;      /* in processes that start later the kernel raises a copy of that */
};

typedef int image_usdt_visit(void *context, const struct image_usdt *probe);

/*
 * Call @visit for each probe of .note.stapsdt. A non-zero result of @visit ends the calls and is
 * returned.
 * Errors: -ENOENT   there are no such notes
 *         -ENOEXEC  the notes make no sense
 */
must_check int image_each_usdt(struct image *im, image_usdt_visit *visit, void *context,
			       struct error *e);

/* A dynamic linker finds the libraries of a program or library by these texts in its file. */
enum image_need {
	NEED_LINKER,  /* PT_INTERP: the path of the dynamic linker */
	NEED_LIBRARY, /* DT_NEEDED: a library's name or path */
};
typedef void image_need_visit(void *context, enum image_need what, const char *text);

/* Call @visit for all of these, in this order. Texts are lent by the image. */
void image_each_need(const struct image *im, image_need_visit *visit, void *context);

/* The entry point in the file's header, as linked. For a library it may be any number. */
uint64_t image_entry(const struct image *im);

/* The machine code at @vaddr, as far as the file has it, at most @n bytes. Lent by the image, and
 * not NULL. */
struct slice image_code(const struct image *im, uint64_t vaddr, size_t n);

/* The bytes of a section in the file. Lent by the image. */
struct image_section {
	const uint8_t *data;
	size_t size;
	uint64_t vaddr;
};

/* Find section @name. False: there is none, or it is empty, compressed or too large. */
bool image_section(const struct image *im, const char *name, struct image_section *ret);

/* Code as linked: [@start, @end). */
struct code_range {
	uint64_t start;
	uint64_t end;
};

/* The first @max executable segments. Returns their number. */
size_t image_code_ranges(const struct image *im, struct code_range *ret, size_t max);

/* Is the file of ELFCLASS64? Else its code is for the machine's 32-bit mode. */
bool image_is_64_bit(const struct image *im);
