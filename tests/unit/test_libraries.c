/* rooms: kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "children.h"
#include "scratch.h"

#include <sched.h>
#include <sys/mman.h>

#include "files/libraries.h"

TEST(a_librarys_file_is_told_by_its_short_name)
{
	static const struct {
		const char *file, *wanted, *version; /* NULL: another library */
	} rows[] = {
		{ "libc.so.6", "c", ".6" },
		{ "libc.so", "c", "" },
		{ "libc-2.31.so", "c", "-2.31.so" },
		{ "libc.so.6", "libc", ".6" },
		{ "libc.so.6", "libc.so", ".6" },
		{ "libc.so.6", "libc.so.6", "" },
		{ "libssl.so.1.1.1k", "ssl", ".1.1.1k" },
		{ "libc++.so.1", "c", NULL },
		{ "libcap.so.2", "c", NULL },
		{ "libc_malloc_debug.so.0", "c", NULL },
		{ "libc-client.so", "c", NULL },
		{ "libc.a", "c", NULL },
		{ "c", "libc", NULL },
		{ "libc.so.6", "lib", NULL },
		{ "libc.so.6", "", NULL },
		{ "xlibc.so.6", "c", NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *version = library_version(rows[i].file, rows[i].wanted);

		if (!version != !rows[i].version ||
		    (version && strcmp(version, rows[i].version) != 0))
			fail_msg("%s for %s: %s", rows[i].file, rows[i].wanted,
				 version ? version : "NULL");
	}
}

TEST(a_library_a_program_on_path_and_a_path_are_found)
{
	cleanup_free char *link = scratch_path("link"), *file = scratch_path("file");
	cleanup_free char *c = NULL, *sh = NULL, *path = NULL, *real = realpath("/bin/sh", NULL);

	assert_works(library_find("c", 0, &c, &e));
	assert_non_null(strstr(c, "/libc"));
	assert_works(library_find("sh", 0, &sh, &e));
	assert_string_equal(sh, real);
	scratch_write("file", "");
	scratch_run("ln -s file link");
	assert_works(library_find(link, 0, &path, &e));
	assert_string_equal(path, file);
}

TEST(what_is_not_found_says_where_was_looked)
{
	char *path;
	struct error e;

	assert_int_equal(library_find("no_such_thing", 0, &path, &e), -ENOENT);
	assert_string_equal(e.text, "no library or program 'no_such_thing' (looked in "
				    "/etc/ld.so.cache, the folders of libraries, and PATH)");
	assert_int_equal(library_find("./no_such_thing", 0, &path, &e), -ENOENT);
	assert_string_equal(e.text, "./no_such_thing: No such file or directory");
	assert_int_equal(library_find("/usr", 0, &path, &e), -ENOENT);
	assert_string_equal(e.text, "/usr: not a regular file");
	assert_int_equal(library_find("", 0, &path, &e), -ENOENT);
}

/* --- a cache that was written for the test --- */

struct entry {
	uint32_t flags, name, path, os;
	uint64_t level;
};

static char *write_cache(uint32_t n, const struct entry *entries, size_t n_entries,
			 const char *strings, size_t n_strings)
{
	char *path = scratch_path("cache");
	char header[48] = "glibc-ld.so.cache1.1";
	FILE *f = fopen(path, "w");

	memcpy(header + 20, &n, 4);
	assert_non_null(f);
	(void)fwrite(header, 1, sizeof(header), f);
	(void)fwrite(entries, sizeof(*entries), n_entries, f);
	(void)fwrite(strings, 1, n_strings, f);
	assert_int_equal(fclose(f), 0);
	return path;
}

/* Of one version the first. None for some CPUs, no script. ldconfig sorts strings by their ends. */
TEST(of_several_versions_the_highest_is_taken)
{
	const uint32_t n_folder = (uint32_t)strlen(scratch), at = 48 + 5 * 24;
	cleanup_free char *v10 = scratch_path("libx.so.10");
	char strings[1024];
	int n = snprintf(strings, sizeof(strings),
			 "%s/other/libx.so.10%c/none%s/libx.so.10%c%s/libx.so.9%c%s/libx.so.11%c"
			 "%s/libx.so.12",
			 scratch, 0, scratch, 0, scratch, 0, scratch, 0, scratch);
	const struct entry entries[] = {
		{ .path = at + 2 * n_folder + 35 },
		{ .path = at + n_folder + 23 },
		{ .path = at },
		{ .path = at + 3 * n_folder + 46, .level = 1ULL << 62 },
		{ .path = at + 4 * n_folder + 58 },
	};

	scratch_run("mkdir other; for v in 9 10 11; do cp /bin/true libx.so.$v; done; "
		    "cp /bin/true other/libx.so.10; echo 'INPUT(-lx)' > libx.so.12");

	cleanup_free char *cache = write_cache(5, entries, 5, strings, (size_t)n + 1);
	cleanup_free char *found = ldcache_find(cache, "x");
	assert_non_null(found);
	assert_string_equal(found, v10);

	assert_null(ldcache_find(cache, "y"));
}

TEST(a_broken_cache_has_nothing)
{
	const struct entry far = { .path = 0xfffffff0 }, unended = { .path = 72 };

	cleanup_free char *a = write_cache(0xffffffff, &far, 1, "", 0);
	assert_null(ldcache_find(a, "x"));
	cleanup_free char *b = write_cache(1, &unended, 1, "libx.so", 7);
	assert_null(ldcache_find(b, "x"));
	scratch_run("head -c 40 cache > short; : > empty");
	cleanup_free char *d = scratch_path("short"), *none = scratch_path("empty");
	assert_null(ldcache_find(d, "x"));
	assert_null(ldcache_find(none, "x"));
	assert_null(ldcache_find("/nonexistent", "x"));
}

/* --- processes --- */

TEST(libraries_of_a_process_are_those_that_it_has_mapped)
{
	uint32_t self = (uint32_t)getpid();
	cleanup_free char *libc = NULL, *exe = NULL, *here = NULL;
	char root[64];
	struct error e;
	char *none;

	(void)snprintf(root, sizeof(root), "/proc/%u/root/", self);
	assert_ok(library_find("c", self, &libc, &e), e);
	assert_int_equal(strncmp(libc, root, strlen(root)), 0);
	assert_non_null(strstr(libc, "/libc"));
	assert_ok(library_find("test_libraries", self, &exe, &e), e);
	here = realpath("/proc/self/exe", NULL);
	assert_string_equal(exe + strlen(root) - 1, here);

	assert_int_equal(library_find("python3", self, &none, &e), -ENOENT);
	assert_non_null(strstr(e.text, "has mapped no library or program 'python3'"));
	assert_int_equal(library_find("c", UINT32_MAX / 2, &none, &e), -ESRCH);
}

/*
 * A child in a root of its own, in which "app" is linked by an absolute symbolic
 * link; it has nothing mapped from there.
 */
TEST(a_path_of_a_process_is_looked_up_below_its_root)
{
	cleanup_free char *root = scratch_path("root");
	cleanup_free char *path = NULL, *direct = NULL;
	char want[64];
	struct error e;

	scratch_write("root/opt/app-1.0", "program");
	scratch_run("ln -s /opt/app-1.0 root/opt/app");

	const pid_t child = child_start_as(root, getuid());

	(void)snprintf(want, sizeof(want), "/proc/%d/root/opt/app-1.0", child);

	int err = library_find("/opt/app", (uint32_t)child, &path, &e);
	int err_direct = err ? err : library_find("/opt/app-1.0", (uint32_t)child, &direct, &e);
	char *none;
	struct error why;
	int err_none = library_find("/opt/none", (uint32_t)child, &none, &why);

	child_end(child);
	assert_ok(err, e);
	assert_ok(err_direct, e);
	assert_string_equal(path, want);
	assert_string_equal(direct, want);
	assert_int_equal(err_none, -ENOENT);
}

TEST(a_replaced_library_is_reached_by_its_mapping)
{
	cleanup_free char *file = scratch_path("libmapped.so.1");
	cleanup_free char *path = NULL;
	uint32_t self = (uint32_t)getpid();
	struct stat before, after;

	scratch_write("libmapped.so.1", "old");

	cleanup_close int fd = open(file, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_true(at != MAP_FAILED);
	assert_int_equal(fstat(fd, &before), 0);
	scratch_run("echo new > new && mv new libmapped.so.1");
	assert_works(library_find("mapped", self, &path, &e));
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(munmap(at, 4096), 0);
}

TEST_MAIN(scratch_make, scratch_remove)
