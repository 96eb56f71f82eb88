// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * multi PROGRAM PATTERN|FILE - attach a program of floor.bpf.c to many functions by one
 * kprobe.multi link, print "live", and hold it until standard input ends. The functions match the
 * glob PATTERN, or FILE (a name with a '/') lists them, one on a line. This is the least cost of
 * tracing so many functions. tracefs must be mounted.
 */
#include <bpf/libbpf.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "floor.skel.h"

#define TRACEABLE "/sys/kernel/tracing/available_filter_functions"

struct names {
	const char **names;
	size_t n;
};

static void add_name(struct names *names, const char *name)
{
	if (names->n % 1024 == 0)
		names->names = realloc(names->names, (names->n + 1024) * sizeof(*names->names));
	if (!names->names)
		abort();
	names->names[names->n++] = strdup(name);
}

/* A line is "ext4_read_inode [ext4]". Some are no functions: "__ftrace_invalid_address___5". */
static void read_names(const char *path, const char *pattern, struct names *ret)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		line[strcspn(line, " \t\n")] = '\0';
		if (strncmp(line, "__ftrace_invalid", 16) && !fnmatch(pattern, line, 0))
			add_name(ret, line);
	}
	free(line);
	if (f)
		(void)fclose(f);
}

static int compare(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The kernel refuses a list that has a name twice. */
static void keep_each_once(struct names *names)
{
	size_t n = 0;

	qsort(names->names, names->n, sizeof(*names->names), compare);
	for (size_t i = 0; i < names->n; i++)
		if (!n || strcmp(names->names[n - 1], names->names[i]) != 0)
			names->names[n++] = names->names[i];
	names->n = n;
}

int main(int argc, char **argv)
{
	LIBBPF_OPTS(bpf_kprobe_multi_opts, options);
	struct names names = {};
	struct bpf_program *p;
	struct bpf_link *link;
	struct floor_bpf *s;
	char byte;

	if (argc != 3)
		return 2;
	if (strchr(argv[2], '/')) {
		read_names(argv[2], "*", &names);
	} else {
		read_names(TRACEABLE, argv[2], &names);
		keep_each_once(&names);
	}
	s = floor_bpf__open();
	p = s ? bpf_object__find_program_by_name(s->obj, argv[1]) : NULL;
	if (!p || !names.n)
		return 2;
	(void)bpf_program__set_autoload(p, true);
	if (floor_bpf__load(s))
		return 1;
	options.syms = names.names;
	options.cnt = names.n;
	link = bpf_program__attach_kprobe_multi_opts(p, NULL, &options);
	if (!link)
		return 1;
	(void)printf("live: %zu functions\n", names.n);
	(void)fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return bpf_link__destroy(link) != 0;
}
