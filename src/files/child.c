// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "files/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "elf/image.h"
#include "files/zygote.h"

/* A parser has no standard error, so it answers with its first warning. */
static struct strbuf said;

void child_close_from(unsigned first)
{
	if (close_range(first, ~0U, 0) < 0)
		for (int fd = (int)first; fd < MOST_HANDLES; fd++)
			(void)close(fd);
}

void child_note_step(struct child *c, enum step step, uint64_t dev)
{
	c->answer->dev = dev;
	__atomic_store_n(&c->answer->step, step, __ATOMIC_RELEASE);
}

void child_fail(struct child *c, int err, const char *words)
{
	c->answer->result = err;
	(void)snprintf(c->answer->words, sizeof(c->answer->words), "%.95s", words);
}

void child_set_name(struct child *c, const char *path)
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(c->name, sizeof(c->name), "%s", slash ? slash + 1 : path);
}

bool child_confine(struct child *c, int *fds, size_t n)
{
	struct error e = {};
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const int at = STDERR_FILENO + 1 + (int)i;

		err = dup3(fds[i], at, O_CLOEXEC) < 0 ? -errno : 0;
		fds[i] = at;
	}
	child_close_from(STDERR_FILENO + 1 + (unsigned)n);
	if (err)
		err = error_set(&e, err, "leave what others have open: %s", error_words(err));
	else
		err = sandbox_enter(SANDBOX_PARSER, &c->answer->layers, &e);
	if (err)
		child_fail(c, err, e.text);
	log_setup("", LOG_WARN);
	log_hold(&said);
	guard_begin();
	child_note_step(c, STEP_CONTENTS, 0);
	return !err;
}

void files_work(struct child *c)
{
	(void)prctl(PR_SET_NAME, c->question.what <= QUESTION_LIST ? "file-finder" : "file-parser");
	if (c->question.what <= QUESTION_LIST)
		finder_work(c);
	else
		parser_work(c);
}

/* Take the question from the area, which gets the answer. False: it makes no sense. */
static bool take_question(struct child *c)
{
	const struct question *q = &c->question;

	memcpy(&c->question, c->data, sizeof(*q));
	if (q->n_bytes > c->n_data - sizeof(*q))
		return false;
	free(c->payload);
	c->payload = xcalloc(1, q->n_bytes + 1);
	memcpy(c->payload, c->data + sizeof(*q), q->n_bytes);
	*c->answer = (struct answer){ .pid = (uint32_t)getpid(), .step = c->answer->step };
	return true;
}

static void publish(struct child *c)
{
	if (!c->answer->words[0] && said.n)
		(void)sscanf(said.text, ": %95[^\n]", c->answer->words);
	strbuf_clear(&said);
	__atomic_store_n(&c->answer->number, c->question.number, __ATOMIC_RELEASE);
}

bool child_next(struct child *c)
{
	if (!(c->question.flags & STAYS))
		return false;
	publish(c);
	if (tgkill(getpid(), gettid(), SIGSTOP) < 0)
		return false;
	if (!take_question(c))
		_exit(1);
	return true;
}

void child_run(child_work *work, void *area, size_t n_area)
{
	struct child c = { .answer = area };

	if (n_area < sizeof(*c.answer) + sizeof(c.question))
		_exit(1);
	c.data = (char *)area + sizeof(*c.answer);
	c.n_data = n_area - sizeof(*c.answer);
	(void)setrlimit(RLIMIT_CPU, &(struct rlimit){ CHILD_CPU_S, CHILD_CPU_S + 1 });
	if (!take_question(&c))
		_exit(1);
	work(&c);
	publish(&c);
	_exit(0);
}
