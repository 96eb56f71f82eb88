/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * work.h - what all workloads share: how they start, on which CPUs they run, and
 * how they say what a correct tool must report.
 *
 * PROGRAM [--wait] [--cpus 0,1] [--rename] ARGUMENTS...
 *   --wait    print "ready PID" and wait for a line on standard input; when all is done
 *             and said, print "done" and live on until the end of standard input
 *   --cpus    one thread per CPU listed, pinned; each does the whole work
 *   --rename  each thread takes a name of its own
 *   --quiet   say nothing: where the tracer starts the program and shares its output
 *
 * The answer is printed when the work is done, a line per call chain: functions from
 * the outermost of this program's own to the one that makes the hit, joined by ';',
 * a space, and the number of hits of all threads together.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A frame of its own, under its own name: not inlined, not cloned, not a tail call. clang does not
 * know noipa, and clones no function.
 */
#if defined(__clang__)
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa, noinline))
#endif

/*
 * Keeps a call in the middle of its function, an empty function from being removed,
 * and, by asking for it, the frame of a function that calls nothing: gcc leaves
 * that out in spite of -fno-omit-frame-pointer.
 */
#ifndef NO_FRAME_POINTERS
#define STAY() __asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory")
#else
#define STAY() __asm__ volatile("" : : : "memory")
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The body of a frame that does nothing but a call. */
#define CALLS(call)     \
	{               \
		call;   \
		STAY(); \
	}

/* Parse the common options; @argv[0] to the first argument that is the program's own. */
char **work_begin(int argc, char **argv, int n_wanted, const char *usage);

/* Run @run as asked. */
void work_run(void (*run)(void));

/* Print that @chain, below what leads to run(), was gone through @count times by each thread. */
void work_expect(const char *chain, uint64_t count);

/* The same for a whole chain and the hits of all together. */
void work_expect_at(const char *chain, uint64_t count);

/* Wait for the next line on standard input. */
void work_pause(void);

uint64_t work_number(const char *text);

/* A system call that no library wraps: its caller is the innermost user frame. */
static inline long raw_syscall3(long number, long a, long b, long c)
{
#if defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
#endif
}

#ifdef __cplusplus
}
#endif

#define GETPPID() raw_syscall3(SYS_getppid, 0, 0, 0)
