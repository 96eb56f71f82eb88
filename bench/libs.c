// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libs FILE... - load these shared objects, print "ready" and the number of those that could be
 * loaded. Then call getppid() each millisecond until standard input ends.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	int n = 0;

	for (int i = 1; i < argc; i++)
		n += dlopen(argv[i], RTLD_LAZY) != NULL;
	(void)printf("ready %d\n", n);
	(void)fflush(stdout);
	while (poll(&input, 1, 1) == 0)
		(void)getppid();
	return 0;
}
