/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/member.bpf.h - loads from the kernel's memory. */
#pragma once

#include "bpf/maps.bpf.h"

/*
 * A word of the kernel's memory, by a load; 0 if nothing is there. bpf_rdonly_cast() gives a number
 * the type of a pointer, which costs nothing at run time. The kernel's compiler of programs adds a
 * test that the address is the kernel's, and the load may fault. User space replaces the constants.
 */
static __always_inline __u64 load_kernel(__u64 at)
{
	__u64 word;

	asm volatile("r1 = %[at]\n\t"
		     "r2 = %[type]\n\t"
		     "call %[cast]\n\t"
		     "%[word] = *(u64 *)(r0 + 0)"
		     : [word] "=r"(word)
		     : [at] "r"(at), [type] "i"(CAST_TYPE), [cast] "i"(CAST_CALL)
		     : "r0", "r1", "r2", "r3", "r4", "r5");
	return word;
}

static __always_inline const void *memory_at_offset(const void *of, __u32 offset)
{
	return of + offset;
}

/*
 * The eight bytes at @offset of a structure of the kernel. @of is a pointer of that type, or comes
 * from such a load. If the verifier knows the type, it searches all of the kernel's BTF for four
 * names at each pointer that it loads, for 0.1 ms. With load_kernel() it knows none.
 */
static __always_inline __u64 member_at(const void *of, __u32 offset)
{
	if (config.loads_kernel)
		return load_kernel((__u64)of + offset);
	return *(const __u64 *)memory_at_offset(of, offset);
}

static __always_inline __u32 short_member_at(const void *of, __u32 offset)
{
	if (config.loads_kernel)
		return (__u32)load_kernel((__u64)of + offset);
	return *(const __u32 *)memory_at_offset(of, offset);
}
