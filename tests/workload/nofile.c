// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * nofile N - getppid() N times from code in no file: N times in anonymous memory, N times in a
 * memfd of name "code".
 */
#include <sys/mman.h>

#include "work.h"

static uint64_t n;

/* push %rbp; mov %rsp,%rbp; mov $110,%eax; syscall; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb8, 0x6e, 0,
				      0,    0,    0x0f, 0x05, 0x5d, 0xc3 };

_Static_assert(SYS_getppid == 110, "the code's");

static void (*map_code(int flags, int fd))(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, flags, fd, 0);

	if (at == MAP_FAILED)
		exit(1);
	memcpy(at, code, sizeof(code));
	return (void (*)(void))at;
}

FRAME static void call_anonymous(void (*call)(void))
{
	call();
	STAY();
}

FRAME static void call_memfd(void (*call)(void))
{
	call();
	STAY();
}

FRAME static void run(void)
{
	int fd = memfd_create("code", 0);
	void (*anonymous)(void) = map_code(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	void (*memfd)(void);

	if (fd < 0 || ftruncate(fd, 4096) != 0)
		exit(1);
	memfd = map_code(MAP_SHARED, fd);
	for (uint64_t i = 0; i < n; i++) {
		call_anonymous(anonymous);
		call_memfd(memfd);
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("call_anonymous;[unknown]", n);
	work_expect("call_memfd;[unknown]", n);
	return 0;
}
