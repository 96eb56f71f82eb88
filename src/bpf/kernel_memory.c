// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/kernel_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/syscall.h"

/* The value of the array by which the programs and we exchange bytes. */
#define EXCHANGE_BYTES 65536
#define NAME_BYTES 64 /* of a symbol, in the exchange; its address is behind it */

struct kernel_memory {
	int array, reader, finder; /* finder: -1 if the kernel refuses it */
	uint8_t *exchange;
};

/* The context of the programs. */
struct request {
	uint64_t addr;
	uint64_t bytes;
};

/* Put the address of byte @at of the exchange into a register. */
#define GET_EXCHANGE(reg, array, at) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, reg, BPF_PSEUDO_MAP_VALUE, 0, array), INSN(0, 0, 0, 0, at)

static int load_reader(int array)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_2, BPF_REG_1,
		     offsetof(struct request, bytes), 0),
		INSN(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0, EXCHANGE_BYTES - 1),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_3, BPF_REG_1,
		     offsetof(struct request, addr), 0),
		GET_EXCHANGE(BPF_REG_1, array, 0),
		CALL(BPF_FUNC_probe_read_kernel),
		EXIT,
	};

	return instructions_load(BPF_PROG_TYPE_SYSCALL, 0, insns, ARRAY_SIZE(insns));
}

static int load_finder(int array)
{
	const struct bpf_insn insns[] = {
		GET_EXCHANGE(BPF_REG_1, array, 0),
		MOVE_IMM(BPF_REG_2, NAME_BYTES),
		MOVE_IMM(BPF_REG_3, 0),
		GET_EXCHANGE(BPF_REG_4, array, NAME_BYTES),
		CALL(BPF_FUNC_kallsyms_lookup_name),
		EXIT,
	};

	return instructions_load(BPF_PROG_TYPE_SYSCALL, 0, insns, ARRAY_SIZE(insns));
}

static int open_exchange(struct kernel_memory *m, struct error *e)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = EXCHANGE_BYTES,
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};
	void *at;

	m->array = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (m->array < 0)
		return error_errno(e, "make the map for the kernel's memory");
	at = mmap(NULL, EXCHANGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, m->array, 0);
	if (at == MAP_FAILED)
		return error_errno(e, "map the map for the kernel's memory");
	m->exchange = at;
	return 0;
}

int kernel_memory_open(struct kernel_memory **ret, struct error *e)
{
	cleanup(kernel_memory_freep) struct kernel_memory *m = xcalloc(1, sizeof(*m));
	int err;

	m->array = m->reader = m->finder = -1;
	err = open_exchange(m, e);
	if (err)
		return err;
	m->reader = load_reader(m->array);
	if (m->reader < 0)
		return error_errno(e, "load the program that reads the kernel's memory");
	m->finder = load_finder(m->array);
	*ret = TAKE(m);
	return 0;
}

void kernel_memory_freep(struct kernel_memory **m_ptr)
{
	struct kernel_memory *m = TAKE(*m_ptr);

	if (!m)
		return;
	if (m->exchange)
		(void)munmap(m->exchange, EXCHANGE_BYTES);
	cleanup_close_fd(&m->finder);
	cleanup_close_fd(&m->reader);
	cleanup_close_fd(&m->array);
	free(m);
}

/* Run a program once. False: it failed, or did not run. */
static bool run_memory_program(int program, struct request request)
{
	union bpf_attr attr = {
		.test = {
			.prog_fd = (uint32_t)program,
			.ctx_in = (uintptr_t)&request,
			.ctx_size_in = sizeof(request),
		},
	};

	return sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)) == 0 && attr.test.retval == 0;
}

const void *kernel_memory_read(struct kernel_memory *m, uint64_t addr, size_t bytes)
{
	if (bytes > KERNEL_PIECE_BYTES ||
	    !run_memory_program(m->reader, (struct request){ addr, bytes }))
		return NULL;
	return m->exchange;
}

uint64_t kernel_memory_symbol(struct kernel_memory *m, const char *name)
{
	uint64_t ret;

	if (m->finder < 0 || strlen(name) >= NAME_BYTES)
		return 0;
	memset(m->exchange, 0, NAME_BYTES);
	memcpy(m->exchange, name, strlen(name));
	if (!run_memory_program(m->finder, (struct request){}))
		return 0;
	memcpy(&ret, m->exchange + NAME_BYTES, sizeof(ret));
	return ret;
}
