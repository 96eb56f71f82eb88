// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/array.h"
#include "base/log.h"
#include "helper/calls.h"
#include "helper/sandbox.h"

/* clang-format off */
static const struct {
	unsigned capability;
	const char *reason;
} kept[] = {
	{ CAP_BPF, "maps are emptied, and made as they are needed" },
	{ CAP_PERFMON, "records of CPUs that come online" },
	{ CAP_IPC_LOCK, "the memory of these records" },
	{ CAP_SYS_ADMIN, "names of others' BPF programs; records, where CAP_PERFMON is not enough (Debian)" },
	{ CAP_SYSLOG, "addresses of modules that are loaded later" },
	{ CAP_SYS_PTRACE, "which root directory a process has" },
};
/* clang-format on */

void privileges_drop(void)
{
	uint64_t capabilities = 0;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		capabilities |= UINT64_C(1) << kept[i].capability;
	err = sandbox_keep(capabilities);
	if (err)
		log_debug("cannot drop capabilities: %s", error_words(err));
}

void privileges_seal(bool executes)
{
	/* LeakSanitizer looks at its own process by ptrace(2). */
	unsigned groups = DENY_SYSTEM | (IS_SANITIZED ? 0 : DENY_OTHERS);

	if (!executes)
		groups |= DENY_PROGRAMS;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		log_debug("cannot set no_new_privs: %s", strerror(errno));
	if (!calls_deny(groups, true))
		log_debug("cannot restrict system calls: the kernel or container has no seccomp");
}
