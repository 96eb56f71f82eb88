// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stranger KIND ... - what a program does that makes trouble for who traces it. Static, so it runs
 * in any root directory.
 *
 *  map TIMES FILE...     map the second page of each FILE as code, and call its beginning TIMES
 * times pieces N TIMES FILE   the same page N times at addresses side by side; call TIMES of these,
 * once each crowd N               N children that sleep. Each makes one hit
 *
 * Each is in place where "placed" is printed, and waits for a line. A hit is getppid(2).
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "work.h"

#define PAGE 4096UL

static char **arguments;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *map_code(const char *path, void *at)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *code;

	if (fd < 0)
		fail(path);
	code = mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, PAGE);
	if (code == MAP_FAILED)
		fail("mmap");
	close(fd);
	(void)*(volatile char *)code; /* so its file is not needed when it is called */
	return code;
}

static void place(void)
{
	printf("placed\n");
	work_pause();
}

FRAME static void visit(void *code) CALLS(((void (*)(void))code)());

FRAME static void map(void)
{
	const uint64_t times = work_number(arguments[0]);
	size_t n = 0;

	while (arguments[1 + n])
		n++;

	void **codes = calloc(n, sizeof(*codes));

	for (size_t i = 0; i < n; i++)
		codes[i] = map_code(arguments[1 + i], NULL);
	place();
	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < times; k++)
			visit(codes[i]);
	STAY();
}

FRAME static void pieces(void)
{
	const uint64_t n = work_number(arguments[0]), times = work_number(arguments[1]);
	const int fd = open(arguments[2], O_RDONLY | O_CLOEXEC);
	char *all =
		mmap(NULL, n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fd < 0 || all == MAP_FAILED)
		fail(arguments[2]);
	for (uint64_t i = 0; i < n; i++)
		if (mmap(all + i * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t)PAGE) == MAP_FAILED)
			fail("mmap");
	place();
	for (uint64_t i = 0; i < times; i++)
		visit(all + i * (n / times) * PAGE);
	STAY();
}

enum { GO, SAID, END, N_PIPES };

FRAME static void child(int (*pipes)[2])
{
	char byte = 0;

	(void)!read(pipes[GO][0], &byte, 1);
	GETPPID();
	(void)!write(pipes[SAID][1], &byte, 1);
	(void)!read(pipes[END][0], &byte, 1);
	_exit(0);
}

FRAME static void crowd(void)
{
	const uint64_t n = work_number(arguments[0]);
	int pipes[N_PIPES][2];
	char byte;

	for (int i = 0; i < N_PIPES; i++)
		if (pipe(pipes[i]) < 0)
			fail("pipe");
	fflush(stdout);
	for (uint64_t i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pipes[GO][1]);
		close(pipes[END][1]);
		child(pipes);
	}
	place();
	close(pipes[GO][1]);
	for (uint64_t i = 0; i < n; i++)
		if (read(pipes[SAID][0], &byte, 1) != 1)
			fail("read");
	work_expect_at("main;work_run;crowd;child", n);
	STAY();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = { { "map", map }, { "pieces", pieces }, { "crowd", crowd } };

	char **args = work_begin(argc, argv, 2, "map|pieces|crowd ...");

	arguments = args + 1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, args[0]) != 0)
			continue;
		work_run(kinds[i].run);
		return 0;
	}
	fprintf(stderr, "unknown kind: %s\n", args[0]);
	return 2;
}
