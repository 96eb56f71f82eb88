/* rooms: base helper arch */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "helper/channel.h"
#include "helper/lanes.h"
#include "unit/scratch.h"

#define PATIENCE_MS 120000 /* for what must happen */
#define LONG_NS (120 * NS_PER_S)
#define SHORT_NS 30000000ULL
#define N_AREA (1U << 20)
#define N_LARGE 100000
#define N_NEW 8 /* descriptors for a moment, when a helper is made */

enum { OPENER, PARSER, BROKEN, N_ROLES };

/* What the helpers of these tests are asked to do. */
/* clang-format off */
enum {
	ECHO = 1, DIE, STOP, LOOP, SLEEP, LIST_OPEN, CHURN, CUT_AREA, HOLD, HELD, HOLD_AND_DIE,
	PASS, TAKE_FILE, SEND_SHORT, SEND_LONG, SEND_EMPTY, WRONG_NUMBER, WRONG_BYTES,
	WRONG_RESULT, WRONG_ERRNO, WRONG_WORDS, ANSWER_TWICE, SEND_FILE,
};
/* clang-format on */

/* -- The helpers. -- */

static void lie(struct seat *seat, uint32_t what, struct answer *a)
{
	char bytes[sizeof(*a) + 1] = {};
	const int fd = seat->channel;

	memcpy(bytes, a, sizeof(*a));
	switch (what) {
	case SEND_SHORT:
		(void)!channel_send(fd, bytes, sizeof(*a) - 1);
		break;
	case SEND_LONG:
		(void)!channel_send(fd, bytes, sizeof(*a) + 1);
		break;
	case SEND_EMPTY:
		(void)!channel_send(fd, bytes, 0);
		break;
	case ANSWER_TWICE:
		(void)!channel_send(fd, bytes, sizeof(*a));
		break;
	case SEND_FILE:
		a->result = channel_pass(fd, bytes, sizeof(*a), (int[]){ STDIN_FILENO }, 1);
		break;
	case WRONG_NUMBER:
		a->number++;
		break;
	case WRONG_BYTES:
		a->n_bytes = seat->n_area + 1;
		break;
	case WRONG_RESULT:
		a->result = 1;
		break;
	case WRONG_ERRNO:
		a->result = INT32_MIN;
		break;
	case WRONG_WORDS:
		memset(a->words, 'x', sizeof(a->words));
		break;
	}
}

static void list_open(struct seat *seat, struct answer *a)
{
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			a->n_bytes += (unsigned)sprintf(seat->area + a->n_bytes, "%d ", fd);
}

static void take_file(struct seat *seat, struct answer *a)
{
	struct passed_file file;
	int fd = -1;

	a->result = seat_take(seat, &file, &fd);
	if (a->result)
		return;
	a->n = file.number;
	a->n_bytes = (uint64_t)read(fd, seat->area, 100);
	(void)close(fd);
}

static void on_ask(void *state, struct seat *seat, const struct ask *ask, const void *payload,
		   struct answer *a)
{
	volatile uint64_t turns = 0;
	struct stat st;
	int fd;

	switch (ask->what) {
	case ECHO:
		memcpy(seat->area, payload, ask->n_bytes);
		a->n_bytes = ask->n_bytes;
		a->n = (uint32_t)getpid();
		break;
	case DIE:
		(void)raise(SIGKILL);
		break;
	case STOP:
		(void)raise(SIGSTOP);
		break;
	case LOOP:
		for (;;)
			turns++;
	case SLEEP:
		for (;;)
			(void)pause();
	case LIST_OPEN:
		list_open(seat, a);
		break;
	case CHURN:
		(void)!channel_send(seat->channel, a, sizeof(*a));
		for (;;)
			memset(seat->area, (int)turns++, 4096);
	case CUT_AREA:
		a->result = ftruncate(STDERR_FILENO + 2, 0) < 0 ? -errno : 0;
		break;
	case HOLD:
		fd = open(payload, O_PATH | O_CLOEXEC);
		a->result = fd < 0 ? -errno : 0;
		a->n = (uint32_t)fd;
		break;
	case HELD:
		a->result = fstat((int)ask->file, &st) < 0 ? -errno : 0;
		a->n = (uint32_t)st.st_ino;
		break;
	case HOLD_AND_DIE:
		/* The note must not have this one any more: its number may be another file's. */
		fd = held_note(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
		held_close(&fd);
		for (size_t i = 0; i < 3; i++)
			(void)held_note(open("/proc/self/maps", O_PATH | O_CLOEXEC));
		(void)raise(SIGKILL);
		break;
	case PASS:
		fd = open(payload, O_RDONLY | O_CLOEXEC);
		a->result =
			fd < 0 ? -errno
			       : seat_pass((int)ask->file,
					   (struct passed_file){ ask->n, (int32_t)ask->pid }, fd);
		(void)close(fd);
		break;
	case TAKE_FILE:
		take_file(seat, a);
		break;
	default:
		lie(seat, ask->what, a);
	}
}

static void serve(struct seat *seat)
{
	seat_serve(seat, on_ask, NULL);
}

/* -- The main process. -- */

/* Not const: a test shortens the bounds for the one request that is to be late. */
static struct role roles[N_ROLES];

static const struct role usual[N_ROLES] = {
	[OPENER] = { "test-opener", SANDBOX_OPENER, serve, N_AREA, 0, LONG_NS, 0, 3 },
	[PARSER] = { "test-parser", SANDBOX_PARSER, serve, N_AREA, 0, LONG_NS, 0, 1 },
	/* An empty area cannot be mapped. */
	[BROKEN] = { "test-broken", SANDBOX_PARSER, serve, 0, 0, LONG_NS, 0, 1 },
};

static struct main_process {
	struct warden warden;
	struct lane *lane;
} m;

static int main_start(void **state)
{
	memcpy(roles, usual, sizeof(roles));
	assert_works(warden_start(roles, N_ROLES, &m.warden, &e));
	m.lane = lane_new(warden_take_control(&m.warden, 0), roles, N_ROLES);
	assert_non_null(m.lane);
	return 0;
}

static int main_end(void **state)
{
	lane_free(m.lane);
	warden_fini(&m.warden);
	return waitpid(m.warden.pid, NULL, 0) == m.warden.pid ? 0 : -1;
}

#define TEST_WITH_HELPERS(name) TEST_WITH(name, main_start, main_end)

static struct lane_event event; /* what happened last */

static void wait_readable(const struct lane *l)
{
	struct pollfd one = { .fd = lane_fd(l), .events = POLLIN };

	assert_int_equal(poll(&one, 1, PATIENCE_MS), 1);
}

static void next_event(struct lane *l, struct lane_event *ret)
{
	while (!lane_next(l, ret))
		wait_readable(l);
}

/* Ask as soon as a helper is free. Nothing else may happen before. */
static uint32_t ask_full(struct lane *l, unsigned role, struct ask *ask, const void *payload)
{
	struct lane_event none;
	int err;

	while ((err = lane_ask(l, role, ask, payload)) == -EAGAIN) {
		wait_readable(l);
		if (lane_next(l, &none))
			fail_msg("event %d, why %d, status %d, '%s'", none.what, none.why,
				 none.status, none.words);
	}
	assert_int_equal(err, 0);
	return ask->number;
}

static uint32_t ask(struct lane *l, unsigned role, uint32_t what)
{
	return ask_full(l, role, &(struct ask){ .what = what }, NULL);
}

static void get(struct lane *l, unsigned role, struct ask *question, const void *payload,
		struct lane_event *ret)
{
	const uint32_t number = ask_full(l, role, question, payload);

	next_event(l, ret);
	assert_int_equal(ret->what, LANE_ANSWER);
	assert_int_equal(ret->number, number);
}

static void expect_event(enum lane_what what)
{
	next_event(m.lane, &event);
	assert_int_equal(event.what, what);
}

/* PID of the helper of @role that answers, after it has answered as it should. */
static pid_t echo(struct lane *l, unsigned role)
{
	struct ask question = { .what = ECHO, .n_bytes = 6 };
	char text[6];

	get(l, role, &question, "hello", &event);
	assert_int_equal(event.answer.n_bytes, 6);
	assert_int_equal(area_read(event.area, 0, text, 6), 0);
	assert_string_equal(text, "hello");
	return (pid_t)event.answer.n;
}

/* -- What holds. -- */

TEST_WITH_HELPERS(a_helper_answers_small_and_large_questions)
{
	struct ask large = { .what = ECHO, .n_bytes = N_LARGE };
	struct ask too_large = { .what = ECHO, .n_bytes = N_AREA + 1 };
	cleanup_free char *sent = xcalloc(1, N_LARGE), *got = xcalloc(1, N_LARGE);

	assert_int_equal(echo(m.lane, PARSER), echo(m.lane, PARSER));
	for (size_t i = 0; i < N_LARGE; i++)
		sent[i] = (char)(i * 7);
	get(m.lane, PARSER, &large, sent, &event);
	assert_int_equal(area_read(event.area, 0, got, N_LARGE), 0);
	assert_memory_equal(got, sent, N_LARGE);
	assert_int_equal(area_read(event.area, N_AREA - 1, got, 2), -EBADMSG);
	assert_int_equal(lane_ask(m.lane, PARSER, &too_large, sent), -EFBIG);
	assert_int_not_equal(echo(m.lane, OPENER), echo(m.lane, PARSER));
}

TEST_WITH_HELPERS(one_that_dies_costs_its_request_and_is_replaced)
{
	for (unsigned role = OPENER; role <= PARSER; role++) {
		const pid_t first = echo(m.lane, role);
		const uint32_t number = ask(m.lane, role, DIE);

		expect_event(LANE_FAILED);
		assert_int_equal(event.why, LANE_DIED);
		assert_int_equal(event.number, number);
		assert_int_equal(event.status, SIGKILL);
		assert_int_not_equal(echo(m.lane, role), first);
	}
}

/* A request for which the bound is shortened, and what comes of it. */
static enum lane_why be_late(struct lane *l, uint32_t what, uint64_t *bound, struct lane_event *ret)
{
	const uint64_t former = *bound;
	const pid_t first = echo(l, PARSER);

	*bound = SHORT_NS;

	const uint32_t number = ask(l, PARSER, what);

	next_event(l, ret);
	assert_int_equal(ret->what, LANE_FAILED);
	assert_int_equal(ret->number, number);
	*bound = former;

	const enum lane_why why = ret->why; /* echo() may use @ret */

	assert_int_not_equal(echo(l, PARSER), first);
	return why;
}

TEST_WITH_HELPERS(one_that_is_late_is_ended_and_replaced)
{
	struct lane_event late;
	enum lane_why why;
	int n = 0;

	/* On a busy machine it may wait for a CPU before it sleeps. */
	while ((why = be_late(m.lane, SLEEP, &roles[PARSER].wall_ns, &event)) != LANE_SILENT)
		assert_true(why == LANE_SLOW && ++n < 100);
	assert_int_equal(be_late(m.lane, LOOP, &roles[PARSER].wall_ns, &event), LANE_SLOW);
	assert_int_equal(be_late(m.lane, LOOP, &roles[PARSER].cpu_ns, &late), LANE_SLOW);
	assert_true(late.cpu_ns >= SHORT_NS);
}

/* A signal stopped it. This says nothing about the file system, as LANE_SILENT would. */
TEST_WITH_HELPERS(one_that_is_stopped_has_died)
{
	assert_int_equal(be_late(m.lane, STOP, &roles[PARSER].wall_ns, &event), LANE_DIED);
}

/* The socket has the answer, though nobody looked for longer than the bound. */
TEST_WITH_HELPERS(an_answer_that_lies_ready_is_never_late)
{
	uint64_t begin;

	(void)echo(m.lane, PARSER);

	const uint32_t number = ask(m.lane, PARSER, LIST_OPEN);

	wait_readable(m.lane);
	roles[PARSER].wall_ns = 1;
	begin = clock_ns(CLOCK_MONOTONIC);
	while (clock_ns(CLOCK_MONOTONIC) - begin < 2000000)
		;
	expect_event(LANE_ANSWER);
	assert_int_equal(event.number, number);
}

TEST_WITH_HELPERS(one_that_lies_is_ended_and_replaced)
{
	static const uint32_t lies[] = { SEND_SHORT,  SEND_LONG,    SEND_EMPTY,  WRONG_NUMBER,
					 WRONG_BYTES, WRONG_RESULT, WRONG_ERRNO, WRONG_WORDS };

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		const pid_t first = echo(m.lane, PARSER);
		const uint32_t number = ask(m.lane, PARSER, lies[i]);

		expect_event(LANE_FAILED);
		/* An empty packet looks like the end of the one who sent it. */
		assert_int_equal(event.why, lies[i] == SEND_EMPTY ? LANE_DIED : LANE_LIED);
		assert_int_equal(event.number, number);
		assert_int_not_equal(echo(m.lane, PARSER), first);
	}
}

TEST_WITH_HELPERS(an_answer_that_nobody_asked_for_ends_who_gave_it)
{
	int status;

	const pid_t first = echo(m.lane, PARSER);
	const uint32_t number = ask(m.lane, PARSER, ANSWER_TWICE);

	expect_event(LANE_ANSWER);
	assert_int_equal(event.number, number);
	/* The request that it is asked next may be lost, and is told so. */
	status = (int)ask(m.lane, PARSER, ECHO);
	next_event(m.lane, &event);
	assert_int_equal(event.number, status);
	assert_true(event.what == LANE_FAILED && event.why == LANE_LIED);
	assert_int_not_equal(echo(m.lane, PARSER), first);
}

TEST_WITH_HELPERS(one_whose_contents_make_no_sense_is_ended_by_the_caller)
{
	pid_t first;

	first = echo(m.lane, PARSER);
	lane_distrust(m.lane);
	assert_int_not_equal(echo(m.lane, PARSER), first);
}

static bool has_mapped_an_area(void)
{
	cleanup_fclose FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:area"))
			return true;
	return false;
}

TEST_WITH_HELPERS(what_was_copied_of_an_area_does_not_change)
{
	struct ask question = { .what = CHURN };
	char copy[4096], same[4096];

	get(m.lane, PARSER, &question, NULL, &event);
	assert_false(has_mapped_an_area());
	/* It is written while it is read, and after. */
	for (int i = 0; i < 100; i++) {
		assert_int_equal(area_read(event.area, 0, copy, sizeof(copy)), 0);
		memcpy(same, copy, sizeof(copy));
		assert_memory_equal(same, copy, sizeof(copy));
	}
}

TEST_WITH_HELPERS(an_area_keeps_its_size)
{
	struct ask question = { .what = CUT_AREA };

	get(m.lane, PARSER, &question, NULL, &event);
	assert_int_equal(event.answer.result, -EPERM);
}

/* -- Files. -- */

static unsigned count_open(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int32_t pass(struct lane *l, const char *path, uint32_t files, int32_t pid)
{
	struct ask question = { .what = PASS,
				.file = files,
				.pid = (uint32_t)pid,
				.n = 77,
				.n_bytes = strlen(path) + 1 };

	get(l, OPENER, &question, path, &event);
	return event.answer.result;
}

TEST_WITH_HELPERS(a_file_goes_from_opener_to_parser_past_the_main_process)
{
	cleanup_free char *path = scratch_path("passed");
	struct ask take = { .what = TAKE_FILE };
	uint32_t files;
	int32_t pid;
	char text[9] = "";

	scratch_write("passed", "contents");
	assert_false(lane_address(m.lane, PARSER, &files, &pid));
	(void)echo(m.lane, PARSER);
	(void)echo(m.lane, OPENER);
	assert_true(lane_address(m.lane, PARSER, &files, &pid));

	const unsigned n_open = count_open();

	assert_int_equal(pass(m.lane, path, files, pid), 0);
	get(m.lane, PARSER, &take, NULL, &event);
	assert_int_equal(event.answer.result, 0);
	assert_int_equal(event.answer.n, 77);
	assert_int_equal(event.answer.n_bytes, 8);
	assert_int_equal(area_read(event.area, 0, text, 8), 0);
	assert_string_equal(text, "contents");
	/* One that was meant for a parser which has gone since. */
	assert_int_equal(pass(m.lane, path, files, pid + 1), 0);
	get(m.lane, PARSER, &take, NULL, &event);
	assert_int_equal(event.answer.result, -EBADMSG);
	get(m.lane, PARSER, &take, NULL, &event);
	assert_int_equal(event.answer.result, -EAGAIN);
	assert_int_equal(count_open(), n_open);
}

TEST_WITH_HELPERS(a_parser_that_takes_no_files_does_not_hold_an_opener_up)
{
	cleanup_free char *path = scratch_path("passed");
	uint32_t files;
	int32_t pid, err = 0;

	scratch_write("passed", "contents");
	(void)echo(m.lane, PARSER);
	assert_true(lane_address(m.lane, PARSER, &files, &pid));
	for (int i = 0; !err && i < 100000; i++)
		err = pass(m.lane, path, files, pid);
	assert_int_equal(err, -EAGAIN);
}

TEST_WITH_HELPERS(a_handle_outlives_its_opener_and_no_parser_has_it)
{
	static const char held[] = "/proc/self/maps";
	struct ask hold = { .what = HOLD, .n_bytes = sizeof(held) }, look = { .what = HELD };
	struct ask list = { .what = LIST_OPEN };
	char text[256] = "";
	uint32_t inode;

	get(m.lane, OPENER, &hold, held, &event);
	assert_int_equal(event.answer.result, 0);
	look.file = event.answer.n;
	assert_true(look.file >= 64);
	get(m.lane, OPENER, &look, NULL, &event);
	inode = event.answer.n;
	(void)ask(m.lane, OPENER, DIE);
	expect_event(LANE_FAILED);
	get(m.lane, OPENER, &look, NULL, &event);
	assert_int_equal(event.answer.result, 0);
	assert_int_equal(event.answer.n, inode);
	/* Standard ones (of nothing), channel, area, files. */
	get(m.lane, PARSER, &list, NULL, &event);
	assert_int_equal(area_read(event.area, 0, text, event.answer.n_bytes), 0);
	assert_string_equal(text, "0 1 2 3 4 5 ");
}

/* How many descriptors the openers' table has. */
static size_t count_shared(struct lane *l)
{
	struct ask list = { .what = LIST_OPEN };
	char text[8192] = "";
	size_t n = 0;

	get(l, OPENER, &list, NULL, &event);
	assert_in_range(event.answer.n_bytes, 1, sizeof(text) - 1);
	assert_int_equal(area_read(event.area, 0, text, event.answer.n_bytes), 0);
	for (const char *at = text; (at = strchr(at, ' ')); at++)
		n++;
	return n;
}

TEST_WITH_HELPERS(what_killed_openers_had_open_does_not_add_up)
{
	static const char held[] = "/proc/self/maps";
	struct ask hold = { .what = HOLD, .n_bytes = sizeof(held) }, look = { .what = HELD };
	size_t before;

	get(m.lane, OPENER, &hold, held, &event);
	look.file = event.answer.n;
	before = count_shared(m.lane);
	for (int i = 0; i < 40; i++) {
		(void)ask(m.lane, OPENER, HOLD_AND_DIE);
		expect_event(LANE_FAILED);
	}
	/* The warden may not have closed its ends of the last one's channel. */
	assert_in_range(count_shared(m.lane), before - N_NEW, before + N_NEW);
	get(m.lane, OPENER, &look, NULL, &event);
	assert_int_equal(event.answer.result, 0);
}

/* In a build with sanitizers there is no other layer that keeps it from that. */
TEST_WITH_HELPERS(by_landlock_a_parser_reaches_no_file)
{
	cleanup_free char *path = scratch_path("reached");
	struct ask question = { .what = PASS, .n_bytes = strlen(path) + 1 };

	scratch_write("reached", "contents");
	/* The opener has, and fails to send it to what is no socket. */
	get(m.lane, OPENER, &question, path, &event);
	assert_int_equal(event.answer.result, -ENOTSOCK);
	get(m.lane, PARSER, &question, path, &event);
	assert_int_equal(event.layers & LAYER_SECCOMP, 0);
	assert_int_equal(event.answer.result, event.layers & LAYER_LANDLOCK ? -EACCES : -ENOTSOCK);
}

TEST_WITH_HELPERS(another_opener_goes_on_while_one_waits)
{
	cleanup_free char *path = scratch_path("fifo");
	struct ask wait = { .what = PASS, .n_bytes = strlen(path) + 1 };
	pid_t others[2];
	int writer;

	assert_int_equal(mkfifo(path, 0600), 0);
	(void)echo(m.lane, OPENER);
	roles[OPENER].spare_after_ns = SHORT_NS;

	const uint32_t first = ask_full(m.lane, OPENER, &wait, path);

	others[0] = echo(m.lane, OPENER);

	const uint32_t second = ask_full(m.lane, OPENER, &wait, path);

	others[1] = echo(m.lane, OPENER);
	assert_int_not_equal(others[0], others[1]);
	/* There are three at most. */
	(void)ask_full(m.lane, OPENER, &wait, path);
	assert_int_equal(lane_ask(m.lane, OPENER, &wait, path), -EAGAIN);
	for (int i = 0; i < 10; i++) {
		(void)poll(NULL, 0, 10);
		assert_false(lane_next(m.lane, &event));
		assert_int_equal(lane_ask(m.lane, OPENER, &wait, path), -EAGAIN);
	}
	writer = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(writer >= 0);
	for (unsigned bits = 0, i = 0; i < 3; i++) {
		expect_event(LANE_ANSWER);
		bits |= (event.number == first) | (event.number == second) << 1;
		assert_true(i < 2 || bits == 3);
	}
	(void)close(writer);
}

TEST_WITH_HELPERS(one_that_cannot_start_says_why)
{
	struct ask question = { .what = ECHO };

	lane_want(m.lane, BROKEN);
	expect_event(LANE_UNABLE);
	assert_int_equal(event.role, BROKEN);
	assert_string_equal(event.words, "map the area: Invalid argument");
	assert_int_equal(lane_ask(m.lane, BROKEN, &question, NULL), -ENOTCONN);
	(void)echo(m.lane, PARSER);
}

/* -- Ends. -- */

/* Ended, though it may wait for its parent to know of it. */
static bool has_ended(pid_t pid)
{
	char path[64], text[512] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);

	cleanup_fclose FILE *f = fopen(path, "re");

	if (!f || !fgets(text, sizeof(text), f))
		return true;

	const char *name_end = strrchr(text, ')');

	return name_end && (name_end[2] == 'Z' || name_end[2] == 'X');
}

static void wait_for_ends(const pid_t *pids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int ms = 0; !has_ended(pids[i]); ms++) {
			assert_true(ms < PATIENCE_MS);
			(void)poll(NULL, 0, 1);
		}
}

TEST_WITH_HELPERS(all_helpers_end_with_the_warden)
{
	struct ask question = { .what = ECHO };

	const pid_t pids[] = { echo(m.lane, OPENER), echo(m.lane, PARSER) };

	(void)ask(m.lane, PARSER, LOOP);
	assert_int_equal(kill(m.warden.pid, SIGKILL), 0);
	expect_event(LANE_OVER);
	wait_for_ends(pids, ARRAY_SIZE(pids));
	assert_int_equal(lane_ask(m.lane, PARSER, &question, NULL), -ENOTCONN);
	assert_false(lane_next(m.lane, &event));
}

TEST_WITH_HELPERS(a_lane_ends_with_its_helpers_and_no_others)
{
	struct lane *other;
	pid_t pids[2], kept;

	other = lane_new(warden_take_control(&m.warden, 1), roles, N_ROLES);
	pids[0] = echo(other, OPENER);
	pids[1] = echo(other, PARSER);
	kept = echo(m.lane, PARSER);
	(void)ask(other, PARSER, LOOP);
	lane_free(other);
	wait_for_ends(pids, 2);
	assert_int_equal(echo(m.lane, PARSER), kept);
}

TEST_WITH_HELPERS(signals_that_end_a_program_are_the_main_process_s)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 };

	const pid_t pids[] = { m.warden.pid, echo(m.lane, OPENER), echo(m.lane, PARSER) };

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		for (size_t n = 0; n < ARRAY_SIZE(numbers); n++)
			assert_int_equal(kill(pids[i], numbers[n]), 0);
	assert_int_equal(echo(m.lane, OPENER), pids[1]);
	assert_int_equal(echo(m.lane, PARSER), pids[2]);
}

/* What was heard of helpers. */
struct heard {
	pid_t made, ended;
	char name[32]; /* when it was made */
};

static void hear(void *context, pid_t pid, bool is_there)
{
	struct heard *h = context;
	char path[64];

	if (!is_there) {
		h->ended = pid;
		return;
	}
	h->made = pid;
	(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);

	FILE *f = fopen(path, "re");

	assert_non_null(f);
	assert_non_null(fgets(h->name, sizeof(h->name), f));
	(void)fclose(f);
}

/* The first that it does is to take its own name. */
TEST_WITH_HELPERS(a_helper_begins_when_the_main_process_knows_it)
{
	struct heard heard = {};

	lane_hear(m.lane, hear, &heard);

	const pid_t pid = echo(m.lane, PARSER);

	assert_int_equal(heard.made, pid);
	assert_string_equal(heard.name, "helper-warden\n");
	assert_int_equal(kill(pid, SIGKILL), 0);
	while (heard.ended == 0) {
		wait_readable(m.lane);
		while (lane_next(m.lane, &event))
			;
	}
	assert_int_equal(heard.ended, pid);
}

TEST_WITH_HELPERS(a_warden_that_does_not_answer_is_told)
{
	struct ask echo_it = { .what = ECHO };

	(void)echo(m.lane, OPENER);
	assert_int_equal(kill(m.warden.pid, SIGSTOP), 0);
	roles[PARSER].wall_ns = SHORT_NS;
	assert_int_equal(lane_ask(m.lane, PARSER, &echo_it, NULL), -EAGAIN);
	expect_event(LANE_UNABLE);
	assert_string_equal(event.words, "the warden does not answer");
	(void)echo(m.lane, OPENER); /* goes on */
	roles[PARSER].wall_ns = LONG_NS;
	assert_int_equal(kill(m.warden.pid, SIGCONT), 0);
	while (lane_ask(m.lane, PARSER, &echo_it, NULL) == -ENOTCONN) /* not at once again */
		(void)usleep(1000);
}

TEST_WITH_HELPERS(descriptors_that_come_with_an_answer_do_not_stay)
{
	unsigned n_open;

	(void)echo(m.lane, PARSER);
	n_open = count_open();

	const uint32_t number = ask(m.lane, PARSER, SEND_FILE);

	/* Sent or refused, the answer with its result comes. */
	expect_event(LANE_ANSWER);
	assert_int_equal(event.number, number);
	assert_true(count_open() <= n_open);
}

TEST_MAIN(scratch_make, scratch_remove)
