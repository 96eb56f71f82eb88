/* rooms: tables helper reader unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What helpers do for unwind tables, with helpers that die, hang and lie: a file's table is lost,
 * and nothing else.
 */
#include "test.h"

#include <sys/mman.h>

#include "base/clock.h"
#include "reader/roles.h"
#include "tables/remote.h"
#include "unit/scratch.h"

#define LONG_NS (120 * NS_PER_S)
#define SHORT_NS 50000000ULL

/* What the next helper that is asked for @what does in place of its work. */
/* clang-format off */
enum trick {
	NO_TRICK, DIE, DIE_BY_SIGNAL, HANG, REFUSE,
	/* Lies of parsers: */
	TOO_SHORT, TOO_LONG, TOO_MANY_RANGES, PAGES_FALL, PAGES_TOO_FAR, RULE_TOO_LARGE,
	ENTRIES_OVERFLOW, RESULT_POSITIVE,
	/* Lies of openers: */
	LIST_TOO_SHORT, LIST_TOO_MANY, LIST_OVERLAPS, LIST_FALLS, LIST_NO_END, LIST_PATH_TOO_FAR,
	LIST_ODD, STATES_TOO_MANY,
};
/* clang-format on */

/* Shared with the helpers. */
static struct shared {
	uint32_t what;
	uint32_t role;
	enum trick trick;
	uint32_t n_asked[READER_ROLES];
} * shared;

/* -- The helpers. -- */

static void lie_of_table(struct seat *seat, enum trick trick, struct answer *a)
{
	struct table_fact fact;
	char *area = seat->area;

	memcpy(&fact, area, sizeof(fact));

	uint32_t *pages =
		(uint32_t *)(area + sizeof(fact) + fact.n_ranges * sizeof(struct range_fact));
	struct unwind_entry *entries = (struct unwind_entry *)(pages + fact.n_pages + 1);

	switch (trick) {
	case TOO_SHORT:
		a->n_bytes = sizeof(fact) - 1;
		break;
	case TOO_LONG:
		a->n_bytes++;
		break;
	case TOO_MANY_RANGES:
		fact.n_ranges = MOST_RANGES + 1;
		break;
	case PAGES_FALL:
		pages[0] = pages[1] + 1;
		break;
	case PAGES_TOO_FAR:
		pages[fact.n_pages] = fact.n_entries + 1;
		break;
	case RULE_TOO_LARGE:
		entries[fact.n_entries - 1].rule = (uint16_t)fact.n_rules;
		break;
	case ENTRIES_OVERFLOW:
		fact.n_entries += 1U << 30; /* times 4 is 0 in 32 bits */
		break;
	case RESULT_POSITIVE:
		fact.result = 1;
		break;
	default:
		break;
	}
	memcpy(area, &fact, sizeof(fact));
}

static void lie_of_list(struct seat *seat, enum trick trick, struct answer *a)
{
	struct block_head *head = (struct block_head *)seat->area;
	struct listed *list = (struct listed *)(head + 1);

	switch (trick) {
	case LIST_TOO_SHORT:
		a->n_bytes = sizeof(*head) - 1;
		break;
	case LIST_TOO_MANY:
		head->n = UINT32_MAX;
		break;
	case LIST_OVERLAPS:
		list[1].start = list[0].end - 1;
		break;
	case LIST_FALLS:
		list[0].end = list[0].start;
		break;
	case LIST_NO_END:
		seat->area[a->n_bytes - 1] = 'x';
		break;
	case LIST_PATH_TOO_FAR:
		list[0].path = (uint32_t)head->n_text;
		break;
	case LIST_ODD:
		list[0].is_deleted = 2;
		break;
	case STATES_TOO_MANY:
		a->n_bytes += sizeof(struct file_fact);
		break;
	default:
		break;
	}
}

static void answer_badly(unsigned role, struct seat *seat, const struct ask *ask, struct answer *a)
{
	const enum trick trick = shared->trick;

	if (trick == NO_TRICK || shared->role != role || shared->what != ask->what)
		return;
	if (trick != HANG)
		shared->trick = NO_TRICK;
	if (trick == DIE)
		_exit(1);
	if (trick == DIE_BY_SIGNAL)
		(void)raise(SIGKILL);
	while (trick == HANG)
		(void)pause();
	if (trick == REFUSE)
		a->result = -ESTALE;
	else if (trick >= LIST_TOO_SHORT)
		lie_of_list(seat, trick, a);
	else
		lie_of_table(seat, trick, a);
}

static void answer_open(void *state, struct seat *seat, const struct ask *ask, const void *payload,
			struct answer *a)
{
	shared->n_asked[ROLE_OPENER]++;
	opener_answer(state, seat, ask, payload, a);
	answer_badly(ROLE_OPENER, seat, ask, a);
}

static void answer_parse(void *state, struct seat *seat, const struct ask *ask, const void *payload,
			 struct answer *a)
{
	const unsigned role = *(const unsigned *)state;

	shared->n_asked[role]++;
	parser_answer(state, seat, ask, payload, a);
	answer_badly(role, seat, ask, a);
}

static void be_opener(struct seat *seat)
{
	seat_serve(seat, answer_open, NULL);
}

static void be_parser(struct seat *seat)
{
	unsigned role = ROLE_PARSER;

	seat_serve(seat, answer_parse, &role);
}

static void be_parser_of_others(struct seat *seat)
{
	unsigned role = ROLE_PARSER_OF_OTHERS;

	seat_serve(seat, answer_parse, &role);
}

/* -- The main process. -- */

static struct role roles[READER_ROLES]; /* not const: bounds are shortened for some requests */
static struct warden warden;
static struct client *client;
static struct devices *devices;
static struct remote_files *files;
static struct remote *remote;

static int start(void **state)
{
	memcpy(roles, reader_roles, sizeof(roles));
	roles[ROLE_OPENER].run = be_opener;
	roles[ROLE_PARSER].run = be_parser;
	roles[ROLE_PARSER_OF_OTHERS].run = be_parser_of_others;
	for (size_t i = 0; i < READER_ROLES; i++)
		roles[i].wall_ns = LONG_NS;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || warden_start(roles, READER_ROLES, &warden, NULL))
		return -1;
	client = client_new(lane_new(warden_take_control(&warden, 0), roles, READER_ROLES));
	devices = devices_new(DEVICES_PAUSE_NS);
	files = remote_files_new(client, devices, "user stacks may be cut (no unwind table)");
	remote = remote_new(files, UINT64_MAX);
	return 0;
}

static int end(void **state)
{
	remote_free(remote);
	remote_files_free(files);
	devices_free(devices);
	client_free(client);
	warden_fini(&warden);
	(void)munmap(shared, sizeof(*shared));
	return waitpid(warden.pid, NULL, 0) == warden.pid ? 0 : -1;
}

#define TEST_WITH_HELPERS(name) TEST_WITH(name, start, end)

static void trick(unsigned role, uint32_t what, enum trick trick)
{
	shared->role = role;
	shared->what = what;
	shared->trick = trick;
}

/* What this program has mapped, with the states of its files. */
static void list_own(struct remote_list *ret)
{
	assert_works(remote_list(files, (uint32_t)getpid(), ret, &e));
	remote_identify(files, ret);
}

static const struct mapping *mapping_of(const struct remote_list *list, const void *function,
					const struct file_state **ret)
{
	const struct mapping *m = mapping_list_at(&list->list, (uintptr_t)function);

	assert_non_null(m);
	*ret = &list->states[m - list->list.mappings];
	return m;
}

/* libc's table; ROLE_PARSER makes it, as the file is root's. */
static int make_libc(struct remote_table *ret, struct error *e)
{
	cleanup(remote_list_fini) struct remote_list list = {};
	const struct file_state *file;
	const struct mapping *m;

	list_own(&list);
	m = mapping_of(&list, (const void *)(uintptr_t)getenv, &file);
	assert_true(file->fact.is_there && file->fact.is_roots);
	return remote_table_make(remote, (uint32_t)getpid(), m, file, ret, e);
}

static void expect_libc(void)
{
	cleanup(remote_table_fini) struct remote_table table = {};

	assert_works(make_libc(&table, &e));
	assert_true(table.view.n_pages > 10 && table.view.n_entries > 10000);
	assert_true(table.view.n_ranges >= 1);
}

/* -- What holds. -- */

TEST_WITH_HELPERS(a_list_is_what_is_mapped)
{
	cleanup(remote_list_fini) struct remote_list list = {};
	cleanup(mapping_list_fini) struct mapping_list own = {};

	assert_works(mapping_list_read((uint32_t)getpid(), &own, &e));
	assert_works(remote_list(files, (uint32_t)getpid(), &list, &e));
	assert_true(mapping_list_is_equal(&own, &list.list));
	assert_int_equal(list.list.tid, getpid());
	assert_true(list.cost > 0);
}

TEST_WITH_HELPERS(states_are_those_of_the_files)
{
	cleanup(remote_list_fini) struct remote_list list = {};

	list_own(&list);
	for (size_t i = 0; i < list.list.n; i++) {
		const struct mapping *m = &list.list.mappings[i];
		const struct file_state *file = &list.states[i];
		struct stat st;

		if (!m->inode) {
			assert_false(file->fact.is_there);
			continue;
		}
		assert_int_equal(stat(m->path, &st), 0);
		assert_int_equal(file->fact.size, st.st_size);
		assert_int_equal(file->fact.changed, st.st_mtim.tv_sec);
		assert_int_equal(file->fact.changed_ns, st.st_mtim.tv_nsec);
		assert_int_equal(file->inode, st.st_ino);
	}
}

TEST_WITH_HELPERS(a_process_that_has_gone_has_no_list)
{
	struct remote_list list;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(remote_list(files, (uint32_t)pid, &list, NULL), -ESRCH);
}

TEST_WITH_HELPERS(a_table_that_makes_no_sense_is_none_and_its_reader_goes)
{
	static const enum trick lies[] = { TOO_SHORT,        TOO_LONG,       TOO_MANY_RANGES,
					   PAGES_FALL,       PAGES_TOO_FAR,  RULE_TOO_LARGE,
					   ENTRIES_OVERFLOW, RESULT_POSITIVE };

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		cleanup(remote_table_fini) struct remote_table table = {};
		struct error e;

		trick(ROLE_PARSER, ASK_TABLE, lies[i]);
		assert_int_equal(make_libc(&table, &e), -EIO);
		assert_string_equal(e.text, "its reader sent an invalid answer");
		assert_null(table.memory);
		assert_int_equal(table.view.n_ranges, 0);
	}
	expect_libc();
}

TEST_WITH_HELPERS(a_list_that_makes_no_sense_is_none)
{
	for (enum trick lie = LIST_TOO_SHORT; lie <= LIST_ODD; lie++) {
		cleanup(remote_list_fini) struct remote_list list = {};

		trick(ROLE_OPENER, ASK_LIST, lie);
		assert_int_equal(remote_list(files, (uint32_t)getpid(), &list, NULL), -EBADMSG);
		assert_int_equal(list.list.n, 0);
	}
	expect_libc();
}

TEST_WITH_HELPERS(states_of_more_files_than_were_asked_for_are_none)
{
	cleanup(remote_list_fini) struct remote_list list = {};

	trick(ROLE_OPENER, ASK_STATES, STATES_TOO_MANY);
	list_own(&list);
	assert_int_equal(shared->trick, NO_TRICK);
	expect_libc();
}

TEST_WITH_HELPERS(a_reader_that_dies_costs_the_file_that_it_was_reading)
{
	static const enum trick ends[] = { DIE, DIE_BY_SIGNAL };
	static const char *const words[] = { "its reader ended",
					     "its reader was ended by signal 9 (Killed)" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		cleanup(remote_table_fini) struct remote_table table = {};
		struct error e;

		trick(ROLE_PARSER, ASK_TABLE, ends[i]);
		assert_int_equal(make_libc(&table, &e), -EIO);
		assert_string_equal(e.text, words[i]);
		expect_libc();
	}
}

TEST_WITH_HELPERS(a_reader_that_takes_too_long_is_ended)
{
	cleanup(remote_table_fini) struct remote_table table = {};
	struct error e;

	expect_libc();
	roles[ROLE_PARSER].wall_ns = SHORT_NS;
	trick(ROLE_PARSER, ASK_TABLE, HANG);
	assert_int_equal(make_libc(&table, &e), -EIO);
	/* On a busy machine it may not come to hang in time. */
	if (strcmp(e.text, "its reader takes too long") != 0)
		assert_string_equal(e.text, "its reader waits for a file system");
	roles[ROLE_PARSER].wall_ns = LONG_NS;
	trick(ROLE_PARSER, ASK_TABLE, NO_TRICK);
	expect_libc();
}

TEST_WITH_HELPERS(what_an_opener_died_at_is_asked_of_the_next)
{
	cleanup(remote_list_fini) struct remote_list list = {};

	trick(ROLE_OPENER, ASK_LIST, DIE);
	assert_works(remote_list(files, (uint32_t)getpid(), &list, &e));
	assert_int_equal(shared->trick, NO_TRICK);
	trick(ROLE_OPENER, ASK_FILE, DIE_BY_SIGNAL);
	expect_libc();
	assert_int_equal(shared->trick, NO_TRICK);
	trick(ROLE_OPENER, ASK_FILE, REFUSE);
	expect_libc(); /* by its path */
	assert_int_equal(shared->trick, NO_TRICK);
}

/* A mapping of the file at @path, which is there for as long as this program runs. */
static struct mapping map_file(const char *path)
{
	cleanup(mapping_list_fini) struct mapping_list own = {};
	FILE *f = fopen(path, "re");
	struct mapping ret;

	assert_non_null(f);

	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);

	(void)fclose(f);
	assert_true(at != MAP_FAILED);
	assert_works(mapping_list_read((uint32_t)getpid(), &own, &e));
	ret = *mapping_list_at(&own, (uintptr_t)at);
	ret.path = path;
	return ret;
}

static void copy_self(const char *path, mode_t mode)
{
	cleanup_free char *command = xasprintf("cp /proc/%d/exe %s", getpid(), path);

	assert_int_equal(system(command), 0);
	assert_int_equal(chmod(path, mode), 0);
}

TEST_WITH_HELPERS(files_that_others_may_write_to_have_a_reader_of_their_own)
{
	cleanup_free char *path = scratch_path("file");
	cleanup(remote_table_fini) struct remote_table table = {};
	struct file_state file;
	struct mapping m;

	copy_self(path, 0775);
	m = map_file(path);
	assert_true(remote_state(files, (uint32_t)getpid(), &m, &file));
	assert_false(file.fact.is_roots);
	assert_works(remote_table_make(remote, (uint32_t)getpid(), &m, &file, &table, &e));
	assert_int_equal(shared->n_asked[ROLE_PARSER], 0);
	assert_int_equal(shared->n_asked[ROLE_PARSER_OF_OTHERS], 1);
	(void)unlink(path);
}

/* By one user. Root's are not counted. */
TEST_WITH_HELPERS(files_that_take_too_much_time_are_not_read_any_more)
{
	cleanup_free char *path = scratch_path("file");
	cleanup(remote_table_fini) struct remote_table table = {};
	struct file_state file;

	remote_free(remote);
	remote = remote_new(files, 1);
	for (int i = 0; i < 2; i++) {
		copy_self(path, 0755);
		assert_true(getuid() != 0 || chown(path, 65534, 65534) == 0);

		const struct mapping m = map_file(path);

		assert_true(remote_state(files, (uint32_t)getpid(), &m, &file));
		assert_int_equal(
			remote_table_make(remote, (uint32_t)getpid(), &m, &file, &table, NULL),
			i ? -EDQUOT : 0);
		remote_table_fini(&table);
		(void)unlink(path);
	}
	expect_libc();
	expect_libc();
}

/* Who holds the lock of its memory map holds up the tables of others. */
TEST_WITH_HELPERS(processes_that_hold_up_their_lists_are_not_asked_any_more)
{
	cleanup(remote_list_fini) struct remote_list list = {};
	struct error why;
	const pid_t child = fork();

	if (child == 0) {
		(void)!setuid(65534);
		for (;;)
			pause();
	}
	remote_free(remote);
	remote = remote_new(files, 1);
	while (finding_user_of((uint32_t)child) == 0 && getuid() == 0)
		(void)usleep(1000);
	roles[ROLE_OPENER].wall_ns = NS_PER_S + SHORT_NS;
	trick(ROLE_OPENER, ASK_LIST, HANG);
	assert_int_equal(remote_mappings(remote, (uint32_t)child, &list, &why), -EIO);
	roles[ROLE_OPENER].wall_ns = LONG_NS;
	trick(ROLE_OPENER, ASK_LIST, NO_TRICK);
	assert_int_equal(remote_mappings(remote, (uint32_t)child, &list, &why), -EDQUOT);
	if (getuid() == 0)
		assert_works(remote_mappings(remote, (uint32_t)getpid(), &list, &e));
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

TEST_WITH_HELPERS(a_file_that_has_changed_is_not_taken_for_what_it_was)
{
	cleanup_free char *path = scratch_path("file");
	struct remote_table table;
	struct file_state file;
	struct mapping m;

	copy_self(path, 0755);
	m = map_file(path);
	assert_true(remote_state(files, (uint32_t)getpid(), &m, &file));
	assert_int_equal(truncate(path, (off_t)file.fact.size + 1), 0);
	assert_int_equal(remote_table_make(remote, (uint32_t)getpid(), &m, &file, &table, NULL),
			 -EAGAIN);
	(void)unlink(path);
}

TEST_WITH_HELPERS(what_is_no_program_has_no_table)
{
	cleanup(remote_list_fini) struct remote_list list = {};
	cleanup_free char *path = scratch_path("file");
	struct remote_table table;
	struct file_state file;
	struct mapping m;

	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fprintf(f, "%05000d", 0), 5000);
	(void)fclose(f);
	m = map_file(path);
	assert_true(remote_state(files, (uint32_t)getpid(), &m, &file));
	assert_int_equal(remote_table_make(remote, (uint32_t)getpid(), &m, &file, &table, NULL),
			 -ENOEXEC);
	(void)unlink(path);
}

TEST_WITH_HELPERS(the_vdso_has_a_table)
{
	cleanup(remote_table_fini) struct remote_table table = {};

	assert_works(remote_table_of_vdso(remote, &table, &e));
	assert_true(table.view.n_entries > 1);
}

TEST_WITH_HELPERS(without_a_warden_all_fails_and_nothing_waits)
{
	struct remote_list list;
	struct remote_table table;
	struct error e;

	expect_libc();
	assert_int_equal(kill(warden.pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)warden.pid, NULL, WEXITED | WNOWAIT), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(remote_list(files, (uint32_t)getpid(), &list, &e), -ENOTCONN);
		assert_string_equal(e.text, "no helper: the process that makes them has ended");
		assert_int_equal(remote_table_of_vdso(remote, &table, &e), -ENOTCONN);
	}
}

TEST_WITH_HELPERS(whoever_waits_returns_at_the_end)
{
	struct remote_list list;

	expect_libc();
	trick(ROLE_OPENER, ASK_LIST, HANG);
	client_end(client);
	assert_int_equal(remote_list(files, (uint32_t)getpid(), &list, NULL), -ECANCELED);
}

TEST_MAIN(scratch_make, scratch_remove)
