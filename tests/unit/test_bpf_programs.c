/* rooms: kernel processes reader helper unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "scratch.h"

#include <linux/bpf.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "kernel/bpf_programs.h"
#include "kernel/modules.h"

static void look_at(struct modules *m, const char *text)
{
	cleanup_free char *path = scratch_path("modules");

	scratch_write("modules", text);
	modules_look(m, path);
}

TEST(a_module_where_another_one_was_is_sure_since_it_was_seen)
{
	cleanup(modules_fini) struct modules m = {};
	uint64_t before;

	look_at(&m, "one 8192 1 - Live 0xffffffffc0400000\n"
		    "two 8192 1 - Live 0xffffffffc0500000\n");
	assert_int_equal(modules_since(&m, "one"), 0);
	before = clock_ns(CLOCK_MONOTONIC);
	look_at(&m, "three 4096 1 - Live 0xffffffffc0401000\n"
		    "two 8192 7 three, Live 0xffffffffc0500000\n"
		    "four 8192 1 - Live 0xffffffffc0600000\n");
	assert_true(modules_since(&m, "three") >= before);
	assert_int_equal(modules_since(&m, "two"), 0);
	assert_int_equal(modules_since(&m, "four"), 0);

	const uint64_t since = modules_since(&m, "three");

	look_at(&m, "three 4096 1 - Live 0xffffffffc0401000\n");
	assert_int_equal(modules_since(&m, "three"), since);
}

/* It may be another version of it. */
TEST(a_module_that_comes_again_is_another_one)
{
	static const char text[] = "one 8192 1 - Live 0xffffffffc0400000\n";
	cleanup(modules_fini) struct modules m = {};
	uint64_t number;

	look_at(&m, text);
	number = m.now;
	look_at(&m, "");
	assert_int_not_equal(m.now, number);
	look_at(&m, text);
	assert_int_equal(m.now, number);
	assert_int_not_equal(modules_since(&m, "one"), 0);
}

/* Since Linux 6.4 the length that is told counts data that lies elsewhere. */
TEST(modules_that_seem_to_overlap_are_both_there)
{
	cleanup(modules_fini) struct modules m = {};

	look_at(&m, "one 65536 1 - Live 0xffffffffc0400000\n"
		    "two 65536 1 - Live 0xffffffffc0404000\n");
	look_at(&m, "three 65536 1 - Live 0xffffffffc0408000\n"
		    "one 65536 1 - Live 0xffffffffc0400000\n"
		    "two 65536 1 - Live 0xffffffffc0404000\n");
	assert_int_equal(modules_since(&m, "one"), 0);
	assert_int_equal(modules_since(&m, "two"), 0);
	assert_int_equal(modules_since(&m, "three"), 0);
}

static int load(const char *name)
{
	const struct bpf_insn insns[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
				.insns = (uintptr_t)insns,
				.insn_cnt = 2,
				.license = (uintptr_t) "GPL" };

	memcpy(attr.prog_name, name, strlen(name));
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* Where /proc/kallsyms has the program @name, and its whole name. */
static uint64_t address_of(const char *name, char whole[128])
{
	cleanup_fclose FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024];
	unsigned long addr, found = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx %*c %127s", &addr, whole) == 2 && strstr(line, "\t[bpf]") &&
		    strstr(whole, name)) {
			found = addr;
			break;
		}
	return found;
}

/* Is the program at @addr from @first to @last the one that has the name @whole? Others may lie
 * beside it, or come after it. */
static bool is_there(struct bpf_programs *p, uint64_t addr, uint64_t first, uint64_t last,
		     const char *whole)
{
	struct program_symbol s;

	return bpf_programs_at(p, addr, first, last, &s) && strcmp(s.name, whole) == 0;
}

/* The kernel's number of program @fd. */
static uint32_t number_of(int fd)
{
	cleanup_free char *path = xasprintf("/proc/self/fdinfo/%d", fd);
	cleanup_fclose FILE *f = fopen(path, "re");
	unsigned number = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "prog_id: %u", &number) != 1)
		;
	assert_true(number > 0);
	return number;
}

/* Other programs that come and go may hide one from a reader of kallsyms. */
static bool has_gone(uint32_t number)
{
	union bpf_attr attr = { .prog_id = number };
	const long fd = syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));

	if (fd >= 0)
		close((int)fd);
	return fd < 0;
}

TEST(a_program_has_its_name_for_as_long_as_it_was_there)
{
	const uint64_t before = clock_ns(CLOCK_MONOTONIC);
	struct bpf_programs *p = bpf_programs_new(true);
	struct program_symbol s;
	char whole[128];
	const int fd = load("unit_first");
	const uint64_t loaded = clock_ns(CLOCK_MONOTONIC);
	const uint64_t addr = fd >= 0 ? address_of("_unit_first", whole) : 0;

	if (!addr) { /* no right to load one, or to see where it is */
		bpf_programs_free(p);
		skip();
	}
	assert_true(bpf_programs_at(p, addr, loaded, loaded, &s));
	assert_string_equal(s.name, whole);
	assert_int_equal(s.start, addr);
	assert_true(s.size > 0 && s.from >= before && s.from <= loaded);
	assert_int_equal(s.until, UINT64_MAX); /* it is our own */
	assert_true(bpf_programs_at(p, addr + s.size - 1, loaded, loaded, &s));
	assert_false(is_there(p, addr + s.size, loaded, loaded, whole));
	assert_false(is_there(p, addr - 1, loaded, loaded, whole));
	assert_false(is_there(p, addr, before, loaded, whole));
	(void)close(fd);
	bpf_programs_free(p);
}

/* The looks' process holds no such program: it is another's, as far as that knows. */
TEST(a_program_that_is_gone_was_there_up_to_the_last_look)
{
	struct bpf_programs *p = bpf_programs_new(true);
	struct program_symbol s;
	char whole[128];
	uint64_t addr, before, loaded, seen;
	uint32_t number;
	int fd;

	bpf_programs_look(p);
	before = clock_ns(CLOCK_MONOTONIC);
	fd = load("unit_second");
	loaded = clock_ns(CLOCK_MONOTONIC);
	addr = fd >= 0 ? address_of("_unit_second", whole) : 0;
	seen = clock_ns(CLOCK_MONOTONIC);
	if (!addr) {
		bpf_programs_free(p);
		skip();
	}
	if (!bpf_programs_at(p, addr, seen, seen, &s)) { /* no right to see others' */
		bpf_programs_free(p);
		skip();
	}
	assert_true(s.until >= seen && s.until != UINT64_MAX);
	assert_true(s.from > before && s.from <= loaded); /* by perf's record, not by the look */
	assert_false(is_there(p, addr, before, seen, whole));
	number = number_of(fd);
	(void)close(fd);
	while (!has_gone(number))
		continue; /* the kernel takes its time */
	assert_false(is_there(p, addr, seen, clock_ns(CLOCK_MONOTONIC), whole));
	assert_true(bpf_programs_at(p, addr, seen, seen, &s));
	assert_string_equal(strstr(s.name, "unit"), "unit_second");
	bpf_programs_free(p);
}

TEST_MAIN(scratch_make, scratch_remove)
