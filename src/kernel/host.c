// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/read.h"
#include "kernel/kallsyms.h"
#include "kernel/kernel_types.h"

struct host {
	struct host_paths paths;
	int tracefs_fd; /* -1: not opened yet */
	struct kallsyms *kallsyms;
	struct kernel_types *types; /* NULL: not read yet */
};

struct host *host_new_at(const struct host_paths *paths)
{
	struct host *host = xcalloc(1, sizeof(*host));

	*host = (struct host){ .paths = *paths, .tracefs_fd = -1 };
	return host;
}

struct host *host_new(void)
{
	return host_new_at(&(struct host_paths){});
}

void host_freep(struct host **host)
{
	if (!*host)
		return;
	cleanup_close_fd(&(*host)->tracefs_fd);
	kallsyms_freep(&(*host)->kallsyms);
	host_forget_types(*host);
	cleanup_free_p(host);
}

/* --- tracefs --- */

/*
 * It lists tracepoints (events/) and traceable functions.
 *
 * On a minimal machine, in a container or early after boot it may not be mounted. A normal mount
 * would change the machine. So we make a mount without a place, and reach its files through the
 * descriptor only.
 */

/*
 * Mount a file system where nobody sees it (fsopen(2), Linux 5.2). The mount ends when the
 * descriptor is closed. -1: errno has the reason.
 */
static int detached_mount(const char *type)
{
	cleanup_close int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
}

/*
 * Without the mount, the mount point exists and is empty. We do not use access(2): it checks the
 * real user, and ignores the capabilities of users other than root.
 */
static int open_mounted(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstatat(fd, "events", &st, 0) < 0)
		return -1;
	return TAKE_FD(fd);
}

/* Set @e to the message for an unreadable tracefs. Returns -EACCES. */
static must_check int tracefs_unreadable(struct error *e)
{
	return error_set(e, -EACCES,
			 "this user may not read tracefs (needs root or CAP_DAC_READ_SEARCH)");
}

/* A directory descriptor of tracefs, lent by @host. */
static int open_tracefs(struct host *host, int *ret_fd, struct error *e)
{
	const char *own = host->paths.tracefs;
	const char *const places[] = { own ? own : "/sys/kernel/tracing",
				       "/sys/kernel/debug/tracing" };
	bool is_refused = false;

	for (size_t i = 0; host->tracefs_fd < 0 && i < 2; i++) {
		host->tracefs_fd = open_mounted(places[i]);
		is_refused |= host->tracefs_fd < 0 && errno == EACCES;
	}
	if (host->tracefs_fd < 0) {
		host->tracefs_fd = detached_mount("tracefs");
		if (host->tracefs_fd < 0 && is_refused)
			return tracefs_unreadable(e);
		if (host->tracefs_fd < 0)
			return error_set(e, -errno,
					 errno == ENODEV ? "this kernel has no tracefs"
							 : "tracefs is not mounted (mount -t "
							   "tracefs tracefs /sys/kernel/tracing)");
		log_debug("tracefs is not mounted: using a mount of our own");
	}
	*ret_fd = host->tracefs_fd;
	return 0;
}

/* --- functions that ftrace can trace --- */

/*
 * Those that were compiled with a place to patch.
 *
 *	available_filter_functions          available_filter_functions_addrs (Linux 6.5)
 *	vfs_read                            ffffffff8162fb94 vfs_read
 *	ext4_get_branch [ext4]              ffffffffc0401004 ext4_get_branch [ext4]
 *
 * The address is that of the patched place. It may lie behind the function's first instruction, a
 * landing pad of indirect branches.
 *
 * Parse a line in place. False: it names no function.
 */
static bool parse_traceable(char *line, bool has_addr, char **ret_name, const char **ret_module,
			    uint64_t *ret_addr)
{
	const char *at = line;

	*ret_addr = 0;
	if (has_addr && (!take_hex(&at, ret_addr) || *at++ != ' '))
		return false;

	char *name = line + (at - line), *space = strchr(name, ' '), *end = NULL;

	*ret_name = name;
	*ret_module = "";
	if (space) {
		*space = '\0';
		if (space[1] == '[')
			end = strchr(space + 1, ']');
		if (!end)
			return false;
		*end = '\0';
		*ret_module = space + 2;
	}
	/* The compiler left this in a weak function that the linker dropped. */
	return name[0] != '\0' && strncmp(name, "__ftrace_invalid_address___", 27) != 0;
}

int host_each_traceable(struct host *host, bool with_sites, host_function_visit *visit,
			void *context, struct error *e)
{
	const char *file = "available_filter_functions_addrs";
	int dir, err = open_tracefs(host, &dir, e);

	if (err)
		return err;

	cleanup_close int fd = with_sites ? openat(dir, file, O_RDONLY | O_CLOEXEC) : -1;
	bool has_addr = fd >= 0;

	if (!with_sites || (fd < 0 && errno == ENOENT)) {
		file = "available_filter_functions";
		fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0 && errno == EPERM && host_lockdown())
		return error_set(e, -EPERM, "open tracefs' %s: refused by kernel lockdown", file);
	if (fd < 0)
		return error_errno(e, "open tracefs' %s", file);

	cleanup_fclose FILE *f = memory_or_exit(fdopen(TAKE_FD(fd), "r"));
	cleanup_free char *line = NULL;
	size_t capacity = 0;
	const char *module;
	uint64_t addr;
	char *name;

	while (!err && getline(&line, &capacity, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (parse_traceable(line, has_addr, &name, &module, &addr))
			err = visit(context, name, module, addr);
	}
	return !err && ferror(f) ? error_errno(e, "read tracefs' %s", file) : err;
}

/* --- tracepoints --- */

/*
 * Each has a directory, below the directory of its category.
 *
 *	events/sched/sched_switch/id        372
 *	events/sched/sched_switch/format    see read_field()
 *
 * available_events has the same list, but under lockdown it cannot be opened. Directories, IDs and
 * formats can be read.
 */

/* Is @name one part of a path, which does not lead out of it? */
static bool is_plain_name(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && !strchr(name, '/');
}

static int open_event_file(struct host *host, const char *category, const char *event,
			   const char *file, int *ret_fd, struct error *e)
{
	char path[512];
	int dir, err = open_tracefs(host, &dir, e);

	if (err)
		return err;
	if (!is_plain_name(category) || !is_plain_name(event) ||
	    snprintf(path, sizeof(path), "events/%s/%s/%s", category, event, file) >=
		    (int)sizeof(path))
		return error_set(e, -ENOENT, "no tracepoint %s:%s", category, event);

	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return error_set(e, -ENOENT, "no tracepoint %s:%s", category, event);
	if (fd < 0 && errno == EACCES)
		return tracefs_unreadable(e);
	if (fd < 0)
		return error_errno(e, "open tracefs' %s", path);
	*ret_fd = fd;
	return 0;
}

int host_tracepoint_id(struct host *host, const char *category, const char *event, uint64_t *ret,
		       struct error *e)
{
	cleanup_close int fd = -1;
	int err = open_event_file(host, category, event, "id", &fd, e);

	if (err)
		return err;

	char text[32] = "";
	const char *at = text;

	if (read(fd, text, sizeof(text) - 1) < 0 || !take_decimal(&at, ret))
		return error_set(e, -EIO, "tracepoint %s:%s has no id", category, event);
	return 0;
}

/* The number behind @key in the line. False: it is not there. */
static bool find_number(const char *line, const char *key, uint64_t *ret)
{
	const char *at = strstr(line, key);

	if (!at)
		return false;
	at += strlen(key);
	return take_decimal(&at, ret);
}

/*
 * Read a line that declares a field. The name is the last word of the declaration, before its array
 * bounds:
 *
 *	\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
 *
 * Cuts the line at the end of the name. False: it declares none.
 */
static bool read_field(char *line, struct tracepoint_field *ret)
{
	char *declaration = strstr(line, "field:");
	char *end = declaration ? strchr(declaration, ';') : NULL;
	uint64_t offset, size, is_signed = 0;

	if (!end || !find_number(end, "\toffset:", &offset) || offset > UINT32_MAX ||
	    !find_number(end, "\tsize:", &size))
		return false;
	(void)find_number(end, "\tsigned:", &is_signed);
	declaration += strlen("field:");

	char *bounds = memchr(declaration, '[', (size_t)(end - declaration));

	/* "__data_loc char[] name": these bounds belong to the type. */
	if (bounds && memchr(bounds, ' ', (size_t)(end - bounds)))
		bounds = NULL;

	char *last = bounds ? bounds : end, *name = last;

	while (name > declaration && name[-1] != ' ' && name[-1] != '*')
		name--;
	if (name == declaration)
		return false;
	/* The name ends where the bounds begin. So move these. */
	memmove(last + 1, last, (size_t)(end - last));
	*last = '\0';
	*ret = (struct tracepoint_field){ .type = declaration,
					  .n_type = (size_t)(name - declaration),
					  .name = name,
					  .bounds = last + 1,
					  .n_bounds = (size_t)(end - last),
					  .offset = (uint32_t)offset,
					  .bytes =
						  (uint32_t)(size < UINT32_MAX ? size : UINT32_MAX),
					  .is_signed = is_signed == 1,
					  .is_array = bounds != NULL };
	return true;
}

int host_each_field(struct host *host, const char *category, const char *event,
		    host_field_visit *visit, void *context, struct error *e)
{
	cleanup_close int fd = -1;
	int err = open_event_file(host, category, event, "format", &fd, e);

	if (err)
		return err;

	cleanup_fclose FILE *f = memory_or_exit(fdopen(TAKE_FD(fd), "r"));
	cleanup_free char *line = NULL;
	struct tracepoint_field field;
	size_t capacity = 0;

	while (!err && getline(&line, &capacity, f) > 0)
		err = read_field(line, &field) ? visit(context, &field) : 0;
	return !err && ferror(f) ? error_errno(e, "read a tracepoint's format") : err;
}

static int open_tracefs_directory(int dir_fd, const char *path, DIR **ret, struct error *e)
{
	cleanup_close int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		return tracefs_unreadable(e);
	if (fd < 0)
		return error_errno(e, "open tracefs' %s", path);

	*ret = fdopendir(fd);
	if (!*ret)
		return error_errno(e, "read tracefs' %s", path);
	(void)TAKE_FD(fd); /* the stream closes it */
	return 0;
}

/* The next directory within @d with a plain name; NULL at the end. */
static const char *next_tracefs_directory(DIR *d)
{
	const struct dirent *entry;

	while (d && (entry = readdir(d)))
		if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
		    is_plain_name(entry->d_name))
			return entry->d_name;
	return NULL;
}

int host_each_tracepoint(struct host *host, host_tracepoint_visit *visit, void *context,
			 struct error *e)
{
	cleanup_closedir DIR *categories = NULL;
	int dir = -1, err = open_tracefs(host, &dir, e);
	const char *category, *event;

	if (!err)
		err = open_tracefs_directory(dir, "events", &categories, e);
	if (!categories)
		return err;
	while ((category = next_tracefs_directory(categories))) {
		cleanup_closedir DIR *events = NULL;

		/* ftrace's own records have IDs, but no program can attach to them. */
		if (strcmp(category, "ftrace") == 0)
			continue;
		err = open_tracefs_directory(dirfd(categories), category, &events, e);
		if (err == -ENOENT || err == -ENOTDIR) /* a module has just gone; or a plain file */
			continue;
		if (err)
			return err;
		while ((event = next_tracefs_directory(events))) {
			err = visit(context, category, event);
			if (err)
				return err;
		}
	}
	return 0;
}

/* --- this machine --- */

int host_kallsyms(struct host *host, const struct kallsyms **ret, struct error *e)
{
	if (!host->kallsyms) {
		const struct host_paths *paths = &host->paths;
		const char *symbols = paths->kallsyms ? paths->kallsyms : "/proc/kallsyms";
		const char *modules = paths->modules ? paths->modules : "/proc/modules";
		int err = kallsyms_read(symbols, modules, &host->kallsyms, e);

		if (err)
			return err;
	}
	*ret = host->kallsyms;
	return 0;
}

int host_kernel_types(struct host *host, struct kernel_types **ret, struct error *e)
{
	const int err = host->types ? 0 : kernel_types_read(&host->types, e);

	*ret = host->types;
	return err;
}

void host_forget_types(struct host *host)
{
	kernel_types_free(host->types);
	host->types = NULL;
}

/* The file begins with a number. */
static bool read_number(const char *path, uint32_t *ret)
{
	char text[32];
	const char *at = text;
	uint64_t number;

	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0 || !take_decimal(&at, &number) ||
	    number > UINT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* "0-3": programs and maps number CPUs up to the last one. */
int host_possible_cpus(uint32_t *ret, struct error *e)
{
	static const char path[] = "/sys/devices/system/cpu/possible";
	char text[4096] = "";
	const char *at = text;
	uint64_t last;

	(void)read_small(AT_FDCWD, path, text, sizeof(text));
	while (strpbrk(at, "-,"))
		at = strpbrk(at, "-,") + 1;
	if (!take_decimal(&at, &last) || *at || last >= UINT32_MAX)
		return error_set(e, -EIO, "cannot tell the number of CPUs from %s%s", path,
				 access("/sys/devices", F_OK) ? ": is /sys mounted?" : "");
	*ret = (uint32_t)last + 1;
	return 0;
}

bool host_is_preempt_rt(void)
{
	struct utsname names;

	return uname(&names) == 0 && strstr(names.version, "PREEMPT_RT");
}

uint32_t host_max_stack(void)
{
	uint32_t depth;

	return read_number("/proc/sys/kernel/perf_event_max_stack", &depth) ? depth : 127;
}

/* "none [integrity] confidentiality": the one in brackets is active. */
const char *host_lockdown(void)
{
	static const char *const levels[] = { "integrity", "confidentiality" };
	char text[128];

	if (read_small(AT_FDCWD, "/sys/kernel/security/lockdown", text, sizeof(text)) < 0) {
		cleanup_close int fd = detached_mount("securityfs");

		if (fd < 0 || read_small(fd, "lockdown", text, sizeof(text)) < 0)
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

uint32_t host_pmu_type(const char *pmu)
{
	char path[128];
	uint32_t type;

	(void)snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	return read_number(path, &type) ? type : 0;
}

/* The period is long, and the event is disabled. */
bool host_can_sample(uint32_t type, uint64_t config)
{
	const struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1000000000,
		.disabled = 1,
	};
	cleanup_close int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0;
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
	uint32_t level;

	if (is_administrator() || may_open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY))
		return NULL;
	if (read_number("/proc/sys/kernel/perf_event_paranoid", &level) && level > 2)
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

/* --- processes --- */

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

/* Unlike kill(2) and /proc, pidfd_open(2) accepts no number of another thread than the first. */
bool host_pid_exists(uint32_t pid)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd >= 0 || (errno != ESRCH && errno != EINVAL && errno != ENOENT);
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
