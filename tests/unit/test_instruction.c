/* rooms: arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Zydis's tables, which are in the program packed: see arch/x86_64/instruction.c. */
#include "test.h"

#include <pthread.h>

#include "arch/instruction.h"

extern const uint8_t tables[] __asm__("__start_zydis_tables");
extern const uint8_t tables_end[] __asm__("__stop_zydis_tables");

static pthread_barrier_t barrier;

static void *decode_push(void *argument)
{
	static const uint8_t push[] = { 0x41, 0x57 }; /* push %r15 */
	struct instruction *ret = argument;

	(void)pthread_barrier_wait(&barrier);
	*ret = instruction_at(push, sizeof(push), 0);
	return NULL;
}

TEST(threads_may_decode_first_at_the_same_time)
{
	struct instruction found[8];
	pthread_t threads[ARRAY_SIZE(found)];

	assert_int_equal(pthread_barrier_init(&barrier, NULL, ARRAY_SIZE(found)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(found); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, decode_push, &found[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(found); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(found[i].kind, INSTRUCTION_PUSH);
		assert_int_equal(found[i].length, 2);
	}
}

TEST(the_tables_are_those_of_zydis)
{
	static const uint8_t nop = 0x90;
	const size_t n = (size_t)(tables_end - tables);
	cleanup_free uint8_t *wanted = xcalloc(1, n + 1);
	FILE *file = fopen(TEST_BUILD "/obj/zydis/tables.bin", "re");

	assert_int_equal(instruction_at(&nop, 1, 0).kind, INSTRUCTION_NOP);
	assert_non_null(file);
	assert_int_equal(fread(wanted, 1, n + 1, file), n);
	assert_int_equal(fclose(file), 0);
	assert_memory_equal(wanted, tables, n);
	assert_true(n > 200000);
}

TEST_MAIN(NULL, NULL)
