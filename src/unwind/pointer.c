// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "unwind/pointer.h"

/*
 * The value of @reg before @at tells where a jump to it leads. A plain load or move gives a
 * function; the sum of a table's address and its entry gives a case of a switch.
 */
static enum pointer_jump judge_register(const struct flow *flow, uint64_t at, uint8_t reg)
{
	const struct flow_span *s = flow_span_of(flow, at);
	const uint8_t *flags = &flow->flags[s->first];

	while (!(flags[at - s->start] & FLOW_ENTRY) && at-- > s->start) {
		struct instruction i;

		if (!(flags[at - s->start] & FLOW_VISITED))
			continue;
		i = flow_instruction(s, at);
		switch (i.kind) {
		case INSTRUCTION_CALL:
		case INSTRUCTION_CALL_POINTER:
			return POINTER_LEAVES;
		case INSTRUCTION_JUMP:
		case INSTRUCTION_JUMP_POINTER:
		case INSTRUCTION_RETURN:
		case INSTRUCTION_STOP:
			return POINTER_UNSURE;
		case INSTRUCTION_LOAD:
		case INSTRUCTION_MOVE:
		case INSTRUCTION_POP:
		case INSTRUCTION_ADDRESS:
			if (i.reg == reg)
				return POINTER_LEAVES;
			break;
		default:
			if (i.writes >> reg & 1)
				return POINTER_STAYS;
		}
	}
	return POINTER_LEAVES; /* an argument */
}

enum pointer_jump pointer_jump_of(const struct flow *f, uint64_t vaddr,
				  const struct instruction *jump)
{
	if (jump->is_indexed)
		return POINTER_STAYS;
	return jump->reg == REGISTER_NONE ? POINTER_LEAVES : judge_register(f, vaddr, jump->reg);
}
