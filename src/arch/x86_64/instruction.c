// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Zydis decodes. This picks the few of its thousand mnemonics that matter. Its operands give nearly
 * everything: the registers that an instruction writes, with hidden ones (cpuid writes rbx). A
 * dozen mnemonics need more.
 */
#include <Zydis/Decoder.h>
#include <string.h>

#include "arch/arch.h"

struct decoded {
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t vaddr;
};

static uint8_t register_number(ZydisRegister reg)
{
	const ZydisRegister whole =
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
		       ? (uint8_t)(whole - ZYDIS_REGISTER_RAX)
		       : REGISTER_NONE;
}

/* The register of operand @i if that is a register of 64 bits; else REGISTER_NONE. */
static uint8_t whole_register(const struct decoded *d, unsigned i)
{
	const ZydisDecodedOperand *o = &d->operands[i];

	return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->size == 64
		       ? register_number(o->reg.value)
		       : REGISTER_NONE;
}

static bool is_memory(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static bool is_plain_memory(const ZydisDecodedOperand *o)
{
	return is_memory(o) && o->mem.index == ZYDIS_REGISTER_NONE &&
	       (o->mem.segment == ZYDIS_REGISTER_DS || o->mem.segment == ZYDIS_REGISTER_SS);
}

static uint64_t relative_target(const struct decoded *d, int64_t by)
{
	return d->vaddr + d->is.length + (uint64_t)by;
}

static void note_written(const struct decoded *d, struct instruction *ret)
{
	for (unsigned i = 0; i < d->is.operand_count; i++) {
		const ZydisDecodedOperand *o = &d->operands[i];

		if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    register_number(o->reg.value) != REGISTER_NONE)
			ret->writes |= (uint16_t)(1U << register_number(o->reg.value));
		if (i >= d->is.operand_count_visible || !is_plain_memory(o))
			continue;
		ret->store_base = register_number(o->mem.base);
		ret->store_value = o->mem.disp.value;
		ret->store_bytes = o->size / 8;
		if (d->is.mnemonic == ZYDIS_MNEMONIC_MOV && i == 0)
			ret->store_reg = whole_register(d, 1);
	}
}

static uint8_t decode_push_or_pop(const struct decoded *d, struct instruction *ret, uint8_t kind)
{
	ret->reg = whole_register(d, 0);
	ret->writes &= (uint16_t) ~(1U << REGISTER_RSP);
	if (kind == INSTRUCTION_POP && ret->reg == REGISTER_RSP)
		return INSTRUCTION_BAD;
	return d->is.operand_width == 64 ? kind : INSTRUCTION_BAD;
}

static uint8_t decode_add(const struct decoded *d, struct instruction *ret, int sign)
{
	const ZydisDecodedOperand *by = &d->operands[1];

	ret->reg = whole_register(d, 0);
	if (ret->reg != REGISTER_RSP || by->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return INSTRUCTION_OTHER;
	ret->value = sign < 0 ? -by->imm.value.s : by->imm.value.s;
	ret->writes = 0;
	return INSTRUCTION_ADD;
}

static uint8_t decode_lea(const struct decoded *d, struct instruction *ret)
{
	const ZydisDecodedOperand *o = &d->operands[1];

	ret->reg = whole_register(d, 0);
	if (ret->reg == REGISTER_NONE || o->mem.index != ZYDIS_REGISTER_NONE)
		return INSTRUCTION_OTHER;
	ret->value = o->mem.disp.value;
	ret->base = register_number(o->mem.base);
	ret->target = relative_target(d, ret->value);
	if (o->mem.base == ZYDIS_REGISTER_RIP)
		return INSTRUCTION_ADDRESS;
	return ret->base < REGISTER_NONE ? INSTRUCTION_LEA : INSTRUCTION_OTHER;
}

/* An immediate of 32 bits may be an address in programs at fixed addresses. */
static uint8_t decode_mov(const struct decoded *d, struct instruction *ret)
{
	const ZydisDecodedOperand *from = &d->operands[1];

	ret->reg = whole_register(d, 0);
	if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		ret->target = from->imm.value.u;
		return INSTRUCTION_ADDRESS;
	}
	ret->base = whole_register(d, 1);
	if (ret->reg == REGISTER_NONE)
		return INSTRUCTION_OTHER;
	if (ret->base != REGISTER_NONE)
		return INSTRUCTION_MOVE;
	if (!is_plain_memory(from))
		return INSTRUCTION_OTHER;
	ret->base = register_number(from->mem.base);
	ret->value = from->mem.disp.value;
	return INSTRUCTION_LOAD;
}

static uint8_t decode_cmp(const struct decoded *d, struct instruction *ret)
{
	ret->reg = whole_register(d, 1);
	return ret->reg != REGISTER_NONE && whole_register(d, 0) == REGISTER_RSP
		       ? INSTRUCTION_COMPARE_SP
		       : INSTRUCTION_OTHER;
}

/* Returns @direct if the instruction has its target, else @pointer. */
static uint8_t decode_jump(const struct decoded *d, struct instruction *ret, uint8_t direct,
			   uint8_t pointer)
{
	const ZydisDecodedOperand *to = &d->operands[0];

	ret->writes = 0;
	if (d->is.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return INSTRUCTION_BAD;
	if (to->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && to->imm.is_relative) {
		ret->target = relative_target(d, to->imm.value.s);
		return direct;
	}
	ret->reg = whole_register(d, 0);
	ret->is_indexed = is_memory(to) && to->mem.index != ZYDIS_REGISTER_NONE;
	return pointer;
}

static uint8_t decode_kind(const struct decoded *d, struct instruction *ret)
{
	switch (d->is.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return decode_push_or_pop(d, ret, INSTRUCTION_PUSH);
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		return decode_push_or_pop(d, ret, INSTRUCTION_POP);
	case ZYDIS_MNEMONIC_ADD:
		return decode_add(d, ret, 1);
	case ZYDIS_MNEMONIC_SUB:
		return decode_add(d, ret, -1);
	case ZYDIS_MNEMONIC_LEA:
		return decode_lea(d, ret);
	case ZYDIS_MNEMONIC_MOV:
		return decode_mov(d, ret);
	case ZYDIS_MNEMONIC_CMP:
		return decode_cmp(d, ret);
	case ZYDIS_MNEMONIC_LEAVE:
		ret->writes = 0;
		return d->is.operand_width == 64 ? INSTRUCTION_LEAVE : INSTRUCTION_BAD;
	case ZYDIS_MNEMONIC_CALL:
		return decode_jump(d, ret, INSTRUCTION_CALL, INSTRUCTION_CALL_POINTER);
	case ZYDIS_MNEMONIC_JMP:
		return decode_jump(d, ret, INSTRUCTION_JUMP, INSTRUCTION_JUMP_POINTER);
	case ZYDIS_MNEMONIC_JNZ:
		return decode_jump(d, ret, INSTRUCTION_BRANCH_UNEQUAL, INSTRUCTION_BAD);
	case ZYDIS_MNEMONIC_RET:
		return d->is.operand_count_visible ? INSTRUCTION_BAD : INSTRUCTION_RETURN;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
		return INSTRUCTION_STOP;
	case ZYDIS_MNEMONIC_NOP:
		return INSTRUCTION_NOP;
	case ZYDIS_MNEMONIC_SYSCALL:
		return INSTRUCTION_SYSTEM_CALL;
	case ZYDIS_MNEMONIC_INT:
		return d->operands[0].imm.value.u == 0x80 ? INSTRUCTION_SYSTEM_CALL
							  : INSTRUCTION_OTHER;
	case ZYDIS_MNEMONIC_ENTER:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
		return INSTRUCTION_BAD;
	default:
		return d->is.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE
			       ? INSTRUCTION_OTHER
			       : decode_jump(d, ret, INSTRUCTION_BRANCH, INSTRUCTION_BAD);
	}
}

/*
 * vmovd and vmovq may write any general register but rsp and rbp. Functions of mathematical
 * libraries begin with them, to test the bits of their argument.
 */
static bool is_vector(const struct decoded *d, uint16_t writes)
{
	if (d->is.encoding != ZYDIS_INSTRUCTION_ENCODING_VEX &&
	    d->is.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX)
		return false;
	if (d->is.mnemonic == ZYDIS_MNEMONIC_VMOVD || d->is.mnemonic == ZYDIS_MNEMONIC_VMOVQ)
		return !(writes & (1U << REGISTER_RSP | 1U << REGISTER_RBP));
	return !writes;
}

struct instruction instruction_at(const uint8_t *code, size_t n, uint64_t vaddr)
{
	struct instruction ret = { .kind = INSTRUCTION_BAD,
				   .reg = REGISTER_NONE,
				   .base = REGISTER_NONE,
				   .store_base = REGISTER_NONE,
				   .store_reg = REGISTER_NONE };
	struct decoded d; /* a kilobyte, so we do not clear it each time */
	ZydisDecoderContext context;
	ZydisDecoder decoder;

	if (ZYAN_FAILED(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, &context, code, n, &d.is)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeOperands(&decoder, &context, &d.is, d.operands,
						   d.is.operand_count)))
		return ret;
	d.vaddr = vaddr;
	ret.length = d.is.length;
	note_written(&d, &ret);
	ret.kind = decode_kind(&d, &ret);
	ret.is_vector = ret.kind == INSTRUCTION_OTHER && is_vector(&d, ret.writes);
	return ret;
}

/* --- jumps and calls, by their bytes --- */

/*
 * Where may execution enter code, and which instruction ends at a return address? Only a decoder
 * knows where instructions begin. So this looks for jumps and calls with a displacement at every
 * byte:
 *
 *	70-7f d8, e0-e3 d8, eb d8            jcc, loop and jrcxz, jmp
 *	e8 d32, e9 d32, 0f 80-8f d32         call, jmp, jcc
 *	c7 f8 d32                            xbegin, to its abort handler
 *
 * A displacement counts from the end of its instruction. This finds every such instruction, and
 * also bytes that mean something else. Of the 256 bytes around a place, random ones look like a
 * short jump to it in one case of twelve. Two kinds of such bytes are frequent, so we leave them
 * out. In
 *
 *	c5 f8 77  c3                         vzeroupper; ret
 *
 * 77 is a jump only after clc (f8), where "above" means no more than "not equal". Many functions
 * with vectors end in this. And in
 *
 *	62 e1 7d 28 e7 07    vmovntdq %ymm16,(%rdi)
 *
 * the second byte would be loope. Functions of string.h have many of these, and compilers make no
 * loop and no jrcxz (e0-e3).
 *
 * Before a return address there is a call, or one of the kernel: syscall (0f 05), sysenter (0f 34),
 * int $0x80 (cd 80). Padding between functions does not end like any of them.
 */
enum lead { LEAD_NONE, LEAD_SHORT, LEAD_NEAR, LEAD_TWO_BYTES, LEAD_XBEGIN };

static const uint8_t leads[256] = {
	[0x0f] = LEAD_TWO_BYTES,      [0x70 ... 0x7f] = LEAD_SHORT, [0xc7] = LEAD_XBEGIN,
	[0xe0 ... 0xe3] = LEAD_SHORT, [0xe8 ... 0xe9] = LEAD_NEAR,  [0xeb] = LEAD_SHORT,
};

/* The size of the displacement if a jump or call begins here, else 0. *@ret_opcode: its offset. */
static inline size_t displacement_bytes(const uint8_t *code, size_t n, size_t *ret_opcode)
{
	*ret_opcode = 1;
	switch ((enum lead)leads[code[0]]) {
	case LEAD_SHORT:
		return n > 1 ? 1 : 0;
	case LEAD_NEAR:
		return n > 4 ? 4 : 0;
	case LEAD_TWO_BYTES:
		*ret_opcode = 2;
		return n > 5 && (code[1] & 0xf0) == 0x80 ? 4 : 0;
	case LEAD_XBEGIN:
		*ret_opcode = 2;
		return n > 5 && code[1] == 0xf8 ? 4 : 0;
	default:
		return 0;
	}
}

static inline bool is_vzeroupper(const uint8_t *code, size_t at)
{
	return code[at] == 0x77 && at >= 2 && code[at - 1] == 0xf8 && code[at - 2] == 0xc5;
}

/* Is this one of e0-e3, as second byte of an instruction with a VEX or EVEX prefix? */
static inline bool is_in_vector_prefix(const uint8_t *code, size_t at, size_t n)
{
	if ((code[at] & 0xfc) != 0xe0 || at < 1 || (code[at - 1] != 0x62 && code[at - 1] != 0xc4))
		return false;
	return instruction_at(code + at - 1, n - (at - 1), 0).is_vector;
}

void arch_each_jump(const uint8_t *code, size_t n, uint64_t vaddr, arch_take_jump *take,
		    void *context)
{
	for (size_t i = 0; i < n; i++) {
		size_t opcode;
		size_t size;
		int64_t displacement;

		if (leads[code[i]] == LEAD_NONE || is_vzeroupper(code, i) ||
		    is_in_vector_prefix(code, i, n))
			continue;
		size = displacement_bytes(code + i, n - i, &opcode);
		if (!size)
			continue;
		if (size == 1) {
			displacement = (code[i + opcode] ^ 0x80) - 0x80; /* sign-extended */
		} else {
			int32_t near;

			memcpy(&near, code + i + opcode, sizeof(near));
			displacement = near;
		}
		take(context, vaddr + i, vaddr + i + opcode + size + (uint64_t)displacement);
	}
}

bool arch_is_behind_call(const uint8_t *end, size_t n)
{
	for (size_t length = 2; length <= n; length++) {
		const struct instruction i = instruction_at(end - length, length, 0);

		if (i.length == length &&
		    (i.kind == INSTRUCTION_CALL || i.kind == INSTRUCTION_CALL_POINTER))
			return true;
	}
	/* syscall, sysenter, int $0x80 */
	return n >= 2 &&
	       (memcmp(end - 2, "\x0f\x05", 2) == 0 || memcmp(end - 2, "\x0f\x34", 2) == 0 ||
		memcmp(end - 2, "\xcd\x80", 2) == 0);
}
