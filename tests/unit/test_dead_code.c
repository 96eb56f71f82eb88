/* rooms: base bpf */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Programs with and without their dead code; the running kernel tells whether both do the same. */
#include "test.h"

#include <linux/bpf.h>

#include "bpf/dead_code.h"
#include "bpf/instructions.h"
#include "bpf/unused_code.h"

#define MAP 77 /* the descriptor of the settings where no kernel looks at it */

static const uint32_t settings[] = { 0, 1, 0xfffffff0, 0, 0 };
static const struct program_constants constants = { MAP, settings, sizeof(settings),
						    .unknown = 16 };

#define ADDRESS(reg, map, offset) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, reg, BPF_PSEUDO_MAP_VALUE, 0, map), INSN(0, 0, 0, 0, offset)
#define LOAD(reg, from, offset) INSN(BPF_LDX | BPF_MEM | BPF_W, reg, from, offset, 0)
#define IF(op, reg, value, off) INSN(BPF_JMP | (op) | BPF_K, reg, 0, off, value)
#define GOTO(off) INSN(BPF_JMP | BPF_JA, 0, 0, off, 0)
#define ADD(reg, value) INSN(BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, value)
#define CALL_FUNCTION(off) INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, off)

static void assert_becomes(const struct bpf_insn *from, size_t n, const struct bpf_insn *wanted,
			   size_t n_wanted)
{
	struct bpf_insn insns[32];
	struct program_code code = { .insns = insns, .n = n };

	memcpy(insns, from, n * sizeof(*from));
	dead_code_remove(&constants, &code);
	unused_code_remove(&code);
	assert_int_equal(code.n, n_wanted);
	assert_memory_equal(insns, wanted, n_wanted * sizeof(*wanted));
}

#define BECOMES(from, wanted) assert_becomes(from, ARRAY_SIZE(from), wanted, ARRAY_SIZE(wanted))

TEST(a_setting_decides_a_branch)
{
	const struct bpf_insn never[] = {
		ADDRESS(1, MAP, 0), LOAD(2, 1, 0), MOVE_IMM(0, 5), IF(BPF_JNE, 2, 0, 1), EXIT,
		MOVE_IMM(0, 6),     EXIT,
	};
	const struct bpf_insn always[] = {
		ADDRESS(1, MAP, 4), LOAD(2, 1, 0), MOVE_IMM(0, 5), IF(BPF_JNE, 2, 0, 1), EXIT,
		MOVE_IMM(0, 6),     EXIT,
	};
	const struct bpf_insn five[] = { MOVE_IMM(0, 5), EXIT };
	const struct bpf_insn six[] = { MOVE_IMM(0, 6), EXIT };

	BECOMES(never, five);
	BECOMES(always, six);
}

TEST(a_setting_becomes_a_number)
{
	const struct bpf_insn from[] = { ADDRESS(1, MAP, 0), ADD(1, 4), LOAD(0, 1, 0), EXIT };
	const struct bpf_insn one[] = { MOVE_IMM(0, 1), EXIT };
	/* A move would extend its sign. */
	const struct bpf_insn large[] = { ADDRESS(1, MAP, 8), LOAD(0, 1, 0), EXIT };
	const struct bpf_insn beyond[] = { ADDRESS(1, MAP, 8), LOAD(0, 1, 12), EXIT };
	const struct bpf_insn other[] = { ADDRESS(1, MAP + 1, 0), LOAD(0, 1, 0), EXIT };

	BECOMES(from, one);
	BECOMES(large, large);
	BECOMES(beyond, beyond);
	BECOMES(other, other);
}

/* The kernel must see a tail call that is never made. */
TEST(an_unknown_setting_decides_nothing)
{
	const struct bpf_insn from[] = {
		ADDRESS(1, MAP, 16), LOAD(2, 1, 0), MOVE_IMM(0, 5), IF(BPF_JNE, 2, 0, 1), EXIT,
		MOVE_IMM(0, 6),      EXIT,
	};

	BECOMES(from, from);
}

TEST(what_a_loop_changes_is_not_known_in_it)
{
	const struct bpf_insn fallen_into[] = {
		MOVE_IMM(0, 0), IF(BPF_JGE, 0, 3, 2), ADD(0, 1), GOTO(-3), EXIT,
	};
	const struct bpf_insn jumped_into[] = {
		MOVE_IMM(0, 0), GOTO(0), IF(BPF_JGE, 0, 3, 2), ADD(0, 1), GOTO(-3), EXIT,
	};

	BECOMES(fallen_into, fallen_into);
	BECOMES(jumped_into, fallen_into);
}

/* Until Linux 6.1 the verifier refuses to fall into the head of a loop. */
TEST(the_jumps_of_a_loop_stay)
{
	const struct bpf_insn from[] = {
		ADDRESS(7, MAP, 0),
		LOAD(7, 7, 0),
		MOVE_IMM(6, 0),
		GOTO(3), /* to the condition */
		ADD(6, 1),
		IF(BPF_JNE, 7, 0, 2),
		GOTO(0),
		INSN(BPF_JMP32 | BPF_JLT | BPF_K, 6, 0, -4, 10),
		MOVE_REG(0, 6),
		EXIT,
	};
	const struct bpf_insn wanted[] = {
		MOVE_IMM(6, 0), GOTO(3), ADD(6, 1),
		GOTO(0),        GOTO(0), INSN(BPF_JMP32 | BPF_JLT | BPF_K, 6, 0, -4, 10),
		MOVE_REG(0, 6), EXIT,
	};

	BECOMES(from, wanted);
}

TEST(functions_that_nothing_calls_are_removed)
{
	struct bpf_insn insns[] = {
		ADDRESS(1, MAP, 0),
		LOAD(1, 1, 0),
		IF(BPF_JEQ, 1, 0, 1),
		CALL_FUNCTION(2), /* the first one, never */
		CALL_FUNCTION(4),
		EXIT,
		/* 7: */ MOVE_IMM(0, 1),
		CALL_FUNCTION(1),
		EXIT,
		/* 10: */ MOVE_IMM(0, 2),
		EXIT,
	};
	struct bpf_func_info functions[] = { { 0, 1 }, { 7, 2 }, { 10, 3 } };
	const struct bpf_insn wanted[] = { MOVE_IMM(1, 0), CALL_FUNCTION(1), EXIT, MOVE_IMM(0, 2),
					   EXIT };
	struct program_code code = { insns, ARRAY_SIZE(insns), functions, ARRAY_SIZE(functions) };

	dead_code_remove(&constants, &code);
	unused_code_remove(&code);
	assert_int_equal(code.n, ARRAY_SIZE(wanted));
	assert_memory_equal(insns, wanted, sizeof(wanted));
	assert_int_equal(code.n_functions, 2);
	assert_int_equal(functions[1].insn_off, 3);
	assert_int_equal(functions[1].type_id, 3);
}

/* --- the kernel's opinion --- */

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33);
}

static int map_of_settings(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY,
				.key_size = 4,
				.value_size = sizeof(settings),
				.max_entries = 1,
				.map_flags = BPF_F_RDONLY_PROG };
	const uint32_t key = 0;
	const int fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));

	assert_true(fd >= 0);
	attr = (union bpf_attr){ .map_fd = (__u32)fd,
				 .key = (uintptr_t)&key,
				 .value = (uintptr_t)settings };
	assert_int_equal(sys_bpf(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)), 0);
	attr = (union bpf_attr){ .map_fd = (__u32)fd };
	assert_int_equal(sys_bpf(BPF_MAP_FREEZE, &attr, sizeof(attr)), 0);
	return fd;
}

static uint32_t run_program(const struct program_code *code)
{
	uint8_t packet[64] = { 1, 2, 3, 200, 100, 50, 25, 12, 6, 3, 1 };
	cleanup(cleanup_close_fd) int fd =
		instructions_load(BPF_PROG_TYPE_SOCKET_FILTER, 0, code->insns, (unsigned)code->n);
	union bpf_attr attr = { .test = { .prog_fd = (__u32)fd,
					  .data_size_in = sizeof(packet),
					  .data_in = (uintptr_t)packet } };

	assert_true(fd >= 0);
	assert_int_equal(sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)), 0);
	return attr.test.retval;
}

/* Fill R0 to R5 with settings, numbers and the packet's length; then calculate and jump. */
static size_t make_program(uint64_t *seed, int map, struct bpf_insn *to)
{
	static const uint8_t ops[] = { BPF_MOV, BPF_ADD, BPF_SUB, BPF_AND, BPF_OR,  BPF_XOR,
				       BPF_MUL, BPF_NEG, BPF_RSH, BPF_LSH, BPF_ARSH };
	static const uint8_t jumps[] = { BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
					 BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };
	static const int numbers[] = { 0, 1, -1, 0xf0, INT32_MIN, 0x1234567 };
	const size_t n_body = 40;
	size_t n = 0;

	for (uint8_t reg = 0; reg < 6; reg++) {
		const int setting = (int)(next_random(seed) % 4) * 4;
		const struct bpf_insn load[] = { ADDRESS(7, map, setting), LOAD(reg, 7, 0) };
		const struct bpf_insn number[] = { MOVE_IMM(reg, numbers[next_random(seed) % 6]) };
		const struct bpf_insn length[] = { LOAD(reg, 1, 0) };
		const uint32_t kind = reg == 1 ? 3 : next_random(seed) % 3;

		if (kind == 0) {
			memcpy(to + n, load, sizeof(load));
			n += ARRAY_SIZE(load);
		} else if (kind == 1) {
			to[n++] = length[0];
		} else if (kind == 2) {
			to[n++] = number[0];
		}
	}

	const struct bpf_insn none = MOVE_IMM(1, 0); /* it was the context */

	to[n++] = none;
	for (size_t i = 0; i < n_body; i++) {
		const uint8_t dst = (uint8_t)(next_random(seed) % 6);
		const bool is_wide = next_random(seed) % 2, has_source = next_random(seed) % 2;
		uint8_t op = ops[next_random(seed) % ARRAY_SIZE(ops)];
		struct bpf_insn insn = { .dst_reg = dst };

		if (next_random(seed) % 3 == 0) {
			op = jumps[next_random(seed) % ARRAY_SIZE(jumps)];
			insn.code = (uint8_t)(op | (is_wide ? BPF_JMP : BPF_JMP32));
			insn.off = (int16_t)(next_random(seed) % (n_body - i));
		} else {
			insn.code = (uint8_t)(op | (is_wide ? BPF_ALU64 : BPF_ALU));
		}
		if (op == BPF_NEG && !insn.off) {
			to[n++] = insn;
			continue;
		}
		insn.code |= has_source ? BPF_X : BPF_K;
		if (has_source)
			insn.src_reg = (uint8_t)(next_random(seed) % 6) & 0xf;
		else
			insn.imm = numbers[next_random(seed) % 6];
		if (!has_source && (op == BPF_RSH || op == BPF_LSH || op == BPF_ARSH))
			insn.imm &= 31; /* for a jump just another number */
		to[n++] = insn;
	}
	for (uint8_t reg = 1; reg < 6; reg++) {
		const struct bpf_insn mix[] = { INSN(BPF_ALU64 | BPF_MUL | BPF_K, 0, 0, 0, 31),
						INSN(BPF_ALU64 | BPF_XOR | BPF_X, 0, reg, 0, 0) };

		memcpy(to + n, mix, sizeof(mix));
		n += ARRAY_SIZE(mix);
	}

	const struct bpf_insn end = EXIT;

	to[n++] = end;
	return n;
}

TEST(random_programs_give_the_same_result)
{
	cleanup(cleanup_close_fd) int map = map_of_settings();
	const struct program_constants here = { map, settings, sizeof(settings),
						.unknown = constants.unknown };
	size_t n_before = 0, n_after = 0;

	for (uint64_t seed = 1; seed <= 500; seed++) {
		uint64_t random = seed;
		struct bpf_insn insns[128];
		struct program_code code = { .insns = insns };

		code.n = make_program(&random, map, insns);
		assert_true(code.n <= ARRAY_SIZE(insns));
		n_before += code.n;

		const uint32_t wanted = run_program(&code);

		dead_code_remove(&here, &code);
		unused_code_remove(&code);
		n_after += code.n;
		if (run_program(&code) != wanted)
			fail_msg("program %u returns something else", (unsigned)seed);
	}
	assert_true(n_after < n_before * 9 / 10);
}

TEST_MAIN(NULL, NULL)
