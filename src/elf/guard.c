// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "elf/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_FILES 2048

/* The guarded files have an @end other than 0. No lock, because a signal handler reads these. */
static struct {
	_Atomic uintptr_t start, end;
	atomic_bool is_taken, is_hit;
} files[MOST_FILES];

static uintptr_t page_bytes;

static bool note_hit(uintptr_t at)
{
	for (size_t i = 0; i < MOST_FILES; i++) {
		if (at < atomic_load(&files[i].start) || at >= atomic_load(&files[i].end))
			continue;
		atomic_store(&files[i].is_hit, true);
		return true;
	}
	return false;
}

/* Map zeros in place of the file's page. If this fails, the signal comes again and ends us. */
static void on_missing(int number, siginfo_t *info, void *context)
{
	const uintptr_t at = (uintptr_t)info->si_addr;
	const int before = errno;

	(void)context;
	if (!note_hit(at) ||
	    mmap((char *)info->si_addr - at % page_bytes, page_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		(void)signal(number, SIG_DFL);
	errno = before;
}

void guard_begin(void)
{
	struct sigaction action = { .sa_sigaction = on_missing, .sa_flags = SA_SIGINFO };

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGBUS, &action, NULL);
}

uint32_t guard_add(const void *at, size_t bytes)
{
	for (uint32_t i = 0; i < MOST_FILES; i++) {
		if (atomic_exchange(&files[i].is_taken, true))
			continue;
		atomic_store(&files[i].is_hit, false);
		atomic_store(&files[i].start, (uintptr_t)at);
		atomic_store(&files[i].end, (uintptr_t)at + bytes);
		return i;
	}
	return GUARD_NONE;
}

void guard_remove(uint32_t guard)
{
	if (guard == GUARD_NONE)
		return;
	atomic_store(&files[guard].end, 0);
	atomic_store(&files[guard].is_taken, false);
}

bool guard_is_hit(uint32_t guard)
{
	return guard != GUARD_NONE && atomic_load(&files[guard].is_hit);
}
