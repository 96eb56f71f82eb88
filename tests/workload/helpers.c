// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The helpers of src/helper, without sanitizers: what they can do. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper/channel.h"
#include "helper/lanes.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIB (1 << 20)

/* -- What a helper tries: 0 or a negative errno, unless it is killed for it. -- */

static long code(long result)
{
	return result < 0 ? -errno : 0;
}

/* How many MiB it can have: its answer's n. */
static long allocate(uint32_t *ret)
{
	for (*ret = 0; *ret < 4096; (*ret)++) {
		volatile char *block = malloc(MIB);

		if (!block)
			return -errno;
		*block = 1;
	}
	return 0;
}

/* clang-format off */
/* What there is to try, in this order. */
enum {
	READ, WRITE, MAKE, REMOVE, EXEC_MMAP, EXEC_MPROTECT, SETUID, SOCKET, EXECVE, FORK, KILL,
	PTRACE, BPF, PERF_EVENT_OPEN, UNSHARE, X32, ABORT, SEND_FILE, ALLOCATE, N_TRIES,
	ECHO = N_TRIES, READ_FILE,
};

static const char *const names[N_TRIES] = {
	"read", "write", "make", "remove", "exec_mmap", "exec_mprotect", "setuid", "socket",
	"execve", "fork", "kill", "ptrace", "bpf", "perf_event_open", "unshare", "x32", "abort",
	"send_file", "allocate",
};
/* clang-format on */

static long try(uint32_t what, const struct seat *seat, uint32_t *n)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	struct perf_event_attr event = { .size = sizeof(event) };
	char *const no_words[] = { NULL };
	union bpf_attr bpf = {};
	struct answer none = {};

	switch (what) {
	case READ:
		return code(open("/proc/self/exe", O_RDONLY));
	case WRITE:
		return code(open("/dev/null", O_WRONLY));
	case MAKE:
		return code(open("/tmp/helpers.made", O_RDONLY | O_CREAT, 0600));
	case REMOVE:
		return code(unlink("/tmp/helpers.made"));
	case EXEC_MMAP:
		return code((long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, flags, -1, 0));
	case EXEC_MPROTECT:
		return code(mprotect(mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0), 4096,
				     PROT_READ | PROT_EXEC));
	case SETUID:
		return code(setuid(65534));
	case SOCKET:
		return code(socket(AF_UNIX, SOCK_STREAM, 0));
	case EXECVE:
		return code(execve("/bin/true", no_words, no_words));
	case FORK:
		return code(fork());
	case KILL:
		return code(kill(getpid(), 0));
	case PTRACE:
		return code(ptrace(PTRACE_SEIZE, getpid(), NULL, NULL));
	case BPF:
		return code(syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &bpf, sizeof(bpf)));
	case PERF_EVENT_OPEN:
		return code(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
	case UNSHARE:
		return code(syscall(SYS_unshare, 0x10000000));
	case X32:
		return code(syscall(0x40000000 + SYS_getpid));
	case SEND_FILE: /* to the main process, which must not have to close it */
		return channel_pass(seat->channel, &none, sizeof(none), (int[]){ 0 }, 1);
	case ALLOCATE:
		return allocate(n);
	default:
		abort();
	}
}

static void on_ask(void *state, struct seat *seat, const struct ask *ask, const void *payload,
		   struct answer *a)
{
	(void)state;
	if (ask->what == READ_FILE)
		a->result = (int32_t)code(read(open(payload, O_RDONLY), &(char){ 0 }, 1));
	else if (ask->what == ECHO)
		a->n = (uint32_t)getpid();
	else
		a->result = (int32_t)try(ask->what, seat, &a->n);
}

static void serve(struct seat *seat)
{
	seat_serve(seat, on_ask, NULL);
}

/* -- The main process. -- */

/* Not const: the bound for one request is another than that for all others. */
static struct role roles[] = {
	{ "opener", SANDBOX_OPENER, serve, 16 * MIB, 0, 600000000000, 0, 1, NULL },
	{ "parser", SANDBOX_PARSER, serve, 80 * MIB, 0, 600000000000, 0, 1, NULL },
};

static void next(struct lane *l, struct lane_event *ret)
{
	struct pollfd one = { .fd = lane_fd(l), .events = POLLIN };

	while (!lane_next(l, ret))
		(void)poll(&one, 1, -1);
}

/* Ask as soon as it can be, and wait for what comes of it. That may be LANE_UNABLE. */
static void get_with(struct lane *l, unsigned role, struct ask *ask, const void *payload,
		     struct lane_event *ret)
{
	struct pollfd one = { .fd = lane_fd(l), .events = POLLIN };
	int err;

	while ((err = lane_ask(l, role, ask, payload)) == -EAGAIN) {
		(void)poll(&one, 1, -1);
		if (lane_next(l, ret) && ret->what == LANE_UNABLE)
			return;
	}
	if (err)
		exit(1);
	next(l, ret);
}

static void get(struct lane *l, unsigned role, uint32_t what, struct lane_event *ret)
{
	get_with(l, role, &(struct ask){ .what = what }, NULL, ret);
	if (ret->what == LANE_UNABLE) {
		printf("%s: %s\n", roles[role].name, ret->words);
		exit(1);
	}
}

/* "parser socket killed 31", "opener read 0" */
static void try_all(struct lane *l)
{
	struct lane_event event;

	for (unsigned role = 0; role < ARRAY_SIZE(roles); role++)
		for (uint32_t what = 0; what < N_TRIES; what++) {
			get(l, role, what, &event);
			printf("%s %s ", roles[role].name, names[what]);
			if (event.what == LANE_ANSWER)
				printf("%s %u\n",
				       event.answer.result ? strerrorname_np(-event.answer.result)
							   : "0",
				       event.answer.n);
			else
				printf("killed %d\n", WTERMSIG(event.status));
		}
}

/*
 * Openers read @path until none can be made any more: "stuck 4711 left 0". Between them a parser is
 * made: it begins while an opener that hangs has a file open.
 */
static void be_stuck(struct lane *l, const char *path)
{
	struct ask read_it = { .what = READ_FILE, .n_bytes = strlen(path) + 1 };
	struct ask echo = { .what = ECHO };
	struct lane_event event;

	for (unsigned role = 0;; role = !role) {
		get_with(l, role, &echo, NULL, &event);
		if (event.what == LANE_UNABLE)
			break;
		if (role == 1) {
			printf("parser %u\n", event.answer.n);
			lane_distrust(l);
			continue;
		}

		const uint32_t pid = event.answer.n;
		const uint64_t usual_ns = roles[0].wall_ns;

		roles[0].wall_ns = 50000000;
		get_with(l, 0, &read_it, path, &event);
		roles[0].wall_ns = usual_ns;
		if (event.what == LANE_FAILED && event.why == LANE_STUCK && event.in_call)
			printf("stuck %u left %u\n", pid, event.n_left);
	}
	printf("unable %s\n", event.words);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct warden w;
	struct error e;

	if (warden_start(roles, ARRAY_SIZE(roles), &w, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}

	struct lane *l = lane_new(warden_take_control(&w, 0), roles, ARRAY_SIZE(roles));

	if (argc > 2)
		be_stuck(l, argv[2]);
	else
		try_all(l);
	lane_free(l);
	warden_fini(&w);
	return 0;
}
