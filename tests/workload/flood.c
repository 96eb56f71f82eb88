// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * flood WHAT WORKERS FOLDER [LIBRARY] - hits without end, from WORKERS processes at once, until
 * the process is killed. A hit is getppid(2).
 *
 *	programs   each hit is of a new program: a new file in FOLDER, with a build ID of its own
 *	files      each hit is in a new file: a copy of LIBRARY (liblate.so), loaded and unloaded
 *
 * FOLDER/count has the number of hits that have begun, and of those that are over. A file of FOLDER
 * is removed once its hit is over.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "work.h"

static struct counts {
	uint64_t n_begun, n_over;
} * counts;

static const char *folder;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void open_counts(void)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/count", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*counts)) < 0)
		fail(path);
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		fail("mmap");
	close(fd);
}

FRAME static void hit(void (*make)(void))
{
	(void)__atomic_add_fetch(&counts->n_begun, 1, __ATOMIC_SEQ_CST);
	make();
	(void)__atomic_add_fetch(&counts->n_over, 1, __ATOMIC_SEQ_CST);
	STAY();
}

FRAME static void ask(void)
{
	GETPPID();
	STAY();
}

/* --- new files --- */

struct file {
	char *bytes;
	size_t n;
	size_t id; /* offset of the build ID's 20 bytes */
};

static struct file read_file(const char *path)
{
	static const char note[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU"; /* of a build ID */
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct file f = {};
	struct stat st;
	const char *at;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail(path);
	f.n = (size_t)st.st_size;
	f.bytes = malloc(f.n);
	if (read(fd, f.bytes, f.n) != (ssize_t)f.n)
		fail(path);
	close(fd);
	at = memmem(f.bytes, f.n, note, sizeof(note));
	if (!at)
		fail("build ID");
	f.id = (size_t)(at - f.bytes) + sizeof(note);
	return f;
}

static void write_new(struct file *f, uint64_t number, char path[4096])
{
	const uint64_t id[2] = { number, (uint64_t)getpid() };
	int fd;

	memcpy(f->bytes + f->id, id, sizeof(id));
	(void)snprintf(path, 4096, "%s/new-%d-%llu", folder, (int)getpid(),
		       (unsigned long long)number);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	if (fd < 0 || write(fd, f->bytes, f->n) != (ssize_t)f->n)
		fail(path);
	close(fd);
}

/* --- a hit of each kind --- */

static struct file file; /* to copy */

static void hit_by_program(uint64_t number)
{
	char path[4096];
	char *const arguments[] = { path, "hit", "1", (char *)folder, NULL };
	int status = 1;
	pid_t pid;

	write_new(&file, number, path);
	pid = fork();
	if (pid == 0) {
		(void)execv(path, arguments);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail(path);
	(void)unlink(path);
}

static void hit_by_file(uint64_t number)
{
	void (*late_entry)(void);
	char path[4096];
	void *handle;

	write_new(&file, number, path);
	handle = dlopen(path, RTLD_NOW);
	late_entry = handle ? (void (*)(void))dlsym(handle, "late_entry") : NULL;
	if (!late_entry)
		fail(path);
	hit(late_entry);
	(void)dlclose(handle);
	(void)unlink(path);
}

/* Until the first process ends. */
static void work(void (*hit_once)(uint64_t number), uint64_t worker, uint64_t n_workers)
{
	for (uint64_t i = worker;; i += n_workers)
		hit_once(i);
}

int main(int argc, char **argv)
{
	void (*hit_once)(uint64_t number);
	uint64_t n_workers;

	argv = work_begin(argc, argv, 3, "WHAT WORKERS FOLDER [LIBRARY]");
	n_workers = work_number(argv[1]);
	folder = argv[2];
	open_counts();
	if (strcmp(argv[0], "hit") == 0) {
		hit(ask);
		return 0;
	}
	hit_once = strcmp(argv[0], "programs") == 0 ? hit_by_program : hit_by_file;
	file = read_file(argv[3] ? argv[3] : "/proc/self/exe");
	for (uint64_t i = 1; i < n_workers; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid > 0)
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(hit_once, i, n_workers);
	}
	work(hit_once, 0, n_workers);
}
