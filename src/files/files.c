// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The questions, and what their answers mean. */
#include "files/asking.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/read.h"
#include "base/strbuf.h"
#include "files/zygote.h"

/* --- mappings --- */

bool file_state_is_equal(const struct file_state *a, const struct file_state *b)
{
	return a->dev == b->dev && a->inode == b->inode && file_fact_is_equal(&a->fact, &b->fact);
}

#define STATUS_BYTES 4096

/* The name, in the first line, cannot hold a newline: the kernel escapes it. */
static bool read_status(uint32_t pid, char to[STATUS_BYTES])
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return read_small(AT_FDCWD, path, to, STATUS_BYTES) >= 0;
}

/*
 * The user of process @pid; 0 if it has gone. The owner of /proc/PID will not do: a process can
 * make that root (prctl(2), PR_SET_DUMPABLE).
 */
static uint32_t user_of(uint32_t pid)
{
	char text[STATUS_BYTES];
	const char *line;

	if (!read_status(pid, text))
		return 0;
	line = strstr(text, "\nUid:\t");
	return line ? (uint32_t)strtoul(line + strlen("\nUid:\t"), NULL, 10) : 0;
}

static bool read_list(const struct reply *r, bool has_states, struct file_list *ret)
{
	const size_t n_text = strlen(r->data) + 1;
	const char *at = r->data + n_text;

	if (!mapping_list_parse(r->data, &ret->list))
		return false;
	ret->list.tid = r->answer.n;
	if (r->answer.n_bytes !=
	    n_text + (has_states ? ret->list.n * sizeof(struct file_fact) : 0)) {
		mapping_list_fini(&ret->list);
		return false;
	}
	if (has_states)
		ret->states = xcalloc(ret->list.n, sizeof(*ret->states));
	for (size_t i = 0; has_states && i < ret->list.n; i++, at += sizeof(struct file_fact)) {
		const struct mapping *m = &ret->list.mappings[i];

		ret->states[i] = (struct file_state){ .dev = m->dev, .inode = m->inode };
		memcpy(&ret->states[i].fact, at, sizeof(struct file_fact));
	}
	return true;
}

/* A process whose memory map stays locked holds up its own list. */
static void warn_list(struct files *f, uint32_t pid)
{
	if (!f->has_warned_list)
		log_warn("the mappings of process %u cannot be read in time: its user stacks, and "
			 "those of others like it, may be cut",
			 pid);
	f->has_warned_list = true;
}

/* Devices that turn out to be silent are left out the next time. */
#define MOST_SILENT 16
#define MOST_TRIES 3

static int ask_for_list(struct files *f, uint32_t pid, uint32_t user, bool has_states,
			struct reply *ret, struct error *e)
{
	uint64_t devices[MOST_SILENT];
	struct ask a = { .question = { .what = QUESTION_LIST,
				       .flags = has_states ? LIST_STATES : 0,
				       .pid = pid,
				       .user = user,
				       .root = HANDLE_NONE },
			 .payload = devices };

	if (has_states) {
		a.question.n =
			(uint32_t)places_silent_devices(f->places, user, devices, MOST_SILENT);
		a.question.n_bytes = a.question.n * sizeof(*devices);
		skip_silent(f, &a, NULL);
	}
	return ask_for_result(f, &a, ret, e);
}

int files_list(struct files *f, uint32_t pid, bool has_states, struct file_list *ret,
	       struct error *e)
{
	const uint32_t user = user_of(pid);
	struct reply r = {};
	int err = spending_check(&f->spending, user);

	*ret = (struct file_list){};
	if (err)
		return error_set(e, err, "its user's processes took too much time");
	for (unsigned i = 0; i < MOST_TRIES; i++) {
		err = ask_for_list(f, pid, user, has_states, &r, e);
		ret->cost += r.answer.number ? r.cpu_ns : r.took_ns;
		if (r.took_ns > SPENDING_LONG_WAIT_NS)
			spending_add(&f->spending, user, 0, r.took_ns);
		/* A process's lock would hold up the next one, too. */
		if (err != -EAGAIN || !has_states ||
		    (r.took_ns >= f->purpose.finder_ns && !r.answer.step))
			break;
	}
	if (err == -EAGAIN)
		warn_list(f, pid);
	if (!err && !read_list(&r, has_states, ret))
		err = refuse_answer(&r, e);
	free(r.data);
	return err;
}

void file_list_fini(struct file_list *list)
{
	mapping_list_fini(&list->list);
	free(list->states);
	*list = (struct file_list){};
}

/* --- handles --- */

/* Descriptors that finders need for a moment. */
#define SPARE_HANDLES 16
#define FEWEST_HANDLES 8
#define CLOSE_AT_ONCE 8 /* less than SPARE_HANDLES */

size_t files_most_handles(void)
{
	const size_t taken = FIRST_HANDLE + SPARE_HANDLES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max > MOST_HANDLES)
		return MOST_HANDLES - taken;
	return limit.rlim_max > taken + FEWEST_HANDLES ? limit.rlim_max - taken : FEWEST_HANDLES;
}

static int ask_to_hold(struct files *f, const struct ask *a, struct held_file *ret, struct error *e)
{
	struct reply r;
	int err = ask_for_result(f, a, &r, e);

	if (!err && r.answer.n_bytes == sizeof(ret->fact) && is_handle(r.answer.n)) {
		ret->handle = (int)r.answer.n;
		memcpy(&ret->fact, r.data, sizeof(ret->fact));
		ret->dev = ret->fact.dev;
	} else if (!err) {
		err = refuse_answer(&r, e);
	}
	free(r.data);
	return err;
}

/* Let @m be the payload, which @text holds. */
static void set_mapping(struct ask *a, const struct mapping *m, struct strbuf *text)
{
	mapping_put(m, NULL, text);
	a->payload = text->text;
	a->question.n_bytes = text->n;
}

static int open_mapping(struct files *f, struct question q, const struct mapping *m,
			struct held_file *ret, struct error *e)
{
	struct ask a = { .question = q };
	cleanup_strbuf struct strbuf payload = {};
	int err;

	set_mapping(&a, m, &payload);
	a.question.what = QUESTION_OPEN;
	a.question.user = q.pid ? user_of(q.pid) : 0;
	skip_silent(f, &a, m);
	err = ask_to_hold(f, &a, ret, e);
	if (!err && !(q.flags & FIND_OURS))
		ret->dev = m->dev;
	return err;
}

int files_open(struct files *f, uint32_t pid, int root, const struct mapping *m,
	       struct held_file *ret, struct error *e)
{
	return open_mapping(f, (struct question){ .pid = pid, .root = root }, m, ret, e);
}

int files_open_ours(struct files *f, const struct mapping *m, struct held_file *ret,
		    struct error *e)
{
	return open_mapping(f, (struct question){ .flags = FIND_OURS, .root = HANDLE_NONE }, m, ret,
			    e);
}

bool files_state(struct files *f, uint32_t pid, const struct mapping *m, struct file_state *ret)
{
	struct held_file file = {};
	struct error e;
	const bool is_found = files_open(f, pid, HANDLE_NONE, m, &file, &e) == 0;

	if (is_found)
		files_close(f, file.handle);
	*ret = (struct file_state){ m->dev, m->inode, file.fact };
	return is_found;
}

int files_root(struct files *f, uint32_t pid, uint64_t dev, uint64_t inode)
{
	struct ask a = { .question = { .what = QUESTION_ROOT, .pid = pid, .user = user_of(pid) } };
	struct held_file open = {};
	struct error e;

	if (!try_place(f, &a, place_of(STEP_PATH, 0, a.question.user)) ||
	    ask_to_hold(f, &a, &open, &e))
		return HANDLE_NONE;
	if (open.fact.inode == inode && open.fact.dev == dev)
		return open.handle;
	files_close(f, open.handle);
	return HANDLE_NONE;
}

/* Ask for the states of @n handles on device @dev. Handle i's belongs to @ret[at[i]]. */
static void ask_facts(struct files *f, uint64_t dev, const int32_t *handles, const size_t *at,
		      size_t n, struct file_fact *ret)
{
	struct ask a = { .question = { .what = QUESTION_FACTS,
				       .n = (uint32_t)n,
				       .n_bytes = n * sizeof(*handles),
				       .expected.dev = dev },
			 .payload = handles };
	struct reply r = {};
	struct error e;

	if (try_place(f, &a, place_of(STEP_HANDLE, dev, 0)) && ask_for_result(f, &a, &r, &e) == 0 &&
	    r.answer.n_bytes == n * sizeof(*ret))
		for (size_t i = 0; i < n; i++)
			memcpy(&ret[at[i]], r.data + i * sizeof(*ret), sizeof(*ret));
	free(r.data);
}

/* One question for each device, so that a silent one costs no other. */
void files_facts(struct files *f, const struct held_file *handles, size_t n, struct file_fact *ret)
{
	cleanup_free int32_t *some = xcalloc(n, sizeof(*some));
	cleanup_free size_t *at = xcalloc(n, sizeof(*at));
	cleanup_free bool *is_done = xcalloc(n, sizeof(*is_done));

	memset(ret, 0, n * sizeof(*ret));
	for (size_t first = 0; first < n; first++) {
		size_t n_some = 0;

		for (size_t i = first; i < n && !is_done[first]; i++) {
			if (handles[i].dev != handles[first].dev)
				continue;
			at[n_some] = i;
			some[n_some++] = handles[i].handle;
			is_done[i] = i > first;
		}
		if (n_some)
			ask_facts(f, handles[first].dev, some, at, n_some, ret);
	}
}

void files_close(struct files *f, int handle)
{
	if (handle == HANDLE_NONE)
		return;
	array_push(f->to_close, f->n_to_close, f->to_close_capacity, handle);
	if (f->n_to_close < CLOSE_AT_ONCE)
		return;

	/* A handle that comes late is added while we ask. */
	const size_t n = f->n_to_close;
	cleanup_free int32_t *handles = TAKE(f->to_close);
	const struct ask a = { .question = { .what = QUESTION_CLOSE,
					     .n = (uint32_t)n,
					     .n_bytes = n * sizeof(*handles) },
			       .payload = handles };
	struct reply r;
	struct error e;
	int err;

	f->n_to_close = f->to_close_capacity = 0;
	err = ask_child(f, &a, &r, &e);
	if (err && err != -ECANCELED)
		log_debug("files are not closed: %s", e.text);
	/* If the question was not sent, the next one closes these, too. */
	for (size_t i = 0; i < n && err == -EAGAIN && !r.took_ns; i++)
		array_push(f->to_close, f->n_to_close, f->to_close_capacity, handles[i]);
	free(r.data);
}

/* --- tables --- */

void file_table_fini(struct file_table *t)
{
	free(t->memory);
	*t = (struct file_table){};
}

static int read_table(struct reply *r, struct file_table *ret, struct error *e)
{
	int32_t result;

	if (!table_read(r->data, r->answer.n_bytes, ret)) {
		*ret = (struct file_table){};
		return refuse_answer(r, e);
	}
	ret->memory = TAKE(r->data);
	result = ret->fact.result;
	if (result == -EIO || result == -EAGAIN)
		result = -ENODATA; /* callers would take these for failures of children */
	return result ? error_set(e, result, "%.95s", r->answer.words) : 0;
}

static int ask_for_table(struct files *f, const struct ask *a, const char *name,
			 struct file_table *ret, struct reply *r, struct error *e)
{
	int err = ask_child(f, a, r, e);

	if (!err && r->answer.result)
		err = error_set(e, r->answer.n ? -ENOEXEC : -EAGAIN, "%.95s", r->answer.words);
	else if (!err)
		err = read_table(r, ret, e);
	if (err == -EIO)
		log_few(&f->failed, "%s has no unwind table: %s", name, r->why);
	free(r->data);
	return err;
}

static const char *name_of_mapping(const struct mapping *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? slash + 1 : m->path;
}

int files_table(struct files *f, uint32_t pid, const struct mapping *m,
		const struct file_state *state, struct file_table *ret, struct error *e)
{
	/* A file system of a user may give its files any owner. 0 pays nothing. */
	const uint32_t user = user_of(pid);
	const uint32_t payer = user ? user : state->fact.owner;
	struct ask a = { .question = { .what = QUESTION_TABLE,
				       .pid = pid,
				       .user = payer,
				       .root = HANDLE_NONE,
				       .expected = state->fact } };
	struct reply r = {};
	cleanup_strbuf struct strbuf payload = {};
	int err = spending_check(&f->spending, payer);

	*ret = (struct file_table){};
	if (err)
		return error_set(e, err, "files of its user took too much time");
	set_mapping(&a, m, &payload);
	if (!try_place(f, &a, place_of(STEP_CONTENTS, state->fact.dev, payer)))
		return fail_unanswered(e);
	skip_silent(f, &a, m);
	err = ask_for_table(f, &a, name_of_mapping(m), ret, &r, e);
	spending_add(&f->spending, payer, r.cpu_ns, r.took_ns);
	return err;
}

int files_table_of_vdso(struct files *f, struct file_table *ret, struct error *e)
{
	struct ask a = {
		.question = { .what = QUESTION_TABLE, .flags = OF_VDSO, .expected.is_roots = 1 }
	};
	struct reply r;

	*ret = (struct file_table){};
	return ask_for_table(f, &a, "[vdso]", ret, &r, e);
}

/* --- names --- */

#define USER_NOBODY 65534U

/* The payload of @q, which the caller frees. */
static char *make_names_payload(const struct names_question *q, uint64_t *ret_n)
{
	struct names_payload head = { .n_offsets = (uint32_t)q->n };
	const size_t n_offsets = q->n * sizeof(*q->offsets);

	if (q->hint)
		head.hint = *q->hint;
	head.n_path = (uint32_t)strlen(q->path) + 1;
	head.n_fetched = q->fetched ? (uint32_t)strlen(q->fetched) + 1 : 0;
	*ret_n = sizeof(head) + n_offsets + head.n_path + head.n_fetched;

	char *payload = xmalloc(*ret_n), *at = payload;

	at = mempcpy(at, &head, sizeof(head));
	if (n_offsets)
		at = mempcpy(at, q->offsets, n_offsets);
	at = mempcpy(at, q->path, head.n_path);
	if (head.n_fetched)
		(void)memcpy(at, q->fetched, head.n_fetched);
	return payload;
}

/* What the parser of @q must have opened (struct ask). */
static uint64_t file_of_question(const struct names_question *q, unsigned flags)
{
	uint64_t hash = hash_mix(flags ^ (uint64_t)(uint32_t)q->root << 32);

	hash = hash_mix(hash ^ hash_bytes(q->path, strlen(q->path)));
	if (q->fetched)
		hash = hash_mix(hash ^ hash_bytes(q->fetched, strlen(q->fetched)));
	if (q->hint)
		hash = hash_mix(hash ^ hash_bytes(q->hint, sizeof(*q->hint)));
	return hash | 1;
}

static int ask_for_names(struct files *f, const struct ask *a, const struct names_question *q,
			 struct file_names *ret, struct reply *r)
{
	struct error e;
	int err = ask_for_result(f, a, r, &e);

	if (!err && !names_read(r->data, r->answer.n_bytes, q->n, q->hint, ret))
		err = refuse_answer(r, &e);
	else if (!err)
		ret->memory = TAKE(r->data);
	if (err == -EIO)
		log_few(&f->failed, "no symbols for %s: %s", q->name, r->why);
	else if (err)
		log_debug("%s: %s", q->name, e.text);
	else if (r->answer.words[0])
		log_few(&f->words, "%s", r->answer.words);
	free(r->data);
	return err;
}

int files_names(struct files *f, const struct names_question *q, struct file_names *ret)
{
	static const struct held_file vdso = { .handle = HANDLE_NONE, .fact.is_roots = 1 };
	const struct held_file *file = q->file ? q->file : &vdso;
	const uint32_t owner = file->fact.owner;
	/* Another user's file system may claim that root owns a file. */
	const uint32_t user = owner || file->fact.is_roots ? owner : USER_NOBODY;
	struct ask a = { .question = { .what = QUESTION_NAMES,
				       .flags = q->flags | (q->file ? 0 : OF_VDSO),
				       .user = user,
				       .handle = file->handle,
				       .root = q->root,
				       .expected = file->fact } };
	struct reply r = {};
	int err;

	*ret = (struct file_names){};
	err = spending_check(&f->spending, owner);
	if (err)
		return err;
	if (q->file && !try_place(f, &a, place_of(STEP_CONTENTS, file->fact.dev, user)))
		return -EAGAIN;
	if (q->hint && !try_place(f, &a, place_of(STEP_DEBUG, (uint32_t)q->root, user)))
		a.question.flags |= SKIP_DEBUG;
	if (q->file && q->n)
		a.file = file_of_question(q, a.question.flags);

	cleanup_free char *payload = make_names_payload(q, &a.question.n_bytes);

	a.payload = payload;
	err = ask_for_names(f, &a, q, ret, &r);
	spending_add(&f->spending, owner, r.cpu_ns, r.took_ns);
	return err;
}

/* --- perf maps --- */

/*
 * Field 22 of /proc/PID/stat, in ticks. The search begins after the name, which may hold any
 * character.
 */
static uint64_t start_of(uint32_t pid)
{
	char path[64], text[1024];
	uint64_t ticks;
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	at++;
	return take_decimal(&at, &ticks) ? ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)) : 0;
}

bool process_identity_read(uint32_t pid, struct process_identity *ret)
{
	char text[STATUS_BYTES];

	if (!read_status(pid, text))
		return false;

	const char *user = strstr(text, "\nUid:"), *number = strstr(text, "\nNSpid:");

	*ret = (struct process_identity){ .number = pid, .started = start_of(pid) };
	if (number) { /* the last one of the line is of the innermost namespace */
		const size_t n = strcspn(number + 1, "\n");
		const char *last = memrchr(number + 1, '\t', n);

		ret->number = last ? (uint32_t)strtoul(last, NULL, 10) : 0;
	}
	return user && sscanf(user, " Uid: %*u %u", &ret->user) == 1 && ret->number; /* 0: gone */
}

void perf_file_path(uint32_t number, char to[PERF_FILE_PATH_BYTES])
{
	(void)snprintf(to, PERF_FILE_PATH_BYTES, "/tmp/perf-%u.map", number);
}

int files_perf_map(struct files *f, const struct perf_question *q, struct file_perf_map *ret,
		   struct error *e)
{
	struct ask a = { .question = { .what = QUESTION_PERF_MAP,
				       .n = q->number,
				       .user = q->user,
				       .root = q->root,
				       .expected = q->known } };
	struct reply r = {};
	int err;

	*ret = (struct file_perf_map){};
	a.question.expected.is_roots = 0; /* whoever owns the file, its path may be a user's */
	if (!try_place(f, &a, place_of(STEP_PERF, (uint32_t)q->root, q->user)))
		return fail_unanswered(e);
	err = ask_for_result(f, &a, &r, e);
	if (!err && r.answer.n_bytes < sizeof(ret->fact))
		err = refuse_answer(&r, e);
	if (err)
		return err;
	memcpy(&ret->fact, r.data, sizeof(ret->fact));
	ret->n = r.answer.n_bytes - sizeof(ret->fact);
	ret->memory = r.data;
	ret->text = ret->memory + sizeof(ret->fact);
	return 0;
}
