/* rooms: reader helper unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Places that do not answer, and when they are tried again. */
#include "test.h"

#include <sys/prctl.h>

#include "reader/devices.h"

#define LONG_NS (120 * NS_PER_S)
#define PLACE 0x802

/* Stands for a helper that hangs in a file system. */
static pid_t start_hanging(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end_hanging(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct devices *d;

static int free_devices(void **state)
{
	devices_free(d);
	return 0;
}

#define TEST_OF_DEVICES(name) TEST_WITH(name, NULL, free_devices)

/*
 * Events at PLACE: s, a slow helper is silent. h or H, a helper hangs. e or E, that helper ends. a,
 * a helper answers. Expectations: +, PLACE may be asked. -, it may not.
 */
static const struct history {
	const char *name;
	uint64_t pause_ns;
	const char *heard;
} histories[] = {
	{ "a_place_where_a_helper_hangs_is_dead_at_once", LONG_NS, "+h-e-" },
	{ "one_that_was_only_slow_is_dead_the_second_time", LONG_NS, "s+as+s-" },
	/* Each try could leave one more helper behind, and there are four. The answer is to a
	 * question from before. */
	{ "nothing_is_tried_while_a_helper_hangs_there", 1, "h-a-e+" },
	{ "nothing_is_tried_while_one_of_two_helpers_hangs_there", 1, "hHe-a-E+" },
	/* Each silence costs its lane 2 s, whatever it answers in between. */
	{ "one_that_answers_now_and_then_is_dead_the_third_time", LONG_NS, "+sa+sa+s-a+s-" },
};

static void have_history(void **state)
{
	const struct history *row = *state;
	pid_t hanging[2] = {};

	d = devices_new(row->pause_ns);
	for (const char *at = row->heard; *at; at++) {
		pid_t *helper = &hanging[*at == 'H' || *at == 'E'];

		if (*at == 'h' || *at == 'H')
			*helper = start_hanging();
		if (*at == 'e' || *at == 'E')
			end_hanging(*helper);
		if (strchr("shH", *at))
			devices_note_silence(d, PLACE, *at == 's' ? 0 : *helper);
		if (*at == 'a')
			devices_note_answer(d, PLACE);
		if (*at == '+' || *at == '-')
			assert_int_equal(devices_may_ask(d, PLACE), *at == '+');
	}
	assert_true(devices_may_ask(d, PLACE + 1));
	devices_free(d);
}

TEST_ROWS(histories, have_history)

TEST_OF_DEVICES(after_a_while_without_a_silence_all_are_forgotten)
{
	d = devices_new(1);
	for (int i = 0; i < 10; i++) {
		devices_note_silence(d, PLACE, 0);
		(void)usleep(1000); /* 32 ns are enough */
		devices_note_answer(d, PLACE);
	}
	devices_note_silence(d, PLACE, 0);
	assert_true(devices_may_ask(d, PLACE));
}

TEST_OF_DEVICES(after_a_pause_one_question_tries_it_again)
{
	d = devices_new(NS_PER_S / 2);
	devices_note_silence(d, PLACE, 0);
	devices_note_silence(d, PLACE, 0);
	while (!devices_may_ask(d, PLACE))
		(void)usleep(1000);

	const uint64_t tried = clock_ns(CLOCK_MONOTONIC);
	const bool is_dead = !devices_may_ask(d, PLACE);

	/* Others wait for the answer to that one, or for another pause. */
	assert_true(is_dead || clock_ns(CLOCK_MONOTONIC) - tried >= NS_PER_S / 2);
	devices_note_answer(d, PLACE);
	for (int i = 0; i < 3; i++)
		assert_true(devices_may_ask(d, PLACE));
}

TEST_OF_DEVICES(the_pause_doubles_with_each_silence_up_to_a_bound)
{
	const uint64_t pause = NS_PER_S / 100;

	d = devices_new(pause);
	devices_note_silence(d, PLACE, 0);
	for (unsigned n = 2; n < 6; n++) {
		const uint64_t silent = clock_ns(CLOCK_MONOTONIC);

		devices_note_silence(d, PLACE, 0);
		while (!devices_may_ask(d, PLACE))
			(void)usleep(1000);
		assert_true(clock_ns(CLOCK_MONOTONIC) - silent >= pause << (n - 1));
	}
	for (int i = 0; i < 60; i++)
		devices_note_silence(d, PLACE, 0);
	while (!devices_may_ask(d, PLACE)) /* that ends */
		(void)usleep(1000);
}

TEST(what_lies_below_a_root_is_as_many_places_as_users_and_kinds)
{
	const uint64_t places[] = {
		devices_place_below(DEVICES_DEBUG_FILES, -1, 0),
		devices_place_below(DEVICES_DEBUG_FILES, 70, 0),
		devices_place_below(DEVICES_DEBUG_FILES, 70, 1000),
		devices_place_below(DEVICES_PERF_MAPS, 70, 1000),
		devices_place_below(DEVICES_PERF_MAPS, 71, UINT32_MAX),
		devices_place_of_contents(0xfe00000, 0),
		devices_place_of_contents(0xfe00000, 1000),
		devices_place_of_contents(0xfe00001, 1000),
		devices_place_of_mapped(0xfe00000, 0),
		devices_place_of_mapped(0xfe00000, 1000),
		devices_place_of_mapped(0xfe00001, 1000),
		71,
		0,
	};
	const size_t n = sizeof(places) / sizeof(places[0]);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(places[i] != places[k]);
}

TEST_MAIN(NULL, NULL)
