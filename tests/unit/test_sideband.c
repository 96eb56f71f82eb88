/* rooms: kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Records as the kernel writes them, made by hand in rings of plain memory. */
#include "test.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "processes/sideband.h"

#define FOR_BUILD_IDS 77
#define RING_BYTES 512
#define PAGE_BYTES 4096

/* A record that is being made. */
static struct made {
	uint8_t bytes[MAX_RECORD_BYTES];
	size_t n;
} m;

static struct process_event event; /* what was parsed or taken last */

static void begin(uint32_t type, uint16_t misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };

	m = (struct made){};
	memcpy(m.bytes, &header, sizeof(header));
	m.n = sizeof(header);
}

static void put(const void *from, size_t n)
{
	memcpy(m.bytes + m.n, from, n);
	m.n += n;
}

static void put_u32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put_u64(uint64_t value)
{
	put(&value, sizeof(value));
}

/* Padded as the kernel does. */
static void put_text(const char *text)
{
	put(text, strlen(text) + 1);
	m.n = (m.n + 7) / 8 * 8;
}

static void set_size(uint16_t size)
{
	memcpy(m.bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static void end(uint64_t time, uint64_t by)
{
	put_u64(time);
	put_u64(by);
	set_size((uint16_t)m.n);
}

static void make_task(uint32_t type, const uint32_t ids[4], uint64_t time)
{
	begin(type, 0);
	put(ids, 4 * sizeof(ids[0]));
	put_u64(time);
	end(time, 1);
}

static void make_comm(uint16_t misc, uint32_t pid, uint32_t tid, const char *comm)
{
	begin(PERF_RECORD_COMM, misc);
	put_u32(pid);
	put_u32(tid);
	put_text(comm);
	end(50, 1);
}

struct place {
	uint64_t start, n, offset;
	uint32_t prot;
};

static const struct place text_place = { 0x7f1000, 0x2000, 0x1000, PROT_READ | PROT_EXEC };

static void make_map(uint16_t misc, const struct place *at, const uint8_t file[24],
		     const char *path)
{
	begin(PERF_RECORD_MMAP2, misc);
	put_u32(7);
	put_u32(8);
	put_u64(at->start);
	put_u64(at->n);
	put_u64(at->offset);
	put(file, 24);
	put_u32(at->prot);
	put_u32(MAP_PRIVATE);
	put_text(path);
}

static void make_file(uint8_t file[24], uint64_t inode)
{
	const uint32_t dev[2] = { 0xfe, 1 };
	const uint64_t generation = 99;

	memcpy(file, dev, 8);
	memcpy(file + 8, &inode, 8);
	memcpy(file + 16, &generation, 8);
}

static void make_lost(uint64_t n, uint64_t time, uint64_t by)
{
	begin(PERF_RECORD_LOST, 0);
	put_u64(by);
	put_u64(n);
	end(time, by);
}

/* In memory of just its size, so that a sanitizer sees a step outside. The event is in there. */
static void parse(enum record_meaning expected)
{
	static uint8_t *bytes;

	free(bytes);
	bytes = xmalloc(m.n);
	memcpy(bytes, m.bytes, m.n);
	assert_int_equal(sideband_parse(bytes, m.n, FOR_BUILD_IDS, &event), expected);
}

TEST(a_fork_names_parent_and_child)
{
	const uint32_t ids[4] = { 20, 10, 21, 11 };

	make_task(PERF_RECORD_FORK, ids, 1234);
	parse(RECORD_EVENT);
	assert_int_equal(event.type, PROCESS_FORK);
	assert_true(event.pid == 20 && event.tid == 21 && event.time == 1234);
	assert_true(event.parent_pid == 10 && event.parent_tid == 11);
	make_task(PERF_RECORD_EXIT, ids, 1235);
	parse(RECORD_EVENT);
	assert_int_equal(event.type, PROCESS_EXIT);
	assert_true(event.pid == 20 && event.tid == 21 && event.parent_pid == 0);
}

TEST(processes_of_other_namespaces_are_left_out)
{
	const uint32_t outside[4] = { 0, 0, 0, 0 }, gone[4] = { -1, -1, -1, -1 },
		       from_outside[4] = { 20, 0, 20, 0 };

	make_task(PERF_RECORD_FORK, outside, 1);
	parse(RECORD_OTHER);
	make_task(PERF_RECORD_EXIT, gone, 1);
	parse(RECORD_OTHER);
	make_task(PERF_RECORD_FORK, from_outside, 1);
	parse(RECORD_EVENT);
	assert_true(event.pid == 20 && event.parent_pid == 0);
}

TEST(a_command_is_a_name_or_an_exec)
{
	make_comm(0, 20, 21, "worker/0:1");
	parse(RECORD_EVENT);
	assert_int_equal(event.type, PROCESS_COMM);
	assert_string_equal(event.comm, "worker/0:1");
	assert_true(event.pid == 20 && event.tid == 21);

	make_comm(PERF_RECORD_MISC_COMM_EXEC, 20, 20, "exactly_fifteen");
	parse(RECORD_EVENT);
	assert_int_equal(event.type, PROCESS_EXEC);
	assert_string_equal(event.comm, "exactly_fifteen");
}

TEST(a_mapping_has_its_file)
{
	uint8_t file[24];

	make_file(file, 4711);
	make_map(0, &text_place, file, "/usr/lib/libc.so.6");
	end(60, 1);
	parse(RECORD_EVENT);
	assert_int_equal(event.type, PROCESS_MAP);
	assert_true(event.pid == 7 && event.tid == 8 && event.time == 60);
	assert_true(event.map.start == 0x7f1000 && event.map.end == 0x7f3000);
	assert_true(event.map.offset == 0x1000 && event.map.inode == 4711);
	assert_true(event.map.dev == makedev(0xfe, 1));
	assert_string_equal(event.map.path, "/usr/lib/libc.so.6");
	assert_true(!event.map.is_deleted && event.n_build_id == 0);
}

TEST(paths_are_as_in_a_maps_file)
{
	static const struct {
		const char *text, *path;
		bool is_deleted;
	} rows[] = {
		{ "/memfd:jit (deleted)", "/memfd:jit", true },
		{ "/tmp/two words (x) (deleted)", "/tmp/two words (x)", true },
		{ " (deleted)", " (deleted)", false },
		{ "/tmp/a\nb\\012", "/tmp/a\nb\\012", false },
		{ "//anon", "", false },
		{ "//toolong", "[path too long]", false },
		{ "//enomem", "[path not known]", false },
		{ "[vdso]", "[vdso]", false },
		{ "", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t file[24] = {};

		make_map(0, &text_place, file, rows[i].text);
		end(60, 1);
		parse(RECORD_EVENT);
		assert_string_equal(event.map.path, rows[i].path);
		assert_int_equal(event.map.is_deleted, rows[i].is_deleted);
		assert_true(event.map.dev == 0 && event.map.inode == 0);
	}
}

TEST(a_place_is_executable_and_can_be_or_is_none)
{
	static const struct {
		struct place place;
		enum record_meaning meaning;
	} rows[] = {
		{ { 0x1000, 0x1000, 0, PROT_READ | PROT_WRITE }, RECORD_OTHER },
		{ { 0x1000, 0, 0, PROT_EXEC }, RECORD_MALFORMED },
		{ { UINT64_MAX - 0xfff, 0x1000, 0, PROT_EXEC }, RECORD_MALFORMED },
		{ { 0x1000, UINT64_MAX, 0, PROT_EXEC }, RECORD_MALFORMED },
	};
	uint8_t file[24] = {};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make_map(0, &rows[i].place, file, "/x");
		end(60, 1);
		parse(rows[i].meaning);
	}
	begin(PERF_RECORD_THROTTLE, 0);
	put_u64(1);
	end(60, 1);
	parse(RECORD_OTHER);
}

/* Shorten a record by eight bytes at a time: its text may lose its end. */
TEST(records_that_end_early_are_refused)
{
	const uint32_t ids[4] = { 20, 10, 21, 11 };
	uint8_t file[24] = {};
	struct made whole[4];

	make_task(PERF_RECORD_FORK, ids, 1234);
	whole[0] = m;
	make_comm(0, 20, 21, "longer than one word");
	whole[1] = m;
	make_map(0, &text_place, file, "/a/path/of/more/than/one/word");
	end(60, 1);
	whole[2] = m;
	make_lost(5, 60, 1);
	whole[3] = m;
	for (size_t i = 0; i < 4; i++) {
		for (size_t n = 0; n < whole[i].n; n += 8) {
			m = whole[i];
			/* The trailer has no byte that could end a text. */
			m.n = n >= 24 ? n - 16 : n;
			if (n >= 24)
				end(UINT64_MAX, UINT64_MAX);
			parse(RECORD_MALFORMED);
		}
	}
}

TEST(build_ids_are_those_of_their_event)
{
	const uint8_t id[24] = { 20, 0, 0, 0, 0xab, 0xcd }, too_long[24] = { 21 };
	const uint32_t ids[4] = { 20, 10, 21, 11 };
	uint8_t file[24];

	make_map(PERF_RECORD_MISC_MMAP_BUILD_ID, &text_place, id, "/x");
	end(60, FOR_BUILD_IDS);
	parse(RECORD_BUILD_ID);
	assert_int_equal(event.n_build_id, 20);
	assert_memory_equal(event.build_id, id + 4, 20);

	make_map(PERF_RECORD_MISC_MMAP_BUILD_ID, &text_place, too_long, "/x");
	end(60, FOR_BUILD_IDS);
	parse(RECORD_MALFORMED);

	/* The mark stays set when the kernel goes on to the other event. */
	make_file(file, 4711);
	make_map(PERF_RECORD_MISC_MMAP_BUILD_ID, &text_place, file, "/x");
	end(60, 1);
	parse(RECORD_EVENT);
	assert_true(event.map.inode == 4711 && event.n_build_id == 0);

	/* What the event for build IDs says besides is said twice. */
	make_map(0, &text_place, file, "/x");
	end(60, FOR_BUILD_IDS);
	parse(RECORD_OTHER);
	make_task(PERF_RECORD_FORK, ids, 60);
	memcpy(m.bytes + m.n - 8, &(uint64_t){ FOR_BUILD_IDS }, 8);
	parse(RECORD_OTHER);
	make_lost(5, 60, FOR_BUILD_IDS);
	parse(RECORD_EVENT);
	assert_true(event.type == PROCESS_LOST && event.n_lost == 5);
}

/* --- rings --- */

static uint8_t buffer[MAX_RECORD_BYTES];

/* @begin: how much went through it before. */
static struct sideband_ring make_ring(uint64_t at)
{
	struct perf_event_mmap_page *page = calloc(1, PAGE_BYTES + RING_BYTES);

	assert_non_null(page);
	page->data_offset = PAGE_BYTES;
	page->data_size = RING_BYTES;
	page->data_head = page->data_tail = at;
	return (struct sideband_ring){
		.page = page, .build_id_event = FOR_BUILD_IDS, .tail = at, .head = at
	};
}

static void write_record(struct sideband_ring *ring)
{
	uint8_t *data = (uint8_t *)ring->page + PAGE_BYTES;

	assert_true(ring->page->data_head - ring->page->data_tail + m.n <= RING_BYTES);
	for (size_t i = 0; i < m.n; i++)
		data[(ring->page->data_head + i) % RING_BYTES] = m.bytes[i];
	ring->page->data_head += m.n;
	sideband_ring_look(ring);
}

TEST(records_go_round_the_ring)
{
	for (uint64_t at = 0; at < RING_BYTES; at += 8) {
		struct sideband_ring ring = make_ring(UINT64_MAX - 7 - at);
		uint8_t file[24] = {};

		make_map(0, &text_place, file, "/usr/lib/x86_64-linux-gnu/libc.so.6");
		end(60, 1);
		write_record(&ring);
		make_comm(0, 20, 21, "second");
		write_record(&ring);
		assert_int_equal(ring.next, 60);
		assert_true(sideband_ring_take(&ring, buffer, &event));
		assert_string_equal(event.map.path, "/usr/lib/x86_64-linux-gnu/libc.so.6");
		assert_int_equal(ring.next, 50);
		assert_true(sideband_ring_take(&ring, buffer, &event));
		assert_string_equal(event.comm, "second");
		assert_true(ring.next == UINT64_MAX);
		assert_true(ring.page->data_tail == ring.page->data_head);
		free(ring.page);
	}
}

static void write_map(struct sideband_ring *ring, uint16_t misc, const uint8_t file[24],
		      uint64_t time, uint64_t by)
{
	make_map(misc, &text_place, file, "/x");
	end(time, by);
	write_record(ring);
}

TEST(a_mapping_gets_the_build_id_told_before)
{
	const uint8_t id[24] = { 20, 0, 0, 0, 0xab, 0xcd };
	struct sideband_ring ring = make_ring(0);
	uint8_t file[24];

	make_file(file, 4711);
	write_map(&ring, PERF_RECORD_MISC_MMAP_BUILD_ID, id, 59, FOR_BUILD_IDS);
	write_map(&ring, PERF_RECORD_MISC_MMAP_BUILD_ID, file, 60, 1);
	write_map(&ring, 0, file, 61, FOR_BUILD_IDS);
	write_map(&ring, 0, file, 62, 1);
	assert_false(sideband_ring_take(&ring, buffer, &event));
	assert_true(sideband_ring_take(&ring, buffer, &event));
	assert_true(event.map.inode == 4711 && event.time == 60 && event.n_build_id == 20);
	assert_memory_equal(event.build_id, id + 4, 20);
	assert_false(sideband_ring_take(&ring, buffer, &event));
	assert_true(sideband_ring_take(&ring, buffer, &event));
	assert_true(event.time == 62 && event.n_build_id == 0); /* not that of the other file */
	free(ring.page);
}

TEST(a_build_id_is_not_kept_over_a_loss)
{
	const uint8_t id[24] = { 20 };
	struct sideband_ring ring = make_ring(0);
	uint8_t file[24];

	make_file(file, 4711);
	write_map(&ring, PERF_RECORD_MISC_MMAP_BUILD_ID, id, 59, FOR_BUILD_IDS);
	make_lost(3, 70, 1);
	write_record(&ring);
	write_map(&ring, 0, file, 71, 1);
	assert_false(sideband_ring_take(&ring, buffer, &event));
	assert_true(sideband_ring_take(&ring, buffer, &event));
	assert_int_equal(event.type, PROCESS_LOST);
	assert_true(event.n_lost == 3 && event.since == 59 && event.time == 70);
	assert_true(sideband_ring_take(&ring, buffer, &event));
	assert_true(event.time == 71 && event.n_build_id == 0);
	free(ring.page);
}

TEST(what_is_no_record_is_a_loss)
{
	static const uint16_t sizes[] = { 0, 4, 8, 23, 33, 400 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct sideband_ring ring = make_ring(0);

		make_comm(0, 20, 21, "first");
		write_record(&ring);
		make_comm(0, 20, 21, "second");
		set_size(sizes[i]);
		write_record(&ring);
		assert_true(sideband_ring_take(&ring, buffer, &event));
		assert_int_equal(event.type, PROCESS_COMM);
		assert_true(sideband_ring_take(&ring, buffer, &event));
		assert_int_equal(event.type, PROCESS_LOST);
		assert_true(event.n_lost == 1 && event.since == 50);
		assert_true(ring.next == UINT64_MAX);
		assert_true(ring.page->data_tail == ring.page->data_head);
		free(ring.page);
	}
}

TEST(records_that_are_given_up_are_counted)
{
	struct sideband_ring ring = make_ring(0);
	uint8_t file[24] = {};

	make_comm(0, 20, 21, "first");
	write_record(&ring);
	write_record(&ring);
	make_file(file, 77);
	write_map(&ring, 0, file, 60, FOR_BUILD_IDS);
	assert_true(sideband_ring_take(&ring, buffer, &event));
	assert_int_equal(sideband_ring_drop(&ring), 2);
	assert_true(ring.page->data_tail == ring.page->data_head);
	assert_true(ring.next == UINT64_MAX);
	assert_int_equal(sideband_ring_drop(&ring), 0);
	make_comm(0, 20, 21, "later");
	write_record(&ring);
	assert_true(sideband_ring_take(&ring, buffer, &event));
	assert_string_equal(event.comm, "later");
	free(ring.page);
}

TEST_MAIN(NULL, NULL)
