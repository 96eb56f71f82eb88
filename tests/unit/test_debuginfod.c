/* rooms: files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The program that fetches: what it has of ours, and what it says. Needs debuginfod-find. */
#include "test.h"

#include "unit/scratch.h"

#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "files/debuginfod.h"

static const uint8_t build_id[] = { 0xab, 0xcd, 0xef, 0x01 };

/* -- What is seen of it while a server does not answer. -- */

struct look {
	uint32_t pid;
	size_t n_environment;
	char name[64], status[8192], maps[1 << 18], environment[1 << 15];
	bool has_other_files;
};

static size_t read_of(uint32_t pid, const char *name, char *to, size_t n)
{
	char path[64];
	size_t length = 0;

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);

	cleanup_fclose FILE *file = fopen(path, "re");

	if (file)
		length = fread(to, 1, n - 1, file);
	to[length] = '\0';
	return length;
}

static int server = -1;

/* The program waits for an answer once it has connected. Then the server goes away. */
static void look_at(void *argument)
{
	cleanup_close int connection = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	struct look *l = argument;
	char path[64];

	if (connection < 0)
		return;
	(void)read_of(l->pid, "comm", l->name, sizeof(l->name));
	(void)read_of(l->pid, "status", l->status, sizeof(l->status));
	(void)read_of(l->pid, "maps", l->maps, sizeof(l->maps));
	l->n_environment = read_of(l->pid, "environ", l->environment, sizeof(l->environment));
	(void)snprintf(path, sizeof(path), "/proc/%u/fd/%d", l->pid, 200);
	l->has_other_files = access(path, F_OK) == 0 || errno != ENOENT;
	cleanup_close_fd(&server);
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

static bool has_variable(const struct look *l, const char *begin)
{
	return memmem(l->environment, l->n_environment, begin, strlen(begin)) != NULL;
}

TEST(the_program_that_fetches_has_nothing_of_ours)
{
	static struct look look;
	struct debuginfod *d;
	cleanup_free char *cache = scratch_path("cache");
	const int shared = memfd_create("shared-with-programs", MFD_CLOEXEC);

	assert_int_equal(ftruncate(shared, 4096), 0);
	assert_int_equal(dup2(shared, 200), 200); /* as if without O_CLOEXEC */

	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);

	assert_true(at != MAP_FAILED);
	listen_silently();
	assert_int_equal(setenv("DEBUGINFOD_CACHE_PATH", cache, 1), 0);
	assert_int_equal(setenv("LD_OURS", "secret", 1), 0);
	assert_int_equal(setenv("DEBUGINFOD_MAXTIME", "7", 1), 0);
	d = debuginfod_new(&look.pid, look_at, &look);
	assert_null(debuginfod_fetch(d, build_id, sizeof(build_id), "prog"));
	debuginfod_free(d);
	assert_int_equal(look.pid, 0);
	assert_string_equal(look.name, "debuginfod-find\n");
	assert_true(has_variable(&look, "DEBUGINFOD_URLS=http:") &&
		    has_variable(&look, "DEBUGINFOD_TIMEOUT=10") &&
		    has_variable(&look, "DEBUGINFOD_MAXTIME=7") && !has_variable(&look, "LD_OURS"));

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
}

/* -- Where it may keep what it fetches. -- */

/* There is no answer to the question. Returns what was told the user. */
static void get_none(struct debuginfod *d, char *told, size_t n)
{
	struct strbuf held = {};

	log_hold(&held);
	assert_null(debuginfod_fetch(d, build_id, sizeof(build_id), "prog"));
	(void)snprintf(told, n, "%s", held.text ? held.text : "");
	log_release();
}

/* As where sudo(8) has kept the user's HOME. */
TEST(a_cache_of_somebody_else_is_told_once)
{
	struct debuginfod *d;
	cleanup_free char *home = scratch_path("home");
	cleanup_free char *url = xasprintf("file://%s/server", scratch);
	char told[1024];

	scratch_write("server/buildid/abcdef01/debuginfo", "what was sent\n");
	assert_int_equal(setenv("DEBUGINFOD_URLS", url, 1), 0);
	d = debuginfod_new(NULL, NULL, NULL);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(chmod(home, geteuid() ? 0500 : 0777), 0); /* root may write to it */
	assert_int_equal(geteuid() ? 0 : chown(home, 65534, 65534), 0);
	assert_int_equal(unsetenv("DEBUGINFOD_CACHE_PATH"), 0);
	assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
	assert_int_equal(setenv("HOME", home, 1), 0);
	get_none(d, told, sizeof(told));
	assert_string_equal(told, "stackcount: debuginfod: symbols are not fetched: the process "
				  "that fetches may not write to its cache (Permission denied); "
				  "DEBUGINFOD_CACHE_PATH may name another folder\n");
	get_none(d, told, sizeof(told));
	assert_string_equal(told, "");
	debuginfod_free(d);
}

TEST_MAIN(scratch_make, scratch_remove)
