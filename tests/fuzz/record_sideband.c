// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * record_sideband DIRECTORY - write what the running kernel's rings hold, as fuzz_sideband wants
 * it, to files there. For make_corpus; needs root.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "processes/sideband.c" /* for the rings themselves */

static void run_shell(void)
{
	if (system("true") != 0)
		exit(1);
}

static void *name_thread(void *unused)
{
	(void)unused;
	(void)prctl(PR_SET_NAME, "a thread's name");
	return NULL;
}

static void run_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, name_thread, NULL) == 0)
		(void)pthread_join(thread, NULL);
}

static void map_memory(void)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);

	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* One more than the ring has room for is written only when there is room again. */
static struct sideband_ring *full_ring;

static void fill(void)
{
	for (int i = 0; i < 8; i++)
		run_shell();
	sideband_ring_look(full_ring);
	full_ring->tail = full_ring->page->data_tail = full_ring->head;
	run_thread();
}

static void record(const char *directory, const char *name, uint32_t ring_bytes, void (*act)(void))
{
	const struct sideband_options options = { .ring_bytes = ring_bytes };
	static uint8_t bytes[1 << 16];
	struct sideband *s;
	struct error e;
	char path[4096];

	if (sideband_open(&options, &s, &e) != 0) {
		(void)fprintf(stderr, "%s\n", e.text);
		exit(1);
	}

	struct sideband_ring *ring = &s->cpus[0]->ring;

	full_ring = ring;
	act();
	sideband_ring_look(ring);
	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);

	FILE *f = fopen(path, "w");
	const uint16_t before = (uint16_t)ring->tail;

	if (!f)
		exit(1);
	for (uint64_t at = ring->tail; at < ring->head; at++)
		bytes[at - ring->tail] =
			((uint8_t *)
				 ring->page)[ring->page->data_offset + at % ring->page->data_size];
	(void)fwrite(&ring->build_id_event, 8, 1, f);
	(void)fwrite(&before, 2, 1, f);
	(void)fwrite(bytes, 1, ring->head - ring->tail, f);
	(void)fclose(f);
	sideband_close(s);
}

int main(int argc, char **argv)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (argc != 2 || sched_setaffinity(0, sizeof(first), &first) < 0)
		return 1;
	record(argv[1], "shell", 16384, run_shell);
	record(argv[1], "thread", 16384, run_thread);
	record(argv[1], "memory", 16384, map_memory);
	record(argv[1], "lost", 4096, fill);
	return 0;
}
