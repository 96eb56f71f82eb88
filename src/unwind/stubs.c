/*
 * Stubs of PLTs of which the file says nothing: ld leaves out those of static programs, lld and
 *mold all. A stub jumps; those that bind lazily push a number before that:
 *
 *	.plt    push GOT+8(%rip);  jmp *GOT+16(%rip)     16 bytes, where two words are pushed
 *already jmp *slot(%rip);   push $n;  jmp .plt    16 bytes each, and so on endbr64;  push $n;  jmp
 *.plt             or so, with indirect branch tracking
 *
 * They are given the programs that ld writes for its own.
 */
#include "base/array.h"
#include "elf/image.h"
#include "unwind/program.h"

/* def_cfa rsp 8; offset 16 1 (data_factor -8) */
static const uint8_t initial[] = { 0x0c, 0x07, 0x08, 0x90, 0x01 };

#define BEHIND_PUSH(lit) \
	0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x30 + (lit), 0x2a, 0x33, 0x24, 0x22

/* def_cfa_offset 16; advance_loc 6; def_cfa_offset 24; advance_loc 10; def_cfa_expression */
static const uint8_t lazy[] = { 0x0e, 0x10, 0x46, 0x0e, 0x18, 0x4a, BEHIND_PUSH(11) };
static const uint8_t tracked[] = { 0x0e, 0x10, 0x46, 0x0e, 0x18, 0x4a, BEHIND_PUSH(9) };

static bool begins_with(const struct image_section *s, size_t at, const char *bytes, size_t n)
{
	return s->size >= at + n && memcmp(s->data + at, bytes, n) == 0;
}

static void choose_program(const struct image_section *s, struct cfi_stubs *ret)
{
	*ret = (struct cfi_stubs){ .start = s->vaddr,
				   .end = s->vaddr + s->size,
				   .program = initial };
	if (!begins_with(s, 0, "\xff\x35", 2))
		return;
	ret->program = begins_with(s, 16, "\xf3\x0f\x1e\xfa", 4) ? tracked : lazy;
	ret->program_bytes = sizeof(lazy);
}

size_t cfi_find_stubs(const struct image *im, struct cfi_stubs ret[CFI_MAX_STUBS])
{
	static const char *const names[CFI_MAX_STUBS] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	struct image_section section;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (image_section(im, names[i], &section))
			choose_program(&section, &ret[n++]);
	return n;
}

void cfi_stubs_cie(struct cfi_cie *ret)
{
	*ret = (struct cfi_cie){ .code_factor = 1, .data_factor = -8 };
	(void)cfi_run_initial(ret, initial, sizeof(initial));
}
