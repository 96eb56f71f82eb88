// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bare.S - libbare.so: code that nothing is said of, which uses rbp for something else (see dl.c). */
	.text
	.type late_hit, @function
late_hit:
	mov $110, %eax /* getppid */
	syscall
	ret
	.size late_hit, . - late_hit

	.globl late_entry
	.type late_entry, @function
late_entry:
	push %rbp
	xor %ebp, %ebp
	call late_hit
	pop %rbp
	ret
	.size late_entry, . - late_entry

	.section .note.GNU-stack, "", @progbits
