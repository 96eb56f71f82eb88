/* tool/command.h - the command behind "--": made, held, let go, waited for. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "tool/breakpoints_aside.h"

struct command {
	pid_t pid;   /* 0: none */
	int gate;    /* a byte lets it go; closing it ends it */
	int trouble; /* exec's errno comes here, or end of file when it succeeded */
	int pidfd;   /* readable when it has ended; -1 if the kernel has none */
	int status;  /* of waitpid(2), once it has ended */
	const char *name;
	char *shown;     /* the name made safe to show */
	bool is_stopped; /* at its first instruction */
	bool is_killed;  /* it did not get so far */
	struct breakpoints_aside breakpoints;
	int signal; /* that it is to be given when it is let go, 0: none */
};

#define COMMAND_NONE                                                                           \
	{                                                                                      \
		.gate = -1, .trouble = -1, .pidfd = -1, .breakpoints = BREAKPOINTS_ASIDE_NONE, \
	}

/* What a run does while its command begins, and may hang in a file system that does not answer. */
struct command_watch {
	void (*look)(void *context);      /* more may be mapped now, of which nothing has run */
	bool (*is_enough)(void *context); /* called while it waits. Must the run end? */
	void *context;
	uint32_t *helper; /* lent: holds the PID of a process of ours while it works */
};

/*
 * Start it up to the point before its exec. With @stops_at_entry command_run_to_entry() is called
 * later. Errors: no such program on PATH; fork.
 */
must_check int command_hold(char *const *argv, bool stops_at_entry, struct command *ret,
			    struct error *e);

/* Before counting begins: what we do for the command from now on causes no hits. */
void command_get_ready(struct command *c);

/*
 * Let it exec, up to its first instruction: its program is mapped then, and can be looked
 * at however short it lives. When the run is to end it has a second more, and is killed then.
 * Errors: its exec failed; the command has ended then.
 */
must_check int command_exec(struct command *c, const struct command_watch *w, struct error *e);

/*
 * Behind command_exec(): let the dynamic linker do its work, so that all libraries that the program
 * is linked with are mapped. It looks meanwhile, at most a few times, while the command is
 * stopped. In the end that is stopped at the program's own first instruction, or wherever it is
 * when anything else happens to it.
 */
void command_run_to_entry(struct command *c, const struct command_watch *w);

/* Let it run. */
void command_let_go(struct command *c);

/* Has it ended? Fills in the status. */
bool command_has_ended(struct command *c);

/* "'ls' exited with status 3", "'ls' was ended by signal 9 (Killed)", "'ls' still runs". */
void command_describe(const struct command *c, struct strbuf *to);

/* Close what is open; a command that was never let go is ended. One that runs goes on. */
void command_fini(struct command *c);
