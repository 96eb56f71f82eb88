/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tests/unit/made_go.h - a Go program of a few functions, made in memory: .text, and the table of
 * its functions in either format (elf/gopclntab.c).
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "elf/gopclntab.h"
#include "made_elf.h"

#define GO_TEXT (MADE_VADDR + MADE_HEAD)   /* .text is the first section */
#define GO_TEXT_BYTES 0x800                /* behind all functions there is C code */
#define GO_TABLE (GO_TEXT + GO_TEXT_BYTES) /* and this the second */
#define GO_TABLE_BYTES 0x1000
#define GO_FUNCTION_BYTES 0x20 /* each begins so far behind the one before */
#define GO_STEPS_AT 0x600
#define GO_NAMES_AT 0x400
#define GO_FUNCTIONS_AT 0x800
#define GO_RECORDS_AT 0xa00
#define GO_RECORD_BYTES 48

enum { GO_1_18, GO_1_20, GO_FORMATS };

struct made_function {
	const char *name;
	const char *code;
	const char *steps; /* from -1 on: { zigzag, bytes }; "": none */
	uint8_t flags;
	uint8_t size; /* in bytes, by its steps */
};

/* 0 bytes down for 4 bytes of code, 16 for 8, 0 for 1 */
#define GO_FRAME "\x02\x04\x20\x08\x1f\x01"
#define GO_LEAF "\x02\x10" /* 0 for 16 */

/* clang-format off */
static const struct made_function made_functions[] = {
	{ "_rt0_amd64_linux", "", GO_LEAF, GO_ASM, 16 },
	{ "main.main", "\x48\x83\xec\x10\x48\x89\x6c\x24\x08", GO_FRAME, 0, 13 },
	{ "main.assembly", "\x48\x83\xec\x10\x48\x89\xac\x24\x08", GO_FRAME, GO_ASM, 13 },
	{ "syscall.popped", "\x41\x5c", "\x02\x02\x0f\x02\x10\x04", GO_ASM, 8 },
	{ "runtime.systemstack", "", GO_LEAF, GO_ASM | GO_SP_WRITE, 16 },
	{ "runtime.mcall", "", GO_LEAF, GO_ASM | GO_SP_WRITE, 16 },
	{ "runtime.clone", "\xb8\x38\x90\x90\x90\x0f\x05\x48\x85\xc0\x74\x01\xc3\x48\x89\xf4", GO_LEAF, GO_ASM | GO_SP_WRITE, 16 },
	{ "runtime.sigreturn", "", GO_LEAF, GO_ASM, 16 },
	{ "runtime.goexit", "", GO_LEAF, GO_ASM | GO_TOP_FRAME, 16 },
	{ "runtime.sigtramp", "\x9c", GO_FRAME, GO_ASM | GO_TOP_FRAME, 13 },
	{ "runtime.sigpanic", "\x48\x83\xec\x10\x48\x89\x6c\x24\x08", GO_FRAME, 0, 13 },
	{ "c_code", "", "", 0, 32 },
};
/* clang-format on */

#define GO_N ARRAY_SIZE(made_functions)

static inline void put_at(uint8_t *to, size_t at, uint64_t value, size_t n)
{
	memcpy(to + at, &value, n);
}

static inline void make_go_text(uint8_t to[GO_TEXT_BYTES])
{
	for (size_t i = 0; i < GO_N; i++)
		memcpy(to + i * GO_FUNCTION_BYTES, made_functions[i].code,
		       strlen(made_functions[i].code));
}

/* @text is what the header says of it. */
static inline void make_go_table(uint8_t to[GO_TABLE_BYTES], int format, uint64_t text)
{
	size_t name = GO_NAMES_AT, steps = GO_STEPS_AT + 1;

	memset(to, 0, GO_TABLE_BYTES);
	put_at(to, 0, format == GO_1_18 ? 0xfffffff0 : 0xfffffff1, 4);
	put_at(to, 6, 0x0801, 2);
	put_at(to, 8, GO_N, 8);
	put_at(to, 24, text, 8);
	put_at(to, 32, GO_NAMES_AT, 8);
	put_at(to, 56, GO_STEPS_AT, 8);
	put_at(to, 64, GO_FUNCTIONS_AT, 8);
	for (size_t i = 0; i < GO_N; i++) {
		const struct made_function *f = &made_functions[i];
		const size_t record = GO_RECORDS_AT + i * GO_RECORD_BYTES;
		const size_t n = f->steps[0] ? strlen(f->steps) + 1 : 0;

		put_at(to, GO_FUNCTIONS_AT + 8 * i, i * GO_FUNCTION_BYTES, 4);
		put_at(to, GO_FUNCTIONS_AT + 8 * i + 4, record - GO_FUNCTIONS_AT, 4);
		put_at(to, record + 4, name - GO_NAMES_AT, 4);
		put_at(to, record + 16, n ? steps - GO_STEPS_AT : 0, 4);
		to[record + (format == GO_1_18 ? 37 : 41)] = f->flags;
		memcpy(to + name, f->name, strlen(f->name));
		memcpy(to + steps, f->steps, n);
		name += strlen(f->name) + 1;
		steps += n;
	}
	put_at(to, GO_FUNCTIONS_AT + 8 * GO_N, GO_N * GO_FUNCTION_BYTES, 4);
}
