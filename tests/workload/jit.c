// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * jit STEP... - code that is made as it runs, with a perf map, /tmp/perf-PID.map:
 *
 *	=K:NAME  place K (0 to 9) is told to be function NAME, at the end of the map
 *	@K:N     getppid() N times from place K
 *	m        from here on the code lies in a memfd of name "made", else in anonymous memory
 *	,        say "paused", and wait for a line on standard input
 *
 * A place is code for one call, and what is called without a name, or behind one, is [unknown].
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "work.h"

#define PLACES 10
#define PLACE_BYTES 64

/* push %rbp; mov %rsp,%rbp; mov $110,%eax; syscall; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb8, 0x6e, 0,
				      0,    0,    0x0f, 0x05, 0x5d, 0xc3 };

_Static_assert(SYS_getppid == 110, "the code's");

static char **steps;
static char *memory;
static const char *names[PLACES];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void map_code(int flags, int fd)
{
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	for (int i = 0; i < PLACES; i++) {
		memcpy(memory + i * PLACE_BYTES, code, sizeof(code));
		names[i] = "[unknown]";
	}
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0)
		fail("mprotect");
}

static void map_memfd(void)
{
	int fd = memfd_create("made", 0);

	if (fd < 0 || ftruncate(fd, 4096) != 0)
		fail("memfd_create");
	map_code(MAP_SHARED, fd);
}

static void tell(unsigned place, const char *name)
{
	char path[64];

	(void)mkdir("/tmp", 0777); /* in a root of its own */
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());

	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);

	if (fd < 0 || dprintf(fd, "%lx %zx %s\n", (unsigned long)(memory + place * PLACE_BYTES),
			      sizeof(code), name) < 0)
		fail(path);
	close(fd);
	names[place] = name;
}

FRAME static void call_made(void (*call)(void)) CALLS(call());

FRAME static void call_place(unsigned place, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		call_made((void (*)(void))(memory + place * PLACE_BYTES));
	STAY();
}

static void expect(unsigned place, uint64_t n)
{
	char chain[4096];

	snprintf(chain, sizeof(chain), "call_place;call_made;%s", names[place]);
	work_expect(chain, n);
}

FRAME static void run(void)
{
	map_code(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (char **step = steps; *step; step++) {
		unsigned place = (unsigned)((*step)[1] - '0');

		if ((*step)[0] == 'm') {
			map_memfd();
		} else if ((*step)[0] == ',') {
			printf("paused\n");
			work_pause();
		} else if (place >= PLACES || (*step)[2] != ':') {
			fprintf(stderr, "%s is no step\n", *step);
			exit(2);
		} else if ((*step)[0] == '@') {
			call_place(place, work_number(*step + 3));
			expect(place, work_number(*step + 3));
		} else {
			tell(place, *step + 3);
		}
	}
	STAY();
}

int main(int argc, char **argv)
{
	steps = work_begin(argc, argv, 1, "STEP...");
	work_run(run);
	return 0;
}
