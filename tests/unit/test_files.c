/* rooms: files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Children that read files of processes, with some that die, hang and lie: their file is lost, and
 * nothing else.
 */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "files/files.h"
#include "files/zygote.h"
#include "unit/children.h"
#include "unit/scratch.h"

#define LONG_NS (120 * NS_PER_S)
#define SHORT_NS 50000000ULL

/* What the next child that is asked for @what does in place of its work, or behind it. */
/* clang-format off */
enum trick {
	NO_TRICK, DIE, DIE_BY_SIGNAL, STOP, HANG, HANG_AT, WORK_ON, SAY_NOTHING, WAIT,
	/* Lies, of which some change a number, in the answer itself or in its data: */
	SET_ANSWER, ADD_TO_ANSWER, SET_DATA, ADD_TO_DATA, PAGES_FALL, PAGES_TOO_FAR,
	RULE_TOO_LARGE, NO_END_OF_WORDS, LIST_OVERLAPS, LIST_NO_END,
	/* What a child can do: */
	OPEN_A_PATH, COUNT_OPEN, COUNT_HANDLES, TELL_CPU_LIMIT,
};
/* clang-format on */

/* Shared with the children, which map it again: the zygote keeps no shared memory. */
static struct shared {
	uint32_t what;
	enum trick trick;
	uint32_t n_asked, flags, n; /* of the last question */
	int32_t found;
	pid_t child;
	enum step step;
	uint64_t dev;    /* of @step */
	bool is_held_up; /* who waits goes on when it is false */
	bool lets_stay;  /* all children that can; else parsers of names */
	size_t at;       /* of the number, with @value */
	uint32_t value;
} * shared;

static struct shared *map_shared(void)
{
	const int fd = open(scratch_lent("shared"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (st.st_size == 0 && ftruncate(fd, sizeof(*shared)) < 0))
		abort();

	void *at = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		abort();
	(void)close(fd);
	return at;
}

/* --- the children --- */

static void change_number(void *in, bool adds)
{
	uint32_t number;

	memcpy(&number, (char *)in + shared->at, sizeof(number));
	number = adds ? number + shared->value : shared->value;
	memcpy((char *)in + shared->at, &number, sizeof(number));
}

static void lie_of_table(char *data, enum trick trick)
{
	struct table_fact fact;

	memcpy(&fact, data, sizeof(fact));

	uint32_t *pages =
		(uint32_t *)(data + sizeof(fact) + fact.n_ranges * sizeof(struct range_fact));
	struct unwind_entry *entries = (struct unwind_entry *)(pages + fact.n_pages + 1);

	if (trick == PAGES_FALL)
		pages[0] = pages[1] + 1;
	else if (trick == PAGES_TOO_FAR)
		pages[fact.n_pages] = fact.n_entries + 1;
	else
		entries[fact.n_entries - 1].rule = (uint16_t)fact.n_rules;
}

static void lie(struct child *c, enum trick trick)
{
	switch (trick) {
	case SET_ANSWER:
	case ADD_TO_ANSWER:
		change_number(c->answer, trick == ADD_TO_ANSWER);
		break;
	case SET_DATA:
	case ADD_TO_DATA:
		change_number(c->data, trick == ADD_TO_DATA);
		break;
	case NO_END_OF_WORDS:
		memset(c->answer->words, 'x', sizeof(c->answer->words));
		break;
	case LIST_OVERLAPS:
		strcpy(c->data, "1000-3000 r-xp 0 0:0 0 \n2000-4000 r-xp 0 0:0 0 \n");
		c->answer->n_bytes = strlen(c->data) + 1;
		break;
	case LIST_NO_END:
		c->data[c->answer->n_bytes - 2] = 'x';
		break;
	default:
		lie_of_table(c->data, trick);
	}
}

/* The descriptors that this process has open, above standard error. */
static int count_open(bool handles_only)
{
	int n = 0;

	for (int fd = STDERR_FILENO + 1; fd < 4096; fd++) {
		const int flags = fcntl(fd, F_GETFL);

		n += flags >= 0 && (!handles_only || flags & O_PATH);
	}
	return n;
}

static void play_trick(struct child *c, enum trick trick)
{
	struct rlimit limit;

	switch (trick) {
	case DIE:
		_exit(1);
	case DIE_BY_SIGNAL:
		(void)raise(SIGKILL);
		break;
	case STOP:
		(void)raise(SIGSTOP);
		break;
	case HANG_AT:
		child_note_step(c, shared->step, shared->dev);
		for (;;)
			(void)pause();
	case HANG:
		child_note_step(c, STEP_NONE, 0);
		for (;;)
			(void)pause();
	case WAIT:
		while (__atomic_load_n(&shared->is_held_up, __ATOMIC_RELAXED))
			(void)usleep(1000);
		break;
	case WORK_ON:
		for (;;)
			;
	case SAY_NOTHING:
		_exit(0);
	case OPEN_A_PATH:
		shared->found = open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? -errno : 0;
		break;
	case COUNT_OPEN:
	case COUNT_HANDLES:
		shared->found = count_open(trick == COUNT_HANDLES);
		break;
	case TELL_CPU_LIMIT:
		shared->found = getrlimit(RLIMIT_CPU, &limit) < 0 ? -1 : (int32_t)limit.rlim_max;
		break;
	default:
		lie(c, trick);
	}
}

static int work_badly(struct child *c, struct error *e)
{
	bool is_played;
	int err;

	shared = map_shared();
	is_played = c->question.what == shared->what && shared->trick != NO_TRICK;
	(void)__atomic_fetch_add(&shared->n_asked, 1, __ATOMIC_RELAXED);
	shared->flags = c->question.flags;
	shared->n = c->question.n;
	shared->child = getpid();
	if (c->question.what != QUESTION_NAMES && !shared->lets_stay)
		c->question.flags &= ~(unsigned)STAYS; /* so that each question comes here */
	err = files_work(c, e);
	if (is_played)
		play_trick(c, __atomic_exchange_n(&shared->trick, NO_TRICK, __ATOMIC_RELAXED));
	return err;
}

/* --- the main process --- */

static struct files_purpose purpose;
static struct zygote zygote;
static struct places *places;
static struct files *files, *others[ZYGOTE_ASKERS - 1];
static size_t n_others;
static uint64_t own_offset; /* of count_open() in this program's file */

static int start(void **state)
{
	purpose = (struct files_purpose){ .lost = "user stacks may be cut (no unwind table)",
					  .after = "its other files get no unwind tables",
					  .most_of_user_ns = UINT64_MAX,
					  .finder_ns = LONG_NS,
					  .parser_ns = LONG_NS };
	shared = map_shared();
	memset(shared, 0, sizeof(*shared));
	n_others = 0;
	if (zygote_start(work_badly, &zygote, NULL))
		return -1;
	places = places_new();
	files = files_new(TAKE_FD(zygote.controls[0]), places, &purpose);
	return files ? 0 : -1;
}

static void free_others(void)
{
	while (n_others)
		files_free(others[--n_others]);
}

static int end(void **state)
{
	free_others();
	files_free(files);
	places_free(places);
	zygote_fini(&zygote);
	(void)munmap(shared, sizeof(*shared));
	return waitpid(zygote.pid, NULL, 0) == zygote.pid ? 0 : -1;
}

#define TEST_WITH_ZYGOTE(name) TEST_WITH(name, start, end)

static void trick(uint32_t what, enum trick trick)
{
	shared->what = what;
	shared->trick = trick;
}

/* Tell the next child that is asked for @what, which waits, or go on. */
static void hold_up(uint32_t what, bool is_held_up)
{
	trick(what, is_held_up ? WAIT : NO_TRICK);
	__atomic_store_n(&shared->is_held_up, is_held_up, __ATOMIC_RELAXED);
}

/* Another struct files of the same zygote, for the same places. Freed at the end of the test. */
static struct files *more_files(uint64_t ns, uint64_t most_of_user_ns)
{
	struct files_purpose other = purpose;
	const size_t i = n_others++;

	other.finder_ns = other.parser_ns = ns;
	other.most_of_user_ns = most_of_user_ns;
	assert_in_range(i, 0, ARRAY_SIZE(others) - 1);
	others[i] = files_new(TAKE_FD(zygote.controls[1 + i]), places, &other);
	assert_non_null(others[i]);
	return others[i];
}

/* What this program has mapped, with the states of its files. */
static void list_own(struct file_list *ret)
{
	assert_works(files_list(files, (uint32_t)getpid(), true, ret, &e));
}

static const struct mapping *mapping_of(const struct file_list *list, const void *function,
					const struct file_fact **ret)
{
	const struct mapping *m = mapping_list_at(&list->list, (uintptr_t)function);

	assert_non_null(m);
	*ret = &list->states[m - list->list.mappings];
	return m;
}

/* libc's table. */
static int make_libc_of(struct files *f, struct file_table *ret, struct error *e)
{
	cleanup(file_list_fini) struct file_list list = {};
	const struct file_fact *file;
	const struct mapping *m;

	list_own(&list);
	m = mapping_of(&list, (const void *)(uintptr_t)getenv, &file);
	assert_true(file->is_there && file->is_roots);
	return files_table(f, (uint32_t)getpid(), m, file, ret, e);
}

static int make_libc(struct file_table *ret, struct error *e)
{
	return make_libc_of(files, ret, e);
}

static const struct mapping vdso = { .path = "[vdso]" };

static void set_patience(uint64_t ns)
{
	files_set_manner(files, &(struct files_manner){ .patience_ns = ns });
}

static void expect_libc(void)
{
	cleanup(file_table_fini) struct file_table table = {};

	assert_works(make_libc(&table, &e));
	assert_true(table.fact.n_pages > 10 && table.fact.n_entries > 10000);
	assert_true(table.fact.n_ranges >= 1);
}

/* --- what children answer --- */

TEST_WITH_ZYGOTE(a_list_is_what_is_mapped)
{
	cleanup(file_list_fini) struct file_list list = {};
	cleanup(mapping_list_fini) struct mapping_list own = {};

	assert_works(mapping_list_read((uint32_t)getpid(), &own, &e));
	assert_works(files_list(files, (uint32_t)getpid(), false, &list, &e));
	assert_true(mapping_list_is_equal(&own, &list.list));
	assert_int_equal(list.list.tid, getpid());
	assert_true(list.cost > 0);
	assert_null(list.states);
}

TEST_WITH_ZYGOTE(states_are_those_of_the_files)
{
	cleanup(file_list_fini) struct file_list list = {};

	list_own(&list);
	for (size_t i = 0; i < list.list.n; i++) {
		const struct mapping *m = &list.list.mappings[i];
		const struct file_fact *file = &list.states[i];
		struct stat st;

		if (!m->inode) {
			assert_false(file->is_there);
			continue;
		}
		assert_int_equal(stat(m->path, &st), 0);
		assert_int_equal(file->size, st.st_size);
		assert_int_equal(file->changed, st.st_mtim.tv_sec);
		assert_int_equal(file->changed_ns, st.st_mtim.tv_nsec);
		assert_int_equal(file->inode, st.st_ino);
	}
}

TEST_WITH_ZYGOTE(a_process_that_has_gone_has_no_list)
{
	struct file_list list;
	struct error e;

	assert_int_equal(files_list(files, (uint32_t)child_gone(), true, &list, &e), -ESRCH);
	assert_non_null(strstr(e.text, "no process"));
}

TEST_WITH_ZYGOTE(the_vdso_has_a_table)
{
	cleanup(file_table_fini) struct file_table table = {};

	assert_works(files_table(files, (uint32_t)getpid(), &vdso, NULL, &table, &e));
	assert_true(table.fact.n_entries > 1);
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

TEST_WITH_ZYGOTE(a_file_that_has_changed_is_not_taken_for_what_it_was)
{
	cleanup_free char *path = scratch_path("file");
	struct file_names names;
	struct file_table table;
	struct file_fact file;
	struct held_file held;
	struct mapping m;

	copy_self(path, 0755);
	m = map_file(path);
	assert_true(files_fact(files, (uint32_t)getpid(), &m, &file));
	assert_works(files_open(files, (uint32_t)getpid(), HANDLE_NONE, &m, &held, &e));
	assert_int_equal(truncate(path, (off_t)file.size + 1), 0);
	assert_int_equal(files_table(files, (uint32_t)getpid(), &m, &file, &table, NULL), -EAGAIN);
	assert_int_equal(files_names(files,
				     &(struct names_question){ .file = &held,
							       .name = "file",
							       .root = HANDLE_NONE,
							       .path = path },
				     &names),
			 -ESTALE);
	(void)unlink(path);
}

TEST_WITH_ZYGOTE(what_is_no_program_has_no_table)
{
	cleanup_free char *path = scratch_path("file");
	struct file_table table;
	struct file_fact file;
	struct mapping m;
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fprintf(f, "%05000d", 0), 5000);
	(void)fclose(f);
	m = map_file(path);
	assert_true(files_fact(files, (uint32_t)getpid(), &m, &file));
	assert_int_equal(files_table(files, (uint32_t)getpid(), &m, &file, &table, NULL), -ENOEXEC);
	(void)unlink(path);
}

/* The children of the zygote that have not ended. */
static unsigned count_children(void)
{
	cleanup_free char *path = xasprintf("/proc/%d/task/%d/children", zygote.pid, zygote.pid);
	unsigned n = 0, pid;
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	while (fscanf(f, "%u", &pid) == 1)
		n++;
	(void)fclose(f);
	return n;
}

/* A name at this program's entry, by a question that allows the parser to stay. Returns how many
 * children that took. */
static unsigned ask_name(const struct held_file *held)
{
	static const char path[] = "/gone"; /* the file is that of the handle */
	const uint32_t before = shared->n_asked;
	struct names_question q = {
		.file = held, .name = "file", .root = HANDLE_NONE, .path = path
	};
	struct file_names names;
	struct debug_hint hint;
	uint64_t offset = own_offset;

	assert_int_equal(files_names(files, &q, &names), 0);
	hint = names.fact.hint;
	free(names.memory);
	q.hint = &hint;
	q.offsets = &offset;
	q.n = 1;
	assert_int_equal(files_names(files, &q, &names), 0);
	assert_string_equal(names_text(&names, names.facts[0].function), "count_open");
	free(names.memory);
	return shared->n_asked - before - 1;
}

static void hold_self(struct held_file *ret)
{
	cleanup(file_list_fini) struct file_list list = {};
	const struct file_fact *file;
	const struct mapping *own;

	list_own(&list);
	own = mapping_of(&list, (const void *)(uintptr_t)count_open, &file);
	own_offset = (uintptr_t)count_open - own->start + own->offset;
	assert_works(files_open(files, (uint32_t)getpid(), HANDLE_NONE, own, ret, &e));
}

TEST_WITH_ZYGOTE(a_parser_of_names_is_asked_again)
{
	struct held_file held;

	hold_self(&held);
	assert_int_equal(ask_name(&held), 1);
	assert_int_equal(ask_name(&held), 0);
	own_offset++;
	assert_int_equal(ask_name(&held), 0);
}

TEST_WITH_ZYGOTE(a_held_file_has_names_though_it_has_gone)
{
	cleanup_free char *path = scratch_path("file");
	struct names_question q = { .name = "file", .root = HANDLE_NONE, .path = path };
	struct file_names names;
	struct held_file held;
	struct mapping m;

	hold_self(&held); /* where the name is */
	copy_self(path, 0755);
	m = map_file(path);
	assert_works(files_open(files, (uint32_t)getpid(), HANDLE_NONE, &m, &held, &e));
	assert_true(held.handle >= FIRST_HANDLE);
	(void)unlink(path);
	(void)ask_name(&held);
	for (int i = 0; i < 8; i++) /* which is when handles are closed */
		files_close(files, held.handle);
	q.file = &held;
	assert_int_equal(files_names(files, &q, &names), -ESTALE);
}

TEST_WITH_ZYGOTE(a_parser_that_stays_may_be_ended_or_continued_by_others)
{
	static const int signals[] = { SIGKILL, SIGKILL, SIGCONT, SIGTERM };
	struct held_file held;

	hold_self(&held);
	(void)ask_name(&held);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		(void)kill(shared->child, signals[i]);
		while (i && signals[i] != SIGTERM && count_children())
			(void)usleep(1000);
		assert_int_equal(ask_name(&held), signals[i] == SIGTERM ? 0 : 1);
	}
}

TEST_WITH_ZYGOTE(finders_are_asked_again)
{
	struct file_fact fact = {};
	struct held_file held;

	shared->lets_stay = true;
	for (unsigned i = 0; i < 3; i++) {
		hold_self(&held); /* a list, and a file */
		files_look(files, &held, &fact);
		assert_true(file_fact_is_equal(&fact, &held.fact));
		assert_int_equal(shared->n_asked, 2);
	}
	for (unsigned i = 0; i < 2; i++) {
		(void)kill(shared->child, SIGKILL);
		hold_self(&held);
	}
	assert_int_equal(shared->n_asked, 4);
}

TEST_WITH_ZYGOTE(few_parsers_stay)
{
	struct held_file held[20];

	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		hold_self(&held[i]);
		assert_int_equal(ask_name(&held[i]), 1);
	}
	while (count_children() > 16)
		(void)usleep(1000);
	assert_int_equal(ask_name(&held[19]), 0);
	assert_int_equal(ask_name(&held[0]), 1);
}

#define N_PERF_BYTES 100000

/* A perf map of this process, to be removed. */
static char *make_perf_map(void)
{
	char *path = xasprintf("/tmp/perf-%d.map", getpid());
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fprintf(f, "%0*d", N_PERF_BYTES, 7), N_PERF_BYTES);
	assert_int_equal(fclose(f), 0);
	return path;
}

static int ask_own_perf_map(struct file_perf_map *ret)
{
	struct perf_question q = { .number = (uint32_t)getpid(), .user = getuid() };
	struct held_file root;
	int err;

	assert_works(files_open(files, (uint32_t)getpid(), HANDLE_NONE, NULL, &root, &e));
	q.root = root.handle;
	err = files_perf_map(files, &q, ret, &(struct error){});
	files_close(files, q.root);
	return err;
}

static void set_file_limit(rlim_t most)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* With ulimit -f. */
TEST_WITH_ZYGOTE(small_files_allow_no_question)
{
	struct file_list list;
	struct error e;
	int err;

	set_file_limit(AREA_BYTES - 1);
	err = files_list(files, (uint32_t)getpid(), false, &list, &e);
	set_file_limit(RLIM_INFINITY);
	assert_int_equal(err, -ENOTCONN);
	assert_non_null(strstr(e.text, "files may not have 80 MiB (ulimit -f)"));
}

#define OF_ANSWER(member) offsetof(struct answer, member)
#define OF_TABLE(member) offsetof(struct table_fact, member)
#define OF_NAMES(member) offsetof(struct symbols_fact, member)
#define STATE_BYTES sizeof(struct file_fact)

static const struct lie {
	uint32_t what;
	enum trick trick;
	size_t at;
	uint32_t value;
} lies[] = {
	{ QUESTION_LIST, SET_ANSWER, OF_ANSWER(result), 1 },
	{ QUESTION_LIST, SET_ANSWER, OF_ANSWER(result), INT32_MIN },
	{ QUESTION_LIST, ADD_TO_ANSWER, OF_ANSWER(n_bytes), -1 },
	{ QUESTION_LIST, ADD_TO_ANSWER, OF_ANSWER(n_bytes), 1 },
	{ QUESTION_LIST, ADD_TO_ANSWER, OF_ANSWER(n_bytes), STATE_BYTES },
	{ QUESTION_LIST, SET_DATA, 0, 'x' },
	{ QUESTION_LIST, LIST_OVERLAPS, 0, 0 },
	{ QUESTION_LIST, LIST_NO_END, 0, 0 },
	{ QUESTION_TABLE, SET_ANSWER, OF_ANSWER(n_bytes), sizeof(struct table_fact) - 1 },
	{ QUESTION_TABLE, SET_ANSWER, OF_ANSWER(n_bytes), AREA_BYTES },
	{ QUESTION_TABLE, ADD_TO_ANSWER, OF_ANSWER(n_bytes), 1 },
	{ QUESTION_TABLE, SET_DATA, OF_TABLE(n_ranges), MOST_RANGES + 1 },
	{ QUESTION_TABLE, SET_DATA, OF_TABLE(result), 1 },
	{ QUESTION_TABLE, ADD_TO_DATA, OF_TABLE(n_entries),
	  1U << 30 }, /* times 4 is 0 in 32 bits */
	{ QUESTION_TABLE, PAGES_FALL, 0, 0 },
	{ QUESTION_TABLE, PAGES_TOO_FAR, 0, 0 },
	{ QUESTION_TABLE, RULE_TOO_LARGE, 0, 0 },
	{ QUESTION_TABLE, NO_END_OF_WORDS, 0, 0 },
	{ QUESTION_OPEN, SET_ANSWER, OF_ANSWER(n), FIRST_HANDLE - 1 },
	{ QUESTION_OPEN, SET_ANSWER, OF_ANSWER(n), MOST_HANDLES },
	{ QUESTION_OPEN, SET_ANSWER, OF_ANSWER(n_bytes), 1 },
	{ QUESTION_NAMES, SET_DATA, OF_NAMES(n_build_id), 21 },
	{ QUESTION_NAMES, SET_DATA, OF_NAMES(hint.n_build_id), 65 },
	{ QUESTION_NAMES, SET_DATA, OF_NAMES(hint.link), 'a' | '/' << 8 },
	{ QUESTION_NAMES, SET_ANSWER, OF_ANSWER(n_bytes), 8 },
	{ QUESTION_NAMES, SET_DATA, OF_NAMES(n), 2 },
	{ QUESTION_NAMES, SET_DATA, OF_NAMES(n_calls), 1U << 30 },
	{ QUESTION_PERF_MAP, SET_ANSWER, OF_ANSWER(n_bytes), 1 },
};

/* Ask for the thing that @one is a lie about. */
static int ask_for(const struct lie *one, const struct mapping *m, struct held_file *held)
{
	const struct names_question names = { .file = held,
					      .name = "sh",
					      .root = HANDLE_NONE,
					      .path = "/bin/sh",
					      .offsets = &m->offset,
					      .n = 1 };
	struct file_list list = {};
	struct file_table table = {};
	struct held_file other;
	struct file_names named;
	struct file_perf_map map;
	struct error e;
	int err;

	switch (one->what) {
	case QUESTION_LIST:
		err = files_list(files, (uint32_t)getpid(), one->value == STATE_BYTES, &list, &e);
		assert_true(!list.list.mappings && !list.list.n);
		return err == -EAGAIN ? -EIO : err;
	case QUESTION_TABLE:
		err = make_libc(&table, &e);
		assert_string_equal(e.text, "its reader sent an invalid answer");
		assert_true(!table.memory && !table.fact.n_ranges);
		return err;
	case QUESTION_OPEN:
		return files_open(files, (uint32_t)getpid(), HANDLE_NONE, m, &other, &e);
	case QUESTION_NAMES:
		return files_names(files, &names, &named);
	default:
		return ask_own_perf_map(&map);
	}
}

TEST_WITH_ZYGOTE(an_answer_that_makes_no_sense_is_none)
{
	cleanup_free char *path = make_perf_map();
	struct mapping m = map_file("/bin/sh");
	struct held_file held;

	assert_works(files_open(files, (uint32_t)getpid(), HANDLE_NONE, &m, &held, &e));
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		shared->at = lies[i].at;
		shared->value = lies[i].value;
		trick(lies[i].what, lies[i].trick);

		const int err = ask_for(&lies[i], &m, &held);

		if (err != -EIO)
			fail_msg("lie %zu: %d", i, err);
		assert_int_equal(shared->trick, NO_TRICK);
	}
	expect_libc();
	(void)unlink(path);
}

TEST_WITH_ZYGOTE(what_a_finder_died_at_is_asked_of_the_next)
{
	struct file_list list;

	for (enum trick how = DIE; how <= STOP; how++) {
		trick(QUESTION_LIST, how);
		list_own(&list);
		assert_int_equal(shared->trick, NO_TRICK);
		file_list_fini(&list);
	}
}

TEST_WITH_ZYGOTE(a_child_that_dies_costs_the_file_that_it_was_reading)
{
	static const struct {
		enum trick trick;
		const char *words;
	} ends[] = { { DIE, "its reader ended early, as it does without memory" },
		     { SAY_NOTHING, "its reader sent an invalid answer" },
		     { DIE_BY_SIGNAL, "its reader was ended by signal 9 (Killed)" },
		     { STOP, "its reader" } };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		cleanup(file_table_fini) struct file_table table = {};
		struct error e;

		trick(QUESTION_TABLE, ends[i].trick);
		assert_int_equal(make_libc(&table, &e), -EIO);
		assert_non_null(strstr(e.text, ends[i].words));
		expect_libc();
	}
}

/* It is at work, which makes no place silent. */
TEST_WITH_ZYGOTE(a_child_that_takes_too_long_is_ended)
{
	cleanup(file_table_fini) struct file_table table = {};
	struct error e;

	trick(QUESTION_TABLE, WORK_ON);
	assert_int_equal(make_libc_of(more_files(SHORT_NS, UINT64_MAX), &table, &e), -EIO);
	assert_string_equal(e.text, "its reader takes too long");
	trick(QUESTION_TABLE, NO_TRICK);
	expect_libc();
	assert_true(places_may_ask(places, place_of(STEP_CONTENTS, shared->dev, 0)));
}

static void do_nothing(void *context)
{
}

static bool is_enough_at_once(void *context, bool is_roots, uint64_t ns, uint64_t all_ns)
{
	*(uint64_t *)context += ns;
	return all_ns >= SHORT_NS;
}

TEST_WITH_ZYGOTE(who_has_no_more_time_ends_the_child)
{
	uint64_t waited = 0;
	struct file_list list;
	pid_t hung;

	files_set_manner(files, &(struct files_manner){ .serve = do_nothing,
							.is_enough = is_enough_at_once,
							.context = &waited });
	trick(QUESTION_LIST, HANG);
	assert_int_equal(files_list(files, (uint32_t)getpid(), false, &list, NULL), -EINTR);
	hung = shared->child;
	trick(QUESTION_LIST, NO_TRICK);
	assert_true(waited >= SHORT_NS);
	files_set_manner(files, &(struct files_manner){});
	assert_works(files_list(files, (uint32_t)getpid(), false, &list, &e));
	file_list_fini(&list);
	while (hung && kill(hung, 0) == 0)
		(void)usleep(1000);
}

TEST_WITH_ZYGOTE(impatience_ends_the_wait_and_not_the_child)
{
	struct file_list list;

	hold_up(QUESTION_LIST, true);
	set_patience(SHORT_NS);
	assert_int_equal(files_list(files, (uint32_t)getpid(), false, &list, NULL), -ETIME);
	while (!shared->n_asked)
		(void)usleep(1000);
	for (int i = 0; i < 10; i++)
		assert_int_equal(files_list(files, (uint32_t)getpid(), false, &list, NULL),
				 -EAGAIN);
	assert_int_equal(shared->n_asked, 1);
	hold_up(QUESTION_LIST, false);
	set_patience(0);
	assert_works(files_list(files, (uint32_t)getpid(), false, &list, &e));
	assert_int_equal(shared->n_asked, 2);
	file_list_fini(&list);
}

/* In the table that @held is in. */
static int32_t count_handles(const struct held_file *held)
{
	struct file_fact fact;

	trick(QUESTION_FACT, COUNT_HANDLES);
	files_look(files, held, &fact);
	return shared->found;
}

TEST_WITH_ZYGOTE(files_that_come_too_late_are_closed_and_so_are_all_others)
{
	struct mapping m = map_file("/bin/sh");
	struct held_file held[8];
	const int own = count_open(false);

	for (size_t i = 0; i < ARRAY_SIZE(held); i++)
		assert_works(files_open(files, (uint32_t)getpid(), HANDLE_NONE, &m, &held[i], &e));
	assert_int_equal(count_handles(held), 8);
	hold_up(QUESTION_OPEN, true);
	set_patience(SHORT_NS);
	assert_int_equal(files_open(files, (uint32_t)getpid(), HANDLE_NONE, &m, &held[0], NULL),
			 -ETIME);
	for (size_t i = 0; i < ARRAY_SIZE(held); i++)
		files_close(files, held[i].handle);
	hold_up(QUESTION_OPEN, false);
	while (count_children())
		(void)usleep(1000);
	set_patience(0);
	for (size_t i = 1; i < ARRAY_SIZE(held); i++) { /* eight are closed together */
		assert_works(files_open(files, (uint32_t)getpid(), HANDLE_NONE, &m, &held[0], &e));
		files_close(files, held[0].handle);
	}
	assert_int_equal(count_handles(held), 0);
	assert_in_range(count_open(false), 0, own + 1); /* an area for the next question */
}

TEST_WITH_ZYGOTE(files_that_take_too_much_time_are_not_read_any_more)
{
	cleanup_free char *path = scratch_path("file");
	struct file_table table = {};
	struct files *f = more_files(LONG_NS, 1);
	struct file_fact file;

	for (int i = 0; i < 2; i++) {
		copy_self(path, 0755);
		assert_true(getuid() != 0 || chown(path, 65534, 65534) == 0);

		const struct mapping m = map_file(path);

		assert_true(files_fact(f, (uint32_t)getpid(), &m, &file));
		assert_int_equal(files_table(f, (uint32_t)getpid(), &m, &file, &table, NULL),
				 i ? -EDQUOT : 0);
		file_table_fini(&table);
		(void)unlink(path);
	}
	assert_int_equal(make_libc_of(f, &table, NULL), 0); /* root's are not counted */
	file_table_fini(&table);
}

/* Who holds the lock of its memory map holds up the tables of others. */
TEST_WITH_ZYGOTE(processes_that_hold_up_their_lists_are_not_asked_any_more)
{
	struct files *f = more_files(NS_PER_S + SHORT_NS, 1);
	struct file_list list;
	pid_t child;

	if (getuid() != 0)
		skip();
	child = child_start_as(NULL, 65534);
	do
		trick(QUESTION_LIST, HANG);
	while (files_list(f, (uint32_t)child, false, &list, NULL) == -EAGAIN && !shared->n_asked);
	trick(QUESTION_LIST, NO_TRICK);
	assert_true(list.cost > NS_PER_S);
	assert_int_equal(files_list(f, (uint32_t)child, false, &list, NULL), -EDQUOT);
	assert_works(files_list(f, (uint32_t)getpid(), false, &list, &e));
	file_list_fini(&list);
	child_end(child);
}

/* --- places that do not answer --- */

static void ask_facts(struct files *f, uint32_t whose)
{
	struct file_fact fact;

	files_look(f, &(struct held_file){ FIRST_HANDLE, { .dev = whose } }, &fact);
}

static void ask_perf_map(struct files *f, uint32_t whose)
{
	const struct perf_question q = { .root = 70, .number = 1, .user = whose };
	struct file_perf_map map;

	(void)!files_perf_map(f, &q, &map, &(struct error){});
	free(map.memory);
}

static void ask_root(struct files *f, uint32_t whose)
{
	struct held_file held;

	(void)!files_open(f, (uint32_t)getpid(), HANDLE_NONE, NULL, &held, &(struct error){});
}

static void ask_mapped(struct files *f, uint32_t whose)
{
	const struct mapping m = { .end = 4096, .dev = whose, .inode = 1, .path = "/none" };
	struct held_file held;

	(void)!files_open(f, (uint32_t)getpid(), HANDLE_NONE, &m, &held, &(struct error){});
}

static void ask_contents(struct files *f, uint32_t whose)
{
	const struct mapping m = { .end = 4096, .dev = 1, .inode = 1, .path = "/none" };
	const struct file_fact state = { .dev = whose, .is_roots = 1 };
	struct file_table table;

	(void)!files_table(f, (uint32_t)getpid(), &m, &state, &table, &(struct error){});
	file_table_fini(&table);
}

static void ask_names(struct files *f, uint32_t whose)
{
	static const struct debug_hint hint = { .link = "none.debug" };
	const struct held_file held = { FIRST_HANDLE, { .dev = whose, .owner = whose } };
	const struct names_question q = { .file = &held,
					  .name = "none",
					  .root = HANDLE_NONE,
					  .path = "/none/file",
					  .hint = &hint };
	struct file_names names;

	(void)!files_names(f, &q, &names);
}

/* Whoever hangs in @step leaves a silent place. It costs its own user's files there only. */
static const struct {
	const char *name;
	uint32_t what;
	enum step step;
	uint32_t flag; /* the question is asked, but does not look there; 0: it is not asked */
	void (*ask)(struct files *f, uint32_t whose);
} kinds[] = {
	{ "facts_of_a_silent_device_are_not_asked_for", QUESTION_FACT, STEP_HANDLE, 0, ask_facts },
	{ "perf_maps_at_a_silent_root_are_not_asked_for", QUESTION_PERF_MAP, STEP_PERF, 0,
	  ask_perf_map },
	{ "a_root_on_a_silent_path_is_not_asked_for", QUESTION_OPEN, STEP_PATH, 0, ask_root },
	{ "no_file_of_a_silent_path_is_looked_for_there", QUESTION_OPEN, STEP_PATH, SKIP_PATHS,
	  ask_mapped },
	{ "no_file_of_a_silent_device_is_looked_for_there", QUESTION_OPEN, STEP_MAPPED, SKIP_MAPPED,
	  ask_mapped },
	{ "no_table_of_silent_contents_is_asked_for", QUESTION_TABLE, STEP_CONTENTS, 0,
	  ask_contents },
	{ "no_names_of_silent_contents_are_asked_for", QUESTION_NAMES, STEP_CONTENTS, 0,
	  ask_names },
	{ "no_debug_file_at_a_silent_root_is_looked_for", QUESTION_NAMES, STEP_DEBUG, SKIP_DEBUG,
	  ask_names },
};

static bool is_asked(const struct files *f, size_t i, uint32_t whose)
{
	const uint32_t before = shared->n_asked;

	kinds[i].ask((struct files *)f, whose);
	return shared->n_asked > before && !(shared->flags & kinds[i].flag);
}

/* On a busy machine a child may not come to hang in time: then it was not silent. */
static void fall_silent(size_t i, uint32_t whose)
{
	struct files *hasty = more_files(4 * SHORT_NS, UINT64_MAX);

	shared->step = kinds[i].step;
	shared->dev = whose;
	do
		trick(kinds[i].what, HANG_AT);
	while (is_asked(hasty, i, whose));
	trick(kinds[i].what, NO_TRICK);
}

static void keep_away(void **state)
{
	size_t i = 0;

	while (*state != &kinds[i])
		i++;
	assert_int_equal(start(NULL), 0);
	assert_true(is_asked(files, i, 1000));
	fall_silent(i, 1000);
	assert_false(is_asked(files, i, 1000));
	/* Paths are places of a user, and this one's processes are all the same user's. */
	assert_int_equal(is_asked(files, i, 2000), kinds[i].step != STEP_PATH);
	expect_libc();
	assert_int_equal(end(NULL), 0);
}

TEST_ROWS(kinds, keep_away)

/* Nothing is found out about it when nobody asks. */
TEST_WITH_ZYGOTE(a_place_is_silent_though_nobody_waited_for_its_child)
{
	struct files *hasty = more_files(2 * SHORT_NS, UINT64_MAX);

	files_set_manner(hasty, &(struct files_manner){ .patience_ns = 1 });
	shared->step = STEP_PERF;
	do {
		trick(QUESTION_PERF_MAP, HANG_AT);
		ask_perf_map(hasty, 1000);
		(void)usleep(1000);
	} while (places_may_ask(places, place_of(STEP_PERF, 70, 1000)));
}

TEST_WITH_ZYGOTE(devices_that_are_silent_are_left_out_of_lists)
{
	cleanup(file_list_fini) struct file_list list = {}, again = {};
	const struct file_fact *file;
	const struct mapping *m;

	list_own(&list);
	m = mapping_of(&list, (const void *)(uintptr_t)getenv, &file);
	assert_int_equal(shared->n, 0);
	places_note_silence(places, place_of(STEP_MAPPED, m->dev, getuid()), false);
	list_own(&again);
	assert_int_equal(shared->n, 1);
	assert_int_equal(again.list.n, list.list.n);
	(void)mapping_of(&again, (const void *)(uintptr_t)getenv, &file);
	assert_false(file->is_there);
}

/* --- what a parser can do --- */

static int32_t found_by_parser(enum trick what)
{
	trick(QUESTION_TABLE, what);
	expect_libc();
	return shared->found;
}

TEST_WITH_ZYGOTE(a_parser_has_its_file_and_no_other_and_a_bound_of_cpu_time)
{
	const int32_t n_open = found_by_parser(COUNT_OPEN), err = found_by_parser(OPEN_A_PATH);

	assert_in_range(n_open, 1, IS_SANITIZED ? 2 : 1);
	assert_true(err == -EPERM || err == -EACCES);
	assert_in_range(found_by_parser(TELL_CPU_LIMIT), CHILD_CPU_S, CHILD_CPU_S + 1);
}

TEST_WITH_ZYGOTE(whoever_waits_returns_at_the_end)
{
	struct file_list list;

	expect_libc();
	trick(QUESTION_LIST, HANG);
	files_end(files);
	assert_int_equal(files_list(files, (uint32_t)getpid(), true, &list, NULL), -ECANCELED);
}

TEST_WITH_ZYGOTE(signals_that_end_a_program_are_the_main_process_s)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 };
	struct file_list list;

	hold_up(QUESTION_LIST, true);
	set_patience(1);
	assert_int_equal(files_list(files, (uint32_t)getpid(), false, &list, NULL), -ETIME);
	while (!shared->child)
		(void)usleep(1000);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		assert_int_equal(kill(zygote.pid, numbers[i]), 0);
		assert_int_equal(kill(shared->child, numbers[i]), 0);
	}
	hold_up(QUESTION_LIST, false);
	set_patience(0);
	expect_libc();
	assert_int_equal(shared->n_asked, 3);
}

/* Whoever has patience asks nothing more of it, but of others. */
TEST_WITH_ZYGOTE(a_device_that_does_not_answer_holds_up_no_process)
{
	cleanup(file_list_fini) struct file_list list = {};
	struct file_fact fact = {};
	struct held_file held;

	hold_self(&held);
	set_patience(1);
	trick(QUESTION_FACT, HANG);
	files_look(files, &held, &fact);
	assert_false(fact.is_there);
	set_patience(LONG_NS);
	list_own(&list);
	while (shared->trick != NO_TRICK)
		(void)usleep(1000);
	files_look(files, &held, &fact);
	assert_false(fact.is_there);
	held.fact.dev++; /* as a file on another device */
	files_look(files, &held, &fact);
	assert_true(fact.is_there);
}

TEST_WITH_ZYGOTE(children_end_with_who_asked_for_them)
{
	struct files *other = more_files(LONG_NS, UINT64_MAX);
	struct file_list list;
	pid_t child;

	files_set_manner(other, &(struct files_manner){ .patience_ns = 1 });
	trick(QUESTION_LIST, HANG);
	assert_int_equal(files_list(other, (uint32_t)getpid(), false, &list, NULL), -ETIME);
	while (__atomic_load_n(&shared->trick, __ATOMIC_RELAXED) != NO_TRICK)
		(void)usleep(1000);
	child = shared->child;
	expect_libc(); /* meanwhile others go on */
	assert_int_equal(kill(child, 0), 0);
	free_others();
	while (kill(child, 0) == 0)
		(void)usleep(1000);
	expect_libc();
}

TEST_WITH_ZYGOTE(children_end_with_the_zygote_and_then_all_fails)
{
	struct mapping m = map_file("/bin/sh");
	struct held_file held;
	struct file_list list;
	struct file_table table;
	struct error e;

	files_set_manner(files, &(struct files_manner){ .patience_ns = SHORT_NS });
	trick(QUESTION_OPEN, HANG);
	assert_int_equal(files_open(files, (uint32_t)getpid(), HANDLE_NONE, &m, &held, NULL),
			 -ETIME);
	while (!shared->child)
		(void)usleep(1000);
	assert_int_equal(kill(zygote.pid, SIGKILL), 0);
	while (kill(shared->child, 0) == 0)
		(void)usleep(1000);
	assert_int_equal(waitid(P_PID, (id_t)zygote.pid, NULL, WEXITED | WNOWAIT), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(files_list(files, (uint32_t)getpid(), true, &list, &e), -ENOTCONN);
		assert_string_equal(e.text, "no helper: the process that makes them has ended");
		assert_int_equal(files_table(files, (uint32_t)getpid(), &vdso, NULL, &table, &e),
				 -ENOTCONN);
	}
}

TEST_MAIN(scratch_make, scratch_remove)
