/* rooms: unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where the code of a program's entry point ends, if no entry of .eh_frame is about it. What lies
 * behind is some function, which was called.
 */
#include "test.h"

#include "elf_files.h"
#include "unwind/table.h"

struct start {
	const char *name;
	const char *code; /* of _start, and what follows; "root" is where it ends */
	const char *then; /* a command for the program, after which the root is as long */
};

#define FUNCTION(name) ".globl " name "; .type " name ", @function; " name ": "
#define STRIPPED "strip -s prog"

/* All have symbols in .dynsym, and in .symtab unless they are stripped. */
static const struct start starts[] = {
	{ "glibc's", "xor %ebp,%ebp; mov %rdx,%r9; call far; root: hlt; nopw (%rax); leave; ret",
	  STRIPPED },
	{ "musl's", "xor %rbp,%rbp; mov %rsp,%rdi; call c; root: .p2align 4; c: push %rbx; ret",
	  STRIPPED },
	{ "musl's without padding", "xor %rbp,%rbp; mov %rsp,%rdi; call far; root: push %rbx; ret",
	  STRIPPED },
	{ "ld.so's",
	  "mov %rsp,%rdi; call far; mov %rax,%r12; mov (%rsp),%rdx; call far; lea far(%rip),%rdx\n"
	  "mov %r13,%rsp; jmp *%r12; root: nopl (%rax); push %rbx; ret",
	  STRIPPED },
	{ "it begins like ld.so's, and a function follows",
	  "mov %rsp,%rdi; call far; root: push %r12; mov %rdi,%rax; pop %r12; jmp *%rax",
	  STRIPPED },
	{ "likewise, and the function returns",
	  "mov %rsp,%rdi; call far; root: mov %rdi,%rax; call far; ret", STRIPPED },
	{ "a loop", "xor %ebp,%ebp; 1: call far; root: jmp 1b; mov $1,%eax; ret", STRIPPED },
	{ "no call at all", "xor %ebp,%ebp; jmp far; root: mov $1,%eax; ret", STRIPPED },
	{ "a branch", "xor %ebp,%ebp; test %eax,%eax; je 1f; nop; 1: call far; root: hlt; ret",
	  STRIPPED },
	{ "exit() returns no more", "xor %ebp,%ebp; mov $60,%eax; syscall; root: mov $1,%eax; ret",
	  STRIPPED },
	{ "a symbol behind it",
	  "xor %ebp,%ebp; nop; root: " FUNCTION("leaf") "mov $1,%eax; call far; hlt", "true" },
	{ "a symbol without a size, of .symtab alone",
	  "xor %ebp,%ebp; nop; root: .type leaf, @function; leaf: mov $1,%eax; hlt", "true" },
	{ "a symbol of .dynsym alone",
	  "xor %ebp,%ebp; nop; root: " FUNCTION("leaf") "mov $1,%eax; hlt", STRIPPED },
	{ "its own size",
	  "xor %ebp,%ebp; call far; root: .size _start, . - _start; mov $1,%eax; hlt", "true" },
	{ "an entry of .eh_frame behind it",
	  "xor %ebp,%ebp; nop; root: .cfi_startproc; mov $1,%eax; call far; hlt; .cfi_endproc",
	  STRIPPED },
	{ "an entry that is about it", "root: .cfi_startproc; mov %rsp,%rdi; hlt; .cfi_endproc",
	  STRIPPED },
	{ "no end", "xor %rbp,%rbp; mov %rsp,%rdi; .skip 250, 0x90; root: .skip 100, 0x90",
	  STRIPPED },
	{ "a function, as a library's", "root: endbr64; mov $1,%eax; call far; ret", STRIPPED },
	{ "its own size, and its callee within",
	  "xor %ebp,%ebp; call root; root: mov $1,%eax; hlt; .size _start, . - _start", "true" },
};

static const char far_code[] = "; .skip 300, 0x90; far: ret\n"
			       ".section .note.GNU-stack, \"\", @progbits\n";

static uint64_t root_bytes(const struct start *s)
{
	cleanup_free char *source =
		xasprintf(".text; " FUNCTION("_start") "%s%s", s->code, far_code);
	cleanup_free uint8_t *expected = NULL;
	char number[17] = "";
	size_t n;

	scratch_write("prog.s", source);
	scratch_run("as prog.s -o prog.o && ld -pie --export-dynamic --no-dynamic-linker "
		    "--no-ld-generated-unwind-info prog.o -o prog && "
		    "nm prog.o | sed -n 's/ t root$//p' | tr -d '\\n' > root");
	scratch_run(s->then);
	expected = read_file("root", &n);
	assert_int_equal(n, 16);
	memcpy(number, expected, n);
	return strtoull(number, NULL, 16);
}

struct roots {
	uint64_t entry;
	uint64_t bytes; /* that are a root from there on */
	bool is_in;
};

static int take_row(void *context, const struct cfi_row *row)
{
	struct roots *r = context;

	if (r->is_in)
		r->bytes = row->vaddr - r->entry;
	r->is_in = row->kind == CFI_ROW && row->pc.how == CFI_UNDEFINED && row->vaddr == r->entry;
	return 0;
}

static uint64_t found_bytes(const char *name)
{
	struct image *im = open_image(name);
	struct roots roots = { .entry = image_entry(im) };
	struct error e = {};

	const int err = cfi_each_row(im, NULL, take_row, &roots, &e);

	if (err && err != -ENOENT) /* no row at all */
		fail_msg("%s: %s", name, e.text);
	image_close(im);
	return roots.bytes;
}

TEST(the_entry_points_code_ends_where_another_function_may_begin)
{
	size_t n_wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		const uint64_t wanted = root_bytes(&starts[i]);
		const uint64_t found = found_bytes("prog");

		if (found != wanted) {
			print_error("%s: %lu bytes, not %lu\n", starts[i].name, found, wanted);
			n_wrong++;
		}
	}
	assert_int_equal(n_wrong, 0);
}

/* As usual C libraries and linkers make it: a return to it must still end a stack. */
TEST(usual_programs_have_a_root_for_each_call_of_their_start)
{
	static const char *const ways[] = {
		"gcc -pie -fPIE",   "gcc -no-pie", "gcc -static",      "gcc -static-pie -fPIE",
		"gcc -fuse-ld=lld", "musl-gcc",    "musl-gcc -no-pie", "musl-gcc -static",
	};

	scratch_write("prog.c", "int main(void) { return 0; }\n");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		cleanup_free char *command = xasprintf(
			"%s prog.c -o prog && objcopy --remove-section .eh_frame "
			"--remove-section .eh_frame_hdr prog && strip -s prog 2>/dev/null",
			ways[i]);

		scratch_run(command);

		/* 34 in glibc's, up to the nops; 22 in musl's */
		const uint64_t found = found_bytes("prog");

		if (found < 19 || found > 38)
			fail_msg("%s: %lu bytes", ways[i], found);
	}
}

TEST_MAIN(scratch_make, scratch_remove)
