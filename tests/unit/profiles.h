/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/profiles.h - made profiles, as pprof files. */
#pragma once

#include "test.h"

#include <zlib.h>

#include "base/strbuf.h"
#include "report/render.h"
#include "stacks.h"

/* As a pprof file, in @to. */
static inline void profiles_write(const struct profile *p, struct strbuf *to)
{
	const struct render_style style = {};

	assert_int_equal(render_pprof(p, &style, to_strbuf, to), 0);
}

/* The file @bytes, packed by gzip. */
static inline void profiles_pack(const char *bytes, size_t n, struct strbuf *to)
{
	z_stream stream = { .next_in = (unsigned char *)bytes, .avail_in = (unsigned)n };

	assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);

	const size_t most = deflateBound(&stream, n);
	cleanup_free unsigned char *packed = xmalloc(most);

	stream.next_out = packed;
	stream.avail_out = (unsigned)most;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	strbuf_put(to, (const char *)packed, most - stream.avail_out);
	deflateEnd(&stream);
}

/* As a document. */
static inline void profiles_json(const struct profile *p, struct strbuf *to)
{
	cleanup_changes struct changes *changes =
		p->is_difference ? changes_of_difference(p) : NULL;
	const struct render_style style = { .per_process = true, .changes = changes };

	assert_int_equal(render_json(p, &style, to_strbuf, to), 0);
}

/* Of two that were read. */
static inline void profiles_same(const struct profile *a, const struct profile *b)
{
	cleanup_strbuf struct strbuf one = {}, other = {};

	profiles_json(a, &one);
	profiles_json(b, &other);
	assert_string_equal(one.text, other.text);
}

/* clang-format off */
static const struct frame_image profiles_images[] = {
	{ .path = "[kernel]", .build_id = "aabb", .start = 0xffffffff81000000, .limit = 0xffffffff82000000 },
	{ .path = "[ext4]", .build_id = "0102", .start = 0xffffffffc0400000, .limit = 0xffffffffc0500000 },
	{ .path = "/usr/lib/libc.so.6", .build_id = "deadbeef", .start = 0x7f3a11c28000, .limit = 0x7f3a11d80000,
	  .offset = 0x28000 },
	{ .path = "/usr/bin/prog", .start = 0x401000, .limit = 0x403000, .offset = 0x1000 },
	{ .path = "[vdso]", .start = 0x7ffd1000, .limit = 0x7ffd3000 },
	{ .path = "/usr/bin/gopher", .start = 0x400000, .limit = 0x600000 },
	{ .path = "[anon]", .start = 0x7f0000000000, .limit = 0x7f0000100000 },
};

/* One of each kind: by number, so that stacks can name them. */
static const struct frame profiles_frames[] = {
	[0] = { .kind = FRAME_KERNEL, .image = 0, .name = "vfs_read", .addr = 0xffffffff812a4b70 },
	[1] = { .kind = FRAME_KERNEL, .image = 0, .name = "entry_SYSCALL_64", .addr = 0xffffffff81000130,
		.offset = 0x77 },
	[2] = { .kind = FRAME_KERNEL, .image = 1, .name = "ext4_read", .module = "ext4", .addr = 0xffffffffc0401234,
		.offset = 0x34 },
	[3] = { .kind = FRAME_USER, .image = 2, .name = "__read", .module = "libc.so.6", .is_in_file = true,
		.addr = 0x7f3a11d1e4fb, .file_offset = 0xfe4fa + 0x20000, .offset = 0xb, .module_offset = 0x11e4fb },
	[4] = { .kind = FRAME_USER, .image = 2, .name = "std::f(int)", .raw_name = "_ZSt1fi", .module = "libc.so.6",
		.is_in_file = true, .addr = 0x7f3a11c29000, .file_offset = 0x29000, .module_offset = 0x2a000,
		.file = "f.cc", .line = 12 },
	[5] = { .kind = FRAME_USER, .image = 3, .module = "prog", .is_in_file = true, .has_start = true,
		.addr = 0x4012ab, .file_offset = 0x12aa, .offset = 0xab, .module_offset = 0x12ab },
	[6] = { .kind = FRAME_USER, .image = NO_IMAGE, .addr = 0x1 },
	[7] = { .kind = FRAME_CUT, .image = NO_IMAGE, .name = "depth" },
	[8] = { .kind = FRAME_UNVERIFIED, .image = NO_IMAGE, .name = "frame pointers" },
	[9] = { .kind = FRAME_USER, .image = 4, .name = "__vdso_clock_gettime", .module = "[vdso]", .addr = 0x7ffd1100,
		.module_offset = 0x100 },
	[10] = { .kind = FRAME_USER, .image = 5, .name = "main.main", .module = "gopher",
		 .is_in_file = true, .addr = 0x401000, .file_offset = 0x1000, .module_offset = 0x401000 },
	[11] = { .kind = FRAME_USER, .image = 6, .is_jit = true, .name = "LFoo;::bar", .module = "[anon]",
		 .addr = 0x7f0000000010, .offset = 0x10, .module_offset = 0x10 },
	[12] = { .kind = FRAME_USER, .image = 3, .name = "inner", .is_inlined = true, .module = "prog",
		 .is_in_file = true, .addr = 0x401500, .module_offset = 0x1500, .file = "a.h", .line = 3 },
	[13] = { .kind = FRAME_USER, .image = 3, .name = "middle", .is_inlined = true, .module = "prog",
		 .is_in_file = true, .addr = 0x401500, .module_offset = 0x1500, .file = "a.c", .line = 30 },
	[14] = { .kind = FRAME_USER, .image = 3, .name = "outer", .module = "prog", .is_in_file = true,
		 .addr = 0x401500, .file_offset = 0x14ff, .offset = 0x50, .module_offset = 0x1500, .file = "a.c", .line = 300 },
	[15] = { .kind = FRAME_USER, .image = NO_IMAGE, .name = "no_image", .module = "libx.so", .is_in_file = true,
		 .addr = 0x7f4000000000, .module_offset = 0x100 },
	[16] = { .kind = FRAME_KERNEL, .image = NO_IMAGE, .name = "nf_hook", .module = "nf_tables",
		 .addr = 0xffffffffc0600000 },
	[17] = { .kind = FRAME_KERNEL, .image = NO_IMAGE, .addr = 0xffffffffc0999999 },
	[18] = { .kind = FRAME_USER, .image = 6, .is_jit = true, .name = "function:x", .module = "perf-7.map",
		 .addr = 0x7f5000000000 },
	[19] = { .kind = FRAME_USER, .image = NO_IMAGE, .name = "[cut: not really]", .addr = 0x10 },
	[20] = { .kind = FRAME_USER, .image = 2, .name = "elsewhere", .module = "libc.so.6", .is_in_file = true,
		 .addr = 0x7fff00000123, .file_offset = 0x7fff0000, .module_offset = 0x123 },
	[21] = { .kind = FRAME_USER, .image = 2, .name = "evil\x1b[2J\n\"</script>;\xe2\x80\xae", .module = "libc.so.6",
		 .is_in_file = true, .addr = 0x7f3a11c2a000, .file_offset = 0x2a000 },
	[22] = { .kind = FRAME_USER, .image = 5, .name = "main.main.func1", .module = "gopher",
		 .is_in_file = true, .addr = 0x401010, .file_offset = 0x1010, .module_offset = 0x401010 },
	[23] = { .kind = FRAME_KERNEL, .image = 0, .name = "asm_exc_page_fault", .addr = 0xffffffff81000aaa },
};
/* clang-format on */

static const struct frame_table profiles_table = { .frames = (struct frame *)profiles_frames,
						   .n = ARRAY_SIZE(profiles_frames),
						   .images = (struct frame_image *)profiles_images,
						   .n_images = ARRAY_SIZE(profiles_images) };

static inline uint32_t profiles_add(struct profile_builder *b, int64_t count, uint32_t n_kernel,
				    uint32_t n, const uint32_t *frames)
{
	return ADD(b, .count = count, .frames = frames, .n_kernel = n_kernel,
		   .n_user = n - n_kernel);
}

static inline struct profile *profiles_finish(struct profile_builder *b)
{
	return finish_table(b, &profiles_table);
}

/* With everything that a profile can have but a difference. */
static inline struct profile *profiles_full(void)
{
	static const uint32_t both[] = { 0, 1, 3, 12, 13, 14 };
	static const uint32_t marks[] = { 2, 16, 17, 7, 8, 4, 5, 20, 7 };
	static const uint32_t user[] = { 9, 10, 11, 15, 18, 19, 21, 22, 6 };
	static const uint32_t inlined[] = { 12, 14, 13, 14, 12, 14 };
	static const uint32_t only_mark[] = { 7 };
	static const int64_t more[] = { 5000, -7 };
	struct profile_builder *b = profile_builder_new(3);
	struct profile_stack stack = { .count = 42,
				       .more = more,
				       .frames = both,
				       .n_kernel = 2,
				       .n_user = 4,
				       .pid = 7,
				       .comm = "tar\xc3\xa4" };

	profile_builder_slice(b, 0, 1000000000);
	profile_builder_slice(b, 1000000000, 2500000000);

	const uint32_t number = profile_builder_add(b, &stack);

	profile_builder_part(b, number, 0, 40);
	profile_builder_part(b, number, 1, 2);
	profiles_add(b, 1, 4, ARRAY_SIZE(marks), marks);
	profiles_add(b, 100000, 0, ARRAY_SIZE(user), user);
	profile_builder_part(b, profiles_add(b, 3, 0, ARRAY_SIZE(inlined), inlined), 1, 3);
	profiles_add(b, 5, 0, 0, NULL);
	profiles_add(b, 6, 1, 1, only_mark);
	profiles_add(b, 9, 0, 1, only_mark);
	stack = (struct profile_stack){ .count = 8, .comm = "-" };
	profile_builder_add(b, &stack);

	struct profile *p = profiles_finish(b);

	p->values[1] = (struct profile_value){ "latency", "nanoseconds" };
	p->values[2] = (struct profile_value){ "size", "bytes" };
	p->about = (struct profile_about){ .program = "stackcount 0.9",
					   .command_line = "stackcount -p 'a b'",
					   .host = "h\xc3\xb6st",
					   .kernel = "6.18.1",
					   .begin_ns = 1700000000123456789,
					   .duration_ns = 2500000000,
					   .cost_ns = 1612.3,
					   .period_type = { "event", "count" },
					   .period = 1 };
	profile_add_loss(p, "no room for a new stack", 12);
	profile_add_loss(p, "none", 0);
	profile_add_loss(p, "nested too deep on one CPU", UINT64_MAX / 3);
	p->hidden = 5;
	p->n_hidden = 2;
	p->total += 5;
	return p;
}

static inline struct profile *profiles_difference(void)
{
	static const uint32_t stacks[][2] = { { 0, 21 }, { 0, 4 }, { 0, 5 }, { 0, 6 } };
	static const int64_t counts[][2] = { { 10, 7 }, { 4, 0 }, { 0, 9 }, { 0, 0 } };
	struct profile_builder *b = profile_builder_new(2);

	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		const int64_t more = 2 * counts[i][0], before = 3 * counts[i][1];

		ADD(b, .count = counts[i][0], .more = &more, .count_before = counts[i][1],
		    .more_before = &before, .frames = stacks[i], .n_kernel = 1, .n_user = 1);
	}

	struct profile *p = profiles_finish(b);

	p->values[1] = (struct profile_value){ "time", "nanoseconds" };
	p->about_before = (struct profile_about){ .program = "stackcount 0.8",
						  .command_line = "stackcount old",
						  .host = "h\xc3\xb6st",
						  .kernel = "6.1",
						  .begin_ns = 1600000000123456789,
						  .duration_ns = 5 };
	p->is_normalized = true;
	return p;
}
