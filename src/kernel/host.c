// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/read.h"
#include "kernel/kallsyms.h"
#include "kernel/private.h"

static char *copy_or_null(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

struct host *host_new_at(const struct host_paths *paths)
{
	struct host *host = xcalloc(1, sizeof(*host));

	host->tracefs_fd = -1;
	host->kallsyms_path = copy_or_null(paths->kallsyms);
	host->modules_path = copy_or_null(paths->modules);
	host->tracefs_path = copy_or_null(paths->tracefs);
	return host;
}

struct host *host_new(void)
{
	return host_new_at(&(struct host_paths){});
}

void host_free(struct host *host)
{
	if (!host)
		return;
	cleanup_close_fd(&host->tracefs_fd);
	kallsyms_free(host->kallsyms);
	function_types_free(host->types);
	free(host->kallsyms_path);
	free(host->modules_path);
	free(host->tracefs_path);
	free(host);
}

void host_freep(struct host **host)
{
	host_free(*host);
	*host = NULL;
}

int host_kallsyms(struct host *host, const struct kallsyms **ret, struct error *e)
{
	if (!host->kallsyms) {
		const char *symbols = host->kallsyms_path ? host->kallsyms_path : "/proc/kallsyms";
		const char *modules = host->modules_path ? host->modules_path : "/proc/modules";
		int err = kallsyms_read(symbols, modules, &host->kallsyms, e);

		if (err)
			return err;
	}
	*ret = host->kallsyms;
	return 0;
}

int host_function_types(struct host *host, struct function_types **ret, struct error *e)
{
	const int err = host->types ? 0 : function_types_read(&host->types, e);

	*ret = host->types;
	return err;
}

int host_pmu_type(const char *pmu, uint32_t *ret, struct error *e)
{
	char path[128], text[32];
	const char *at = text;
	uint64_t type;

	(void)snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0 || !take_decimal(&at, &type) ||
	    type > UINT32_MAX)
		return error_set(e, -EOPNOTSUPP, "this kernel has no %ss (no %s)", pmu, path);
	*ret = (uint32_t)type;
	return 0;
}

/* Parse "0-3,8": the number of CPUs, and whether @cpu is among them. False: it is malformed. */
static bool count_cpus(const char *at, uint32_t cpu, uint32_t *ret_n, bool *ret_has)
{
	uint64_t n = 0;

	*ret_has = false;
	for (;;) {
		uint64_t first, last;

		if (!take_decimal(&at, &first))
			return false;
		last = first;
		if (*at == '-' && (at++, !take_decimal(&at, &last)))
			return false;
		if (last < first || last >= UINT32_MAX)
			return false;
		n += last - first + 1;
		*ret_has |= cpu >= first && cpu <= last;
		if (*at != ',')
			break;
		at++;
	}
	*ret_n = (uint32_t)n;
	return *at == '\0' && n <= UINT32_MAX;
}

static bool possible_cpus(uint32_t cpu, uint32_t *ret_n, bool *ret_has)
{
	char text[4096];

	return read_small(AT_FDCWD, "/sys/devices/system/cpu/possible", text, sizeof(text)) >= 0 &&
	       count_cpus(text, cpu, ret_n, ret_has);
}

int host_possible_cpus(uint32_t *ret, struct error *e)
{
	bool has;

	if (!possible_cpus(0, ret, &has))
		return error_set(e, -EIO, "cannot tell the number of CPUs from %s%s",
				 "/sys/devices/system/cpu/possible",
				 access("/sys/devices", F_OK) ? ": is /sys mounted?" : "");
	return 0;
}

bool host_cpu_is_possible(uint32_t cpu)
{
	uint32_t n;
	bool has;

	return possible_cpus(cpu, &n, &has) && has;
}

bool host_is_preempt_rt(void)
{
	struct utsname names;

	return uname(&names) == 0 && strstr(names.version, "PREEMPT_RT");
}

uint32_t host_max_stack(void)
{
	char text[32];
	const char *at = text;
	uint64_t depth;

	if (read_small(AT_FDCWD, "/proc/sys/kernel/perf_event_max_stack", text, sizeof(text)) < 0 ||
	    !take_decimal(&at, &depth) || depth > UINT32_MAX)
		return 127;
	return (uint32_t)depth;
}

/* "none [integrity] confidentiality": the one in brackets is active. */
const char *host_lockdown(void)
{
	static const char *const levels[] = { "integrity", "confidentiality" };
	char text[128];

	if (read_small(AT_FDCWD, "/sys/kernel/security/lockdown", text, sizeof(text)) < 0) {
		cleanup_close int fd = -1;

		if (detached_mount("securityfs", &fd, NULL) != 0 ||
		    read_small(fd, "lockdown", text, sizeof(text)) < 0)
			return NULL;
	}

	const char *at = strchr(text, '[');

	for (size_t i = 0; at && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strncmp(at + 1, levels[i], strlen(levels[i])) == 0)
			return levels[i];
	return NULL;
}

/* The inode of the initial user namespace: the kernel's PROC_USER_INIT_INO. */
#define INITIAL_USER_NAMESPACE 0xEFFFFFFDu

/* A bit for each capability; 0: they cannot be read. */
static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	if (syscall(SYS_capget, &header, data) < 0)
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

const char *host_missing_capability(void)
{
	uint64_t effective = effective_capabilities();
	struct stat st;

	/* bpf(2) ignores capabilities in a user namespace of our own. */
	if (stat("/proc/self/ns/user", &st) == 0 && st.st_ino != INITIAL_USER_NAMESPACE)
		return "CAP_BPF in the initial user namespace";
	if (effective & 1ULL << CAP_SYS_ADMIN)
		return NULL;
	if (!(effective & 1ULL << CAP_BPF))
		return "CAP_BPF";
	return effective & 1ULL << CAP_PERFMON ? NULL : "CAP_PERFMON";
}

static bool is_administrator(void)
{
	return effective_capabilities() & 1ULL << CAP_SYS_ADMIN;
}

/* May this user open an event of this type? Other errors do not matter. */
static bool may_open_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = config };
	cleanup_close int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

/*
 * Mainline has no level above 2, where CAP_PERFMON is enough. Debian's kernels (and others) have 3:
 * only CAP_SYS_ADMIN opens events. So the sysctl does not tell, and we open an event.
 */
const char *host_no_perf_events(void)
{
	char text[32] = "";
	const char *at = text;
	uint64_t level;

	if (is_administrator() || may_open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY))
		return NULL;
	if (read_small(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) > 0 &&
	    take_decimal(&at, &level) && level > 2)
		return "sysctl kernel.perf_event_paranoid above 2 leaves perf events to "
		       "CAP_SYS_ADMIN";
	return "this user may open no perf events (a security module or a system call filter)";
}

/*
 * Since Linux commit ba677dbe77af ("perf: Revert to requiring CAP_SYS_ADMIN for uprobes") (in
 * v6.16, and carried back) CAP_PERFMON is not enough. The kernel checks this before the file, so we
 * try a uprobe without one.
 */
const char *host_no_perf_uprobes(uint32_t pmu)
{
	const char *words = host_no_perf_events();

	if (!words && pmu && !is_administrator() && !may_open_event(pmu, 0))
		words = "on this kernel perf's uprobes need CAP_SYS_ADMIN";
	return words;
}

/*
 * Lockdown applies to root, too. The kernel checks it before the function, so we try a kprobe
 * without one.
 */
const char *host_no_perf_kprobes(uint32_t pmu)
{
	const char *words = host_no_perf_events();

	if (words || !pmu || may_open_event(pmu, 0))
		return words;
	words = host_lockdown();
	if (!words)
		return "kprobes are refused (by a security module or a system call filter)";
	return strcmp(words, "integrity") == 0
		       ? "kernel lockdown (integrity) refuses kprobes"
		       : "kernel lockdown (confidentiality) refuses kprobes";
}

/*
 * Since Linux commit b022f0c7e404 ("tracing/kprobes: Return EADDRNOTAVAIL when func matches several
 * symbols") (in v6.7, and carried back). Every kernel with /proc has at least two functions
 * m_start. None is so long that it contains this offset, so no probe is made.
 */
bool host_refuses_namesakes(uint32_t kprobe_pmu)
{
	struct perf_event_attr attr = {
		.type = kprobe_pmu,
		.size = sizeof(attr),
		.kprobe_func = (uintptr_t) "m_start",
		.probe_offset = INT32_MAX,
	};
	cleanup_close int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 && errno == EADDRNOTAVAIL;
}
