// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A few characters can make glibc's regcomp() run for hours, use up all memory, or crash:
 *
 *	((((a{1,100}){1,100}){1,100}){1,100})	100 million parts are written out: all memory
 *	a{1,30000}				memory by the square of it: 2 GB
 *	^3********+++++				each operator doubles the part after '^': hours
 *	((((((...				groups are parsed by recursion: a crash
 *
 * The text does not tell the cost for certain. Bounds on the number and nesting of
 * repetitions and anchors let these pass (glibc 2.36):
 *
 *	^3***+++		more than 20 s: one part, repeated and repeated
 *	^(a*b*)*(a*b*)*...	more than 10 s: none is deeper than two
 *	(^|a)*(^|a)*...		more than 5 s: none is within another
 *	^(){1,300}		6 s, 314 MB: one repetition, 300 copies; '(){1,300}' takes 5 ms
 *
 * So a process of its own, with limits, compiles the expression first.
 *
 * regexec() takes exponential time for back-references, so we refuse them. It also keeps every
 * state that it reaches, and there may be many more states than parts: '.*[a-m].{20}x' over
 * 64,000 names took more than a minute and a gigabyte. So we compile the expression anew from
 * time to time. The more parts can be empty, the longer a state takes:
 * '(.*[a-m].{20}|(.?){1000}y)x~' compiles in 6 ms, and takes 0.1 s for a name. So the process
 * also matches a few names.
 *
 * Those names do not tell the cost of real ones. With [A-Z0-9] for [a-m] that expression is cheap
 * for names of small letters, and takes minutes for the names of libstdc++. So the time of all
 * matches has a bound, too. It also bounds their memory, because states take 12 MB in a second.
 */
#include "base/regexp.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define MOST_BYTES (64UL << 20)
#define MOST_SECONDS 1 /* of a CPU */
#define FEW_MATCHES 200
#define NAME_LENGTH 32
#define MATCH_US 5 /* compile anew after as many matches of this length as compiling takes */
/* The bound of all matches. 60,000 kernel functions take far less than a second. */
#define MATCHES_NS (5 * NS_PER_S)
#define FIRST_NS (NS_PER_S / 10) /* measured by wall time, see match_timed() */
#define FIRST_PART 32            /* the bytes of a long name that we match first */

struct regexp {
	char *text;
	regex_t compiled;
	uint64_t n_matches;    /* since the expression was compiled */
	uint64_t most_matches; /* before we compile it anew */
	uint64_t spent_ns;     /* time of all matches */
};

/* Return the first byte after a bracket expression: "[^]a[:alpha:]-z]". */
static const char *skip_bracket(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	if (*at == ']')
		at++;
	while (*at && *at != ']') {
		if (at[0] == '[' && at[1] && strchr(":.=", at[1])) {
			const char end[] = { at[1], ']', '\0' };
			const char *behind = strstr(at + 2, end);

			at = behind ? behind + 1 : at;
		}
		at++;
	}
	return *at ? at + 1 : at;
}

static bool has_back_reference(const char *at)
{
	while (*at) {
		if (at[0] == '\\' && at[1] >= '1' && at[1] <= '9')
			return true;
		if (*at == '[')
			at = skip_bracket(at);
		else
			at += at[0] == '\\' && at[1] ? 2 : 1;
	}
	return false;
}

static int compile_expression(const char *text, regex_t *ret)
{
	return regcomp(ret, text, REG_EXTENDED | REG_NOSUB);
}

/* Bytes of address space in use. statm begins with their pages: "4711 1234 ...". */
static rlim_t used_bytes(void)
{
	char text[64] = "";
	cleanup_close int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return strtoul(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void limit_resource(int resource, rlim_t most)
{
	const struct rlimit both = { most, most };

	(void)setrlimit(resource, &both);
}

/* Make a name of pseudorandom letters, the same in each run. */
static void make_name(uint32_t *random, char *ret, size_t length)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";

	for (size_t i = 0; i < length; i++) {
		*random = *random * 1664525 + 1013904223;
		ret[i] = letters[(*random >> 16) % (sizeof(letters) - 1)];
	}
}

/* Match as many names as we match before compiling anew. Uses re_search(), because regexec()
 * reports a lack of memory as no match. */
static bool has_memory_to_match(regex_t *compiled)
{
	char name[NAME_LENGTH];
	uint32_t random = 1;

	for (unsigned i = 0; i < FEW_MATCHES; i++) {
		make_name(&random, name, NAME_LENGTH);
		if (re_search(compiled, name, NAME_LENGTH, 0, NAME_LENGTH, NULL) == -2)
			return false;
	}
	return true;
}

/* The child of try_expression(). The parent finds other errors when it compiles the expression
 * itself. */
static _Noreturn void try_within_limits(const char *text)
{
	regex_t compiled;

	limit_resource(RLIMIT_CORE, 0);
	limit_resource(RLIMIT_CPU, MOST_SECONDS);
	limit_resource(RLIMIT_AS, used_bytes() + MOST_BYTES);

	const int err = compile_expression(text, &compiled);

	_exit(err == REG_ESPACE || (!err && !has_memory_to_match(&compiled)));
}

static int too_costly(struct error *e)
{
	return error_set(e, -EINVAL, "it takes too much time or memory");
}

static int try_expression(const char *text, struct error *e)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		return error_set(e, -errno, "make a process: %s", error_start_words(-errno));
	if (child == 0)
		try_within_limits(text);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return error_errno(e, "wait for the process");
	if (status != 0)
		return too_costly(e);
	return 0;
}

static int make_regexp(const char *text, struct regexp *r, struct error *e)
{
	char why[128];

	if (has_back_reference(text))
		return error_set(e, -EINVAL, "back-references (\\1) are not supported");

	int err = try_expression(text, e);

	if (err)
		return err;

	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);

	err = compile_expression(text, &r->compiled);
	if (err) {
		(void)regerror(err, &r->compiled, why, sizeof(why));
		return error_set(e, -EINVAL, "%s", why);
	}
	r->text = xstrdup(text);
	r->most_matches = FEW_MATCHES + (clock_ns(CLOCK_MONOTONIC) - begin) / (MATCH_US * 1000ULL);
	return 0;
}

static int name_expression(const char *text, int err, struct error *e)
{
	return error_within(e, "%s regular expression '%.200s%s'",
			    err == -EINVAL ? "bad" : "cannot try the", text,
			    strlen(text) > 200 ? "..." : "");
}

int regexp_new(const char *text, struct regexp **ret, struct error *e)
{
	cleanup_free struct regexp *r = xcalloc(1, sizeof(*r));

	const int err = make_regexp(text, r, e);

	if (err)
		return name_expression(text, err, e);
	*ret = TAKE(r);
	return 0;
}

void regexp_free(struct regexp *r)
{
	if (!r)
		return;
	regfree(&r->compiled);
	free(r->text);
	free(r);
}

void regexp_freep(struct regexp **r)
{
	regexp_free(*r);
	*r = NULL;
}

static bool is_regexp_spent(const struct regexp *r)
{
	return r->spent_ns > MATCHES_NS;
}

static bool is_regexp_slow(const struct regexp *r)
{
	return r->spent_ns >= FIRST_NS;
}

static void compile_anew(struct regexp *r)
{
	regex_t fresh;

	if (compile_expression(r->text, &fresh) != 0)
		return;
	regfree(&r->compiled);
	r->compiled = fresh;
	r->n_matches = 1;
}

/*
 * Match the first @length bytes of @name, and add the time. Reading a thread's CPU time takes a
 * system call, so we measure wall time at first. Wall time goes on while others have the CPU, so it
 * may use up only the first part of the bound.
 */
static bool match_timed(struct regexp *r, const char *name, size_t length)
{
	const bool is_first = !is_regexp_slow(r);
	const clockid_t clock = is_first ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	const uint64_t begin = clock_ns(clock);
	regmatch_t part = { .rm_so = 0, .rm_eo = (regoff_t)length };
	const bool ret = regexec(&r->compiled, name, 0, &part, REG_STARTEND) == 0;

	r->spent_ns += clock_ns(clock) - begin;
	if (is_first && r->spent_ns > FIRST_NS)
		r->spent_ns = FIRST_NS;
	return ret;
}

/*
 * One long name may take minutes, and nothing can stop regexec(). So we match longer and longer
 * beginnings of it. regexec() keeps its states, so this does not take much longer.
 */
bool regexp_matches(struct regexp *r, const char *name)
{
	const size_t length = strlen(name);

	if (is_regexp_spent(r))
		return false;
	if (++r->n_matches > r->most_matches)
		compile_anew(r);
	for (size_t part = FIRST_PART; part < length; part += part / (is_regexp_slow(r) ? 8 : 2)) {
		(void)match_timed(r, name, part);
		if (is_regexp_spent(r))
			return false;
	}
	return match_timed(r, name, length);
}

int regexp_check(const struct regexp *r, struct error *e)
{
	if (!is_regexp_spent(r))
		return 0;
	return name_expression(r->text, too_costly(e), e);
}
