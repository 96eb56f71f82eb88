/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/return.bpf.h - the programs at returns of kernel functions. Kernels before Linux 5.17 have
 * none: Linux 5.10 misses returns of functions whose kprobe is a breakpoint.
 */
#pragma once

SEC("?kprobe/count")
int on_kreturn(struct pt_regs *ctx)
{
	return on_hit(ctx, HIT_KERNEL_RETURN, true);
}

SEC("?kprobe/count")
int on_kreturns(struct pt_regs *ctx)
{
	return on_hit(ctx, HIT_KERNEL_RETURN, true);
}
