// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* early FILE N - a constructor waits for a byte from FILE; then getppid() N times. */
#include <fcntl.h>

#include "work.h"

static uint64_t n_hits;

__attribute__((constructor)) static void wait_early(int argc, char **argv)
{
	char byte;
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || read(fd, &byte, 1) != 1)
		_exit(3);
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n_hits; i++)
		GETPPID();
	STAY();
}

int main(int argc, char **argv)
{
	n_hits = argc > 2 ? work_number(argv[2]) : 0;
	run();
	return 0;
}
