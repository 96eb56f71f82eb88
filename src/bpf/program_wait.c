// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/program_wait.h"

#include <bpf/bpf.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * An update of a map-in-map from user space returns when all programs that were running have ended
 * (maybe_wait_bpf_programs() in kernel/bpf/syscall.c). The value does not matter.
 */
static int wait_by_map(int inner, int *outer, struct error *e)
{
	__u32 zero = 0;

	if (*outer < 0) {
		LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = inner);

		*outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "waiter", sizeof(__u32),
					sizeof(__u32), 1, &opts);
	}
	if (*outer < 0)
		return error_errno(e, "create the map that waits for programs");
	if (bpf_map_update_elem(*outer, &zero, &inner, BPF_ANY))
		return error_errno(e, "wait for programs");
	return 0;
}

/*
 * Programs run in RCU read-side sections, so waiting for RCU is enough. The kernel refuses the
 * command if CPUs are in nohz_full mode.
 */
int program_wait(int map, int *outer, struct error *e)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return 0;
	return wait_by_map(map, outer, e);
}
