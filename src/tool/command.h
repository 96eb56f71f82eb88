/* tool/command.h - the command behind "--": made, held, let go, waited for. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"

struct command {
	pid_t pid;   /* 0: none */
	int gate;    /* a byte lets it go; closing it ends it */
	int trouble; /* exec's errno comes here, or end of file when it succeeded */
	int pidfd;   /* readable when it has ended; -1 if the kernel has none */
	int status;  /* of waitpid(2), once it has ended */
	const char *name;
	char *shown;     /* the name made safe to show */
	bool is_stopped; /* at its first instruction */
	int signal;      /* that it is to be given when it is let go, 0: none */
};

#define COMMAND_NONE                                   \
	{                                              \
		.gate = -1, .trouble = -1, .pidfd = -1 \
	}

/* Start it up to the point before its exec. Errors: no such program on PATH; fork. */
must_check int command_hold(char *const *argv, struct command *ret, struct error *e);

/*
 * Let it exec, up to its first instruction: its program is mapped then, and can be looked
 * at however short it lives. Errors: its exec failed; the command has ended then.
 */
must_check int command_exec(struct command *c, struct error *e);

/*
 * Behind command_exec(): let the dynamic linker do its work, so that all libraries that the program
 * is linked with are mapped. @look is called meanwhile, at most a few times, while the command is
 * stopped: more may be mapped then, of which nothing has run. In the end it is stopped at the
 * program's own first instruction, or wherever it is when anything else happens to it.
 */
void command_run_to_entry(struct command *c, void (*look)(void *context), void *context);

/* Let it run. */
void command_let_go(struct command *c);

/* Has it ended? Fills in the status. */
bool command_has_ended(struct command *c);

/* "'ls' exited with status 3", "'ls' was ended by signal 9 (Killed)", "'ls' still runs". */
void command_describe(const struct command *c, struct strbuf *to);

/* Close what is open; a command that was never let go is ended. One that runs goes on. */
void command_fini(struct command *c);
