#include "symbolize/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "symbolize/debuginfod_find.h"

/* For one file, and for all. A report waits for it. */
#define MOST_SECONDS 60
#define MOST_SECONDS_IN_ALL 180
#define TELL_SECONDS 5
/* For one file. The largest debug files of a distribution have less. */
#define MOST_BYTES (2LL << 30)

#define LIBRARY "libdebuginfod.so.1"

/* Of <elfutils/debuginfod.h>, which need not be there when this is built. */
struct library {
	void *(*begin)(void);
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int n, char **path);
	void (*set_progress)(void *client, int (*function)(void *client, long done, long all));
	void (*set_data)(void *client, void *data);
	void *(*get_data)(void *client);
	const char *(*get_url)(void *client);
};

static const struct {
	const char *name;
	size_t place;
} symbols[] = {
	{ "debuginfod_begin", offsetof(struct library, begin) },
	{ "debuginfod_end", offsetof(struct library, end) },
	{ "debuginfod_find_debuginfo", offsetof(struct library, find) },
	{ "debuginfod_set_progressfn", offsetof(struct library, set_progress) },
	{ "debuginfod_set_user_data", offsetof(struct library, set_data) },
	{ "debuginfod_get_user_data", offsetof(struct library, get_data) },
	{ "debuginfod_get_url", offsetof(struct library, get_url) },
};

struct debuginfod {
	struct library library;
	bool is_opened;
	bool may_ask;
	void *client;       /* of the library; NULL: the program is run */
	const char *module; /* that is asked for */
	double began, told; /* then, and when the user was told last */
	double spent;       /* in all, before */
	bool is_late, is_large, may_be_full;
	char *path;        /* of the last answer */
	rlim_t most_bytes; /* that a file may have */
};

struct debuginfod *debuginfod_new(void)
{
	return xcalloc(1, sizeof(struct debuginfod));
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->library.end(d->client);
	free(d->path);
	free(d);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Signals that end the run are blocked, and wait to be read (tool/wait.c). */
static bool is_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

static void tell(struct debuginfod *d, long done, long all)
{
	const double mib = 1 << 20;

	if (all > 0)
		log_warn("debuginfod: %s: %.1f of %.1f MiB", d->module, (double)done / mib,
			 (double)all / mib);
	else
		log_warn("debuginfod: waiting for the symbols of %s", d->module);
}

/* It stays loaded: it starts libcurl, which cannot be unloaded at will. */
static bool load(struct library *ret, int flags)
{
	void *handle = dlopen(LIBRARY, RTLD_LAZY | flags);

	for (size_t i = 0; handle && i < ARRAY_SIZE(symbols); i++) {
		void *function = dlsym(handle, symbols[i].name);

		if (!function)
			return false;
		memcpy((char *)ret + symbols[i].place, &function, sizeof(function));
	}
	return handle;
}

/* Must the fetch end? @done of @all bytes have come, as far as the library knows. */
static bool is_enough(struct debuginfod *d, long done, long all)
{
	double t = now();

	d->is_late = t - d->began > MOST_SECONDS || d->spent + t - d->began > MOST_SECONDS_IN_ALL ||
		     is_to_end();
	if (t - d->began >= 1 && t - d->told >= TELL_SECONDS) {
		tell(d, done, all);
		d->told = t;
	}
	d->is_large = done > MOST_BYTES || all > MOST_BYTES;
	return d->is_late || d->is_large;
}

/* Called whenever something came, and every second or so. Not 0: enough. */
static int on_progress(void *client, long done, long all)
{
	struct library library;

	if (!load(&library, RTLD_NOLOAD)) /* @client is all that we get, and means nothing to us */
		return 1;
	return is_enough(library.get_data(client), done, all);
}

static bool on_waiting(void *argument)
{
	return is_enough(argument, 0, 0);
}

static void open_client(struct debuginfod *d)
{
	const char *urls = secure_getenv("DEBUGINFOD_URLS");

	d->is_opened = true;
	d->may_ask = urls && urls[0];
	if (!d->may_ask || !load(&d->library, 0))
		return;
	d->client = d->library.begin();
	if (!d->client)
		return;
	d->library.set_data(d->client, d);
	d->library.set_progress(d->client, on_progress);
}

static int ask(struct debuginfod *d, const uint8_t *build_id, size_t n)
{
	if (d->client)
		return d->library.find(d->client, build_id, (int)n, &d->path);

	int fd = debuginfod_find(build_id, n, on_waiting, d, &d->path);

	if (fd == -EFBIG)
		d->is_large = d->may_be_full = true;
	if (fd == -ENOSYS) {
		log_warn("DEBUGINFOD_URLS is set, but neither " LIBRARY " nor the program "
			 "debuginfod-find can be used: symbols are not fetched");
		d->may_ask = false;
	}
	return fd;
}

/*
 * What a server says of the size need not be true, and what comes may be compressed: so the kernel
 * is told how long a file may be.
 */
static int find(struct debuginfod *d, const uint8_t *build_id, size_t n)
{
	struct rlimit before, bounded;
	sigset_t too_long, mask;

	(void)sigemptyset(&too_long);
	(void)sigaddset(&too_long, SIGXFSZ);
	(void)pthread_sigmask(SIG_BLOCK, &too_long, &mask);
	(void)getrlimit(RLIMIT_FSIZE, &before);
	bounded = before;
	if (bounded.rlim_cur > MOST_BYTES)
		bounded.rlim_cur = MOST_BYTES;
	d->most_bytes = bounded.rlim_cur;
	(void)setrlimit(RLIMIT_FSIZE, &bounded);

	int fd = ask(d, build_id, n);

	(void)setrlimit(RLIMIT_FSIZE, &before);
	if (sigtimedwait(&too_long, NULL, &(struct timespec){}) == SIGXFSZ)
		d->is_large = true;
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return fd;
}

const char *debuginfod_source(const struct debuginfod *d)
{
	const char *url = d->client ? d->library.get_url(d->client) : NULL;

	if (url)
		return url;
	return d->path ? d->path : "";
}

int debuginfod_get(struct debuginfod *d, const uint8_t *build_id, size_t n, const char *module,
		   int *ret_fd, struct error *e)
{
	if (!d->is_opened)
		open_client(d);
	if (!d->may_ask || n == 0)
		return error_set(e, -ENOTSUP, "%s: debuginfod is not asked", module);
	if (d->spent > MOST_SECONDS_IN_ALL || is_to_end())
		return error_set(e, -ETIME, "%s: debuginfod is asked no more", module);
	d->module = module;
	d->began = now();
	d->told = 0;
	d->is_late = d->is_large = d->may_be_full = false;
	free(d->path);
	d->path = NULL;

	int fd = find(d, build_id, n);

	d->spent += now() - d->began;
	if (d->is_late) {
		cleanup_close_fd(&fd);
		log_warn("debuginfod: the symbols of %s did not come in time", module);
		return error_set(e, -ETIME, "%s: debuginfod takes too long", module);
	}
	if (d->is_large) {
		cleanup_close_fd(&fd);
		log_warn("debuginfod: the symbols of %s are not taken: more than %llu MiB%s",
			 module, (unsigned long long)d->most_bytes >> 20,
			 d->may_be_full ? ", or no room for them" : "");
		return error_set(e, -EFBIG, "%s: debuginfod sends too much", module);
	}
	if (fd < 0 && fd != -ENOENT && d->may_ask)
		log_warn_once("debuginfod: no answer about the symbols of %s: %s", module,
			      strerror(-fd));
	if (fd < 0)
		return error_set(e, -ENOENT, "%s: debuginfod: %s", module, strerror(-fd));
	*ret_fd = fd;
	return 0;
}
