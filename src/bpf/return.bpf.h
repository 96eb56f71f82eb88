/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/return.bpf.h - the programs at returns of kernel functions. */
#pragma once

SEC("?kprobe/count")
int on_kreturn(struct pt_regs *ctx)
{
	return on_hit(ctx, HIT_KERNEL_RETURN);
}

SEC("?kprobe/count")
int on_kreturns(struct pt_regs *ctx)
{
	return on_hit(ctx, HIT_KERNEL_RETURN);
}
