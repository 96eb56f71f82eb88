/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel/host.h - facts about this kernel, from /proc, /sys and tracefs.
 *
 * Tracefs is opened, and /proc/kallsyms read, at the first question, and kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct host;
struct kallsyms;
struct kernel_types;

struct host *host_new(void);

/* For tests: other files and another directory than the system's. NULL: the system's. Lent. */
struct host_paths {
	const char *kallsyms;
	const char *modules;
	const char *tracefs; /* a directory with tracefs' layout */
};
struct host *host_new_at(const struct host_paths *paths);
void host_freep(struct host **host);

/*
 * --- tracefs. ---
 *
 * If it is not mounted, the first question makes a detached mount that nobody else sees and that
 * ends with us (fsopen(2), Linux 5.2). Errors of each question: -EACCES/-EPERM/-ENODEV; the message
 * says how to mount it.
 */

/* The ID of a tracepoint (events/CATEGORY/EVENT/id). Errors: -ENOENT. */
must_check int host_tracepoint_id(struct host *host, const char *category, const char *event,
				  uint64_t *ret, struct error *e);

/* A field of a tracepoint's record. Strings are valid during the visit. */
struct tracepoint_field {
	const char *type; /* as declared: "__data_loc char[] ", @n_type bytes */
	size_t n_type;
	const char *bounds; /* of an array: "[16]", @n_bounds bytes */
	size_t n_bounds;
	const char *name;
	uint32_t offset;
	uint32_t bytes;
	bool is_signed;
	bool is_array;
};

/*
 * Call @visit for every field of a tracepoint, in their order. A result other than 0 ends the walk
 * and is returned. Errors: -ENOENT.
 */
typedef int host_field_visit(void *context, const struct tracepoint_field *field);
must_check int host_each_field(struct host *host, const char *category, const char *event,
			       host_field_visit *visit, void *context, struct error *e);

/*
 * Call @visit for every tracepoint of tracefs, and every event that was defined there, at which the
 * kernel lets no program attach. A result other than 0 ends the walk and is returned.
 */
typedef int host_tracepoint_visit(void *context, const char *category, const char *event);
must_check int host_each_tracepoint(struct host *host, host_tracepoint_visit *visit, void *context,
				    struct error *e);

/*
 * Call @visit for every function that ftrace can trace (available_filter_functions). The module is
 * "" for the kernel itself. The address is the place that ftrace patches, which is not always the
 * function's start. It is 0 without @with_sites, or if the kernel does not list it
 * (available_filter_functions_addrs, Linux 6.5). That list takes 1.6 times as long.
 * Errors: -EACCES/-EPERM (lockdown), -ENOENT (no ftrace); callers fall back to kallsyms.
 */
typedef int host_function_visit(void *context, const char *name, const char *module, uint64_t addr);
must_check int host_each_traceable(struct host *host, bool with_sites, host_function_visit *visit,
				   void *context, struct error *e);

/* /proc/kallsyms, read at the first call. Lent by @host. Errors: see kallsyms_read(). */
must_check int host_kallsyms(struct host *host, const struct kallsyms **ret, struct error *e);

/*
 * The kernel's BTF, read at the first call. Lent by @host until host_forget_types() frees its 6 MB.
 * Errors: see kernel_types_read().
 */
must_check int host_kernel_types(struct host *host, struct kernel_types **ret, struct error *e);
void host_forget_types(struct host *host);

/*
 * Does /proc contain this process? It does not if it is not mounted, or is another PID namespace's.
 */
bool host_has_own_proc(void);

/* Is there a process @pid in our PID namespace? */
bool host_pid_exists(uint32_t pid);
/* Likewise for a thread, which need not be the first of its process. */
bool host_tid_exists(uint32_t tid);

/* The name of process @pid (its first thread's comm); "" if it has ended. @size is at least 17. */
void host_pid_comm(uint32_t pid, char *to, size_t size);

/*
 * The number of CPUs that the kernel may ever bring up (/sys/devices/system/cpu/possible): they
 * have the numbers below.
 */
must_check int host_possible_cpus(uint32_t *ret, struct error *e);

/*
 * Is our PID namespace the initial one? If not, *@dev and *@ino identify it for
 * bpf_get_ns_current_pid_tgid().
 */
bool host_in_initial_pid_namespace(uint64_t *dev, uint64_t *ino);

/* Does CLOCK_MONOTONIC here differ from the kernel's, which records and hits have? */
bool host_has_shifted_clock(void);

/* Was this kernel built with CONFIG_PREEMPT_RT? */
bool host_is_preempt_rt(void);

/* kernel.perf_event_max_stack: the most frames that bpf_get_stack() gives (127 if unreadable). */
uint32_t host_max_stack(void);

/* "integrity" or "confidentiality" if the kernel is locked down, else NULL. A constant. */
const char *host_lockdown(void);

/* The first needed capability that this process lacks ("CAP_BPF", ...), or NULL. A constant. */
const char *host_missing_capability(void);

/* The type of the source of perf events @pmu, "kprobe" or "uprobe". 0: the kernel has none. */
uint32_t host_pmu_type(const char *pmu);

/* Can this machine sample the perf event on a CPU, and may this user? */
bool host_can_sample(uint32_t type, uint64_t config);

/*
 * Say why this user may not open perf events, perf's uprobes or perf's kprobes. A sysctl or
 * lockdown may forbid them even if no capability is missing. Returns a constant. NULL: the user may
 * open them. @pmu is the PMU's type number.
 */
const char *host_no_perf_events(void);
const char *host_no_perf_uprobes(uint32_t pmu);
const char *host_no_perf_kprobes(uint32_t pmu);

/* Does a kprobe by a name of several functions fail? Else the kernel takes the first of them. */
bool host_refuses_namesakes(uint32_t kprobe_pmu);
