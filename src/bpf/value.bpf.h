/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/value.bpf.h - the value of a hit (config.has_sum). It is found before the stacks are walked.
 */
#pragma once

#include "bpf/calls.bpf.h"
#include "bpf/maps.bpf.h"

/*
 * Put the hit's value into *@value. @number: of its code. Returns 0, or 1 if there is no value.
 * User space adds the code of the expression to the program, as a function of this one's type
 * (bpf/value_code.h). They are no global functions, because these cannot have the context of any
 * kind of program as an argument.
 */
static __attribute__((noinline)) int value_of_hit(void *ctx, __s64 *value, __u32 number)
{
	static int (*const code)(void *, __s64 *, __u32) = (void *)VALUE_CALL;

	return code(ctx, value, number);
}

/* Put its value into the slot. True: the hit has none. */
static __always_inline bool has_no_value(void *ctx, struct scratch_slot *slot)
{
	return config.has_sum && value_of_hit(ctx, &slot->value, hit_target(ctx));
}
