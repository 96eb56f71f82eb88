// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Try features of the kernel. Each probe does its thing in the small: it loads a program of a few
 * instructions, or requests a link that cannot be made. The kernel's error tells whether it knows
 * the request. A version would not tell: distributions configure features out and backport others.
 *
 * We call bpf(2) directly: libbpf's own probes answer other questions, and are slower.
 */
#include "attach/features.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/syscall.h"
#include "base/memory.h"

static int load_empty(enum bpf_prog_type type, unsigned attach_type)
{
	const struct bpf_insn insns[] = { MOVE_IMM(BPF_REG_0, 0), EXIT };

	return instructions_load(type, attach_type, insns, ARRAY_SIZE(insns));
}

/* Does the verifier accept a tracing program of these instructions? */
static bool accepts_instructions(const struct bpf_insn *insns, unsigned n)
{
	cleanup_close int fd = instructions_load(BPF_PROG_TYPE_KPROBE, 0, insns, n);

	return fd >= 0;
}

/*
 * Since Linux commit 34dd3bad1a6f ("bpf: Relax the requirement to use preallocated hash maps in
 * tracing progs.") (in v6.1). Before that, such maps could deadlock tracing programs in the
 * allocator, but the verifier refused them to perf event programs only. So this tries one of those.
 * A kernel with such maps has all else that every run needs, bpf_loop() among it. If it refuses the
 * trial for another reason, the load of the tool's own programs will tell why.
 */
static bool lacks_on_demand_maps(void)
{
	const union bpf_attr create = {
		.map_type = BPF_MAP_TYPE_HASH,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 1,
		.map_flags = BPF_F_NO_PREALLOC,
	};
	cleanup_close int map = sys_bpf(BPF_MAP_CREATE, &create, sizeof(create));
	const struct bpf_insn insns[] = {
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
		MOVE_REG(BPF_REG_2, BPF_REG_10),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0), /* the second half of the load */
		CALL(BPF_FUNC_map_lookup_elem),
		MOVE_IMM(BPF_REG_0, 0),
		EXIT,
	};
	char said[512] = "";
	const union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)insns,
		.insn_cnt = ARRAY_SIZE(insns),
		.license = (uintptr_t) "GPL",
		.log_buf = (uintptr_t)said,
		.log_size = sizeof(said),
		.log_level = 1,
	};
	cleanup_close int fd = sys_bpf(BPF_PROG_LOAD, &load, sizeof(load));

	return fd < 0 && strstr(said, "preallocated");
}

/*
 * Since Linux commit 0dcac2725406 ("bpf: Add multi kprobe link") (in v5.18), with CONFIG_FPROBE.
 * Without it the kernel returns EOPNOTSUPP.
 */
static bool has_kprobe_multi(void)
{
	cleanup_close int prog = load_empty(BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI);
	if (prog < 0)
		return false;

	/* Unreadable addresses: the kernel reads them last. */
	union bpf_attr attr = {
		.link_create = {
			.prog_fd = prog,
			.attach_type = BPF_TRACE_KPROBE_MULTI,
			.kprobe_multi = { .cnt = 1, .addrs = 8 },
		},
	};
	cleanup_close int link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));

	return link < 0 && errno == EFAULT;
}

/*
 * Since Linux commit 89ae89f53d20 ("bpf: Add multi uprobe link") (in v6.6). Usable since
 * 46ba0e49b642 ("bpf: fix multi-uprobe PID filtering logic"). Before that, the kernel traced only
 * one thread of the process.
 */
static bool has_uprobe_multi(void)
{
	cleanup_close int prog = load_empty(BPF_PROG_TYPE_KPROBE, ABI_TRACE_UPROBE_MULTI);
	if (prog < 0)
		return false;

	/*
	 * A directory cannot have a probe: a kernel that knows the request returns EBADF. The fix
	 * above also checks the PID before the path, so an impossible PID gives EINVAL.
	 */
	const uint64_t offset = 0;
	struct uapi_uprobe_multi attr = {
		.prog_fd = prog,
		.attach_type = ABI_TRACE_UPROBE_MULTI,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.cnt = 1,
	};
	cleanup_close int link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link >= 0 || errno != EBADF)
		return false;

	attr.pid = (uint32_t)-1;
	cleanup_close int by_pid = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	return by_pid < 0 && errno == EINVAL;
}

/*
 * Since Linux commits e2b2cd592a9d ("bpf: Add missed value to kprobe_multi link info") and
 * 3acf8ace6823 ("bpf: Add missed value to kprobe perf link info") (in v6.7). The second one made
 * the answer larger. A kernel refuses a larger answer than its own whose last byte is not 0
 * (E2BIG). The link is that of a rare tracepoint.
 */
static bool has_missed_counts(void)
{
	cleanup_close int prog = load_empty(BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
	const union bpf_attr open = {
		.raw_tracepoint = { .name = (uintptr_t) "task_rename", .prog_fd = (uint32_t)prog },
	};
	cleanup_close int link = sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &open, sizeof(open));
	if (link < 0)
		return false;

	struct uapi_link_info info = { .perf_kprobe.missed = UINT64_MAX };
	const union bpf_attr ask = {
		.info = {
			.bpf_fd = (unsigned)link,
			.info_len = sizeof(info),
			.info = (uintptr_t)&info,
		},
	};
	return sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &ask, sizeof(ask)) == 0;
}

/*
 * A look-up in no map allocates nothing, so no memory limit refuses it. System call filters mostly
 * return EPERM, which libbpf takes for too little locked memory.
 */
int features_check_bpf(struct error *e)
{
	const union bpf_attr none = { .map_fd = (uint32_t)-1 };

	if (syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &none, sizeof(none)) == 0 || errno == EBADF)
		return 0;
	if (errno == ENOSYS)
		return error_errno(e, "bpf(2): the kernel lacks CONFIG_BPF_SYSCALL, or a system "
				      "call filter (seccomp of a container or service) refuses it");
	return error_errno(e, "bpf(2): refused by a system call filter (seccomp of a container or "
			      "service) or a security module");
}

int features_require(struct error *e)
{
	const char *what = NULL;

	if (lacks_on_demand_maps())
		what = "hash maps that grow on demand (Linux 6.1 or later is needed)";
	else if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		what = "BTF in /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF; is /sys mounted?)";
	return what ? error_set(e, -EOPNOTSUPP, "this kernel has no %s", what) : 0;
}

void features_probe(struct features *features, unsigned groups)
{
	if (groups & FEATURES_KERNEL_FUNCTION)
		features->kprobe_multi = has_kprobe_multi();
	if (groups & FEATURES_USER)
		features->uprobe_multi = has_uprobe_multi();
	if (groups & FEATURES_KERNEL_RETURN)
		features->counts_missed = has_missed_counts();
}

bool features_has_variable(uint32_t btf_id, uint32_t offset)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_BTF_ID, 0, (int)btf_id),
		INSN(0, 0, 0, 0, 0), /* the second half of the load */
		CALL(BPF_FUNC_this_cpu_ptr),
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_0, BPF_REG_0, (short)offset, 0),
		EXIT,
	};

	return accepts_instructions(insns, ARRAY_SIZE(insns));
}

/*
 * Since Linux commit a35b9af4ec2c ("bpf: Add a kfunc for generic type cast") (in v6.2). A load by
 * its result may fault.
 */
bool features_has_cast(uint32_t call, uint32_t type)
{
	const struct bpf_insn insns[] = {
		MOVE_IMM(BPF_REG_1, 0),
		MOVE_IMM(BPF_REG_2, (int)type),
		INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, (int)call),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_0, 0, 0),
		EXIT,
	};

	return accepts_instructions(insns, ARRAY_SIZE(insns));
}
