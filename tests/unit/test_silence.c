/* rooms: reader helper unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Openers that do not answer, or late: nothing more is asked of the place, and nothing stays open.
 */
#include "test.h"

#include <sys/mman.h>

#include "base/clock.h"
#include "helper/seat.h"
#include "reader/remote_files.h"
#include "reader/roles.h"
#include "unit/scratch.h"

#define LONG_NS (120 * NS_PER_S)
/* For openers that are held up. Others have it too, meanwhile, and answer on a busy machine as
 * well. */
#define SHORT_NS (NS_PER_S / 2)
#define PATIENCE_NS (NS_PER_S / 100)
#define N_HANDLES 64 /* more than a test has */

/* Shared with the openers. */
static struct shared {
	uint32_t held_up; /* what they do not answer, but when this changes */
	bool only_paths;  /* of ASK_OPEN: by a path */
	bool is_at_work;  /* meanwhile */
	uint32_t n_asked; /* of @counted */
	uint32_t counted;
} * shared;

static bool is_by_path(const struct ask *ask, const void *payload)
{
	struct open_payload open = { .where = FIND_MAPPED };

	if (ask->what == ASK_OPEN && ask->n_bytes >= sizeof(open))
		memcpy(&open, payload, sizeof(open));
	return open.where != FIND_MAPPED;
}

static void answer_open(void *state, struct seat *seat, const struct ask *ask, const void *payload,
			struct answer *a)
{
	shared->n_asked += ask->what == shared->counted;
	const bool is_meant = !shared->only_paths || is_by_path(ask, payload);

	opener_answer(state, seat, ask, payload, a);
	while (is_meant && __atomic_load_n(&shared->held_up, __ATOMIC_ACQUIRE) == ask->what)
		if (!shared->is_at_work)
			(void)usleep(1000);
}

static void be_opener(struct seat *seat)
{
	seat_serve(seat, answer_open, NULL);
}

static struct role roles[READER_ROLES]; /* not const: bounds are shortened for some requests */
static struct warden warden;
static struct client *client;
static struct devices *devices;
static struct remote_files *files;

static int start(void **state)
{
	struct error e;

	memcpy(roles, reader_roles, sizeof(roles));
	roles[ROLE_OPENER].run = be_opener;
	roles[ROLE_OPENER].spare_after_ns = 0; /* to make one takes numbers of handles */
	for (size_t i = 0; i < READER_ROLES; i++)
		roles[i].wall_ns = LONG_NS;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || warden_start(roles, READER_ROLES, &warden, &e))
		return -1;
	client = client_new(lane_new(warden_take_control(&warden, 0), roles, READER_ROLES));
	devices = devices_new(LONG_NS);
	files = remote_files_new(client, devices, "names are missing");
	return 0;
}

static int end(void **state)
{
	remote_files_free(files);
	devices_free(devices);
	client_free(client);
	warden_fini(&warden);
	(void)munmap(shared, sizeof(*shared));
	return waitpid(warden.pid, NULL, 0) == warden.pid ? 0 : -1;
}

#define TEST_WITH_HELPERS(name) TEST_WITH(name, start, end)

static void hold_up(uint32_t what)
{
	__atomic_store_n(&shared->held_up, what, __ATOMIC_RELEASE);
}

static void set_patience(uint64_t ns)
{
	client_set_manner(client, &(struct client_manner){ .patience_ns = ns });
}

/* Have what has come late heard. It must come in the end. */
static void hear(void)
{
	static unsigned n;

	struct remote_list list;
	struct error e;

	assert_true(++n < 30000);
	(void)usleep(1000);
	(void)!remote_list(files, (uint32_t)getpid(), &list, &e);
	remote_list_fini(&list);
}

/* An opener that begins has as much time as a request: let it begin before that is short. */
static void have_opener(void)
{
	uint32_t number;
	int32_t pid;
	struct error e;

	client_lock(client);
	assert_ok(client_address(client, ROLE_OPENER, &number, &pid, &e), e);
	client_unlock(client);
}

/* @what is not answered until @ask does not ask for it any more. It asks for @n_others of the same
 * kind. */
static void fall_silent(uint32_t what, int (*ask)(uint32_t whose), uint32_t whose,
			uint32_t n_others)
{
	do {
		have_opener();
		shared->n_asked = 0;
		roles[ROLE_OPENER].wall_ns = SHORT_NS;
		hold_up(what);
		(void)ask(whose);
		hold_up(0);
		roles[ROLE_OPENER].wall_ns = LONG_NS;
	} while (shared->n_asked > n_others);
	shared->n_asked = 0;
}

static void make_file(const char *path, const char *text)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static struct mapping mapping_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (struct mapping){ .end = 4096, .dev = st.st_dev, .inode = st.st_ino, .path = path };
}

/* This program's code, which is found without a path. */
static struct mapping own_mapping(void)
{
	static struct mapping_list own;
	const struct mapping *m;
	struct error e;

	if (!own.n)
		assert_ok(mapping_list_read((uint32_t)getpid(), &own, &e), e);
	m = mapping_list_at(&own, (uintptr_t)own_mapping);
	assert_non_null(m);
	return *m;
}

static int open_it(const struct mapping *m, struct remote_handle *ret, struct error *e)
{
	*ret = (struct remote_handle){ .handle = HANDLE_NONE };
	return remote_open(files, (uint32_t)getpid(), HANDLE_NONE, m, ret, e);
}

static size_t count_open(void)
{
	struct remote_handle all[N_HANDLES];
	struct file_fact facts[N_HANDLES];
	size_t n = 0;

	for (size_t i = 0; i < N_HANDLES; i++)
		all[i] = (struct remote_handle){ .handle = SEAT_OURS + (int)i };
	remote_facts(files, all, N_HANDLES, facts);
	for (size_t i = 0; i < N_HANDLES; i++)
		n += facts[i].is_there;
	return n;
}

/* A warden closes its ends of a new helper's channel a moment later than the helper begins. */
static void wait_until_open(size_t n)
{
	while (count_open() != n)
		hear();
}

/* -- Following: its patience is over before the opener's time is. -- */

TEST_WITH_HELPERS(a_device_is_dead_though_nobody_waited_for_its_opener)
{
	cleanup_free char *path = scratch_path("file");
	struct remote_handle handle;
	struct mapping m, other;
	struct error e;

	make_file(path, "text");
	m = mapping_of(path);
	other = mapping_of("/proc/version");
	assert_ok(open_it(&m, &handle, &e), e);
	shared->counted = ASK_OPEN;
	roles[ROLE_OPENER].wall_ns = SHORT_NS;
	set_patience(PATIENCE_NS);
	hold_up(ASK_OPEN);
	/* One that can be killed is forgiven once. */
	while (devices_may_ask(devices, devices_place_of_mapped(m.dev, getuid()))) {
		const int err = open_it(&m, &handle, &e);

		assert_true(err == -ETIME || err == -EAGAIN);
		hear();
	}
	hold_up(0);
	roles[ROLE_OPENER].wall_ns = LONG_NS;
	set_patience(0);
	shared->n_asked = 0;
	assert_int_equal(open_it(&m, &handle, &e), -EAGAIN);
	assert_string_equal(e.text, "its file system does not answer");
	assert_int_equal(shared->n_asked, 0);
	assert_ok(open_it(&other, &handle, &e), e);
}

/* On a busy machine. */
TEST_WITH_HELPERS(an_opener_that_is_at_work_makes_no_device_dead)
{
	cleanup_free char *path = scratch_path("file");
	struct remote_handle handle;
	struct mapping m;
	struct error e;

	make_file(path, "text");
	m = mapping_of(path);
	shared->is_at_work = true;
	for (int i = 0; i < 2; i++) {
		have_opener();
		roles[ROLE_OPENER].wall_ns = SHORT_NS;
		hold_up(ASK_OPEN);
		assert_int_equal(open_it(&m, &handle, &e), -EAGAIN);
		assert_string_equal(e.text, "its reader takes too long");
		hold_up(0);
		roles[ROLE_OPENER].wall_ns = LONG_NS;
	}
	assert_ok(open_it(&m, &handle, &e), e);
}

TEST_WITH_HELPERS(one_opener_at_a_time_waits_for_a_device)
{
	cleanup_free char *path = scratch_path("file");
	struct remote_handle handle;
	struct mapping m, other;
	struct error e;

	make_file(path, "text");
	m = mapping_of(path);
	other = mapping_of("/proc/version");
	assert_ok(open_it(&m, &handle, &e), e);
	shared->counted = ASK_OPEN;
	hold_up(ASK_OPEN);
	set_patience(NS_PER_S / 20);
	while (open_it(&m, &handle, &e) == -ETIME && !shared->n_asked)
		; /* the machine was busy */
	set_patience(0);
	shared->n_asked = 0;
	assert_int_equal(open_it(&m, &handle, &e), -EAGAIN);
	assert_int_equal(shared->n_asked, 0);
	hold_up(0);
	/* It is heard by whoever asks for the same. */
	for (int i = 0; i < 30000 && open_it(&m, &handle, &e) == -EAGAIN; i++)
		(void)usleep(1000);
	assert_int_not_equal(handle.handle, HANDLE_NONE);
	assert_ok(open_it(&other, &handle, &e), e);
}

TEST_WITH_HELPERS(files_that_come_too_late_are_closed)
{
	const struct mapping m = own_mapping();
	struct remote_handle handle;
	struct error e;

	assert_ok(open_it(&m, &handle, &e), e);
	wait_until_open(1);
	/* They are closed eight at a time. On a busy machine some are not even asked for. */
	shared->counted = ASK_OPEN;
	while (shared->n_asked < 8) {
		struct file_state unused;

		hold_up(ASK_OPEN);
		set_patience(PATIENCE_NS);
		assert_int_equal(open_it(&m, &handle, &e), -ETIME);
		hold_up(0);
		set_patience(0);
		while (!remote_state(files, (uint32_t)getpid(), &m, &unused) && !unused.fact.size)
			hear();
	}
	assert_ok(open_it(&m, &handle, &e), e);
	remote_close(files, handle.handle);
	wait_until_open(1);
}

/* -- Places whose device is not known before a file is found. -- */

static int ask_perf_map(uint32_t user)
{
	const struct perf_payload what = { .root = 70, .number = 1, .user = user };
	struct remote_perf_map answer;
	struct error e;
	const int err = remote_perf_map(files, &what, &answer, &e);

	free(answer.memory);
	return err;
}

static int ask_debug(uint32_t user)
{
	static const struct debug_hint hint = { .link = "none.debug" };
	struct debug_search search = {
		.hint = &hint, .path = "/none/file", .root = HANDLE_NONE, .user = user
	};
	struct remote_handle handle;
	struct error e;

	return remote_open_debug(files, &search, &handle, &e);
}

static int ask_facts(uint32_t dev)
{
	const struct remote_handle handle = { .handle = SEAT_OURS, .dev = dev };
	struct file_fact fact;

	remote_facts(files, &handle, 1, &fact);
	return 0;
}

static int ask_root(uint32_t dev)
{
	return remote_root(files, (uint32_t)getpid(), dev, 1) == HANDLE_NONE ? 0 : -1;
}

TEST_WITH_HELPERS(nothing_more_is_looked_for_at_a_place_that_does_not_answer)
{
	static const struct {
		uint32_t what;
		int (*ask)(uint32_t whose);
	} asks[] = {
		{ ASK_PERF_MAP, ask_perf_map },
		{ ASK_OPEN_DEBUG, ask_debug },
		{ ASK_FACTS, ask_facts },
		{ ASK_ROOT, ask_root },
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(asks); i++) {
		shared->counted = asks[i].what;
		fall_silent(asks[i].what, asks[i].ask, 1000 + i, 0);
		(void)asks[i].ask(1000 + i);
		assert_int_equal(shared->n_asked, 0);
		/* Another user's, or device. */
		(void)asks[i].ask(2000 + i);
		assert_int_equal(shared->n_asked, 1);
	}
}

/* This file is not mapped, so process @pid's path to it is the second thing that is asked for. */
static int ask_path(uint32_t pid)
{
	cleanup_free char *path = scratch_path("file");
	struct remote_handle handle;
	struct mapping m;
	struct error e;

	make_file(path, "text");
	m = mapping_of(path);
	assert_int_equal(m.dev, own_mapping().dev);
	return remote_open(files, pid, HANDLE_NONE, &m, &handle, &e);
}

/* Its device has nothing to do with what hangs on the way to it. */
static void hang_on_the_way(uint32_t pid)
{
	struct mapping m = own_mapping();
	struct remote_handle handle;
	struct error e;

	assert_int_equal(ask_path(pid), 0);
	shared->counted = ASK_OPEN;
	shared->only_paths = true;
	fall_silent(ASK_OPEN, ask_path, pid, 1);
	assert_true(ask_path(pid) < 0);
	assert_int_equal(shared->n_asked, 1); /* not by its path */
	assert_ok(open_it(&m, &handle, &e), e);
}

TEST_WITH_HELPERS(a_path_that_does_not_answer_takes_no_device_with_it)
{
	hang_on_the_way(UINT32_MAX >> 1);
}

/* The file is not mapped any more, so it is looked for below /proc/PID/root. */
TEST_WITH_HELPERS(a_path_of_a_process_takes_no_device_with_it)
{
	hang_on_the_way((uint32_t)getpid());
}

TEST_WITH_HELPERS(a_debug_file_is_of_the_device_that_its_opener_saw)
{
	cleanup_free char *path = scratch_path("file"), *debug = scratch_path("link");
	static const struct debug_hint hint = { .link = "link" };
	struct debug_search search = { .hint = &hint, .path = path, .root = HANDLE_NONE };
	struct remote_handle handle;
	struct mapping m;
	struct error e;

	make_file(debug, "text");
	m = mapping_of(debug);
	assert_ok(remote_open_debug(files, &search, &handle, &e), e);
	assert_int_equal(handle.dev, m.dev);
	assert_int_equal(handle.fact.dev, m.dev);
	assert_int_equal(handle.fact.inode, m.inode);
}

/* An absent one is not one that no opener could look at. */
TEST_WITH_HELPERS(whether_there_is_a_debug_file_may_not_be_known)
{
	static const struct debug_hint hint = { .link = "none.debug" };
	struct debug_search absent = { .hint = &hint, .path = "/none/file", .root = HANDLE_NONE };
	struct debug_search not_open = absent, ended = absent;
	struct remote_handle handle;
	struct error e;

	assert_int_equal(remote_open_debug(files, &absent, &handle, &e), -ENOENT);
	assert_false(absent.is_missed);
	not_open.root = SEAT_MOST_FILES - 1;
	assert_int_equal(remote_open_debug(files, &not_open, &handle, &e), -ENOENT);
	assert_true(not_open.is_missed);
	have_opener();
	roles[ROLE_OPENER].wall_ns = SHORT_NS;
	hold_up(ASK_OPEN_DEBUG);
	assert_int_equal(remote_open_debug(files, &ended, &handle, &e), -EAGAIN);
	assert_true(ended.is_missed);
	hold_up(0);
	roles[ROLE_OPENER].wall_ns = LONG_NS;
	assert_int_equal(remote_open_debug(files, &absent, &handle, &e), -ENOENT);
	assert_false(absent.is_missed);
}

/* -- Sending. -- */

static int send_it(const struct remote_handle *handle, struct error *e)
{
	struct asking *asking = remote_files_asking(files);
	uint32_t number;
	int32_t parser;

	client_lock(client);
	assert_ok(asking_address(asking, ROLE_PARSER_OF_OTHERS, &number, &parser, e), *e);
	client_unlock(client);
	return remote_send(files, handle, 1, number, parser, e);
}

/* The table of openers gives the lowest free number, so a former handle's is another file's. */
TEST_WITH_HELPERS(another_file_of_the_same_size_and_time_is_not_sent)
{
	cleanup_free char *path = scratch_path("file"), *path2 = scratch_path("other");
	struct remote_handle handles[8], other = { .handle = HANDLE_NONE };
	struct mapping m, m2;
	struct error e;

	make_file(path, "text");
	make_file(path2, "evil");
	m = mapping_of(path);
	m2 = mapping_of(path2);
	for (size_t i = 0; i < ARRAY_SIZE(handles); i++)
		assert_ok(open_it(&m, &handles[i], &e), e);
	assert_ok(send_it(&handles[0], &e), e);
	wait_until_open(ARRAY_SIZE(handles));
	for (size_t i = 0; i < ARRAY_SIZE(handles); i++)
		remote_close(files, handles[i].handle);
	for (size_t i = 0; i < ARRAY_SIZE(handles) && other.handle != handles[0].handle; i++)
		assert_ok(open_it(&m2, &other, &e), e);
	assert_int_equal(other.handle, handles[0].handle);
	assert_int_equal(other.fact.size, handles[0].fact.size);
	assert_int_equal(other.fact.changed, handles[0].fact.changed);
	assert_int_equal(send_it(&handles[0], &e), -ESTALE);
	assert_ok(send_it(&other, &e), e);
}

/* -- The end of a run: one time for all waits. -- */

static void do_nothing(void *context)
{
}

struct left {
	uint64_t ns;
	unsigned n_waits;
};

static bool is_used_up(void *context, const struct client_wait *wait)
{
	struct left *left = context;

	left->ns -= earlier_time(wait->ns, left->ns);
	left->n_waits += wait->all_ns > 0;
	return left->ns == 0;
}

TEST_WITH_HELPERS(one_wait_uses_up_the_time_of_all)
{
	const struct mapping m = own_mapping();
	struct remote_handle handle;
	struct error e;
	struct left left = { .ns = NS_PER_S / 20 };

	assert_ok(open_it(&m, &handle, &e), e);
	client_set_manner(client, &(struct client_manner){ .serve = do_nothing,
							   .is_enough = is_used_up,
							   .context = &left });
	hold_up(ASK_OPEN);
	assert_int_equal(open_it(&m, &handle, &e), -EINTR);
	shared->counted = ASK_OPEN;
	shared->n_asked = 0;
	assert_true(left.n_waits > 0);
	left.n_waits = 0;
	for (int i = 0; i < 500; i++)
		assert_int_equal(open_it(&m, &handle, &e), -EINTR);
	assert_int_equal(left.n_waits, 0);
	assert_int_equal(shared->n_asked, 0);
	/* Nobody waits for the opener that was held up: it has been ended. */
	hold_up(0);
	set_patience(0);
	assert_ok(open_it(&m, &handle, &e), e);
}

TEST_MAIN(scratch_make, scratch_remove)
