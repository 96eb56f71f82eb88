/*
 * kernel/host.h - this kernel as it is: /proc, /sys, tracefs.
 *
 * Everything is read when first asked for, and kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct host;
struct kallsyms;

struct host *host_new(void);

/* Other files and a directory in place of the running system's, for tests. NULL: the system's. */
struct host_paths {
	const char *kallsyms;
	const char *modules;
	const char *tracefs; /* a directory laid out as tracefs is */
};
struct host *host_new_at(const struct host_paths *paths);
void host_free(struct host *host);
void host_freep(struct host **host);

/*
 * A directory descriptor of tracefs: where it is mounted, else by a detached
 * mount that no one else sees and that ends with us (fsopen(2), Linux 5.2).
 * Lent by @host.
 * Errors: -EACCES/-EPERM/-ENODEV; the message says how to mount it.
 */
must_check int host_tracefs(struct host *host, int *ret_fd, struct error *e);

/* May this user define uprobe events there (uprobe_events)? */
bool host_may_define_uprobes(struct host *host);

/* The id of a tracepoint (events/CATEGORY/EVENT/id). Errors: -ENOENT, and those of host_tracefs().
 */
must_check int host_tracepoint_id(struct host *host, const char *category, const char *event,
				  uint64_t *ret, struct error *e);

/* Byte offset of field @field in a tracepoint's record, from its format file. Errors: -ENOENT. */
must_check int host_tracepoint_field(struct host *host, const char *category, const char *event,
				     const char *field, uint32_t *ret_offset, struct error *e);

/* Call @visit for every tracepoint of tracefs; a non-zero result of it ends the walk and is
 * returned. */
typedef int host_tracepoint_visit(void *context, const char *category, const char *event);
must_check int host_each_tracepoint(struct host *host, host_tracepoint_visit *visit, void *context,
				    struct error *e);

/*
 * Call @visit for every function that ftrace can trace (available_filter_functions):
 * name, module ("" for the kernel itself), and, @with_sites, where it is patched if the
 * kernel tells it (available_filter_functions_addrs, Linux 6.5; takes it 1.6 times as long),
 * else 0. That place lies in the function, not always at its start.
 * Errors: -EACCES/-EPERM (lockdown), -ENOENT (no ftrace); callers fall back to kallsyms.
 */
typedef int host_function_visit(void *context, const char *name, const char *module, uint64_t addr);
must_check int host_each_traceable(struct host *host, bool with_sites, host_function_visit *visit,
				   void *context, struct error *e);

/* Does this kernel have perf's kprobes / uprobes (their PMU's type number)? Errors: -EOPNOTSUPP. */
must_check int host_pmu_type(const char *pmu, uint32_t *ret, struct error *e);

/* /proc/kallsyms, read when first asked for. Lent by @host. Errors: see kallsyms_read(). */
must_check int host_kallsyms(struct host *host, const struct kallsyms **ret, struct error *e);

/* Does /proc show us, as it does not where it is not mounted, or another PID namespace's? */
bool host_has_own_proc(void);

/* Is there a process @pid in our PID namespace? */
bool host_pid_exists(uint32_t pid);

/* Its name (the group leader's comm); "" when it has gone. @size at least 17. */
void host_pid_comm(uint32_t pid, char *to, size_t size);

/* Number of CPUs the kernel may ever bring up (/sys/devices/system/cpu/possible). */
must_check int host_possible_cpus(uint32_t *ret, struct error *e);
bool host_cpu_is_possible(uint32_t cpu);
bool host_cpu_is_online(uint32_t cpu);

/*
 * Is our PID namespace the initial one? When not, *@dev and *@ino identify it
 * as bpf_get_ns_current_pid_tgid() wants them.
 */
bool host_in_initial_pid_namespace(uint64_t *dev, uint64_t *ino);

/* Was this kernel built with CONFIG_PREEMPT_RT? */
bool host_is_preempt_rt(void);

/* kernel.perf_event_max_stack: the deepest stack that bpf_get_stack() gives (127 if unreadable). */
uint32_t host_max_stack(void);

/* "integrity" or "confidentiality" when the kernel is locked down, else NULL. A constant. */
const char *host_lockdown(void);

/* Name of the first capability of those needed that this process lacks ("CAP_BPF", ...), or NULL.
 */
const char *host_missing_capability(void);

/*
 * Why perf events, or perf's uprobes or kprobes (their PMU's type number), may not be opened
 * although no capability is missing: a sysctl, lockdown. NULL: they may. A constant.
 */
const char *host_no_perf_events(void);
const char *host_no_perf_uprobes(uint32_t pmu);
const char *host_no_perf_kprobes(uint32_t pmu);

/* Does a kprobe by a name that several functions have fail? Else the first of them is taken. */
bool host_refuses_namesakes(uint32_t kprobe_pmu);
