/* rooms: tables unwind elf kernel processes files arch base; alone */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the programs walk by, kept in slabs that lie here: pieces given out and taken back; and what
 * processes have mapped, found as the programs find it. Live walks of deferred hits are in
 * tests/e2e/test_deferred.py.
 */
#include "test.h"

#include <pthread.h>
#include <sys/mman.h>

#include "attach/object.h"
#include "base/clock.h"
#include "bpf/tables.h"
#include "files/files.h"
#include "tables/memory.h"
#include "tables/table_set.h"
#include "tables/unwinder.h"
#include "unit/children.h"
#include "unit/files.h"

#define N_SLABS 4
#define N_SPACES 64
#define N_FILES 256

struct told {
	uint32_t tgid; /* 0: none */
	struct unwind_space space;
};

struct told_file {
	struct unwind_file_key key;
	struct unwind_file file;
};

/* Stands in for attach/object.c. */
struct object {
	uint8_t *slabs;
	uint32_t n_slabs;
	unsigned n_waits;
	struct told told[N_SPACES];
	pthread_mutex_t mutex;
	struct trace_state state;
	void (*when_told)(struct object *o, uint32_t tgid);
	unsigned n_told; /* with count_told() */
	struct told_file files[N_FILES];
	size_t n_files;
};

uint8_t *object_slabs(const struct object *o)
{
	return o->slabs;
}

int object_add_slab(struct object *o, struct error *e)
{
	if (o->n_slabs == N_SLABS)
		return error_set(e, -ENOMEM, "no more slabs");
	o->n_slabs++;
	return 0;
}

int object_wait_for_programs(const struct object *o, struct error *e)
{
	((struct object *)o)->n_waits++;
	return 0;
}

size_t object_spaces(const struct object *o, uint32_t *tgids, struct unwind_space *to, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < N_SPACES && n < most; i++) {
		if (!o->told[i].tgid)
			continue;
		if (tgids)
			tgids[n] = o->told[i].tgid;
		to[n++] = o->told[i].space;
	}
	return n;
}

static struct told *told_of(struct object *o, uint32_t tgid)
{
	for (size_t i = 0; i < N_SPACES; i++)
		if (o->told[i].tgid == tgid)
			return &o->told[i];
	return NULL;
}

int object_set_space(const struct object *object, uint32_t tgid, const struct unwind_space *space,
		     struct error *e)
{
	struct object *o = (struct object *)object;

	(void)pthread_mutex_lock(&o->mutex);

	struct told *told = told_of(o, tgid);

	if (!told && space)
		told = told_of(o, 0);
	if (told)
		*told = space ? (struct told){ tgid, *space } : (struct told){};
	(void)pthread_mutex_unlock(&o->mutex);
	if (space && o->when_told)
		o->when_told(o, tgid);
	return told || !space ? 0 : error_set(e, -E2BIG, "too many processes");
}

bool object_replace_space(const struct object *object, uint32_t tgid, uint32_t number,
			  const struct unwind_space *space)
{
	struct object *o = (struct object *)object;

	(void)pthread_mutex_lock(&o->mutex);

	struct told *told = told_of(o, tgid);
	const bool is_there = told && told->space.number == number;

	if (is_there)
		told->space = *space;
	(void)pthread_mutex_unlock(&o->mutex);
	return is_there;
}

int object_set_file(const struct object *object, const struct unwind_file_key *key,
		    const struct unwind_file *file, struct error *e)
{
	struct object *o = (struct object *)object;
	size_t i = 0;

	while (i < o->n_files && memcmp(&o->files[i].key, key, sizeof(*key)) != 0)
		i++;
	if (i == N_FILES)
		return error_set(e, -E2BIG, "too many files");
	if (file)
		o->files[i] = (struct told_file){ *key, *file };
	else if (i < o->n_files)
		o->files[i] = o->files[--o->n_files];
	o->n_files += file && i == o->n_files;
	return 0;
}

struct trace_state *object_state(const struct object *o)
{
	return &((struct object *)o)->state;
}

/* Made by a test, and freed behind it. */
static struct unwinder *u;
static struct unwind_memory *memory;
static struct table_set *set;
static struct mapping_list own_list;

static void end_set(void)
{
	if (set)
		table_set_free(set);
	if (memory)
		unwind_memory_free(memory);
	set = NULL;
	memory = NULL;
}

static void new_set(struct object *o, unsigned n_slabs)
{
	end_set();
	memory = unwind_memory_new(o, n_slabs * (uint64_t)SLAB_BYTES);
	set = table_set_new(memory, o, files_of_test());
}

static int make_object(void **state)
{
	struct object *o = xcalloc(1, sizeof(*o));

	o->slabs = xcalloc(N_SLABS, SLAB_BYTES);
	(void)pthread_mutex_init(&o->mutex, NULL);
	*state = o;
	return object_add_slab(o, NULL);
}

static int free_object(void **state)
{
	struct object *o = *state;

	if (u)
		unwinder_stop(u);
	u = NULL;
	end_set();
	mapping_list_fini(&own_list);
	free(o->slabs);
	(void)pthread_mutex_destroy(&o->mutex);
	free(o);
	return 0;
}

#define TEST_WITH_OBJECT(name) TEST_OF(name, struct object *o, make_object, free_object)

/* --- memory --- */

static void read_at(const struct object *o, uint32_t place, void *to, size_t n)
{
	memcpy(to, o->slabs + place, n);
}

static bool has(const struct object *o, uint32_t place, uint8_t byte, size_t n)
{
	for (; n; n--, place++)
		if (o->slabs[place] != byte)
			return false;
	return true;
}

static int put(struct unwind_memory *m, uint8_t byte, size_t n, uint32_t *ret)
{
	const int err = unwind_memory_allocate(m, n, ret, NULL);

	if (!err)
		memset(unwind_memory_at(m, *ret), byte, n);
	return err;
}

struct given {
	uint32_t place;
	size_t n;
	uint8_t byte;
};

/* Pieces come and go: each that is in use has what was put there, over slabs' ends, too. */
TEST_WITH_OBJECT(what_was_put_stays_until_it_is_dropped)
{
	struct given given[64] = {};
	uint64_t used = 0;

	memory = unwind_memory_new(o, N_SLABS * (uint64_t)SLAB_BYTES);
	srand(1);
	for (unsigned turn = 0; turn < 3000; turn++) {
		struct given *g = &given[(unsigned)rand() % ARRAY_SIZE(given)];

		if (g->n) {
			assert_true(has(o, g->place, g->byte, g->n));
			unwind_memory_drop(memory, g->place, g->n);
			used -= (g->n + 31) / 32 * 32;
			g->n = 0;
		} else {
			g->n = 1 + (size_t)rand() % (turn % 8 ? 5000 : 700000);
			g->byte = (uint8_t)(turn % 255 + 1);
			if (put(memory, g->byte, g->n, &g->place)) {
				g->n = 0;
				continue;
			}
			assert_int_equal(g->place % 32, 0);
			assert_int_not_equal(g->place, 0);
			used += (g->n + 31) / 32 * 32;
		}
		assert_true(unwind_memory_used(memory) == used);
	}
	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		assert_true(!given[i].n || has(o, given[i].place, given[i].byte, given[i].n));
	assert_true(unwind_memory_held(memory) <= N_SLABS * (uint64_t)SLAB_BYTES);
}

/* Programs may still read it: nothing else comes there before those that run have ended. */
TEST_WITH_OBJECT(a_place_is_used_again_only_behind_a_wait)
{
	uint32_t first, second;

	memory = unwind_memory_new(o, SLAB_BYTES);
	assert_int_equal(put(memory, 1, SLAB_BYTES / 2, &first), 0);
	unwind_memory_drop(memory, first, SLAB_BYTES / 2);
	assert_int_equal(put(memory, 2, SLAB_BYTES / 4, &second), 0);
	assert_int_equal(o->n_waits, 0);
	assert_true(has(o, first, 1, SLAB_BYTES / 2));
	assert_int_equal(put(memory, 3, SLAB_BYTES / 2, &second), 0);
	assert_int_equal(o->n_waits, 1);
	assert_int_equal(second, first);
}

TEST_WITH_OBJECT(what_does_not_fit_is_refused_and_costs_nothing)
{
	uint32_t place, other;

	memory = unwind_memory_new(o, 2 * (uint64_t)SLAB_BYTES);
	assert_int_equal(put(memory, 1, 2 * SLAB_BYTES + 1UL, &place), -E2BIG);
	assert_int_equal(put(memory, 1, SLAB_BYTES + 4096, &place), 0);
	assert_int_equal(put(memory, 2, SLAB_BYTES, &other), -E2BIG);
	assert_int_equal(o->n_slabs, 2);
	assert_true(unwind_memory_used(memory) == SLAB_BYTES + 4096);
	unwind_memory_drop(memory, place, SLAB_BYTES + 4096);
	assert_int_equal(put(memory, 2, SLAB_BYTES, &other), 0);
	assert_true(has(o, other, 2, SLAB_BYTES));
}

/* A child has its parent's list, which the parent may have given back. */
TEST_WITH_OBJECT(what_a_process_has_mapped_is_not_used_again)
{
	uint32_t list, other;

	memory = unwind_memory_new(o, SLAB_BYTES);
	assert_int_equal(put(memory, 7, SLAB_BYTES / 2, &list), 0);
	o->told[0] = (struct told){ 99, { .mappings = list, .n = 1, .number = 1 } };
	unwind_memory_drop(memory, list, SLAB_BYTES / 2);
	assert_int_equal(put(memory, 8, SLAB_BYTES / 2, &other), -E2BIG);
	assert_true(has(o, list, 7, SLAB_BYTES / 2));
	o->told[0] = (struct told){};
	assert_int_equal(put(memory, 8, SLAB_BYTES / 2, &other), 0);
	assert_int_equal(other, list);
}

/* --- the unwinder --- */

/* As find_rule() of bpf/rule.bpf.h, but for its steps. */
static bool find_mapping(const struct object *o, const struct unwind_space *space, uint64_t addr,
			 struct unwind_mapping *ret)
{
	uint64_t before = 0;
	bool is_found = false;

	for (uint32_t i = 0; i < space->n; i++) {
		struct unwind_mapping m;

		read_at(o, space->mappings + i * (uint32_t)sizeof(m), &m, sizeof(m));
		assert_true(m.start >= before && m.end > m.start);
		before = m.end;
		if (addr < m.start || addr >= m.end)
			continue;
		*ret = m;
		is_found = true;
	}
	return is_found;
}

static struct unwind_rule rule_here(const struct object *o, const struct unwind_mapping *m,
				    uint64_t addr)
{
	struct unwind_image image;
	struct unwind_rule rule = {};
	uint64_t offset;
	uint32_t pages[2];
	uint16_t number;

	read_at(o, m->image, &image, sizeof(image));
	offset = addr - m->bias - image.base;
	assert_true(offset >> UNWIND_PAGE_BITS < image.n_pages);
	read_at(o, image.pages + (uint32_t)(offset >> UNWIND_PAGE_BITS) * 4, pages, sizeof(pages));
	assert_true(unwind_find((const void *)(o->slabs + image.entries), pages[1], pages[0],
				pages[1], (uint16_t)offset, &number));
	assert_true(number < image.n_rules);
	read_at(o, image.rules + number * (uint32_t)sizeof(rule), &rule, sizeof(rule));
	return rule;
}

static void start_with(struct object *o, unsigned n_slabs)
{
	assert_int_equal(
		unwinder_start(o, n_slabs * (uint64_t)SLAB_BYTES, files_of_test(), &u, NULL), 0);
}

static void start(struct object *o)
{
	start_with(o, N_SLABS);
}

static void wait_for_it(void)
{
	assert_true(unwinder_wait(u, UINT64_MAX));
}

static void look(uint32_t tgid, enum unwinder_wish how)
{
	unwinder_look(u, tgid, how);
	wait_for_it();
}

static bool is_known(struct object *o, pid_t pid)
{
	(void)pthread_mutex_lock(&o->mutex);

	bool is = told_of(o, (uint32_t)pid);

	(void)pthread_mutex_unlock(&o->mutex);
	return is;
}

/* At the entry of any function: CFA = rsp + 8, and rbp is the caller's. */
static void expect_entry(const struct object *o, uint32_t tgid, uintptr_t function)
{
	const struct told *told = told_of((struct object *)o, tgid);
	struct unwind_mapping m = {};

	assert_non_null(told);
	assert_true(find_mapping(o, &told->space, function, &m));
	assert_int_equal(m.how, UNWIND_BY_TABLE);

	struct unwind_rule rule = rule_here(o, &m, function);

	assert_int_equal(rule.how, UNWIND_HOW(UNWIND_IS, UNWIND_RSP));
	assert_int_equal(rule.offset, 8);
	assert_int_equal(rule.fp, 0);
}

TEST_WITH_OBJECT(code_in_no_file_is_walked_by_frame_pointers)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct unwind_mapping m = {};

	start(o);
	assert_true(code != MAP_FAILED);
	look((uint32_t)getpid(), UNWINDER_NOW);
	assert_true(find_mapping(o, &told_of(o, (uint32_t)getpid())->space, (uintptr_t)code, &m));
	assert_int_equal(m.how, UNWIND_MADE_CODE);
	(void)munmap(code, 4096);

	const uint32_t number = told_of(o, (uint32_t)getpid())->space.number;

	look((uint32_t)getpid(), UNWINDER_CHANGED);
	assert_false(find_mapping(o, &told_of(o, (uint32_t)getpid())->space, (uintptr_t)code, &m));
	assert_int_not_equal(told_of(o, (uint32_t)getpid())->space.number, number);
}

static void map_more(struct object *o, uint32_t tgid)
{
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		    MAP_FAILED);
}

static void take_away(struct object *o, uint32_t tgid)
{
	assert_int_equal(object_set_space(o, tgid, NULL, NULL), 0);
}

/* It ends, and a child of another one gets its number. */
static void replace(struct object *o, uint32_t tgid)
{
	const struct unwind_space other = { .number = 1234 };

	o->when_told = NULL;
	assert_int_equal(object_set_space(o, tgid, &other, NULL), 0);
}

/* What is told is what is mapped, or no program walks by it: code is mapped while it is told. */
TEST_WITH_OBJECT(what_changes_while_it_is_told_is_not_told)
{
	static const struct {
		void (*when_told)(struct object *o, uint32_t tgid);
		bool is_known;
	} cases[] = {
		{ NULL, true }, { map_more, false }, { take_away, false }, { replace, false }
	};
	const uint32_t own = (uint32_t)getpid();

	start(o);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		map_more(o, own); /* else there is nothing to tell */
		o->when_told = cases[i].when_told;
		look(own, UNWINDER_NOW);
		assert_int_equal(is_known(o, (pid_t)own), cases[i].is_known);
		o->when_told = NULL;
		look(own, UNWINDER_CHANGED);
		assert_true(is_known(o, (pid_t)own));
		assert_int_not_equal(told_of(o, own)->space.number, 0);
	}
}

/* Until new ones are checked, the process cannot be walked: so not without need. */
TEST_WITH_OBJECT(what_is_still_so_is_not_told_again)
{
	const uint32_t own = (uint32_t)getpid();
	uint32_t number;

	start(o);
	look(own, UNWINDER_NOW);
	number = told_of(o, own)->space.number;
	for (int i = 0; i < 3; i++) {
		look(own, UNWINDER_NOW);
		assert_int_equal(told_of(o, own)->space.number, number);
	}
	take_away(o, own);
	look(own, UNWINDER_NOW);
	assert_int_not_equal(told_of(o, own)->space.number, number);
	number = told_of(o, own)->space.number;
	map_more(o, own);
	look(own, UNWINDER_NOW);
	assert_int_not_equal(told_of(o, own)->space.number, number);
}

TEST_WITH_OBJECT(what_a_program_had_mapped_is_forgotten_when_it_is_over)
{
	const uint64_t before = clock_ns(CLOCK_MONOTONIC);
	pid_t pid = child_start();

	start(o);
	look((uint32_t)pid, UNWINDER_CHANGED);
	assert_true(is_known(o, pid));
	unwinder_over(u, (uint32_t)pid, before); /* told late: another one was looked at since */
	wait_for_it();
	assert_true(is_known(o, pid));
	unwinder_over(u, (uint32_t)pid, clock_ns(CLOCK_MONOTONIC));
	wait_for_it();
	assert_false(is_known(o, pid));
	look((uint32_t)pid, UNWINDER_NOW);
	assert_true(is_known(o, pid));
	child_end(pid);
	look((uint32_t)pid, UNWINDER_CHANGED);
	assert_false(is_known(o, pid));
}

/* Memory does not grow with how often a process is looked at, nor with how many there were. */
TEST_WITH_OBJECT(what_is_replaced_is_given_back)
{
	start(o);
	for (unsigned i = 0; i < 3000; i++) {
		/* After an exec, a process is always looked at. */
		unwinder_over(u, (uint32_t)getpid(), clock_ns(CLOCK_MONOTONIC));
		unwinder_look(u, (uint32_t)getpid(), UNWINDER_NOW);
		if (i % 64 == 0)
			wait_for_it();
	}
	wait_for_it();
	for (unsigned i = 0; i < 100; i++) {
		pid_t pid = child_start();

		look((uint32_t)pid, UNWINDER_NOW);
		child_end(pid);
		unwinder_look(u, (uint32_t)pid, UNWINDER_CHANGED);
	}
	wait_for_it();
	expect_entry(o, (uint32_t)getpid(), (uintptr_t)child_start);
	expect_entry(o, (uint32_t)getpid(), (uintptr_t)_cmocka_run_group_tests); /* of a library */
	assert_true(o->n_slabs <= 2);
}

/* In the returned memory, every other page is an executable mapping. */
static uint8_t *map_pages(size_t page, size_t n)
{
	uint8_t *at = mmap(NULL, n * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	for (size_t i = 0; i < n; i += 2)
		assert_int_equal(mprotect(at + i * page, page, PROT_READ | PROT_EXEC), 0);
	return at;
}

static void count_told(struct object *o, uint32_t tgid)
{
	o->n_told++;
}

/*
 * A process whose mappings take long to read: many requests lead to few readings. If a mapping came
 * meanwhile, the programs do not walk by the old list.
 */
TEST_WITH_OBJECT(a_process_that_is_dear_to_read_is_read_seldom)
{
	const uint32_t pid = (uint32_t)getpid();
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 60000;
	uint8_t *pages = map_pages(page, n);

	start(o);
	o->when_told = count_told;
	for (unsigned i = 0; i < 200; i++)
		look(pid, UNWINDER_NOW);
	assert_in_range(o->n_told, 1, 100);
	assert_non_null(told_of(o, pid));
	while (told_of(o, pid)) /* until it is too early for another reading */
		look(pid, UNWINDER_CHANGED);
	for (unsigned i = 0; i < 3000 && !told_of(o, pid); i++) {
		(void)usleep(10000);
		look(pid, UNWINDER_NOW);
	}
	assert_non_null(told_of(o, pid));
	(void)munmap(pages, n * page);
}

/* --- room for lists --- */

/*
 * Half of 8 MiB has room for 131,072 mappings: those of four processes. The list that a child has
 * from its parent goes with the others.
 */
TEST_WITH_OBJECT(all_lists_go_where_they_take_half_of_the_memory)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 60000;
	uint8_t *pages = map_pages(page, n);
	pid_t children[5];

	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		children[i] = child_start();
	start_with(o, 2);
	for (size_t i = 0; i < 4; i++)
		look((uint32_t)children[i], UNWINDER_NOW);
	for (size_t i = 0; i < 4; i++)
		assert_true(is_known(o, children[i]));
	*told_of(o, 0) = (struct told){ 99, told_of(o, (uint32_t)children[0])->space };
	look((uint32_t)children[4], UNWINDER_NOW);
	for (size_t i = 0; i < 4; i++)
		assert_false(is_known(o, children[i]));
	assert_false(is_known(o, 99));
	assert_true(is_known(o, children[4]));
	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		child_end(children[i]);
	(void)munmap(pages, n * page);
}

TEST_WITH_OBJECT(all_lists_go_where_there_are_too_many)
{
	for (uint32_t i = 0; i < N_SPACES; i++)
		o->told[i] = (struct told){ INT32_MAX - i, { .n = 1, .number = 1 } };
	start(o);
	look((uint32_t)getpid(), UNWINDER_NOW);
	expect_entry(o, (uint32_t)getpid(), (uintptr_t)child_start);
	for (uint32_t i = 0; i < N_SPACES; i++)
		assert_false(is_known(o, (pid_t)(INT32_MAX - i)));
}

TEST_WITH_OBJECT(room_is_made_once_in_three_turns)
{
	new_set(o, 1);
	assert_true(table_set_make_room(set, "memory is full"));
	o->state.table_turn += 2;
	assert_false(table_set_make_room(set, "memory is full"));
	o->state.table_turn++;
	assert_true(table_set_make_room(set, "memory is full"));
}

/* --- tables --- */

/* This program's, with a function of it. */
static const struct mapping *mapping_at(uintptr_t function)
{
	if (!own_list.n)
		assert_int_equal(mapping_list_read((uint32_t)getpid(), &own_list, NULL), 0);

	const struct mapping *m = mapping_list_at(&own_list, function);

	assert_non_null(m);
	return m;
}

static enum unwind_how how_now(struct table_set *t, const struct mapping *m, enum table_wish wish)
{
	struct unwind_mapping found = { .start = m->start, .end = m->end };

	table_set_find(t, (uint32_t)getpid(), m, NULL, wish, &found);
	return found.how;
}

/* Pieces of all sizes, until nothing fits any more. */
static void fill(void)
{
	uint32_t place;

	for (size_t n = SLAB_BYTES / 2; n >= 32; n /= 2)
		while (put(memory, 1, n, &place) == 0)
			;
}

TEST_WITH_OBJECT(only_what_is_in_use_takes_room_from_what_is_not)
{
	const struct mapping *libc, *own;
	uint64_t now = 1;

	new_set(o, 1);
	libc = mapping_at((uintptr_t)getenv);
	own = mapping_at((uintptr_t)mapping_at);
	table_set_turn(set, now);
	assert_int_equal(how_now(set, libc, TABLE_IN_USE), UNWIND_BY_TABLE);
	fill();
	for (int turn = 0; turn < 4; turn++, now += 2000000000) {
		table_set_turn(set, now);
		assert_int_not_equal(how_now(set, own, TABLE_AHEAD), UNWIND_BY_TABLE);
		assert_int_equal(how_now(set, libc, TABLE_AS_IS), UNWIND_BY_TABLE);
	}
	for (int turn = 0; turn < 4; turn++, now += 2000000000)
		table_set_turn(set, now);
	assert_int_equal(how_now(set, own, TABLE_IN_USE), UNWIND_BY_TABLE);
	assert_int_equal(how_now(set, libc, TABLE_AS_IS), UNWIND_NOT_YET);
}

TEST_WITH_OBJECT(what_is_in_use_and_has_no_room_gets_none_later)
{
	const struct mapping *own = mapping_at((uintptr_t)mapping_at);
	uint64_t now = 1;

	new_set(o, 1);
	table_set_turn(set, now);
	assert_int_equal(how_now(set, mapping_at((uintptr_t)getenv), TABLE_IN_USE),
			 UNWIND_BY_TABLE);
	fill();
	for (int turn = 0; turn < 4; turn++, now += 2000000000) {
		assert_int_equal(how_now(set, own, TABLE_IN_USE), UNWIND_NOT_AT_ALL);
		table_set_turn(set, now);
	}
}

/* @n files that were never seen before. */
static void find_others(struct table_set *t, size_t n)
{
	static uint64_t inode;

	for (; n; n--) {
		const struct file_fact file = { .dev = 1, .is_there = 1 };
		const struct mapping m = {
			.start = 4096, .end = 8192, .dev = 1, .inode = ++inode, .path = "/no/file"
		};
		struct unwind_mapping found = {};

		table_set_find(t, (uint32_t)getpid(), &m, &file, TABLE_AS_IS, &found);
		assert_int_equal(found.how, UNWIND_NOT_YET);
	}
}

/*
 * The programs walk by libc's table, or nobody does: what is left of it behind 16,000 other files?
 * Lists of mappings may name its image still, which no other file gets.
 */
TEST_WITH_OBJECT(files_that_are_not_used_are_forgotten)
{
	const struct mapping *libc;

	libc = mapping_at((uintptr_t)getenv);
	for (unsigned is_used = 0; is_used < 2; is_used++) {
		uint64_t now = 1;

		new_set(o, 1);
		o->n_files = 0;
		table_set_turn(set, now);
		assert_int_equal(how_now(set, libc, TABLE_IN_USE), UNWIND_BY_TABLE);

		const size_t n_files = o->n_files;
		const uint32_t image = o->files[0].file.image;
		struct unwind_image *told = unwind_memory_at(memory, image);

		assert_int_equal(n_files, 1);
		o->n_waits = 0;
		for (unsigned i = 0; i < 16; i++) {
			find_others(set, 1000);
			if (is_used)
				told->turn = o->state.table_turn;
			table_set_turn(set, now += 2000000000);
		}
		assert_int_equal(o->n_waits, 1);
		assert_int_equal(o->n_files, is_used ? n_files : 0);
		assert_int_equal(told->n_pages != 0, is_used);
		assert_int_equal(how_now(set, libc, TABLE_AS_IS),
				 is_used ? UNWIND_BY_TABLE : UNWIND_NOT_YET);
		assert_int_equal(how_now(set, libc, TABLE_IN_USE), UNWIND_BY_TABLE);
		assert_int_equal(o->n_files, n_files);
		assert_int_equal(o->files[0].file.image == image, is_used);
	}
}

/* They take no table that is in use. */
TEST_WITH_OBJECT(files_that_come_at_once_are_bounded)
{
	const struct mapping *libc, *own;

	new_set(o, 2);
	libc = mapping_at((uintptr_t)getenv);
	own = mapping_at((uintptr_t)mapping_at);
	table_set_turn(set, 1);
	assert_int_equal(how_now(set, own, TABLE_IN_USE), UNWIND_BY_TABLE);
	table_set_turn(set, 2000000000);
	find_others(set, 60000);
	assert_int_equal(how_now(set, libc, TABLE_IN_USE), UNWIND_NOT_AT_ALL);
	table_set_turn(set, 2000000001);
	assert_int_equal(how_now(set, libc, TABLE_IN_USE), UNWIND_BY_TABLE);
	assert_int_equal(how_now(set, own, TABLE_AS_IS), UNWIND_BY_TABLE);
}

/* Processes may map them faster than tables are made. */
TEST_WITH_OBJECT(new_files_that_wait_are_bounded)
{
	const struct mapping no_file = { .inode = 1, .path = "/no/file" };
	const struct mapping *libc;

	start(o);
	libc = mapping_at((uintptr_t)getenv);
	unwinder_look(u, INT32_MAX, UNWINDER_NOW);
	wait_for_it(); /* it sleeps until it is waited for again */
	for (size_t i = 0; i < 1024; i++)
		unwinder_file(u, (uint32_t)getpid(), &no_file);
	unwinder_file(u, (uint32_t)getpid(), libc);
	wait_for_it();
	assert_int_equal(o->n_files, 0);
	unwinder_file(u, (uint32_t)getpid(), libc);
	wait_for_it();
	assert_in_range(o->n_files, 1, N_FILES);
}

TEST_WITH_OBJECT(it_can_be_stopped_with_work_to_do)
{
	start(o);
	for (uint32_t tgid = 1; tgid < 5000; tgid++)
		unwinder_look(u, tgid, UNWINDER_SOMETIME);
}

TEST_MAIN(NULL, NULL)
