/* rooms: match base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "base/strbuf.h"
#include "match/target.h"

#define KERNEL(n, m, a)                                                                 \
	{                                                                               \
		.kind = TARGET_KERNEL_FUNCTION, .name = (n), .module = (m), .addr = (a) \
	}
#define USER(n, p, v)                                                                \
	{                                                                            \
		.kind = TARGET_USER_FUNCTION, .name = (n), .path = (p), .vaddr = (v) \
	}
#define USDT(n, p, o)                                                        \
	{                                                                    \
		.kind = TARGET_USDT, .name = (n), .path = (p), .offset = (o) \
	}

#define KERNEL_RETURN(n, m, a)                                                        \
	{                                                                             \
		.kind = TARGET_KERNEL_RETURN, .name = (n), .module = (m), .addr = (a) \
	}
/* At an exit of the function that is place number @i. */
#define USER_RETURN(n, p, v, i)                                                                  \
	{                                                                                        \
		.kind = TARGET_USER_RETURN, .name = (n), .path = (p), .vaddr = (v), .place = (i) \
	}

/* "name=targets' numbers; ..." in the order of rows. */
static void expect_list(struct target_list *list, const char *want)
{
	cleanup_strbuf struct strbuf made = {};
	cleanup(target_names_fini) struct target_names names;

	target_names_make(list, &names);
	for (size_t row = 0; row < names.n; row++) {
		strbuf_printf(&made, "%s%s =", row ? "; " : "", names.names[row]);
		for (size_t i = 0; i < list->n; i++)
			if (names.rows[i] == row)
				strbuf_printf(&made, " %zu", i);
	}
	assert_string_equal(made.text, want);
}

#define expect(targets_, want)                                                                  \
	do {                                                                                    \
		struct target_list list = { .targets = (targets_), .n = ARRAY_SIZE(targets_) }; \
		expect_list(&list, want);                                                       \
	} while (0)

TEST(names_that_stand_alone_stay)
{
	struct target targets[] = {
		KERNEL("vfs_read", NULL, 0),
		KERNEL("ext4_read", "ext4", 0xffffffffc0401000),
		USER("malloc", "/lib/libc.so.6", 0x9000),
		USDT("libc:setjmp", "/lib/libc.so.6", 0x9100),
		{ .kind = TARGET_TRACEPOINT, .name = "sched:sched_switch" },
	};

	expect(targets, "vfs_read = 0; ext4_read = 1; malloc = 2; libc:setjmp = 3; "
			"sched:sched_switch = 4");
}

TEST(modules_and_files_tell_namesakes_apart)
{
	struct target targets[] = {
		KERNEL("helper", NULL, 0xffffffff81000000),
		KERNEL("helper", "ext4", 0xffffffffc0401000),
		USER("free", "/lib/libc.so.6", 0x9000),
		USER("free", "/opt/libje.so", 0x9000),
		KERNEL("free", NULL, 0xffffffff82000000),
		USER("init", "/a/libx.so", 0x10),
		USER("init", "/b/libx.so", 0x10),
	};

	expect(targets, "helper = 0; helper [ext4] = 1; free [libc.so.6] = 2; free [libje.so] = 3; "
			"free = 4; init [/a/libx.so] = 5; init [/b/libx.so] = 6");
}

TEST(addresses_do_where_nothing_else_does)
{
	struct target targets[] = {
		KERNEL("m_start", NULL, 0xffffffff81000000),
		KERNEL("m_start", NULL, 0xffffffff81000100),
		KERNEL("show", NULL, 0xffffffff81000200),
		KERNEL("show", "drm", 0xffffffffc0000000),
		KERNEL("show", "drm", 0xffffffffc0000100),
		USER("parse", "/bin/x", 0x1000),
		USER("parse", "/bin/x", 0x2000),
	};

	expect(targets, "m_start [0xffffffff81000000] = 0; m_start [0xffffffff81000100] = 1; "
			"show = 2; show [drm] [0xffffffffc0000000] = 3; "
			"show [drm] [0xffffffffc0000100] = 4; parse [0x1000] = 5; "
			"parse [0x2000] = 6");
}

TEST(the_places_of_a_probe_are_one_row_in_a_file)
{
	struct target targets[] = {
		USDT("shop:buy", "/bin/x", 0x10),  USDT("shop:buy", "/bin/x", 0x20),
		USDT("shop:sell", "/bin/x", 0x30), USDT("shop:sell", "/bin/y", 0x30),
		USDT("shop:sell", "/bin/y", 0x40),
	};

	expect(targets, "shop:buy = 0 1; shop:sell [x] = 2; shop:sell [y] = 3 4");
}

TEST(returns_have_names_of_their_own)
{
	struct target targets[] = {
		KERNEL("vfs_read", NULL, 0xffffffff81000000),
		KERNEL_RETURN("vfs_read", NULL, 0xffffffff81000000),
		KERNEL_RETURN("show", NULL, 0xffffffff81000200),
		KERNEL_RETURN("show", "drm", 0xffffffffc0000000),
		USER("free", "/lib/libc.so.6", 0x9000),
		USER_RETURN("free", "/lib/libc.so.6", 0x9000, 1),
		USER_RETURN("free", "/lib/libc.so.6", 0x9000, 1),
		USER_RETURN("init", "/a/libx.so", 0x10, 2),
		USER_RETURN("init", "/a/liby.so", 0x10, 3),
	};

	expect(targets, "vfs_read = 0; r:vfs_read = 1; r:show = 2; r:show [drm] = 3; free = 4; "
			"r:free = 5 6; r:init [libx.so] = 7; r:init [liby.so] = 8");
}

TEST_MAIN(NULL, NULL)
