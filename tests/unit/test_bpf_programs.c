/* rooms: kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "scratch.h"

#include <linux/bpf.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/memory.h"
#include "kernel/bpf_programs.h"
#include "kernel/kallsyms.h"

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
	assert_int_equal(modules_find(&m, "one")->since, 0);
	before = clock_ns(CLOCK_MONOTONIC);
	look_at(&m, "three 4096 1 - Live 0xffffffffc0401000\n"
		    "two 8192 7 three, Live 0xffffffffc0500000\n"
		    "four 8192 1 - Live 0xffffffffc0600000\n");
	assert_true(modules_find(&m, "three")->since >= before);
	assert_int_equal(modules_find(&m, "two")->since, 0);
	assert_true(modules_find(&m, "four")->since <
		    before); /* it was not there at the last look */

	const uint64_t since = modules_find(&m, "three")->since;

	look_at(&m, "three 4096 1 - Live 0xffffffffc0401000\n");
	assert_int_equal(modules_find(&m, "three")->since, since);
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
	assert_int_not_equal(modules_find(&m, "one")->since, 0);
}

/* Since Linux 6.4 the length that is told counts data that lies elsewhere. */
TEST(modules_that_seem_to_overlap_are_both_there)
{
	cleanup(modules_fini) struct modules m = {};
	uint64_t before;

	look_at(&m, "one 65536 1 - Live 0xffffffffc0400000\n"
		    "two 65536 1 - Live 0xffffffffc0404000\n");
	before = clock_ns(CLOCK_MONOTONIC);
	look_at(&m, "three 65536 1 - Live 0xffffffffc0408000\n"
		    "one 65536 1 - Live 0xffffffffc0400000\n"
		    "two 65536 1 - Live 0xffffffffc0404000\n");
	assert_int_equal(modules_find(&m, "one")->since, 0);
	assert_int_equal(modules_find(&m, "two")->since, 0);
	assert_true(modules_find(&m, "three")->since < before);
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

/* Is the program at @addr the one that has the name @whole? Others may lie beside it. */
static bool is_there(struct bpf_programs *p, uint64_t addr, const char *whole)
{
	const struct program_function *f = bpf_programs_at(p, addr);

	return f && strcmp(f->name, whole) == 0;
}

TEST(a_program_of_this_process_has_its_name_at_any_time)
{
	cleanup(bpf_programs_fini) struct bpf_programs p;
	const struct program_function *f;
	char whole[128];
	cleanup_close int fd = load("unit_first");
	const uint64_t addr = fd >= 0 ? address_of("_unit_first", whole) : 0;

	bpf_programs_init(&p);
	if (!addr) /* no right to load one, or to see where it is */
		skip();
	bpf_programs_look(&p);
	f = bpf_programs_at(&p, addr);
	assert_non_null(f);
	assert_string_equal(f->name, whole);
	assert_int_equal(f->start, addr);
	assert_true(f->is_own);
	assert_true(is_there(&p, f->end - 1, whole));
	assert_false(is_there(&p, f->end, whole));
	assert_false(is_there(&p, addr - 1, whole));
}

TEST(a_program_in_the_place_of_a_known_one_is_sure_since_it_was_seen)
{
	cleanup(bpf_programs_fini) struct bpf_programs p;
	const struct program_function gone = { .end = UINT64_MAX, .id = INT32_MAX };
	char whole[128];
	cleanup_close int fd = load("unit_second");
	const uint64_t addr = fd >= 0 ? address_of("_unit_second", whole) : 0;
	const uint64_t before = clock_ns(CLOCK_MONOTONIC);

	bpf_programs_init(&p);
	if (!addr)
		skip();
	array_push(p.functions, p.n, p.capacity, gone);
	bpf_programs_look(&p);
	assert_true(is_there(&p, addr, whole));
	assert_true(bpf_programs_at(&p, addr)->since >= before);
}

TEST_MAIN(scratch_make, scratch_remove)
