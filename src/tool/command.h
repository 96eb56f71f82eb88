/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/command.h - the command after "--": fork it, hold it before its exec, let it go, wait for
 * it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "tool/breakpoints_aside.h"

struct command {
	pid_t pid;   /* 0: none */
	int gate;    /* a byte lets it exec; closing the gate ends it */
	int trouble; /* the child writes exec's errno; end of file: exec succeeded */
	int pidfd;   /* readable once it has ended; -1: no pidfds (before Linux 5.3) */
	int status;  /* of waitpid(2) */
	const char *name;
	char *shown;     /* the name, escaped */
	bool is_stopped; /* traced, and stopped before the program's own code */
	bool is_killed;  /* we ended it before its program began */
	struct breakpoints_aside breakpoints;
	int signal; /* to send when it is let go; 0: none */
};

#define COMMAND_NONE                                                                           \
	{                                                                                      \
		.gate = -1, .trouble = -1, .pidfd = -1, .breakpoints = BREAKPOINTS_ASIDE_NONE, \
	}

/*
 * The run's part while its command starts. The command may hang in a file system that does not
 * answer.
 */
struct command_watch {
	void (*look)(void *context);      /* libraries may be mapped that have not run yet */
	bool (*is_enough)(void *context); /* must the run end? Asked while we wait */
	void *context;
	uint32_t *helper; /* lent: holds the PID of a process of ours while it runs */
};

/*
 * Check that the program exists, and fork the command. It waits before its exec. @stops_at_entry:
 * command_run_to_entry() will follow. Errors: no such program on PATH; fork.
 */
must_check int command_hold(char *const *argv, bool stops_at_entry, struct command *ret,
			    struct error *e);

/*
 * Wait for the process that finds breakpoints. Call it before counting begins, so that its start
 * causes no hits.
 */
void command_get_ready(struct command *c);

/*
 * Let the command exec, and stop it at its first instruction. Its program is mapped then, so we can
 * read its mappings however short it lives. If @w says that the run must end, the command has one
 * second more, and is then killed. Errors: exec failed; the command has ended then.
 */
must_check int command_exec(struct command *c, const struct command_watch *w, struct error *e);

/*
 * Call it after command_exec(). The dynamic linker runs, and maps all libraries that the program is
 * linked with. A few times at most, the command stops meanwhile, and we call w->look(). In the end
 * it is stopped at the program's own first instruction, or where something else stopped it.
 */
void command_run_to_entry(struct command *c, const struct command_watch *w);

/* Let it run. */
void command_let_go(struct command *c);

/* Has it ended? Fills in c->status. */
bool command_has_ended(struct command *c);

/*
 * Append "'ls' exited with status 3", "'ls' was ended by signal 9 (Killed)" or "'ls' still runs".
 */
void command_describe(const struct command *c, struct strbuf *to);

/* Close all descriptors. A command that was never let go ends; one that runs goes on. */
void command_fini(struct command *c);
