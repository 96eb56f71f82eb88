/* rooms: processes kernel files unwind elf arch base; not in quick */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "children.h"
#include "scratch.h"

#include <sys/mman.h>

#include "base/clock.h"
#include "bpf/abi.h"
#include "files.h"
#include "processes/processes.h"

/* A number that no process here has, and files that are none. */
#define PID 0x7000000u
#define FILE_A 1
#define FILE_B 2
#define MEMORY 3 /* in no file */
#define FILES 4

struct past {
	struct images *images;
	struct processes *processes;
};

static int make_past(void **state)
{
	struct past *p = xcalloc(1, sizeof(*p));

	p->processes = processes_new(files_of_test());
	p->images = processes_images(p->processes);
	*state = p;
	return 0;
}

static int free_past(void **state)
{
	struct past *p = *state;

	processes_free(p->processes);
	free(p);
	return 0;
}

#define TEST_WITH_PAST(name) TEST_OF(name, struct past *p, make_past, free_past)

static void begin_report(struct past *p)
{
	processes_refresh(p->processes);
	while (processes_read_hit(p->processes))
		;
}

/* True: a mapping took the place of another. */
#define TELL(p, ...) \
	(processes_event((p)->processes, &(struct process_event){ __VA_ARGS__ }).is_replaced)

/* A child, by thread @tid. */
static void child_at(struct past *p, uint64_t time, uint32_t parent, uint32_t tid, uint32_t pid)
{
	assert_false(TELL(p, .type = PROCESS_FORK, .pid = pid, .tid = pid, .parent_pid = parent,
			  .parent_tid = tid, .time = time));
}

static void fork_at(struct past *p, uint64_t time, uint32_t parent, uint32_t pid)
{
	child_at(p, time, parent, parent, pid);
}

static void named_at(struct past *p, enum process_event_type type, uint64_t time, uint32_t pid,
		     const char *comm)
{
	assert_false(TELL(p, .type = type, .pid = pid, .tid = pid, .time = time, .comm = comm));
}

static void exec_at(struct past *p, uint64_t time, uint32_t pid, const char *comm)
{
	named_at(p, PROCESS_EXEC, time, pid, comm);
}

static void exit_at(struct past *p, uint64_t time, uint32_t pid)
{
	named_at(p, PROCESS_EXIT, time, pid, NULL);
}

static bool map_part(struct past *p, uint64_t time, uint32_t pid, const struct mapping *m)
{
	return TELL(p, .type = PROCESS_MAP, .pid = pid, .tid = pid, .time = time, .map = *m);
}

static bool map_at(struct past *p, uint64_t time, uint32_t pid, uint64_t start, uint64_t file)
{
	struct mapping m = { .start = start,
			     .end = start + 0x1000,
			     .dev = 1,
			     .inode = file,
			     .path = file == FILE_A ? "/none/a" : "/none/b" };

	return map_part(p, time, pid, &m);
}

static void lose_at(struct past *p, uint64_t time)
{
	assert_false(TELL(p, .type = PROCESS_LOST, .since = time, .time = time, .n_lost = 3));
}

/* Of process @pid. Each time another one, so that nothing is remembered of it. */
static uint64_t key_of(uint32_t pid)
{
	static uint32_t n;

	return process_key(pid, ++n);
}

/* The module that @addr of @pid is in at @time, "" for none. Lent until the next call but one. */
static const char *module_at(struct past *p, uint32_t pid, uint64_t addr, uint64_t time)
{
	static char modules[2][256];
	static unsigned n;
	struct image_about about = {};
	struct place place;
	char *to = modules[n++ % 2];

	if (processes_at(p->processes, key_of(pid), time, addr, &place))
		assert_true(images_about(p->images, place.image, &about));
	(void)snprintf(to, sizeof(modules[0]), "%s", about.path ? about.module : "");
	image_about_fini(&about);
	return to;
}

/* The image that @addr of @pid is in. */
static uint32_t image_at(struct past *p, uint32_t pid, uint64_t addr)
{
	struct place place;

	assert_true(processes_at(p->processes, key_of(pid), 0, addr, &place));
	return place.image;
}

/* Lent until the next call. */
static const char *comm_at(struct past *p, uint32_t pid, uint64_t time)
{
	static char comm[COMM_BYTES];

	processes_comm(p->processes, key_of(pid), time, comm);
	return comm;
}

#define NOT_KNOWN "?"

/* The same of a hit in the program that was counted at @since; NOT_KNOWN if its name is not. */
static const char *comm_of_hit(struct past *p, uint32_t pid, uint64_t time, uint64_t since)
{
	const struct notice seen = {
		.time = time, .since = since, .comm = NOT_KNOWN, .user = USER_UNKNOWN
	};
	const uint64_t key = key_of(pid);
	static char comm[COMM_BYTES];

	processes_seen(p->processes, key, &seen);
	processes_comm(p->processes, key, time, comm);
	return comm;
}

static struct program_run run_at(struct past *p, uint32_t pid, uint64_t time)
{
	struct program_run run;

	processes_program(p->processes, key_of(pid), time, &run);
	return run;
}

static uint64_t epoch_at(struct past *p, uint32_t pid, uint64_t time)
{
	return processes_epoch(p->processes, key_of(pid), time);
}

TEST_WITH_PAST(a_child_has_what_its_parent_had_when_it_was_made)
{
	exec_at(p, 10, PID, "parent");
	map_at(p, 11, PID, 0x1000, FILE_A);
	fork_at(p, 20, PID, PID + 1);
	map_at(p, 30, PID, 0x2000, FILE_B);
	map_at(p, 31, PID + 1, 0x3000, FILE_B);
	assert_string_equal(module_at(p, PID + 1, 0x1800, 40), "a");
	assert_string_equal(module_at(p, PID + 1, 0x2800, 40), "");
	assert_string_equal(module_at(p, PID + 1, 0x3800, 40), "b");
	assert_string_equal(module_at(p, PID, 0x2800, 40), "b");
	assert_string_equal(module_at(p, PID, 0x3800, 40), "");
	assert_string_equal(comm_at(p, PID + 1, 40), "parent");
	named_at(p, PROCESS_COMM, 50, PID + 1, "child");
	assert_string_equal(comm_at(p, PID + 1, 60), "child");
	assert_string_equal(comm_at(p, PID, 60), "parent");
}

TEST_WITH_PAST(a_child_outlives_its_parent_in_what_they_share)
{
	exec_at(p, 10, PID, "parent");
	map_at(p, 11, PID, 0x1000, FILE_A);
	fork_at(p, 20, PID, PID + 1);
	exit_at(p, 30, PID);
	exec_at(p, 40, PID, "other"); /* the number's next holder */
	assert_string_equal(module_at(p, PID + 1, 0x1800, 50), "a");
	map_at(p, 60, PID + 1, 0x2000, FILE_B);
	assert_string_equal(module_at(p, PID + 1, 0x2800, 70), "b");
}

TEST_WITH_PAST(exec_begins_with_nothing_and_what_was_stays_known)
{
	exec_at(p, 10, PID, "first");
	map_at(p, 11, PID, 0x1000, FILE_A);
	exec_at(p, 20, PID, "second");
	assert_string_equal(module_at(p, PID, 0x1800, 25), "");
	map_at(p, 21, PID, 0x1000, FILE_B);
	assert_string_equal(module_at(p, PID, 0x1800, 15), "a");
	assert_string_equal(module_at(p, PID, 0x1800, 25), "b");
	assert_string_equal(comm_at(p, PID, 15), "first");
	assert_string_equal(comm_at(p, PID, 25), "second");
	assert_string_equal(comm_at(p, PID, 0), "second");
	assert_string_equal(comm_at(p, PID, 5), "");
}

/* The kernel counts it at the exec's end, and tells the new name in the midst. */
TEST_WITH_PAST(a_hit_within_an_exec_is_of_the_program_before)
{
	exec_at(p, 10, PID, "first");
	exec_at(p, 20, PID, "second");
	assert_string_equal(comm_of_hit(p, PID, 22, 12), "first");
	assert_string_equal(comm_of_hit(p, PID, 22, 21), "second");
	assert_string_equal(comm_of_hit(p, PID, 22, UINT64_MAX), "second");
	fork_at(p, 30, PID, PID + 1);
	assert_string_equal(comm_of_hit(p, PID + 1, 31, 0), "second");
	assert_int_equal(run_at(p, PID + 1, 31).begin, 30);
}

TEST_WITH_PAST(a_number_that_comes_round_is_another_process)
{
	for (uint64_t i = 1; i <= 100; i++) {
		fork_at(p, 10 * i, PID, PID + 1);
		exec_at(p, 10 * i + 1, PID + 1, i % 2 ? "odd" : "even");
		map_at(p, 10 * i + 2, PID + 1, 0x1000, i % 2 ? FILE_A : FILE_B);
		exit_at(p, 10 * i + 8, PID + 1);
	}
	for (uint64_t i = 1; i <= 100; i++) {
		assert_string_equal(comm_at(p, PID + 1, 10 * i + 5), i % 2 ? "odd" : "even");
		assert_string_equal(module_at(p, PID + 1, 0x1000, 10 * i + 5), i % 2 ? "a" : "b");
	}
}

/* What was where and when: see what_was_mapped_where_and_when_is_as_it_was. */
TEST_WITH_PAST(a_mapping_in_the_place_of_another_counts_from_its_time_on)
{
	exec_at(p, 10, PID, "program");
	assert_false(map_at(p, 11, PID, 0x1000, FILE_A));
	assert_false(map_at(p, 12, PID, 0x5000, FILE_A));
	assert_true(map_at(p, 20, PID, 0x1000, FILE_B));
	assert_string_equal(module_at(p, PID, 0x1800, 0), "b");
	assert_int_equal(epoch_at(p, PID, 11), epoch_at(p, PID, 19));
	assert_int_not_equal(epoch_at(p, PID, 19), epoch_at(p, PID, 20));
}

/* Of PID at @time: each mapping is where single addresses say. */
static size_t list_at(struct past *p, uint64_t time)
{
	struct file_list list = {};
	size_t n;

	assert_true(processes_list(p->processes, key_of(PID), time, &list));
	n = list.list.n;
	for (size_t i = 0; i < n; i++) {
		const struct mapping *m = &list.list.mappings[i];
		const char *module = module_at(p, PID, m->start, time);

		assert_string_equal(strrchr(m->path, '/') + 1, module);
		assert_string_equal(module_at(p, PID, m->end - 1, time), module);
		assert_int_equal(m->inode, strcmp(module, "a") == 0 ? FILE_A : FILE_B);
		assert_true(i == 0 || m->start >= m[-1].end);
	}
	file_list_fini(&list);
	return n;
}

TEST_WITH_PAST(the_list_of_a_time_has_what_was_mapped_then)
{
	struct mapping large = {
		.start = 0x10000, .end = 0x20000, .dev = 1, .inode = FILE_A, .path = "/none/a"
	};
	struct file_list list;

	exec_at(p, 10, PID, "program");
	map_part(p, 11, PID, &large);
	assert_false(map_at(p, 12, PID, 0x30000, FILE_B));
	assert_true(map_at(p, 20, PID, 0x14000, FILE_B));
	assert_true(map_at(p, 30, PID, 0x30000, FILE_A));
	assert_int_equal(list_at(p, 15), 2);
	assert_int_equal(list_at(p, 25), 4);
	assert_int_equal(list_at(p, 35), 4);
	exec_at(p, 40, PID, "another");
	assert_int_equal(list_at(p, 45), 0);
	assert_int_equal(list_at(p, 15), 2);
	assert_false(processes_list(p->processes, key_of(PID + 1), 15, &list));
}

static void run_program(struct past *p, uint64_t time, uint32_t pid, uint64_t file)
{
	fork_at(p, time, PID - 1, pid);
	exec_at(p, time + 1, pid, "program");
	map_at(p, time + 2, pid, 0x1000, file);
	exit_at(p, time + 4, pid);
}

TEST_WITH_PAST(files_that_no_process_has_any_more_are_forgotten)
{
	const uint32_t n = 6000;
	uint32_t first;

	exec_at(p, 1, PID - 1, "shell");
	map_at(p, 2, PID - 1, 0x1000, FILE_A);
	first = image_at(p, PID - 1, 0x1000);
	for (uint32_t i = 0; i < n; i++)
		run_program(p, 1000 + i * (NS_PER_S / 100), PID + i, 1000 + i);
	assert_true(images_is_known(p->images, first));
	assert_false(images_is_known(p->images, first + 1));
	assert_false(images_is_known(p->images, first + n / 6));
	assert_string_equal(module_at(p, PID - 1, 0x1000, 10), "a");
	assert_string_equal(module_at(p, PID + n - 1, 0x1000, 0), "b");
}

/* Each was hit: without reports none of these would be forgotten. */
TEST_WITH_PAST(memory_is_bounded_and_what_is_forgotten_is_counted)
{
	struct mapping code = { .path = "" };
	const uint32_t n = 15000;

	exec_at(p, 1, PID - 1, "shell");
	map_at(p, 2, PID - 1, 0x1000, FILE_A);
	for (uint32_t i = 0; i < n; i++) {
		run_program(p, 10 + 10 * i, PID + i, FILE_B);
		for (uint64_t part = 1; part < 64; part++) {
			code.start = part << 32;
			code.end = code.start + 0x1000;
			map_part(p, 12 + 10 * i, PID + i, &code);
		}
		assert_string_equal(module_at(p, PID + i, 0x1000, 13 + 10 * i), "b");
	}
	assert_in_range(processes_forgotten(p->processes).processes, 1, n - 1);
	assert_true(processes_bytes(p->processes) < 28 << 20);
	assert_string_equal(module_at(p, PID, 0x1000, 0), "");
	assert_string_equal(module_at(p, PID + n - 1, 0x1000, 0), "b");
	assert_string_equal(module_at(p, PID - 1, 0x1000, 10), "a");
}

/* Pages that need no file, apart from each other. */
#define VDSO_AT(i) (0x200000000 + 0x2000 * (uint64_t)(i))
#define MOST_BYTES ((size_t)28 << 20)
#define MOST_PAST 8192      /* of one process */
#define MOST_PRESENT 131072 /* likewise */
#define MANY 60000

static void map_vdso(struct past *p, uint64_t time, uint32_t pid, uint64_t i)
{
	const struct mapping code = { .start = VDSO_AT(i),
				      .end = VDSO_AT(i) + 0x1000,
				      .path = "[vdso]" };

	assert_false(map_part(p, time, pid, &code));
}

static void map_many(struct past *p, uint64_t time, uint32_t pid)
{
	for (uint64_t i = 0; i < MANY; i++)
		map_vdso(p, time, pid, i);
}

static void map_own(struct past *p, uint64_t time, uint32_t pid)
{
	struct mapping code = { .start = 0x1000, .end = 0x2000, .path = "" };

	assert_false(map_part(p, time, pid, &code));
}

/* All mappings come to one place. The model forgets those that have gone first. */
TEST_WITH_PAST(mappings_of_a_process_are_bounded_and_what_is_forgotten_is_counted)
{
	const uint64_t n = 4 * MOST_PAST;

	exec_at(p, 1, PID, "program");
	for (uint64_t i = 1; i <= n; i++)
		assert_int_equal(map_at(p, 10 * i, PID, 0x1000, i % 2 ? FILE_A : FILE_B), i > 1);
	assert_in_range(processes_forgotten(p->processes).mappings, n - MOST_PAST - 1,
			n - MOST_PAST / 2);
	assert_string_equal(module_at(p, PID, 0x1800, 10 * n + 5), "b");
	for (uint64_t i = n - MOST_PAST / 2; i < n; i++)
		assert_string_equal(module_at(p, PID, 0x1800, 10 * i + 5), i % 2 ? "a" : "b");
	assert_string_equal(module_at(p, PID, 0x1800, 15), "");
}

/* All are there at once, as far as anybody told. What is not known any more has no wrong name. */
TEST_WITH_PAST(a_process_with_too_many_mappings_is_forgotten_as_a_whole)
{
	const uint64_t n = MOST_PRESENT - 1;

	exec_at(p, 1, PID, "program");
	for (uint64_t i = 0; i < n; i++)
		map_vdso(p, 2, PID, i);
	assert_int_equal(processes_forgotten(p->processes).mappings, 0);
	assert_true(map_at(p, 20, PID, VDSO_AT(7), FILE_B));
	assert_int_equal(processes_forgotten(p->processes).mappings, n);
	assert_string_equal(module_at(p, PID, VDSO_AT(7), 15), "");
	assert_string_equal(module_at(p, PID, VDSO_AT(7), 30), "b");
	assert_string_equal(module_at(p, PID, VDSO_AT(8), 30), "");
}

#define N_PAGES 48
#define N_STEPS 1000
#define PAGE 0x1000

/* A page had this file (0: none) mapped, and this page of the file, if the file has places. */
struct page {
	uint32_t file, offset;
};

static void expect_page(struct past *p, uint64_t key, const struct page *was, uint32_t number,
			uint64_t time)
{
	const uint64_t addr = (uint64_t)number * PAGE + 5;
	static uint32_t images[FILES];
	struct place place;

	if (!was->file)
		return;
	assert_true(processes_at(p->processes, key, time, addr, &place));
	assert_in_range(addr, place.start, place.limit - 1);
	if (!images[was->file])
		images[was->file] = place.image;
	assert_int_equal(place.image, images[was->file]);
	if (was->file != MEMORY)
		assert_int_equal(place.offset, (uint64_t)was->offset * PAGE + 5);
}

/* Against a table of each page at each time. Regions of memory are joined. */
TEST_WITH_PAST(what_was_mapped_where_and_when_is_as_it_was)
{
	static struct page was[N_STEPS + 1][N_PAGES];
	static const char *const paths[FILES] = { NULL, "/none/a", "/none/b", "" };
	const uint64_t key = key_of(PID);

	srand(1);
	exec_at(p, 1, PID, "program");
	for (uint32_t step = 2; step <= N_STEPS; step++) {
		const uint32_t start = (uint32_t)rand() % N_PAGES;
		const uint32_t n = 1 + (uint32_t)rand() % (N_PAGES - start);
		const uint32_t file = 1 + (uint32_t)rand() % (FILES - 1);
		const uint32_t first = (uint32_t)rand() % 4;
		const struct mapping m = { .start = (uint64_t)start * PAGE,
					   .end = (uint64_t)(start + n) * PAGE,
					   .offset = file == MEMORY ? 0 : (uint64_t)first * PAGE,
					   .dev = file != MEMORY,
					   .inode = file == MEMORY ? 0 : file,
					   .path = paths[file] };

		memcpy(was[step], was[step - 1], sizeof(was[0]));
		for (uint32_t i = 0; i < n; i++)
			was[step][start + i] = (struct page){ file, first + i };
		(void)map_part(p, step, PID, &m);
	}
	for (uint32_t step = 2; step <= N_STEPS; step++)
		for (uint32_t i = 0; i < N_PAGES; i++)
			expect_page(p, key, &was[step][i], i, step);
}

TEST_WITH_PAST(a_program_that_maps_memory_with_code_is_told_from_its_child)
{
	const uint64_t end = 100000;

	exec_at(p, 1, PID, "program");
	map_many(p, end, PID);
	assert_false(run_at(p, PID, 0).has_memory);
	fork_at(p, 2 * end, PID, PID + 1);
	map_own(p, 2 * end + 1, PID);
	assert_true(run_at(p, PID, 0).has_memory);
	assert_false(run_at(p, PID + 1, 0).has_memory);
	fork_at(p, 2 * end + 2, PID, PID + 2);
	map_own(p, 2 * end + 3, PID + 2);
	assert_true(run_at(p, PID + 2, 0).has_memory);
}

/* Every process has the kernel's pages: they are no reason to look for a perf map. */
TEST_WITH_PAST(what_is_no_file_may_be_made_by_the_process)
{
	static const struct {
		const char *path;
		uint64_t inode;
		bool is_memory;
	} rows[] = {
		{ "", 0, true },           { "[anon:v8]", 0, true },
		{ "[heap]", 0, true },     { "/memfd:a/b", 7, true },
		{ "/dev/zero", 8, true },  { "/usr/bin/memfd:", 9, false },
		{ "[vdso]", 0, false },    { "[vsyscall]", 0, false },
		{ "[uprobes]", 0, false },
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct mapping m = { .start = 0x1000,
					   .end = 0x2000,
					   .dev = rows[i].inode ? 1 : 0,
					   .inode = rows[i].inode,
					   .path = rows[i].path };

		exec_at(p, 10, PID + i, "program");
		assert_false(map_part(p, 20, PID + i, &m));
		assert_int_equal(run_at(p, PID + i, 0).has_memory, rows[i].is_memory);
	}
	assert_string_equal(module_at(p, PID + 3, 0x1000, 0), "memfd:a/b");
}

TEST_WITH_PAST(paths_take_bounded_memory)
{
	static char path[32000] = "/none/";
	struct mapping m = { .dev = 1, .path = path };
	const uint64_t n = 1200;

	memset(path + 6, 'a', sizeof(path) - 7);
	exec_at(p, 1, PID, "program");
	for (uint64_t i = 1; i <= n; i++) {
		m.start = 0x10000 * i;
		m.end = m.start + 0x1000;
		m.inode = 100 + i;
		(void)map_part(p, 10 + i, PID, &m);
		assert_in_range(processes_bytes(p->processes), 0, MOST_BYTES);
	}
	assert_in_range(processes_forgotten(p->processes).mappings, 100, n - 1);
	assert_int_equal(module_at(p, PID, 0x10000 * n, 0)[0], 'a');
	assert_string_equal(module_at(p, PID, 0x10000, 0), "");
}

/*
 * Half of the children end. The first two were hit: one ended, the other lives. All of them are
 * children of a process with many mappings, and have one of their own.
 */
TEST_WITH_PAST(what_children_map_takes_bounded_memory)
{
	const uint32_t n = 24, ended = PID + 1, lives = PID + 2, other = PID + 14;

	exec_at(p, 1, PID, "parent");
	map_many(p, 2, PID);
	for (uint32_t i = 1; i <= n; i++) {
		fork_at(p, 10 * i, PID, PID + i);
		map_own(p, 10 * i + 1, PID + i);
		if (i <= 2)
			(void)comm_of_hit(p, PID + i, 10 * i + 2, UINT64_MAX);
		if (i % 2)
			exit_at(p, 10 * i + 5, PID + i);
		assert_in_range(processes_bytes(p->processes), 0, MOST_BYTES);
	}
	assert_int_equal(processes_forgotten(p->processes).processes, 0);
	assert_true(processes_forgotten(p->processes).mappings >= MANY);
	for (uint32_t i = 1; i <= 2; i++) {
		assert_string_equal(module_at(p, PID + i, 0x1800, 10 * i + 2), "[anon]");
		assert_string_equal(module_at(p, PID + i, VDSO_AT(MANY - 1), 10 * i + 2), "[vdso]");
		assert_string_equal(comm_at(p, PID + i, 10 * i + 2), "parent");
	}
	assert_int_equal(run_at(p, ended, 12).end, 15);
	assert_int_equal(run_at(p, lives, 22).end, UINT64_MAX);
	assert_string_equal(module_at(p, PID, VDSO_AT(5), 0), "[vdso]");
	/* Of the others no name is wrong, and what they map from here on is known. */
	assert_string_equal(module_at(p, other, 0x1800, 142), "");
	assert_int_equal(epoch_at(p, other, 142), 0);
	map_own(p, 10 * n + 100, other);
	assert_string_equal(module_at(p, other, 0x1800, 10 * n + 101), "[anon]");
	assert_string_equal(module_at(p, other, 0x1800, 142), "");
	assert_string_equal(module_at(p, other, 0x1800, 0), "[anon]");
}

/* As a JIT compiler does, which makes its pages writable and executable in turn. */
TEST_WITH_PAST(the_same_again_takes_no_room_and_changes_nothing)
{
	struct mapping code = { .path = "" };
	size_t before = 0;

	exec_at(p, 10, PID, "jit");
	map_at(p, 11, PID, 0x1000, FILE_A);
	for (uint64_t i = 0; i < 100000; i++) {
		code.start = 0x100000 + i % 64 * 0x1000;
		code.end = code.start + 0x1000;
		assert_false(map_part(p, 20 + i, PID, &code));
		assert_false(map_at(p, 20 + i, PID, 0x1000, FILE_A));
		if (i == 100)
			before = processes_bytes(p->processes);
	}
	assert_int_equal(processes_bytes(p->processes), before);
	assert_string_equal(module_at(p, PID, 0x13f000, 50), "[anon]");
}

/* Not for each process is there one CPU, and not all are read at one moment. */
TEST_WITH_PAST(a_fork_that_comes_late_is_put_where_it_belongs)
{
	exec_at(p, 1, PID, "parent");
	exec_at(p, 12, PID + 1, "program");
	map_at(p, 13, PID + 1, 0x1000, FILE_A);
	fork_at(p, 10, PID, PID + 1);
	assert_string_equal(comm_at(p, PID + 1, 11), "parent");
	assert_string_equal(comm_at(p, PID + 1, 20), "program");
	assert_string_equal(module_at(p, PID + 1, 0x1000, 20), "a");
	exec_at(p, 30, PID + 1, "next");
	assert_string_equal(comm_at(p, PID + 1, 20), "program");
	assert_string_equal(comm_at(p, PID + 1, 30), "next");
}

TEST_WITH_PAST(after_a_loss_nothing_old_is_taken_for_what_runs)
{
	exec_at(p, 10, PID, "program");
	map_at(p, 11, PID, 0x1000, FILE_A);
	lose_at(p, 20);
	lose_at(p, 21);
	assert_string_equal(module_at(p, PID, 0x1000, 19), "a");
	assert_string_equal(comm_at(p, PID, 19), "program");
	assert_string_equal(module_at(p, PID, 0x1000, 30), "");
	assert_string_equal(comm_at(p, PID, 30), "");
	map_at(p, 40, PID, 0x1000, FILE_B);
	assert_string_equal(module_at(p, PID, 0x1000, 50), "b");
	exec_at(p, 60, PID, "known");
	assert_string_equal(comm_at(p, PID, 70), "known");
}

TEST_WITH_PAST(a_program_has_its_last_name)
{
	exec_at(p, 10, PID, "program");
	named_at(p, PROCESS_COMM, 30, PID, "");
	fork_at(p, 35, PID, PID + 1);
	named_at(p, PROCESS_COMM, 40, PID, "last");
	assert_string_equal(comm_at(p, PID, 19), "last");
	assert_string_equal(comm_of_hit(p, PID, 35, UINT64_MAX), "last");
	assert_string_equal(comm_at(p, PID + 1, 49), "");
	named_at(p, PROCESS_COMM, 50, PID + 1, "child");
	assert_string_equal(comm_at(p, PID + 1, 50), "child");
}

TEST_WITH_PAST(threads_begin_no_program_and_end_none)
{
	const uint32_t thread = PID + 5;

	exec_at(p, 10, PID, "program");
	assert_false(TELL(p, .type = PROCESS_FORK, .pid = PID, .tid = thread, .parent_pid = PID,
			  .parent_tid = PID, .time = 20));
	assert_false(TELL(p, .type = PROCESS_COMM, .pid = PID, .tid = thread, .comm = "thread",
			  .time = 21));
	assert_false(TELL(p, .type = PROCESS_EXIT, .pid = PID, .tid = thread, .time = 21));
	assert_string_equal(comm_at(p, PID, 30), "program");
	assert_int_equal(run_at(p, PID, 30).end, UINT64_MAX);

	/* What a thread forks has the thread's name, which is not told. */
	child_at(p, 40, PID, thread, PID + 9);
	assert_string_equal(comm_at(p, PID + 9, 50), "");
}

static uint64_t here(void)
{
	return (uintptr_t)child_end;
}

TEST_WITH_PAST(what_was_there_before_is_looked_at)
{
	pid_t pid = child_start();
	size_t before;

	processes_look(p->processes, (uint32_t)pid);
	assert_string_equal(module_at(p, (uint32_t)pid, here(), 1), "test_processes");
	assert_string_equal(comm_at(p, (uint32_t)pid, 1), "test_processes");
	before = processes_bytes(p->processes);
	processes_look(p->processes, (uint32_t)pid);
	assert_int_equal(processes_bytes(p->processes), before);
	child_end(pid);
	assert_string_equal(module_at(p, (uint32_t)pid, here(), clock_ns(CLOCK_MONOTONIC)),
			    "test_processes");
}

/* The look saw what runs since an exec whose record had not been read yet. */
TEST_WITH_PAST(a_look_that_came_before_the_record_of_an_exec_is_not_believed)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	pid_t pid = child_start();

	map_at(p, now, (uint32_t)pid, 0x1000, FILE_A);
	processes_look(p->processes, (uint32_t)pid);
	assert_string_equal(module_at(p, (uint32_t)pid, here(), now), "test_processes");
	exec_at(p, now + 1, (uint32_t)pid, "program");
	assert_string_equal(module_at(p, (uint32_t)pid, here(), now), "");
	assert_string_equal(comm_at(p, (uint32_t)pid, now), "");
	/* One that was later than the look was not seen by it. */
	child_end(pid);
	pid = child_start();
	processes_look(p->processes, (uint32_t)pid);
	exec_at(p, clock_ns(CLOCK_MONOTONIC), (uint32_t)pid, "program");
	assert_string_equal(module_at(p, (uint32_t)pid, here(), now), "test_processes");
	child_end(pid);
}

/* Its mappings make room for those of processes that were hit. */
TEST_WITH_PAST(what_was_forgotten_of_a_process_is_read_again_when_that_is_hit)
{
	const pid_t pid = child_start();
	const uint32_t child = (uint32_t)pid;
	size_t before;

	processes_look(p->processes, child);

	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (uint64_t i = 0; i < 1000; i++)
		map_vdso(p, now, child, i);
	exec_at(p, now, PID, "parent");
	map_many(p, now, PID);
	(void)comm_of_hit(p, PID, now, UINT64_MAX);
	for (uint32_t i = 1; i <= 9; i++) {
		fork_at(p, now + 10 * i, PID, PID + i);
		(void)comm_of_hit(p, PID + i, now + 10 * i + 1, UINT64_MAX);
		map_own(p, now + 10 * i + 2, PID + i);
	}
	assert_in_range(processes_forgotten(p->processes).mappings, MANY, UINT64_MAX);
	before = processes_bytes(p->processes);
	processes_look(p->processes, child);
	fork_at(p, now + 200, child, PID + 100);
	assert_in_range(processes_bytes(p->processes), before, before + 4096);
	assert_string_equal(module_at(p, PID + 100, here(), 0), "");
	(void)comm_of_hit(p, child, now + 300, UINT64_MAX);
	assert_string_equal(module_at(p, child, here(), now + 300), "test_processes");
	assert_string_equal(module_at(p, child, here(), now), "");
	assert_string_equal(module_at(p, child, VDSO_AT(1), now), "");
	child_end(pid);
}

TEST_WITH_PAST(a_look_does_not_change_what_records_told)
{
	pid_t pid = child_start();

	exec_at(p, 10, (uint32_t)pid, "program");
	processes_look(p->processes, (uint32_t)pid);
	assert_string_equal(module_at(p, (uint32_t)pid, here(), 20), "");
	lose_at(p, 30);
	processes_look(p->processes, (uint32_t)pid);
	assert_string_equal(module_at(p, (uint32_t)pid, here(), 20), "");
	assert_string_equal(module_at(p, (uint32_t)pid, here(), 40), "test_processes");
	child_end(pid);
}

/* All lists are late while the zygote is held up. */
static void hold_up(bool is_held_up)
{
	files_set_manner(files_of_test(), &(struct files_manner){ .patience_ns = is_held_up });
	assert_int_equal(kill(zygote_of_test.pid, is_held_up ? SIGSTOP : SIGCONT), 0);
}

/* Nobody had asked for it before. */
TEST_WITH_PAST(what_a_process_has_after_a_loss_is_read_at_the_end)
{
	const pid_t pid = child_start();
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	map_at(p, now, (uint32_t)pid, 0x1000, FILE_A);
	(void)comm_of_hit(p, (uint32_t)pid, now + 1, UINT64_MAX);
	lose_at(p, now + 2);
	processes_settle(p->processes, UINT64_MAX);
	child_end(pid);
	assert_string_equal(module_at(p, (uint32_t)pid, here(), now + 3), "test_processes");
}

/* Only that of a process that was hit is waited for. */
TEST_WITH_PAST(a_list_that_was_late_is_read_at_the_end)
{
	const pid_t pid = child_start(), other = child_start();
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	map_at(p, now, (uint32_t)pid, 0x1000, FILE_A);
	map_at(p, now, (uint32_t)other, 0x1000, FILE_A);
	hold_up(true);
	(void)comm_of_hit(p, (uint32_t)pid, now, UINT64_MAX);
	processes_look(p->processes, (uint32_t)other);
	assert_string_equal(module_at(p, (uint32_t)other, here(), 0), "");
	processes_settle(p->processes, now + 1);
	assert_string_equal(module_at(p, (uint32_t)pid, here(), 0), "");
	hold_up(false);
	processes_settle(p->processes, UINT64_MAX);
	assert_string_equal(module_at(p, (uint32_t)pid, here(), 0), "test_processes");
	assert_string_equal(module_at(p, (uint32_t)other, here(), 0), "");
	(void)comm_of_hit(p, (uint32_t)other, now, UINT64_MAX);
	assert_string_equal(module_at(p, (uint32_t)other, here(), 0), "test_processes");
	child_end(pid);
	child_end(other);
}

/* The record of the loss comes when the process was looked at already, and its hit named. */
TEST_WITH_PAST(a_hit_behind_a_loss_is_named_by_a_look_behind_it)
{
	const pid_t pid = child_start();
	const uint64_t now = clock_ns(CLOCK_MONOTONIC), key = key_of((uint32_t)pid);
	const struct notice seen = { .time = now + 5, .since = UINT64_MAX, .user = 7 };
	struct place before, behind;

	map_at(p, now, (uint32_t)pid, 0x1000, FILE_A);
	processes_seen(p->processes, key, &seen);
	assert_true(processes_at(p->processes, key, now + 5, here(), &before));
	lose_at(p, now + 2);
	assert_false(processes_at(p->processes, key, now + 5, here(), &behind));
	begin_report(p);
	assert_true(processes_at(p->processes, key, now + 5, here(), &behind));
	assert_int_equal(before.offset, behind.offset);
	child_end(pid);
}

TEST_WITH_PAST(a_process_that_was_hit_before_a_loss_was_hit)
{
	const struct notice seen = { .time = 12, .since = UINT64_MAX, .user = 7 };
	struct program_run run;

	exec_at(p, 10, PID, "program");
	map_at(p, 11, PID, 0x1000, FILE_A);
	processes_seen(p->processes, key_of(PID), &seen);
	lose_at(p, 20);
	assert_true(processes_hit(p->processes, PID, &run));
	assert_int_equal(run.user, 7);
	exec_at(p, 30, PID, "another");
	assert_false(processes_hit(p->processes, PID, &run));
}

TEST_WITH_PAST(a_process_without_mappings_is_read_once)
{
	const pid_t pid = child_start();
	const struct notice seen = { .time = 5, .since = UINT64_MAX };

	processes_walk(p->processes, (uint32_t)pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
	processes_seen(p->processes, key_of((uint32_t)pid), &seen);
	processes_refresh(p->processes);
	assert_false(processes_read_hit(p->processes));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST_WITH_PAST(a_process_that_has_gone_is_looked_at_in_vain)
{
	const pid_t pid = child_gone();

	processes_look(p->processes, (uint32_t)pid);
	assert_string_equal(module_at(p, (uint32_t)pid, here(), 0), "");
	assert_string_equal(comm_of_hit(p, (uint32_t)pid, 1, UINT64_MAX), NOT_KNOWN);
}

/* A short process each millisecond, as sh(1) makes them. What it maps needs no file. */
static void run_many(struct past *p, uint64_t n, size_t *most)
{
	struct mapping code = { .path = "[vdso]" };

	exec_at(p, 1, PID, "sh");
	for (uint64_t i = 1; i <= n; i++) {
		uint64_t time = i * 1000000;
		uint32_t pid = PID + 1 + (uint32_t)(i % 32000);

		fork_at(p, time, PID, pid);
		exec_at(p, time + 1000, pid, "true");
		for (uint64_t part = 1; part <= 4; part++) {
			code.start = part << 40;
			code.end = code.start + 0x1000;
			assert_false(map_part(p, time + 2000, pid, &code));
		}
		exit_at(p, time + 50000, pid);
		if (processes_bytes(p->processes) > *most)
			*most = processes_bytes(p->processes);
	}
}

TEST_WITH(short_processes_without_end_take_bounded_memory, make_past, free_past)
{
	struct past *p = *state;
	size_t few = 0, many = 0;

	run_many(p, 30000, &few);
	free_past(state);
	make_past(state);
	p = *state;
	run_many(p, 120000, &many);
	assert_in_range(many, few / 2, few + few / 8);
	assert_in_range(many, 0, 16 << 20);
	assert_string_equal(comm_at(p, PID, 0), "sh");
}

/* No report comes, so nothing is old enough to be forgotten. */
TEST_WITH_PAST(hits_without_a_report_take_bounded_memory)
{
	exec_at(p, 1, PID, "program");
	for (uint64_t i = 0; i < 500000; i++)
		(void)comm_of_hit(p, PID, 10 + i, UINT64_MAX);
	assert_in_range(processes_bytes(p->processes), 0, 16 << 20);
	assert_string_equal(comm_of_hit(p, PID, 5, UINT64_MAX), "program");
	assert_int_equal(processes_forgotten(p->processes).processes, 0);
}

TEST(names_that_are_forgotten_with_their_hits_are_counted)
{
	struct files *none = files_new(-1, NULL, &long_purpose);
	struct past p = { .processes = processes_new(none) };
	struct past *own = &p;
	const uint32_t n = 70000;

	for (uint32_t i = 0; i < n; i++)
		assert_string_equal(comm_of_hit(own, PID + i, 10 + i, UINT64_MAX), NOT_KNOWN);
	assert_int_equal(processes_forgotten(p.processes).processes, 1 << 15);
	for (int i = 0; i < 2; i++)
		begin_report(own); /* all hits before are reported */
	for (uint32_t i = 0; i < n; i++)
		(void)comm_of_hit(own, PID + n + i, 10 + i, UINT64_MAX);
	assert_in_range(processes_forgotten(p.processes).processes, 1 << 15, 1 << 16);
	processes_free(p.processes);
	files_free(none);
}

#define MORE_THAN_OPEN 600

/* Open files keep their numbers. */
static struct mapping new_file(char *path, size_t size)
{
	static unsigned n;
	char name[16];
	struct stat st;

	(void)snprintf(name, sizeof(name), "file%u", n++);
	scratch_write(name, "text");
	(void)snprintf(path, size, "%s/%s", scratch, name);
	assert_int_equal(stat(path, &st), 0);
	return (struct mapping){
		.start = 0x1000, .end = 0x2000, .dev = st.st_dev, .inode = st.st_ino, .path = path
	};
}

/* Map it in process @pid, which nothing is written after. It has no path then. */
static void map_file(struct past *p, uint32_t pid)
{
	char path[256];
	const struct mapping m = new_file(path, sizeof(path));

	(void)map_part(p, clock_ns(CLOCK_MONOTONIC) + NS_PER_S, pid, &m);
	assert_int_equal(unlink(path), 0);
}

/* Is it open after more files than can be open, of processes that were not hit? */
static bool stays_open(struct past *p, uint32_t image)
{
	struct held_file file;
	bool is_twin;

	for (size_t i = 0; i < MORE_THAN_OPEN; i++)
		map_file(p, PID + 1);
	return images_open(p->images, image, &file, &is_twin);
}

TEST_WITH_PAST(files_of_a_process_that_is_in_each_report_stay_open)
{
	uint32_t image;

	exec_at(p, 1, PID, "program");
	map_file(p, PID);
	image = image_at(p, PID, 0x1000);
	(void)comm_of_hit(p, PID, 10, UINT64_MAX);
	for (int i = 0; i < 6; i++) {
		begin_report(p);
		if (i < 4)
			(void)run_at(p, PID, 0);
		assert_int_equal(stays_open(p, image), i < 5);
	}
}

#define ASKED (PID - 9)

TEST_WITH_PAST(what_was_asked_for_is_kept_for_two_periods)
{
	size_t most = 0;

	fork_at(p, 10, PID, ASKED);
	exec_at(p, 11, ASKED, "kept");
	map_at(p, 12, ASKED, 0x1000, FILE_A);
	assert_string_equal(comm_at(p, ASKED, 20), "kept");
	exit_at(p, 30, ASKED);
	run_many(p, 20000, &most);
	begin_report(p);
	run_many(p, 20000, &most);
	assert_string_equal(module_at(p, ASKED, 0x1000, 20), "a"); /* and asked for once more */
	begin_report(p);
	run_many(p, 20000, &most);
	begin_report(p);
	run_many(p, 20000, &most);
	assert_string_equal(module_at(p, ASKED, 0x1000, 20), "");
}

TEST_MAIN(scratch_make, scratch_remove)
