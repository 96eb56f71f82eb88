// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "files/sandbox.h"

#define BIT(capability) (UINT64_C(1) << (capability))

/* With sudo, the directory of -o is mostly another user's. */
#define FILES (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHOWN) | BIT(CAP_FOWNER))

/* clang-format off */
static const uint64_t counting =
	BIT(CAP_BPF) |        /* maps are emptied, and made as they are needed */
	BIT(CAP_PERFMON) |    /* records of CPUs that come online */
	BIT(CAP_IPC_LOCK) |   /* the memory of these records */
	BIT(CAP_SYS_ADMIN) |  /* names of others' BPF programs; records, where CAP_PERFMON is not enough (Debian) */
	BIT(CAP_SYSLOG) |     /* addresses of modules that are loaded later */
	BIT(CAP_SYS_PTRACE);  /* which root directory a process has */
/* clang-format on */

void privileges_keep(bool for_files)
{
	const int err = sandbox_keep(counting | (for_files ? FILES : 0));

	if (err)
		log_debug("cannot drop capabilities: %s", error_words(err));
	if (for_files)
		(void)sandbox_effect(0, FILES);
}

uint64_t privileges_lend_files(void)
{
	return sandbox_effect(FILES, 0);
}

void privileges_take_back(const uint64_t *before)
{
	(void)sandbox_effect(0, FILES & ~*before);
}

int privileges_leave(struct error *e)
{
	const uid_t user = getuid();
	const gid_t group = getgid();
	int err;

	if (setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0)
		return error_errno(e, "give up privileges");
	err = sandbox_keep(0);
	return err ? error_set(e, err, "give up privileges: %s", error_words(err)) : 0;
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
