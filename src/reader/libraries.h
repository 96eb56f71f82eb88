/* reader/libraries.h - from "c", "bash" or "./prog" to a file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * The file that @library names: a path (it contains '/'), a library by short
 * name ("c" is libc.so.6, by ld.so.cache and the usual folders), or a program on
 * PATH. With @pid not 0 it is looked up among what that process has mapped, in
 * its own mount namespace, and the path goes through /proc/PID/root; a path that
 * is not mapped there is looked up below its root.
 *
 * *@ret is a path to free(). Symbolic links are resolved.
 * Errors: -ENOENT  the message says where was looked; -ESRCH; -EACCES.
 */
must_check int library_find(const char *library, uint32_t pid, char **ret, struct error *e);
