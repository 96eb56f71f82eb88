/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/report_sample.h - a report with one of each thing that can be in one. */
#pragma once

#include "base/strbuf.h"
#include "stacks.h"

/* clang-format off */
static const struct frame known[] = {
	{ .kind = FRAME_KERNEL, .name = "vfs_read", .addr = 0xffffffff812a4b70, .offset = 0 },
	{ .kind = FRAME_KERNEL, .name = "entry_SYSCALL_64_after_hwframe", .addr = 0xffffffff82000130,
	  .offset = 0x77 },
	{ .kind = FRAME_KERNEL, .name = "ext4_file_read_iter", .module = "ext4", .addr = 0xffffffffc0401234,
	  .offset = 0x34 },
	{ .kind = FRAME_KERNEL, .addr = 0xffffffffc0999999 },
	{ .kind = FRAME_USER, .name = "__read", .module = "libc.so.6", .addr = 0x7f3a11d1e4fb, .offset = 0xb,
	  .module_offset = 0xf84fb },
	{ .kind = FRAME_USER, .name = "Monitor::IWait(Thread*, long)", .module = "libjvm.so",
	  .addr = 0x7f3a10001000, .offset = 0x1f, .module_offset = 0x1000 },
	{ .kind = FRAME_USER, .module = "libstripped.so.1", .is_in_file = true, .has_start = true,
	  .addr = 0x7f3a0e0012ab, .offset = 0xab, .module_offset = 0x12ab },
	{ .kind = FRAME_USER, .addr = 0x1 },
	{ .kind = FRAME_USER, .name = "main", .module = "prog", .addr = 0x401136, .offset = 0x2a,
	  .module_offset = 0x401136 },
	{ .kind = FRAME_CUT, .name = "depth" },
	{ .kind = FRAME_USER, .name = "Lio/netty/util/ThreadDeathWatcher$Watcher;::run", .module = "[anon]",
	  .addr = 0x7f3a20000010, .offset = 0x10 },
	{ .kind = FRAME_USER, .name = "evil\x1b[2J\nname\xc2\x9b\xff", .module = "na\x07me;.so",
	  .addr = 0x7f3a30000000, .offset = 1 },
	{ .kind = FRAME_USER, .module = "na\x07me;.so", .is_in_file = true, .addr = 0x7f3a30000100,
	  .module_offset = 0x100 },
	{ .kind = FRAME_USER, .name = "-", .module = "prog", .addr = 0x401000 },
	{ .kind = FRAME_USER, .name = "", .addr = 0x402000 },
	{ .kind = FRAME_CUT, .name = NULL },
	{ .kind = FRAME_CUT, .name = "a;b\n\x1b[2J\"\\\xc2\x9b\xe2\x80\xae\xff" },
	{ .kind = FRAME_USER, .name = "last", .addr = UINT64_MAX, .offset = UINT64_MAX - 1, .module = "all",
	  .module_offset = UINT64_MAX - 1 },
	{ .kind = FRAME_UNVERIFIED, .name = "frame pointers" },
};
/* clang-format on */

static const struct frame_table table = { .frames = (struct frame *)known, .n = ARRAY_SIZE(known) };

static inline void add(struct profile_builder *b, uint64_t count, uint32_t pid, const char *comm,
		       uint32_t n_kernel, uint32_t n_user, const uint32_t *frames)
{
	ADD(b, .count = (int64_t)count, .frames = frames, .n_kernel = n_kernel, .n_user = n_user,
	    .pid = pid, .comm = comm);
}

static inline struct profile *finish(struct profile_builder *b, const struct frame_table *frames)
{
	struct profile *p = finish_table(b, frames);

	profile_choose(p, 0, 0);
	return p;
}

/* @n stacks of @depth frames, which branch where a bit of their number says so. */
static inline struct profile *large_profile(uint32_t n, uint32_t depth)
{
	struct profile_builder *b = profile_builder_new(1);
	uint32_t row[64];

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t f = 0; f < depth; f++)
			row[f] = (i >> (f % 18) & 1) + 2 * (f % 5);
		add(b, i + 1, i, NULL, depth / 2, depth - depth / 2, row);
	}
	return finish(b, &table);
}

/* One of each thing that can be in a report; @per_process: and whose it is. */
static inline struct profile *sample(bool per_process)
{
	static const uint32_t both[] = { 0, 1, 4, 5, 8 };
	static const uint32_t kernel_only[] = { 0, 2, 3 };
	static const uint32_t user_only[] = { 4, 6, 7, 14, 8 };
	static const uint32_t cut[] = { 0, 9, 4, 8, 9 };
	static const uint32_t hostile[] = { 10, 11, 12, 13 };
	static const struct {
		int64_t count;
		uint32_t pid;
		const char *comm;
		uint32_t n_kernel, n_user;
		const uint32_t *frames;
	} entries[] = {
		{ 1, 405, "jbd2/xvda1-8", 3, 0, kernel_only }, { 2, 15187, "tar", 2, 3, both },
		{ 2, 15187, "tar", 0, 5, user_only },          { 113, 0, NULL, 0, 0, NULL },
		{ 38, 7, "a;b\n\x1b]0;x\x07", 0, 4, hostile }, { -616, 4294967295, "", 2, 3, cut },
	};
	struct profile_builder *b = profile_builder_new(1);

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		add(b, (uint64_t)entries[i].count, per_process ? entries[i].pid : 0,
		    per_process ? entries[i].comm : NULL, entries[i].n_kernel, entries[i].n_user,
		    entries[i].frames);
	return finish(b, &table);
}
