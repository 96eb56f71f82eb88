/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/arch.h - what an architecture provides for user space, in functions that open no file. The
 * other headers of arch/ are for both sides, or for BPF. doc/HOWTO_ADD_ARCHITECTURE.md has the
 * order to write them in.
 *
 * An architecture's own arch.h has the constants:
 *
 *	ARCH_NAME                for messages
 *	ARCH_HAS_TABLES          0: user stacks are walked by frame pointers alone
 *	ARCH_TRIPLET             folders of libraries have this name: "x86_64-linux-gnu"
 *	ARCH_MACHINE             e_machine of its 64-bit files, and
 *	ARCH_MACHINE_32          of those of 32 bits that the same kernel runs
 *	ARCH_AUDIT               seccomp's number of its system calls, and
 *	ARCH_FOREIGN_CALLS       the first number that belongs to another set of them
 *	ARCH_INSTRUCTION_BYTES   the longest instruction
 *	ARCH_RELATIVE            the type of a relocation that adds the load address to its addend
 *	ARCH_RETURN_HOW          enum cfi_how of the return address, until CFI gives it
 *	ARCH_CALL_PUSHES         1: a call pushes the return address, which is then at CFA - 8
 *	ARCH_GO_QUANTUM          Go's tables count code in units of so many bytes
 *	ARCH_GO_START            the function that begins Go's programs: "_rt0_amd64"
 *
 *	ARCH_ARGUMENTS           where struct pt_regs, as programs see it, has the registers of a
 *	                         function's first arguments, in this order, and
 *	ARCH_RETURN_VALUE        that of the result
 *	ARCH_STACK_POINTER       that of the stack pointer
 *	ARCH_STACK_ARGUMENTS     bytes from the stack pointer at the entry to the first argument
 *	                         on the stack
 *
 * and the bytes of code that functions below look at: ARCH_STUB_BYTES, ARCH_CALL_BYTES,
 * ARCH_LINKER_START_BYTES and ARCH_GO_POP_BYTES.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/user_step.h"

/* Bytes of code or CFI. No bytes: the architecture has none. */
struct arch_bytes {
	const uint8_t *data;
	size_t size;
};

/* --- ELF files --- */

/* Do relocations of @type, in files of 64 bits, fill slots that stubs of a PLT jump through? */
bool arch_fills_slot(uint32_t type);

/*
 * The slot that the stub of 64-bit code at @vaddr jumps through, whose @n bytes are at @code, at
 * most ARCH_STUB_BYTES. False: they are no stub.
 */
bool arch_stub_slot(const uint8_t *code, size_t n, uint64_t vaddr, uint64_t *ret);

/* --- Code --- */

/*
 * May the instruction before @end be a call, so that @end is a return address? There are @n bytes
 * before it, at most ARCH_CALL_BYTES. Calls of the kernel count.
 */
bool arch_is_behind_call(const uint8_t *end, size_t n);

/* Execution may go from code at @from to @to. */
typedef void arch_take_jump(void *context, uint64_t from, uint64_t to);

/*
 * Call @take for each jump or call with a displacement that the code at @vaddr may have. It finds
 * all, and also bytes that mean something else. An architecture may find none if arch_skippable()
 * never skips.
 */
void arch_each_jump(const uint8_t *code, size_t n, uint64_t vaddr, arch_take_jump *take,
		    void *context);

/*
 * The size of the dynamic linker's _start that the @n bytes at @code begin with: up to its call, at
 * most ARCH_LINKER_START_BYTES. 0: they are no such _start.
 */
size_t arch_linker_start(const uint8_t *code, size_t n);

/* --- Probes --- */

/* What do the kernel's uprobes make of an instruction? */
enum uprobe_verdict {
	UPROBE_FINE,     /* executed as it is, unless the kernel refuses it for another reason */
	UPROBE_REFUSED,  /* no probe: the kernel refuses it, or it would count too much */
	UPROBE_MISTAKEN, /* another instruction would be executed: never probe it */
};

/* On the instruction at the beginning of @bytes. UPROBE_MISTAKEN if they do not hold all of it. */
enum uprobe_verdict arch_uprobe_verdict(const uint8_t *bytes, size_t n, bool is_64_bit);

#define ARCH_MOST_SKIPPED 4 /* instructions */

/*
 * If the instruction at @code cannot have a probe, fill in @ends with the ends of the instructions
 * to skip. These are NOPs and, at a function's entry, vector instructions. They leave the stack and
 * the frame pointer as they are. Returns their number; 0: the probe cannot be moved.
 */
size_t arch_skippable(const uint8_t *code, size_t n, bool is_entry, size_t ends[ARCH_MOST_SKIPPED]);

/* The kernel's functions between a breakpoint's trap and the kprobes there. NULL ends them. */
extern const char *const arch_trap_functions[];

/* --- Arguments of USDT probes --- */

/* A number or a place. Those of registers are bytes in struct pt_regs, as programs see it. */
struct arch_operand {
	enum { ARCH_OPERAND_NUMBER, ARCH_OPERAND_REGISTER, ARCH_OPERAND_MEMORY } kind;
	int64_t number; /* memory: added to the address, has 32 bits */
	uint16_t base;
};

/* Parse an operand as the assembler has it. False: it has no such form. */
bool arch_parse_operand(const char *text, struct arch_operand *ret);

/* --- Instructions --- */

/*
 * The effect of an instruction on the stack and on the registers that calls preserve. The analysis
 * of compiled code (unwind/flow.c) expects that a call pushes the return address, so it does not
 * run without ARCH_CALL_PUSHES.
 */
enum instruction_kind {
	INSTRUCTION_OTHER,        /* writes the registers in @writes, and maybe memory */
	INSTRUCTION_NOP,          /* no effect; it may be padding */
	INSTRUCTION_PUSH,         /* of @reg; REGISTER_NONE: of something else */
	INSTRUCTION_POP,          /* to @reg; REGISTER_NONE: to something else */
	INSTRUCTION_ADD,          /* reg += value; for the stack pointer alone */
	INSTRUCTION_MOVE,         /* reg = base */
	INSTRUCTION_LEA,          /* reg = base + value */
	INSTRUCTION_ADDRESS,      /* reg = target, in code or data */
	INSTRUCTION_LOAD,         /* reg = 8 bytes at base + value */
	INSTRUCTION_COMPARE_SP,   /* of the stack pointer with @reg */
	INSTRUCTION_LEAVE,        /* stack pointer = frame pointer, pop the frame pointer */
	INSTRUCTION_CALL,         /* of @target */
	INSTRUCTION_CALL_POINTER, /* through a register or memory */
	INSTRUCTION_JUMP,         /* to @target */
	INSTRUCTION_JUMP_POINTER, /* through @reg, or through memory */
	INSTRUCTION_BRANCH,       /* to @target, or not */
	INSTRUCTION_BRANCH_UNEQUAL,
	INSTRUCTION_SYSTEM_CALL, /* as INSTRUCTION_OTHER; it may not return */
	INSTRUCTION_RETURN,
	INSTRUCTION_STOP, /* execution does not pass it */
	INSTRUCTION_BAD,  /* no instruction, or one that moves the stack as no compiler does */
};

struct instruction {
	uint8_t length;
	uint8_t kind; /* enum instruction_kind */
	uint8_t reg;
	uint8_t base;
	bool is_indexed;    /* JUMP_POINTER: through memory at a register times something */
	bool is_vector;     /* has VEX or EVEX encoding, and leaves the general registers alone */
	uint16_t writes;    /* a bit for each register that it writes; not SP if @kind tells how */
	uint8_t store_base; /* it writes memory at store_base + store_value */
	uint8_t store_reg;  /* it stores all of this register there; else REGISTER_NONE */
	uint32_t store_bytes; /* 0: it writes no memory at a register plus a number */
	int64_t store_value;
	int64_t value;
	uint64_t target;
};

/* Decode the instruction at @code, whose address is @vaddr, from at most @n bytes. */
struct instruction instruction_at(const uint8_t *code, size_t n, uint64_t vaddr);

/* --- Rows of CFI: unwind/cfi.c makes them, and the architecture turns each into a rule --- */

/* How to find the caller's value of a register, or the CFA. */
enum cfi_how {
	CFI_SAME,      /* unchanged */
	CFI_UNDEFINED, /* lost; for the return address: there is no caller */
	CFI_IN,        /* @reg */
	CFI_AT_CFA,    /* *(CFA + @offset) */
	CFI_IS_CFA,    /* CFA + @offset */
	CFI_IS,        /* @reg + @offset */
	CFI_AT,        /* *(@reg + @offset) */
	CFI_AT_PLUS,   /* *(@reg + @offset) + @plus */
	CFI_PLT,       /* @reg + @offset + ((pc & 15) >= @plus ? 8 : 0): in a stub of a PLT */
	CFI_OTHER,     /* an expression of no known form */
};

struct cfi_value {
	uint8_t how; /* enum cfi_how */
	uint8_t reg;
	uint16_t pad;
	int32_t plus;
	int64_t offset;
};

enum cfi_row_kind {
	CFI_ROW,
	CFI_GAP,    /* no entry covers the code from here on */
	CFI_BAD,    /* an entry covers it, but makes no sense from here on */
	CFI_FRAMES, /* Go's own code: the only thing we know is that it has frame pointers */
};

struct cfi_row {
	uint64_t vaddr; /* the row holds from here to the next row */
	uint8_t kind;   /* enum cfi_row_kind; the members below are for CFI_ROW */
	bool is_signal; /* the frame where signal handlers return */
	bool is_cloned; /* the outermost frame if the result is 0: a child of clone() */
	uint8_t pad0;
	uint32_t pad1;
	struct cfi_value cfa;
	struct cfi_value third, fp, sp;
	struct cfi_value pc; /* the return address */
};

/* --- Unwinding --- */

/* The rule that expresses @row; UNWIND_UNFIT if none can. */
struct unwind_rule arch_rule_of(const struct cfi_row *row);

/*
 * Programs of CFI: at a function's first instruction; in the code where signal handlers return; in
 * code that nobody called. Their data factor is -8.
 */
extern const struct arch_bytes arch_cfi_of_entry, arch_cfi_of_signal, arch_cfi_of_root;

/* The program for a section of stubs without CFI. No bytes: all its code is as at an entry. */
struct arch_bytes arch_cfi_of_stubs(const uint8_t *code, size_t n);

/* The program for the section .init or .fini. No bytes: its code has no known form. */
struct arch_bytes arch_cfi_of_crt(const uint8_t *code, size_t n);

/*
 * Does the DWARF expression "register + n, rest" give the CFA in a stub of a PLT? The rest is the
 * @n bytes at @rest. *@ret: from which of 16 bytes on it adds 8.
 */
bool arch_is_stub_expression(const uint8_t *rest, size_t n, int32_t *ret);

/* Code of libraries that has no CFI, or a wrong row. */
extern const struct arch_bytes arch_signal_return; /* from signal handlers, in musl and Go */
extern const struct arch_bytes arch_thread_root;   /* a thread's first code, in musl */
extern const struct arch_bytes arch_fiber_root;    /* a fiber's first code, in boost */
extern const struct arch_bytes arch_clones[2];     /* clone()'s system call, in glibc and musl */
extern const struct arch_bytes arch_trace_exit;    /* LuaJIT's interpreter: wrong from here on */

/* The bytes of musl's exit(2), if it is at @code, behind arch_thread_root. Else 0. */
size_t arch_exit_bytes(const uint8_t *code, size_t n);

/* Has a program's first code this beginning? */
bool arch_may_be_start(const uint8_t *code, size_t n);

/* --- Go's own code: rows by its table (unwind/table.c) --- */

/* The row where the stack pointer is @delta bytes below its value at the function's beginning. */
struct cfi_row arch_go_row(uint64_t vaddr, int32_t delta, bool is_fp_saved);

/* The row of the kernel's signal frame. */
struct cfi_row arch_go_signal_row(uint64_t vaddr);

/*
 * Has the instruction at @code, before the place of @row, moved the return address to a register?
 * syscall.rawVforkSyscall keeps it there. Then set row->pc.
 */
bool arch_go_pops_return(const uint8_t code[ARCH_GO_POP_BYTES], struct cfi_row *row);

/* In runtime.clone: the switch of the stack, and the system call before it. */
extern const struct arch_bytes arch_go_switch, arch_go_system_call;

/* --- The kernel's unwind tables --- */

/*
 * Entries of the kernel's unwind tables (ORC), and the rules of arch/kernel_step.h that they mean.
 * An entry says, from its address on, where a frame's caller is. Its layout differs between
 * kernels, and so do its numbers of registers. Since Linux 6.4 the kernel's header of its tables
 * has a hash of the declarations, so an unknown hash means no rules at all.
 */
#define ORC_ENTRY_BYTES 6
#define ORC_HEADER_BYTES 20

enum orc_layout {
	ORC_UNKNOWN,
	ORC_OF_4_14, /* up to 6.2 */
	ORC_OF_6_3,
	ORC_OF_6_4,
	ORC_OF_7_1, /* as ORC_OF_6_4, with other numbers of registers */
};

/* By the kernel's header; without one, by members that its struct orc_entry has. */
enum orc_layout orc_layout_of(const uint8_t header[ORC_HEADER_BYTES]);
enum orc_layout orc_layout_by_members(bool has_type, bool has_signal, bool has_end);

/* The rule for an entry. 0: the layout is unknown. */
uint64_t orc_rule_of(enum orc_layout layout, const uint8_t bytes[ORC_ENTRY_BYTES]);
