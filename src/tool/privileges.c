// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

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

/* With sudo, the directory of -o is mostly another user's. */
#define FILES                                                                   \
	(UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH | \
	 UINT64_C(1) << CAP_CHOWN | UINT64_C(1) << CAP_FOWNER)

void privileges_drop(bool writes_files)
{
	uint64_t capabilities = writes_files ? FILES : 0;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		capabilities |= UINT64_C(1) << kept[i].capability;
	err = sandbox_keep(capabilities);
	if (err)
		log_debug("cannot drop capabilities: %s", error_words(err));
	if (writes_files)
		(void)sandbox_effect(0, FILES);
}

void privileges_end(bool writes_files)
{
	const int err = writes_files ? sandbox_keep(FILES) : sandbox_keep_none();

	if (err)
		log_debug("cannot drop capabilities: %s", error_words(err));
	if (writes_files)
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
	err = sandbox_keep_none();
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
