// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * samples FAULTS SLEEPS USER_MS KERNEL_MS - touch() comes to as many new pages, nap() sleeps as
 * often, and so much CPU time passes in turn() and in the kernel below fill(). Of the naps, the
 * answer is the number of the thread's switches meanwhile; of the others, milliseconds.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "work.h"

#define PAGE 4096

static uint64_t n_faults, n_sleeps, user_ms, kernel_ms, n_switches;

FRAME static void touch(volatile char *at)
{
	*at = 1;
	STAY();
}

FRAME static void touch_all(void)
{
	char *pages = mmap(NULL, (n_faults + 1) * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)madvise(pages, (n_faults + 1) * PAGE, MADV_NOHUGEPAGE);
	for (uint64_t i = 0; i < n_faults; i++)
		touch(pages + i * PAGE);
	(void)munmap(pages, (n_faults + 1) * PAGE);
	STAY();
}

static uint64_t switches(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

FRAME static void nap(void)
{
	const struct timespec moment = { .tv_nsec = 50000 };

	(void)nanosleep(&moment, NULL);
	STAY();
}

FRAME static void nap_all(void)
{
	const uint64_t before = switches();

	for (uint64_t i = 0; i < n_sleeps; i++)
		nap();
	n_switches = switches() - before;
	STAY();
}

static uint64_t cpu_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

FRAME static void turn(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
	STAY();
}

FRAME static void spin(void)
{
	const uint64_t end = cpu_ms() + user_ms;

	while (user_ms && cpu_ms() < end)
		turn();
	STAY();
}

FRAME static void fill(int zero)
{
	static char bytes[1 << 20];

	for (int i = 0; i < 16; i++)
		raw_syscall3(SYS_read, zero, (long)bytes, sizeof(bytes));
	STAY();
}

FRAME static void burn(void)
{
	const uint64_t end = cpu_ms() + kernel_ms;
	const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (kernel_ms && cpu_ms() < end)
		fill(zero);
	(void)close(zero);
	STAY();
}

FRAME static void run(void)
{
	touch_all();
	nap_all();
	spin();
	burn();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 4, "FAULTS SLEEPS USER_MS KERNEL_MS");
	n_faults = work_number(argv[0]);
	n_sleeps = work_number(argv[1]);
	user_ms = work_number(argv[2]);
	kernel_ms = work_number(argv[3]);
	work_run(run);
	work_expect("touch_all;touch", n_faults);
	work_expect("nap_all", n_switches);
	work_expect("spin;turn", user_ms);
	work_expect("burn;fill", kernel_ms);
	return 0;
}
