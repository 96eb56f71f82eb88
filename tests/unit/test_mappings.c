/* rooms: kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "children.h"
#include "scratch.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "base/strbuf.h"
#include "base/strtab.h"
#include "files/mappings.h"
#include "unit/files.h"

static int open_in(int root, const struct mapping *m, int *ret_fd, struct error *e)
{
	cleanup_close int handle = -1;
	struct stat none = {}, st;
	const int err = mapping_find_in(root, m, &none, &handle, &st, e);

	return err ? err : mapping_reopen(handle, ret_fd, e);
}

static int open_mapped(const struct mapping *m, int *ret_fd, struct error *e)
{
	cleanup_close int handle = -1;
	struct stat st;
	const int err = mapping_find_by_process((uint32_t)getpid(), m, &handle, &st, e);

	return err ? err : mapping_reopen(handle, ret_fd, e);
}

TEST(an_executable_line_is_taken_apart)
{
	struct strtab *strings = strtab_new();
	struct mapping m;

	assert_true(mapping_parse("7fa1b9cc3000-7fa1b9e19000 r-xp 00026000 fe:01 332835      "
				  "               /usr/lib/libc.so.6\n",
				  strings, &m));
	assert_true(m.start == 0x7fa1b9cc3000 && m.end == 0x7fa1b9e19000 && m.offset == 0x26000);
	assert_true(m.dev == makedev(0xfe, 1) && m.inode == 332835);
	assert_string_equal(m.path, "/usr/lib/libc.so.6");
	assert_false(m.is_deleted);
	strtab_free(strings);
}

TEST(what_is_not_executable_or_not_well_formed_is_refused)
{
	static const char *const lines[] = {
		"",
		"\n",
		"7fa1b9cc3000-7fa1b9e19000 r--p 00026000 fe:00 332835 /usr/lib/libc.so.6",
		"7fa1b9e19000-7fa1b9cc3000 r-xp 00026000 fe:00 332835 /end/before/start",
		"7fa1b9cc3000-7fa1b9cc3000 r-xp 00026000 fe:00 332835 /empty",
		"7fa1b9cc3000 r-xp 00026000 fe:00 332835 /usr/lib/libc.so.6",
		"7fa1b9cc3000-7fa1b9e19000 r-x",
		"7fa1b9cc3000-7fa1b9e19000 r-xp",
		"7fa1b9cc3000-7fa1b9e19000 r-xp 00026000",
		"7fa1b9cc3000-7fa1b9e19000 r-xp 00026000 fe:00",
		"7fa1b9cc3000-7fa1b9e19000 r-xp 00026000 fe:00 x",
		"7fa1b9cc3000-7fa1b9e19000 r-xp 00026000 fe:00 332835/no/space",
		"00007fa1b9cc3000ff-7fa1b9e19000 r-xp 00026000 fe:00 332835 /number/too/long",
		"7fa1b9cc3000-7fa1b9e19000 r-xp 00026000 fe:00 99999999999999999999 /inode/too/big",
	};
	struct strtab *strings = strtab_new();
	struct mapping m;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (mapping_parse(lines[i], strings, &m))
			fail_msg("taken: %s", lines[i]);
	strtab_free(strings);
}

TEST(paths_are_as_the_process_sees_them)
{
	static const struct {
		const char *text, *path;
		bool is_deleted;
	} rows[] = {
		{ "00:01 9     /memfd:jit (deleted)", "/memfd:jit", true },
		{ "00:01 1027  /dev/zero (deleted)", "/dev/zero", true },
		{ "fe:00 17    /tmp/two  words (x) (deleted)", "/tmp/two  words (x)", true },
		{ "fe:00 17    /tmp/a\\012b\\134c", "/tmp/a\nb\\134c", false },
		{ "00:00 0     [vdso]", "[vdso]", false },
		{ "00:00 0     [vsyscall]", "[vsyscall]", false },
		{ "00:00 0     [anon:JIT code]", "[anon:JIT code]", false },
		{ "00:00 0 ", "", false },
		{ "00:00 0", "", false },
		{ "00:05 12    //anon", "//anon", false },
		{ "00:05 12     (deleted)", "(deleted)", false },
	};
	struct strtab *strings = strtab_new();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *line = xasprintf("7000-8000 rwxs 00001000 %s\n", rows[i].text);
		struct mapping m;

		assert_true(mapping_parse(line, strings, &m));
		assert_string_equal(m.path, rows[i].path);
		assert_int_equal(m.is_deleted, rows[i].is_deleted);
		assert_true(m.inode || m.dev == 0);
	}
	strtab_free(strings);
}

static const struct mapping *find(const struct mapping_list *list, const char *part)
{
	for (size_t i = 0; i < list->n; i++)
		if (strstr(list->mappings[i].path, part))
			return &list->mappings[i];
	return NULL;
}

TEST(this_process_is_mapped_where_its_functions_are)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	char self[4096] = "", path[5000];
	uint64_t here = (uintptr_t)this_process_is_mapped_where_its_functions_are;

	assert_works(mapping_list_read((uint32_t)getpid(), &list, &e));

	const struct mapping *m = mapping_list_at(&list, here);

	assert_non_null(m);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_string_equal(m->path, self);
	assert_non_null(find(&list, "libc.so.6"));
	assert_non_null(find(&list, "[vdso]"));
	assert_null(mapping_list_at(&list, 0));
	assert_null(mapping_list_at(&list, (uintptr_t)&list)); /* the stack */
	mapping_path((uint32_t)getpid(), m, path, sizeof(path));
	assert_int_equal(access(path, R_OK), 0);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

/* Map a copy of a page of code from @name, and return its mapping in @list. */
static struct mapping map_file(const char *name, struct mapping_list *list)
{
	cleanup_free char *path = scratch_path(name);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);

	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_true(at != MAP_FAILED);
	assert_works(mapping_list_read((uint32_t)getpid(), list, &e));

	const struct mapping *m = mapping_list_at(list, (uintptr_t)at);

	assert_non_null(m);
	assert_string_equal(m->path, path);
	return *m;
}

TEST(a_deleted_file_opens_as_long_as_it_is_mapped)
{
	cleanup(mapping_list_fini) struct mapping_list before = {}, list = {};
	cleanup_close int fd = -1, none = -1;
	struct error e;
	char path[5000], text[5] = "";

	scratch_write("gone", "code");

	struct mapping m = map_file("gone", &before);

	scratch_run("rm gone");
	assert_ok(mapping_list_read((uint32_t)getpid(), &list, &e), e);
	m = *mapping_list_at(&list, m.start);
	assert_true(m.is_deleted);
	assert_ok(open_mapped(&m, &fd, &e), e);
	assert_int_equal(read(fd, text, 4), 4);
	assert_string_equal(text, "code");
	mapping_path((uint32_t)getpid(), &m, path, sizeof(path));
	assert_int_equal(access(path, R_OK), 0);

	assert_int_equal(munmap((void *)(uintptr_t)m.start, 4096), 0);
	assert_int_equal(open_mapped(&m, &none, &e), -ENOENT);
}

/* What stands where the mapped file stood is never opened in its place. */
TEST(a_replaced_file_is_told_apart_from_the_mapped_one)
{
	static const char *const rows[][2] = {
		{ "echo new > new && mv new library", "library" },
		{ "rm library && mkfifo library", "not a regular file" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(mapping_list_fini) struct mapping_list list = {};
		cleanup_close int fd = -1, none = -1;
		struct error e;

		scratch_write("library", "old code");

		struct mapping m = map_file("library", &list);

		scratch_run(rows[i][0]);
		/* m still says that the file is there, as if it had been replaced just now. */
		assert_ok(open_mapped(&m, &fd, &e), e);
		assert_int_equal(inode_of(fd), m.inode);
		assert_int_equal(munmap((void *)(uintptr_t)m.start, 4096), 0);
		assert_int_equal(open_mapped(&m, &none, &e), -ESTALE);
		assert_non_null(strstr(e.text, rows[i][1]));
		scratch_run("rm -f library");
	}
}

TEST(what_is_no_file_does_not_open)
{
	struct mapping m = { .start = 0x1000, .end = 0x2000, .path = "[vdso]" };
	struct error e;
	int fd;

	assert_int_equal(open_mapped(&m, &fd, &e), -ENOENT);
	assert_string_equal(e.text, "[vdso]: not a file");
}

/* --- what processes that have gone had --- */

/* The folder as somebody's root: paths in it begin there. */
static int open_root(void)
{
	int root = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(root >= 0);
	return root;
}

static struct mapping mapping_of(const char *name, const char *as_path)
{
	cleanup_free char *path = scratch_path(name);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (struct mapping){ .start = 0x1000,
				 .end = 0x2000,
				 .dev = st.st_dev,
				 .inode = st.st_ino,
				 .path = as_path };
}

TEST(a_file_is_found_below_the_root_that_a_process_had)
{
	cleanup_close int root = open_root(), fd = -1, linked = -1, climbed = -1;
	struct mapping m;

	scratch_write("opt/library", "code");
	m = mapping_of("opt/library", "/opt/library");
	assert_works(open_in(root, &m, &fd, &e));
	assert_int_equal(inode_of(fd), m.inode);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	/* Absolute links, and ways up, lead to what the process saw there. */
	scratch_run("ln -sf /opt/library link");
	m.path = "/link";
	assert_works(open_in(root, &m, &linked, &e));
	m.path = "/../../opt/library";
	assert_works(open_in(root, &m, &climbed, &e));
}

TEST(another_file_below_the_root_is_not_taken)
{
	static const struct {
		const char *change;
		int err;
	} rows[] = {
		{ "echo new > new && mv new opt/library", -ESTALE },
		{ "rm opt/library && mkfifo opt/library", -ESTALE },
		{ "rm opt/library && mkdir opt/library", -ESTALE },
		{ "rm opt/library", -ENOENT },
		{ "rm opt/library && ln -s /etc/passwd opt/library", -ENOENT },
		{ "rm opt/library && ln -s library opt/library", -ELOOP },
	};
	cleanup_close int root = open_root();
	struct error e;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mapping m;
		int fd = -1;

		scratch_run("rm -rf opt");
		scratch_write("opt/library", "old code");
		m = mapping_of("opt/library", "/opt/library");
		scratch_run(rows[i].change);
		if (open_in(root, &m, &fd, &e) != rows[i].err)
			fail_msg("%s: %s", rows[i].change, e.text);
		assert_int_equal(fd, -1);
	}
}

TEST(what_has_no_path_is_not_looked_for)
{
	cleanup_close int root = open_root();
	struct mapping m;
	struct error e;
	int fd = -1;

	scratch_write("library", "code");
	m = mapping_of("library", "/library");
	m.is_deleted = true;
	assert_int_equal(open_in(root, &m, &fd, &e), -ENOENT);
	m = mapping_of("library", "library");
	assert_int_equal(open_in(root, &m, &fd, &e), -ENOENT);
	m = (struct mapping){ .path = "[vdso]" };
	assert_int_equal(open_in(root, &m, &fd, &e), -ENOENT);
}

TEST(processes_with_one_root_share_a_number)
{
	struct files *roots = files_new(-1, NULL, &long_purpose);
	const int own = roots_of(roots, (uint32_t)getpid());

	assert_true(own >= 0);
	for (int is_other = 0; is_other <= (geteuid() == 0); is_other++) {
		const pid_t pid = child_start_as(is_other ? scratch : NULL, getuid());
		const int root = roots_of(roots, (uint32_t)pid);

		assert_true(root >= 0);
		assert_int_equal(root != own, is_other);
		child_end(pid);
		assert_int_equal(roots_of(roots, (uint32_t)pid), -1);
	}
	files_free(roots);
}

TEST(roots_are_bounded)
{
	struct files *roots = files_new(-1, NULL, &long_purpose);
	size_t n_kept = 0;

	for (int i = 0; i < 300 && geteuid() == 0; i++) {
		cleanup_free char *name = xasprintf("root%d", i);
		cleanup_free char *path = scratch_path(name);
		pid_t pid;

		assert_int_equal(mkdir(path, 0755), 0);
		pid = child_start_as(path, getuid());
		n_kept += roots_of(roots, (uint32_t)pid) >= 0;
		child_end(pid);
	}
	assert_true(n_kept == 128 || geteuid() != 0);
	files_free(roots);
}

TEST_MAIN(scratch_make, scratch_remove)
