// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * floor PROGRAM CATEGORY EVENT - attach a program of floor.bpf.c to a tracepoint, print "live", and
 * hold it until standard input ends. tracefs must be mounted.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

#include "floor.skel.h"

int main(int argc, char **argv)
{
	struct floor_bpf *s;
	struct bpf_program *p;
	char byte;

	if (argc != 4)
		return 2;
	s = floor_bpf__open();
	p = s ? bpf_object__find_program_by_name(s->obj, argv[1]) : NULL;
	if (!p)
		return 2;
	(void)bpf_program__set_autoload(p, true);
	if (floor_bpf__load(s))
		return 1;
	if (!bpf_program__attach_tracepoint(p, argv[2], argv[3]))
		return 1;
	(void)puts("live");
	(void)fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
