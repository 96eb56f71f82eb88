// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The helpers of src/helper, without sanitizers: what they can do, what they have, what they cost.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
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

static long try_read(void)
{
	return code(open("/proc/self/exe", O_RDONLY));
}

static long try_write(void)
{
	return code(open("/dev/null", O_WRONLY));
}

static long try_make(void)
{
	return code(open("/tmp/helpers.made", O_RDONLY | O_CREAT, 0600));
}

static long try_remove(void)
{
	return code(unlink("/tmp/helpers.made"));
}

static long try_socket(void)
{
	return code(socket(AF_UNIX, SOCK_STREAM, 0));
}

static long try_execve(void)
{
	char *const none[] = { NULL };

	return code(execve("/bin/true", none, none));
}

static long try_fork(void)
{
	return code(fork());
}

static long try_kill(void)
{
	return code(kill(getpid(), 0));
}

static long try_ptrace(void)
{
	return code(ptrace(PTRACE_SEIZE, getpid(), NULL, NULL));
}

static long try_bpf(void)
{
	union bpf_attr attr = {};

	return code(syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr)));
}

static long try_perf_event_open(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };

	return code(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static long try_unshare(void)
{
	return code(syscall(SYS_unshare, 0x10000000));
}

static long try_exec_mmap(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? -errno
		       : 0;
}

static long try_exec_mprotect(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return code(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static long try_setuid(void)
{
	return code(setuid(65534));
}

static long try_x32(void)
{
	return code(syscall(0x40000000 + SYS_getpid));
}

static long try_abort(void)
{
	abort();
}

/* How many MiB it can have: its answer's n. */
static long try_allocate(uint32_t *ret)
{
	for (*ret = 0; *ret < 4096; (*ret)++) {
		volatile char *block = malloc(MIB);

		if (!block)
			return -errno;
		*block = 1;
	}
	return 0;
}

/* To the main process, which must not have to close it. */
static long try_send_file(const struct seat *seat)
{
	struct answer none = {};

	return channel_pass(seat->channel, &none, sizeof(none), (int[]){ 0 }, 1);
}

static const struct {
	const char *name;
	long (*run)(void);
} tries[] = {
	{ "read", try_read },
	{ "write", try_write },
	{ "make", try_make },
	{ "remove", try_remove },
	{ "exec_mmap", try_exec_mmap },
	{ "exec_mprotect", try_exec_mprotect },
	{ "setuid", try_setuid },
	{ "socket", try_socket },
	{ "execve", try_execve },
	{ "fork", try_fork },
	{ "kill", try_kill },
	{ "ptrace", try_ptrace },
	{ "bpf", try_bpf },
	{ "perf_event_open", try_perf_event_open },
	{ "unshare", try_unshare },
	{ "x32", try_x32 },
	{ "abort", try_abort },
};
enum { SEND_FILE = ARRAY_SIZE(tries), ALLOCATE, ECHO, READ_FILE };

static void on_ask(void *state, struct seat *seat, const struct ask *ask, const void *payload,
		   struct answer *a)
{
	(void)state;
	if (ask->what == READ_FILE)
		a->result = (int32_t)code(read(open(payload, O_RDONLY), &(char){ 0 }, 1));
	else if (ask->what == SEND_FILE)
		a->result = (int32_t)try_send_file(seat);
	else if (ask->what == ALLOCATE)
		a->result = (int32_t)try_allocate(&a->n);
	else if (ask->what == ECHO)
		a->n = (uint32_t)getpid();
	else
		a->result = (int32_t)tries[ask->what].run();
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
		for (uint32_t what = 0; what <= ALLOCATE; what++) {
			const char *name = what == SEND_FILE  ? "send_file"
					   : what == ALLOCATE ? "allocate"
							      : tries[what].name;

			get(l, role, what, &event);
			printf("%s %s ", roles[role].name, name);
			if (event.what == LANE_ANSWER)
				printf("%s %u\n",
				       event.answer.result ? strerrorname_np(-event.answer.result)
							   : "0",
				       event.answer.n);
			else
				printf("killed %d\n", WTERMSIG(event.status));
		}
}

/* Until standard input ends: "opener 4711 layers 1". */
static void stay(const struct warden *w, struct lane *l)
{
	struct lane_event event;
	char byte;

	printf("warden %d layers 0\n", w->pid);
	for (unsigned role = 0; role < ARRAY_SIZE(roles); role++) {
		get(l, role, ECHO, &event);
		printf("%s %u layers %u\n", roles[role].name, event.answer.n, event.layers);
	}
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
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

/*
 * Refuse what containers refuse whose rules are older than these calls.
 */
static void be_in_old_container(void)
{
	static const int refused[] = { SYS_close_range, SYS_unshare, 444 /* Landlock's first */ };
	struct sock_filter code[2 * ARRAY_SIZE(refused) + 2];
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (uint32_t)refused[i], 0, 1);
		code[n++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		exit(1);
}

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_number(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_median(const char *what, double *us, size_t n)
{
	qsort(us, n, sizeof(*us), by_number);
	printf("%s: median %.1f us, least %.1f, 90th percentile %.1f\n", what, us[n / 2], us[0],
	       us[n * 9 / 10]);
}

#define N_STARTS 50
#define N_ASKS 5000

static void measure_starts(void)
{
	static double fork_us[N_STARTS], first_us[N_STARTS], start_us[2][N_STARTS];

	for (size_t i = 0; i < N_STARTS; i++) {
		struct lane_event event;
		struct warden w;
		struct error e;
		double begin = now_us();

		if (warden_start(roles, ARRAY_SIZE(roles), &w, &e))
			exit(1);
		fork_us[i] = now_us() - begin;

		struct lane *l = lane_new(warden_take_control(&w, 0), roles, ARRAY_SIZE(roles));

		for (unsigned role = 0; role < 2; role++) {
			/* The first has to wait for the warden, too. */
			if (role == 0) {
				get(l, role, ECHO, &event);
				first_us[i] = now_us() - begin;
				lane_distrust(l);
			}
			begin = now_us();
			get(l, role, ECHO, &event);
			start_us[role][i] = now_us() - begin;
		}
		lane_free(l);
		warden_fini(&w);
		(void)waitpid(w.pid, NULL, 0);
	}
	print_median("fork of the warden, as the main process sees it", fork_us, N_STARTS);
	print_median("from there to the first opener's first answer", first_us, N_STARTS);
	print_median("an opener after one that was ended, made and asked", start_us[0], N_STARTS);
	print_median("a parser, made and asked", start_us[1], N_STARTS);
}

static void measure_asks(struct lane *l)
{
	static double us[N_ASKS];
	struct lane_event event;

	for (unsigned role = 0; role < 2; role++) {
		uint64_t cpu_ns = 0;

		for (size_t i = 0; i < N_ASKS; i++) {
			const double begin = now_us();

			get(l, role, ECHO, &event);
			us[i] = now_us() - begin;
			cpu_ns += event.cpu_ns;
		}
		printf("%s, %.1f us of its CPU, ", roles[role].name, (double)cpu_ns / N_ASKS / 1e3);
		print_median("question and answer", us, N_ASKS);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct warden w;
	struct error e;

	if (argc > 2 && strcmp(argv[2], "contained") == 0)
		be_in_old_container();
	if (strcmp(mode, "cost") == 0)
		measure_starts();
	if (warden_start(roles, ARRAY_SIZE(roles), &w, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}

	struct lane *l = lane_new(warden_take_control(&w, 0), roles, ARRAY_SIZE(roles));

	if (strcmp(mode, "cost") == 0)
		measure_asks(l);
	else if (strcmp(mode, "stuck") == 0)
		be_stuck(l, argv[2]);
	else if (strcmp(mode, "try") == 0)
		try_all(l);
	else
		stay(&w, l);
	lane_free(l);
	warden_fini(&w);
	return 0;
}
