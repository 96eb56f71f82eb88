/* rooms: reader helper unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The process that fetches: what it has of ours, and what it says. Needs elfutils' library or
 * program. */
#include "test.h"

#include "unit/scratch.h"

#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "reader/debuginfod.h"
#include "reader/debuginfod_find.h"

#define PATIENCE_NS (120 * NS_PER_S)

static const uint8_t build_id[] = { 0xab, 0xcd, 0xef, 0x01 };

/* -- What is seen of it while a server does not answer. -- */

struct look {
	uint32_t pid;
	uint64_t until;
	char status[8192], maps[1 << 18];
	bool has_other_files;
};

static void read_of(uint32_t pid, const char *name, char *to, size_t n)
{
	char path[64];
	size_t length = 0;

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);

	cleanup_fclose FILE *file = fopen(path, "re");

	if (file)
		length = fread(to, 1, n - 1, file);
	to[length] = '\0';
}

/* The server's end of a connection: the process waits for an answer. */
static int server = -1;

static bool has_connected(void)
{
	static int connection = -1;

	if (connection < 0)
		connection = accept4(server, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return connection >= 0;
}

static bool look_at(void *argument, long done, long all)
{
	struct look *l = argument;
	char path[64];

	if (!has_connected())
		return clock_ns(CLOCK_MONOTONIC) > l->until;
	if (l->maps[0])
		return true; /* it is about to end */
	read_of(l->pid, "status", l->status, sizeof(l->status));
	read_of(l->pid, "maps", l->maps, sizeof(l->maps));
	(void)snprintf(path, sizeof(path), "/proc/%u/fd/%d", l->pid, 200);
	l->has_other_files = access(path, F_OK) == 0 || errno != ENOENT;
	return true;
}

static void listen_silently(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(address);
	char url[64];

	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server, 9), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &n), 0);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(address.sin_port));
	assert_int_equal(setenv("DEBUGINFOD_URLS", url, 1), 0);
}

TEST(the_process_that_fetches_has_nothing_of_ours)
{
	static struct look look;
	cleanup(debuginfod_answer_fini) struct debuginfod_answer answer = {};
	const struct debuginfod_question question = { build_id, sizeof(build_id), 1 << 20,
						      &look.pid };
	cleanup_free char *cache = scratch_path("cache");
	const int shared = memfd_create("shared-with-programs", MFD_CLOEXEC);

	assert_int_equal(ftruncate(shared, 4096), 0);
	assert_int_equal(dup2(shared, 200), 200); /* as if without O_CLOEXEC */

	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);

	assert_true(at != MAP_FAILED);
	listen_silently();
	assert_int_equal(setenv("DEBUGINFOD_CACHE_PATH", cache, 1), 0);
	look.until = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	assert_int_not_equal(debuginfod_find(&question, look_at, &look, &answer), 0);
	assert_true(has_connected());

	static const char *const none[] = { "CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd" };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]) - (geteuid() != 0); i++) {
		cleanup_free char *line = xasprintf("\n%s:\t0000000000000000\n", none[i]);

		if (!strstr(look.status, line))
			fail_msg("%s: %s", none[i], look.status);
	}
	assert_non_null(strstr(look.status, "\nNoNewPrivs:\t1\n"));
	assert_non_null(strstr(look.status, "\nSeccomp:\t2\n"));
	assert_true(look.maps[0] && !strstr(look.maps, "shared-with-programs"));
	assert_false(look.has_other_files);
	(void)munmap(at, 4096);
	(void)close(200);
	(void)close(shared);
	(void)close(server);
}

/* -- Where it may keep what it fetches. -- */

static const char *file_url(void)
{
	static char url[128];

	(void)snprintf(url, sizeof(url), "file://%s/server", scratch);
	return url;
}

static void make_server(void)
{
	cleanup_free char *folder = scratch_path("server/buildid/abcdef01");
	cleanup_free char *command =
		xasprintf("mkdir -p '%s' && echo what was sent > '%s/debuginfo'", folder, folder);

	assert_int_equal(system(command), 0);
	assert_int_equal(setenv("DEBUGINFOD_URLS", file_url(), 1), 0);
}

/* The answer to the question, and what was told the user. */
static int get(struct debuginfod *d, char **ret_path, char *told, size_t n)
{
	cleanup_free char *log = scratch_path("log");
	const int saved = dup(STDERR_FILENO);
	cleanup_close int fd = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);

	const int err = debuginfod_get_path(d, build_id, sizeof(build_id), "prog", ret_path, NULL);

	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(saved);

	const ssize_t got = pread(fd, told, n - 1, 0);

	told[got > 0 ? got : 0] = '\0';
	return err;
}

TEST(the_path_is_that_of_the_file_in_the_cache)
{
	struct debuginfod *d = debuginfod_new(&(struct debuginfod_options){ 0 });
	cleanup_free char *cache = scratch_path("kept");
	cleanup_free char *path = NULL;
	char told[512], sent[32] = "";
	int fd;

	make_server();
	assert_int_equal(setenv("DEBUGINFOD_CACHE_PATH", cache, 1), 0);
	assert_int_equal(get(d, &path, told, sizeof(told)), 0);
	assert_string_equal(told, "");
	assert_memory_equal(path, cache, strlen(cache));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, sent, sizeof(sent) - 1) > 0);
	assert_string_equal(sent, "what was sent\n");
	(void)close(fd);
	debuginfod_free(d);
}

/* As where sudo(8) has kept the user's HOME. */
TEST(a_cache_of_somebody_else_is_told_once)
{
	struct debuginfod *d = debuginfod_new(&(struct debuginfod_options){ 0 });
	cleanup_free char *home = scratch_path("home");
	cleanup_free char *path = NULL;
	cleanup_free char *expected = NULL;
	char told[1024];

	make_server();
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(geteuid() ? chmod(home, 0500) : chown(home, 65534, 65534), 0);
	assert_int_equal(unsetenv("DEBUGINFOD_CACHE_PATH"), 0);
	assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
	assert_int_equal(setenv("HOME", home, 1), 0);
	assert_int_equal(get(d, &path, told, sizeof(told)), -ENOENT);
	assert_null(path);
	expected = xasprintf("stackcount: debuginfod: symbols are not fetched: they would be kept "
			     "in %s",
			     home);
	assert_memory_equal(told, expected, strlen(expected));
	assert_non_null(strstr(told, "may not write (Permission denied); DEBUGINFOD_CACHE_PATH"));
	assert_int_equal(get(d, &path, told, sizeof(told)), -ENOTSUP);
	assert_string_equal(told, "");
	debuginfod_free(d);
}

TEST_MAIN(scratch_make, scratch_remove)
