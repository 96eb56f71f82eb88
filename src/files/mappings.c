// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /proc/PID/maps:
 *
 *	7fa1b9cc3000-7fa1b9e19000 r-xp 00026000 fe:00 332835  /usr/lib/x86_64-linux-gnu/libc.so.6
 *	7f0c6e600000-7f0c6e700000 rwxp 00000000 00:01 9           /memfd:jit (deleted)
 *	7ffd5a1f2000-7ffd5a1f4000 r-xp 00000000 00:00 0           [vdso]
 *
 * The kernel writes a newline in a path as \012, and escapes nothing else.
 */
#include "files/mappings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/memory.h"
#include "base/read.h"
#include "base/strbuf.h"
#include "base/strtab.h"

#define DELETED " (deleted)"

static const char *add_mapping_path(const char *path, size_t n, struct strtab *strings)
{
	if (!memmem(path, n, "\\012", 4))
		return strtab_add_n(strings, path, n);

	cleanup_strbuf struct strbuf plain = {};

	for (size_t i = 0; i < n; i++) {
		bool is_newline = n - i >= 4 && memcmp(path + i, "\\012", 4) == 0;

		strbuf_put(&plain, is_newline ? "\n" : path + i, 1);
		i += is_newline ? 3 : 0;
	}
	return strtab_add_n(strings, plain.text, plain.n);
}

/* File systems of others (NFS, FUSE) give numbers of 20 digits. */
static bool take_inode(const char **at, uint64_t *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0;
}

/*
 * Parse "7f00-7f10 r-xp 00026000 fe:00 332835". Returns the text after it, or NULL if it is
 * malformed.
 */
static const char *parse_numbers(const char *at, struct mapping *m, bool *is_executable)
{
	uint64_t dev_major, dev_minor;

	if (!take_hex(&at, &m->start) || *at++ != '-' || !take_hex(&at, &m->end) || *at++ != ' ')
		return NULL;
	if (m->start >= m->end || strnlen(at, 5) < 5 || at[4] != ' ')
		return NULL;
	*is_executable = at[2] == 'x';
	at += 5;
	if (!take_hex(&at, &m->offset) || *at++ != ' ' || !take_hex(&at, &dev_major) ||
	    *at++ != ':' || !take_hex(&at, &dev_minor) || *at++ != ' ')
		return NULL;
	if (!take_inode(&at, &m->inode) || (*at != ' ' && *at != '\n' && *at != '\0'))
		return NULL;
	m->dev = m->inode ? makedev((unsigned)dev_major, (unsigned)dev_minor) : 0;
	return at;
}

bool mapping_cut_deleted(const char *path, size_t *n)
{
	const size_t n_deleted = sizeof(DELETED) - 1;

	if (*n <= n_deleted || memcmp(path + *n - n_deleted, DELETED, n_deleted) != 0)
		return false;
	*n -= n_deleted;
	return true;
}

bool mapping_parse(const char *line, struct strtab *strings, struct mapping *ret)
{
	struct mapping m = {};
	bool is_executable;
	const char *path = parse_numbers(line, &m, &is_executable);

	if (!path || !is_executable)
		return false;
	path += strspn(path, " ");

	size_t n = strcspn(path, "\n");

	m.is_deleted = mapping_cut_deleted(path, &n);
	m.path = add_mapping_path(path, n, strings);
	*ret = m;
	return true;
}

void mapping_put(const struct mapping *m, struct strbuf *to)
{
	char numbers[160];
	const int n = snprintf(numbers, sizeof(numbers), "%lx-%lx r-xp %08lx %02x:%02x %lu ",
			       m->start, m->end, m->offset, major(m->dev), minor(m->dev), m->inode);

	strbuf_put(to, numbers, (size_t)n);
	for (const char *at = m->path; *at;) {
		const size_t n_plain = strcspn(at, "\n");

		strbuf_put(to, at, n_plain);
		at += n_plain;
		if (*at)
			strbuf_puts(to, "\\012");
		at += *at == '\n';
	}
	strbuf_puts(to, m->is_deleted ? DELETED "\n" : "\n");
}

/* Add the mapping of a line. False: it has none, or overlaps the one before. */
static bool add_mapping(struct mapping_list *list, const char *line)
{
	struct mapping m;

	if (!mapping_parse(line, list->strings, &m) ||
	    (list->n && m.start < list->mappings[list->n - 1].end))
		return false;
	array_push(list->mappings, list->n, list->capacity, m);
	return true;
}

bool mapping_list_parse(const char *text, struct mapping_list *ret)
{
	*ret = (struct mapping_list){ .strings = strtab_new() };
	for (; *text; text += strcspn(text, "\n") + 1)
		if (!strchr(text, '\n') || !add_mapping(ret, text)) {
			mapping_list_fini(ret);
			return false;
		}
	return true;
}

#define MOST_LIST_MEMORY (24UL << 20)

static bool is_list_full(const struct mapping_list *list)
{
	return list->n * sizeof(*list->mappings) + strtab_bytes(list->strings) >= MOST_LIST_MEMORY;
}

static int read_maps(uint32_t tid, struct mapping_list *ret, struct error *e)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/maps", tid);

	char buffer[16384]; /* stdio would read 1 KiB at a time */
	cleanup_fclose FILE *f = fopen(path, "re");
	cleanup_free char *line = NULL;
	size_t capacity = 0;

	if (!f && (errno == ENOENT || errno == ESRCH))
		return error_set(e, -ESRCH, "no process %u", tid);
	if (!f)
		return error_errno(e, "open %s", path);
	(void)setvbuf(f, buffer, _IOFBF, sizeof(buffer));

	cleanup(mapping_list_fini) struct mapping_list list = { .strings = strtab_new(),
								.tid = tid };

	/* The process runs while the kernel makes the list. Keep only mappings in order. */
	while (!is_list_full(&list) && getline(&line, &capacity, f) > 0)
		(void)add_mapping(&list, line);
	if (ferror(f))
		return errno == ESRCH ? error_set(e, -ESRCH, "no process %u", tid)
				      : error_errno(e, "read %s", path);
	*ret = list;
	memset(&list, 0, sizeof(list)); /* the caller's now; the guard sees none */
	return 0;
}

/* If the first thread has ended, the kernel lists no mappings for it. */
static void read_other_threads(uint32_t pid, struct mapping_list *ret)
{
	char path[64];
	struct error none;

	(void)snprintf(path, sizeof(path), "/proc/%u/task", pid);

	cleanup_closedir DIR *tasks = opendir(path);

	for (struct dirent *entry; tasks && !ret->n && (entry = readdir(tasks));) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		struct mapping_list list = {};

		if (!tid || tid == pid || read_maps(tid, &list, &none))
			continue;
		mapping_list_fini(ret);
		*ret = list;
	}
}

int mapping_list_read(uint32_t pid, struct mapping_list *ret, struct error *e)
{
	int err = read_maps(pid, ret, e);

	if (!err && !ret->n)
		read_other_threads(pid, ret);
	return err;
}

static bool is_equal_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->dev == b->dev && a->inode == b->inode && strcmp(a->path, b->path) == 0;
}

bool mapping_list_is_equal(const struct mapping_list *a, const struct mapping_list *b)
{
	bool ret = a->n == b->n;

	for (size_t i = 0; ret && i < a->n; i++)
		ret = is_equal_mapping(&a->mappings[i], &b->mappings[i]);
	return ret;
}

void mapping_list_fini(struct mapping_list *list)
{
	free(list->mappings);
	strtab_free(list->strings);
	*list = (struct mapping_list){};
}

const struct mapping *mapping_list_at(const struct mapping_list *list, uint64_t addr)
{
	const size_t n = addr == UINT64_MAX ? list->n
					    : array_count_below(list->mappings, list->n,
								sizeof(*list->mappings), addr + 1);

	return n && addr < list->mappings[n - 1].end ? &list->mappings[n - 1] : NULL;
}

const char *path_end(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void map_files_path(uint32_t pid, const struct mapping *m, char *to, size_t size)
{
	(void)snprintf(to, size, "/proc/%u/map_files/%lx-%lx", pid, (unsigned long)m->start,
		       (unsigned long)m->end);
}

void mapping_path(uint32_t pid, const struct mapping *m, char *to, size_t size)
{
	if (m->is_deleted)
		map_files_path(pid, m, to, size);
	else
		(void)snprintf(to, size, "/proc/%u/root%s", pid, m->path);
}

/*
 * Check that @handle is a regular file. Opening another one may block (a FIFO) or have an effect (a
 * tape), and a process may put anything into its own file system. O_PATH does not open the file.
 */
static int check_handle(int handle, const char *path, struct stat *st, struct error *e)
{
	*st = (struct stat){};
	if (handle < 0)
		return error_errno(e, "open %s", path);
	if (fstat(handle, st) < 0)
		return error_errno(e, "stat %s", path);
	if (!S_ISREG(st->st_mode))
		return error_set(e, -ESTALE, "%s: not a regular file", path);
	return 0;
}

int open_root_of(uint32_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int open_below(int root, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | resolve };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

int mapping_reopen(int handle, int *ret_fd, struct error *e)
{
	char self[64];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);

	const int fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(e, "open it for reading");
	*ret_fd = fd;
	return 0;
}

static bool is_one_of(const struct statfs *fs, const unsigned *magics, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned)fs->f_type == magics[i])
			return true;
	return false;
}

bool is_file_system_local(const struct statfs *fs)
{
	static const unsigned magics[] = {
		0x0000EF53, /* ext2 to ext4 */
		0x58465342, /* XFS */
		0x9123683E, /* btrfs */
		0x01021994, /* tmpfs */
		0x858458F6, /* ramfs */
		0xF2F52010, /* F2FS */
		0xCA451A4E, /* bcachefs */
		0x2FC12FC1, /* ZFS */
		0x73717368, /* squashfs */
		0xE0F5E1E2, /* EROFS */
		0x00009660, /* ISO 9660 */
		0x00004D44, /* FAT */
	};

	return is_one_of(fs, magics, ARRAY_SIZE(magics));
}

/*
 * File systems on which stat(2) gives another device than maps. btrfs has one for each subvolume.
 * Overlayfs shows its own, and maps shows the layer's.
 */
static bool has_own_devices(int fd)
{
	static const unsigned magics[] = {
		0x9123683E, /* btrfs */
		0x794C7630, /* overlayfs */
		0xCA451A4E, /* bcachefs */
	};
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && is_one_of(&fs, magics, ARRAY_SIZE(magics));
}

int mapping_find(uint32_t pid, const struct mapping *m, int *ret_handle, struct stat *st,
		 struct error *e)
{
	char path[64];

	*st = (struct stat){};
	if (m->inode == 0)
		return error_set(e, -ENOENT, "%s: not a file", m->path);
	map_files_path(pid, m, path, sizeof(path));

	cleanup_close int handle = open(path, O_PATH | O_CLOEXEC);
	int err = check_handle(handle, path, st, e);

	if (err)
		return err;
	/* It shows the present mapping. The inode number tells whether that is the same file. */
	if (st->st_ino != m->inode)
		return error_set(e, -ESTALE, "%s: another file is mapped there now", m->path);
	*ret_handle = TAKE_FD(handle);
	return 0;
}

int mapping_find_in(int root, const struct mapping *m, const struct stat *mapped, int *ret_handle,
		    struct stat *st, struct error *e)
{
	if (m->inode == 0 || m->path[0] != '/')
		return error_set(e, -ENOENT, "%s: not a file", m->path);

	/* It may exist after all, with a name that ends so. */
	cleanup_free char *path = xasprintf("%s%s", m->path, m->is_deleted ? DELETED : "");
	cleanup_close int handle = open_below(root, path, RESOLVE_NO_MAGICLINKS);
	int err = check_handle(handle, m->path, st, e);

	if (err)
		return err;
	if ((st->st_ino != mapped->st_ino || st->st_dev != mapped->st_dev) &&
	    (st->st_ino != m->inode || (st->st_dev != m->dev && !has_own_devices(handle))))
		return error_set(e, -ESTALE, "%s: another file is there now", m->path);
	*ret_handle = TAKE_FD(handle);
	return 0;
}

int mapping_find_by_process(uint32_t pid, const struct mapping *m, int *ret_handle, struct stat *st,
			    struct error *e)
{
	struct stat mapped;
	const int err = mapping_find(pid, m, ret_handle, &mapped, e);

	*st = mapped;
	if (!err || (m->is_deleted && (err == -EPERM || err == -EACCES)))
		return err;

	cleanup_close int root = open_root_of(pid);

	return root < 0 ? error_errno(e, "open the root of process %u", pid)
			: mapping_find_in(root, m, &mapped, ret_handle, st, e);
}
