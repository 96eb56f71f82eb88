// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The zygote's children, without sanitizers: what they can do. Their work here stands for find.c
 * and parser.c. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "elf/image.h"
#include "files/question.h"
#include "files/zygote.h"

#define MIB (1 << 20)
#define LEFT_MS 500 /* more than ZYGOTE_LEFT_AFTER_NS */

/* -- What a child tries: 0 or a negative errno, unless it is killed for it. -- */

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
	PTRACE, BPF, PERF_EVENT_OPEN, UNSHARE, X32, ABORT, ALLOCATE, N_TRIES, NOTHING = N_TRIES, READ_FILE,
};

static const char *const names[N_TRIES] = {
	"read", "write", "make", "remove", "exec_mmap", "exec_mprotect", "setuid", "socket",
	"execve", "fork", "kill", "ptrace", "bpf", "perf_event_open", "unshare", "x32", "abort", "allocate",
};
/* clang-format on */

static long try(uint32_t what, uint32_t *n)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	struct perf_event_attr event = { .size = sizeof(event) };
	char *const no_words[] = { NULL };
	union bpf_attr bpf = {};

	switch (what) {
	case READ:
		return code(open("/proc/self/exe", O_RDONLY));
	case WRITE:
		return code(write(open("/tmp/helpers.there", O_WRONLY), "", 1));
	case MAKE:
		return code(open("/tmp/helpers.made", O_RDONLY | O_CREAT, 0600));
	case REMOVE:
		return code(unlink("/tmp/helpers.there"));
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
	case ALLOCATE:
		return allocate(n);
	case NOTHING:
		return 0;
	default:
		abort();
	}
}

int finder_work(struct child *c, struct error *e)
{
	*e = (struct error){};
	return (int)try(c->question.n, &c->answer->n);
}

/* A file is opened and read before it gives up its rights. */
int parser_work(struct child *c, struct error *e)
{
	if (c->question.n == READ_FILE) {
		c->answer->n = (uint32_t)getpid();
		return (int)code(read(open(c->payload, O_RDONLY), &(char){ 0 }, 1));
	}

	const int err = child_confine(c, NULL, 0, e);

	return err ? err : (int)try(c->question.n, &c->answer->n);
}

/* -- The main process. -- */

static const struct {
	const char *name;
	uint32_t what;
} kinds[] = { { "finder", QUESTION_LIST }, { "parser", QUESTION_TABLE } };

static int control;

static void order(uint32_t what, const struct question *q, int area)
{
	const struct order order = { .what = what, .child = q->number, .question = q->what };

	if (packet_send(control, &order, sizeof(order), area))
		exit(1);
}

static struct news next(void)
{
	struct pollfd one = { .fd = control, .events = POLLIN };
	struct news news;

	if (poll(&one, 1, -1) < 0 || packet_receive(control, &news, sizeof(news), NULL))
		exit(1);
	return news;
}

/* Returns the area. */
static int ask(const struct question *q, const char *payload)
{
	int area;

	if (area_new(AREA_BYTES, &area) ||
	    pwrite(area, q, sizeof(*q), sizeof(struct answer)) != sizeof(*q) ||
	    pwrite(area, payload, q->n_bytes, sizeof(struct answer) + sizeof(*q)) < 0)
		exit(1);
	order(ORDER_ASK, q, area);
	return area;
}

static struct answer read_answer(int area)
{
	struct answer a = {};

	if (pread(area, &a, sizeof(a), 0) != sizeof(a))
		exit(1);
	return a;
}

/* "parser socket killed 31", "finder read 0 0" */
static void try_all(void)
{
	for (size_t k = 0; k < 2; k++)
		for (uint32_t what = 0; what < N_TRIES; what++) {
			const int area = ask(&(struct question){ 1, kinds[k].what, .n = what }, "");
			const struct news news = next();
			const struct answer a = read_answer(area);

			(void)close(area);
			printf("%s %s ", kinds[k].name, names[what]);
			if (WIFSIGNALED(news.status))
				printf("killed %d\n", WTERMSIG(news.status));
			else
				printf("%s %u\n", a.result ? strerrorname_np(-a.result) : "0", a.n);
		}
}

/* Parsers read @path until none is made any more: "stuck 4711". Before each, another one works. */
static void be_stuck(const char *path)
{
	const struct question nothing = { 1, QUESTION_TABLE, .n = NOTHING };
	struct question q = { 2, QUESTION_TABLE, .n = READ_FILE, .n_bytes = strlen(path) + 1 };
	struct pollfd one = { .fd = control, .events = POLLIN };
	struct news news;

	while (ask(&nothing, ""), news = next(), news.what == NEWS_ENDED && news.status == 0) {
		const int area = ask(&q, path);

		usleep(50000);
		order(ORDER_KILL, &q, -1);
		news = next(); /* NEWS_KILLED; then its end, if it ends */
		printf("%s %u\n", poll(&one, 1, LEFT_MS) ? "ended" : "stuck", read_answer(area).n);
		q.number++;
	}
	printf("refused %s\n", news.what == NEWS_REFUSED ? strerrorname_np(-news.status) : "-");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct zygote z;
	struct error e;

	if (zygote_start(files_work, &z, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	control = z.controls[0];
	if (argc > 1)
		be_stuck(argv[1]);
	else
		try_all();
	zygote_fini(&z);
	return 0;
}
