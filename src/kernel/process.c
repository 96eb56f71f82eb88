// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/read.h"
#include "kernel/host.h"

bool host_has_own_proc(void)
{
	char own[16] = "";

	return readlink("/proc/self", own, sizeof(own) - 1) > 0 &&
	       strtol(own, NULL, 10) == getpid();
}

bool host_tid_exists(uint32_t tid)
{
	return tid != 0 && tid <= INT32_MAX && (kill((pid_t)tid, 0) == 0 || errno == EPERM);
}

/* kill(2) and /proc also accept the numbers of threads. A process leads its own thread group. */
bool host_pid_exists(uint32_t pid)
{
	char path[64], text[4096];

	if (!host_tid_exists(pid))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return errno != ENOENT && errno != ESRCH;

	/* The first line has the name, which cannot contain a newline: the kernel escapes it. */
	const char *at = strstr(text, "\nTgid:\t");
	uint64_t tgid;

	if (!at)
		return true;
	at += strlen("\nTgid:\t");
	return !take_decimal(&at, &tgid) || tgid == pid;
}

void host_pid_comm(uint32_t pid, char *to, size_t size)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	if (read_small(AT_FDCWD, path, to, size) < 0)
		to[0] = '\0';
}

/* The inode of the initial PID namespace: the kernel's PROC_PID_INIT_INO. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

bool host_in_initial_pid_namespace(uint64_t *dev, uint64_t *ino)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0)
		return true; /* a kernel without namespaces */
	/* The BPF helper compares with the kernel's own encoding of device numbers. */
	*dev = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	*ino = st.st_ino;
	return st.st_ino == INITIAL_PID_NAMESPACE;
}

/* "monotonic SECONDS NANOSECONDS", then the same of boottime. */
bool host_has_shifted_clock(void)
{
	char text[256];
	long long seconds, ns;

	return read_small(AT_FDCWD, "/proc/self/timens_offsets", text, sizeof(text)) > 0 &&
	       sscanf(text, "monotonic %lld %lld", &seconds, &ns) == 2 && (seconds || ns);
}
