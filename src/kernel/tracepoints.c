// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tracepoints. Each has a directory, below the directory of its category.
 *
 *	events/sched/sched_switch/id        372
 *	events/sched/sched_switch/format    see read_field()
 *
 * available_events has the same list, but under lockdown it cannot be opened. Directories, IDs and
 * formats can be read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/read.h"
#include "base/strbuf.h"
#include "kernel/private.h"

static void close_tracefs_directory(DIR **d)
{
	if (*d)
		closedir(*d);
	*d = NULL;
}

#define cleanup_directory cleanup(close_tracefs_directory)

/* Is @name one part of a path, which does not lead out of it? */
static bool is_plain_name(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && !strchr(name, '/');
}

static int open_event_file(struct host *host, const char *category, const char *event,
			   const char *file, int *ret_fd, struct error *e)
{
	char path[512];
	int dir, err = host_tracefs(host, &dir, e);

	if (err)
		return err;
	if (!is_plain_name(category) || !is_plain_name(event) ||
	    snprintf(path, sizeof(path), "events/%s/%s/%s", category, event, file) >=
		    (int)sizeof(path))
		return error_set(e, -ENOENT, "no tracepoint %s:%s", category, event);

	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return error_set(e, -ENOENT, "no tracepoint %s:%s", category, event);
	if (fd < 0 && errno == EACCES)
		return tracefs_unreadable(e);
	if (fd < 0)
		return error_errno(e, "open tracefs' %s", path);
	*ret_fd = fd;
	return 0;
}

int host_tracepoint_id(struct host *host, const char *category, const char *event, uint64_t *ret,
		       struct error *e)
{
	cleanup_close int fd = -1;
	int err = open_event_file(host, category, event, "id", &fd, e);

	if (err)
		return err;

	char text[32] = "";
	const char *at = text;
	ssize_t n = read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return error_errno(e, "read the id of tracepoint %s:%s", category, event);
	if (!take_decimal(&at, ret))
		return error_set(e, -EIO, "tracepoint %s:%s has no id", category, event);
	return 0;
}

/* The number behind @key in the line. False: it is not there. */
static bool find_number(const char *line, const char *key, uint64_t *ret)
{
	const char *at = strstr(line, key);

	if (!at)
		return false;
	at += strlen(key);
	return take_decimal(&at, ret);
}

/*
 * Read a line that declares a field. The name is the last word of the declaration, before its array
 * bounds:
 *
 *	\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
 *
 * Cuts the line at the end of the name. False: it declares none.
 */
static bool read_field(char *line, struct tracepoint_field *ret)
{
	char *declaration = strstr(line, "field:");
	char *end = declaration ? strchr(declaration, ';') : NULL;
	uint64_t offset, size, is_signed = 0;

	if (!end || !find_number(end, "\toffset:", &offset) || offset > UINT32_MAX ||
	    !find_number(end, "\tsize:", &size))
		return false;
	(void)find_number(end, "\tsigned:", &is_signed);
	declaration += strlen("field:");

	char *bounds = memchr(declaration, '[', (size_t)(end - declaration));

	/* "__data_loc char[] name": these bounds belong to the type. */
	if (bounds && memchr(bounds, ' ', (size_t)(end - bounds)))
		bounds = NULL;

	char *last = bounds ? bounds : end, *name = last;

	while (name > declaration && name[-1] != ' ' && name[-1] != '*')
		name--;
	if (name == declaration)
		return false;
	/* The name ends where the bounds begin. So move these. */
	memmove(last + 1, last, (size_t)(end - last));
	*last = '\0';
	*ret = (struct tracepoint_field){ .type = declaration,
					  .n_type = (size_t)(name - declaration),
					  .name = name,
					  .bounds = last + 1,
					  .n_bounds = (size_t)(end - last),
					  .offset = (uint32_t)offset,
					  .bytes =
						  (uint32_t)(size < UINT32_MAX ? size : UINT32_MAX),
					  .is_signed = is_signed == 1,
					  .is_array = bounds != NULL };
	return true;
}

int host_each_field(struct host *host, const char *category, const char *event,
		    host_field_visit *visit, void *context, struct error *e)
{
	cleanup_close int fd = -1;
	int err = open_event_file(host, category, event, "format", &fd, e);

	if (err)
		return err;

	cleanup_lines struct lines lines;
	lines_init(&lines, fd, "a tracepoint's format");

	struct tracepoint_field field;
	char *line;
	size_t n;
	int more;

	while ((more = lines_next(&lines, &line, &n, e)) > 0) {
		err = read_field(line, &field) ? visit(context, &field) : 0;
		if (err)
			return err;
	}
	return more;
}

struct field_search {
	const char *name;
	uint32_t offset;
};

static int compare_field(void *context, const struct tracepoint_field *field)
{
	struct field_search *search = context;

	if (strcmp(field->name, search->name) != 0)
		return 0;
	search->offset = field->offset;
	return 1;
}

int host_tracepoint_field(struct host *host, const char *category, const char *event,
			  const char *field, uint32_t *ret_offset, struct error *e)
{
	struct field_search search = { .name = field };
	const int found = host_each_field(host, category, event, compare_field, &search, e);

	if (found < 0)
		return found;
	*ret_offset = search.offset;
	return found ? 0
		     : error_set(e, -ENOENT, "tracepoint %s:%s has no field '%s'", category, event,
				 field);
}

static int open_tracefs_directory(int dir_fd, const char *path, DIR **ret, struct error *e)
{
	cleanup_close int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		return tracefs_unreadable(e);
	if (fd < 0)
		return error_errno(e, "open tracefs' %s", path);

	*ret = fdopendir(fd);
	if (!*ret)
		return error_errno(e, "read tracefs' %s", path);
	(void)TAKE_FD(fd); /* the stream closes it */
	return 0;
}

/* The next directory within @d with a plain name; NULL at the end. */
static const char *next_tracefs_directory(DIR *d)
{
	const struct dirent *entry;

	while (d && (entry = readdir(d)))
		if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
		    is_plain_name(entry->d_name))
			return entry->d_name;
	return NULL;
}

/*
 * Events that were defined in tracefs want programs for kprobes, or none at all:
 *
 *	p:probes/mine /usr/bin/app:0x1149
 */
static void read_definitions(int tracefs, struct strbuf *ret)
{
	cleanup_close int fd = openat(tracefs, "dynamic_events", O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		strbuf_put(ret, bytes, (size_t)n);
}

static bool is_defined(const struct strbuf *definitions, const char *category, const char *event)
{
	char name[512];

	(void)snprintf(name, sizeof(name), ":%s/%s ", category, event);
	return definitions->n && strstr(definitions->text, name);
}

int host_each_tracepoint(struct host *host, host_tracepoint_visit *visit, void *context,
			 struct error *e)
{
	cleanup_directory DIR *categories = NULL;
	cleanup_strbuf struct strbuf definitions = {};
	int dir, err = host_tracefs(host, &dir, e);
	const char *category, *event;

	if (!err)
		read_definitions(dir, &definitions);
	if (!err)
		err = open_tracefs_directory(dir, "events", &categories, e);
	if (!categories)
		return err;
	while ((category = next_tracefs_directory(categories))) {
		cleanup_directory DIR *events = NULL;

		/* ftrace's own records have IDs, but no program can attach to them. */
		if (strcmp(category, "ftrace") == 0)
			continue;
		err = open_tracefs_directory(dirfd(categories), category, &events, e);
		if (err == -ENOENT || err == -ENOTDIR) /* a module has just gone; or a plain file */
			continue;
		if (err)
			return err;
		while ((event = next_tracefs_directory(events))) {
			err = is_defined(&definitions, category, event)
				      ? 0
				      : visit(context, category, event);
			if (err)
				return err;
		}
	}
	return 0;
}
