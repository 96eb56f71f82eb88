// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Words for the kernel's error numbers, for users who trace. For user places EILSEQ and EOVERFLOW
 * are ours.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/backend.h"
#include "base/array.h"
#include "base/error.h"
#include "bpf/uapi.h"

#define KERNEL (1u << TARGET_KERNEL_FUNCTION | 1u << TARGET_KERNEL_RETURN)
#define FUNCTION (1u << TARGET_USER_FUNCTION)
#define USDT (1u << TARGET_USDT)
#define RETURN (1u << TARGET_USER_RETURN)
#define USER (FUNCTION | USDT | RETURN)
#define TRACEPOINT (1u << TARGET_TRACEPOINT)
#define SAMPLE (1u << TARGET_PERF_EVENT)
#define ANY (KERNEL | USER | TRACEPOINT | SAMPLE)

#define NO_COUNTER                                                                         \
	"this machine has no counter for it (few virtual machines have any); e:cpu-clock " \
	"samples by a timer"

#define NO_TRACEPOINT                                                               \
	"no such tracepoint; an event that was defined in tracefs (kprobe_events, " \
	"uprobe_events) runs no program of a tracepoint: trace its function instead"

static const struct {
	int code;
	unsigned kinds;
	const char *words;
} refusals[] = {
	{ ENOENT, KERNEL, "no such function in this kernel" },
	{ ESRCH, KERNEL, "no such function in this kernel" },
	{ EADDRNOTAVAIL, KERNEL, "several functions have this name" },
	{ EINVAL, KERNEL,
	  "the kernel does not allow a probe there (notrace, or among those it protects)" },
	{ EILSEQ, KERNEL, "no instruction begins there, says the kernel" },
	{ EBUSY, KERNEL, "another user of kernel patching holds its entry" },
	{ EOPNOTSUPP, KERNEL, "the kernel cannot probe it" },
	{ UAPI_ENOTSUPP, KERNEL, "the kernel cannot probe it" },

	{ UAPI_ENOTSUPP, FUNCTION, "the kernel cannot probe its first instruction" },
	{ EOPNOTSUPP, FUNCTION, "the kernel cannot probe its first instruction" },
	{ UAPI_ENOTSUPP, USDT | RETURN, "the kernel cannot probe the instruction there" },
	{ EOPNOTSUPP, USDT | RETURN, "the kernel cannot probe the instruction there" },
	{ EILSEQ, FUNCTION, "the kernel would mistake its first instruction for another one" },
	{ EILSEQ, USDT | RETURN, "the kernel would mistake the instruction there for another one" },
	{ EOVERFLOW, USER,
	  "this kernel would replace the 5-byte NOP there by a call that writes over the "
	  "function's variables, and execution also comes to the instruction behind it from "
	  "elsewhere" },
	{ ENOEXEC, USER, "there is no instruction there" },
	{ EINVAL, USER, "the kernel does not allow a probe there" },
	{ EFBIG, USDT, "its semaphore is too far into the file" },
	{ ENOENT, USER, "the file is gone" },
	{ ESRCH, USER, "the process has ended" },
	{ ETXTBSY, USER, "the file is open for writing" },
	{ EBADF, USER, "not a file that is run" },
	{ EIO, USER, "the file cannot be read by the kernel" },

	{ EINVAL, TRACEPOINT, NO_TRACEPOINT },
	{ EINTR, TRACEPOINT, NO_TRACEPOINT },
	{ ENOENT, TRACEPOINT, "no such tracepoint" },
	{ E2BIG, TRACEPOINT, "too many programs are attached to it" },

	{ ENOENT, SAMPLE, NO_COUNTER },
	{ EOPNOTSUPP, SAMPLE, NO_COUNTER },
	{ ENODEV, SAMPLE, "no CPU of those wanted is online and has it" },
	{ EINVAL, SAMPLE,
	  "the kernel cannot sample it so (its terms or modifiers, or a frequency above "
	  "kernel.perf_event_max_sample_rate)" },
	{ EBUSY, SAMPLE, "others hold the CPU's counters" },
	{ ENOSPC, SAMPLE, "others hold the CPU's counters" },

	{ ENOMEM, ANY, "the kernel is out of memory for it" },
};

void refusal_place(const struct refusal *r, char to[REFUSAL_PLACE_BYTES])
{
	const struct target *t = r->target;

	to[0] = '\0';
	if (t->path)
		(void)snprintf(to, REFUSAL_PLACE_BYTES, " (%s+0x%llx)", t->path,
			       (unsigned long long)t->offset);
}

const char *refusal_words(enum target_kind kind, int code)
{
	if (code == -EPERM || code == -EACCES)
		return "Operation not permitted (by kernel lockdown, a security module or missing "
		       "capabilities)";
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		if (refusals[i].code == -code && refusals[i].kinds & 1u << kind)
			return refusals[i].words;
	}
	if (code == -EMFILE || code == -ENFILE)
		return error_words(code);

	const char *words = strerrordesc_np(-code);
	return words ? words : "refused by the kernel";
}
