// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ldconfig's cache, /etc/ld.so.cache, in glibc's format:
 *
 *	["ld.so-1.7.0", count, 12 bytes each, to a multiple of 8]   old form, skipped
 *	"glibc-ld.so.cache" "1.1"  u32 count  u32 strings  20 bytes
 *	count times: s32 flags, u32 name, u32 path, u32 os version, u64 hwcap
 *	strings; name and path are offsets from the magic
 *
 * The flags differ between architectures, so we look into the files themselves. We skip entries
 * with hwcap: the loader chooses among them by the CPU's level (glibc-hwcaps/x86-64-v3/libz.so.1).
 * With -p we use the process's mappings instead of this cache.
 */
#include "files/ldcache.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/cleanup.h"

#define MAX_CACHE_BYTES (64u << 20)

static const char old_magic[] = "ld.so-1.7.0";
static const char new_magic[] = "glibc-ld.so.cache1.1";

enum {
	OLD_HEADER_BYTES = 16,
	OLD_ENTRY_BYTES = 12,
	HEADER_BYTES = 48,
	ENTRY_BYTES = 24,
};

static bool is_version(const char *text)
{
	if (*text == '\0')
		return true;
	if (*text != '.')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '.' && *text != '_')
			return false;
	return true;
}

/*
 * Returns the version in @rest, the end of a file's name: ".so", ".so.6" or "-2.31.so". NULL: it is
 * none of these.
 */
static const char *version_behind(const char *rest)
{
	if (strncmp(rest, ".so", 3) == 0)
		return is_version(rest + 3) ? rest + 3 : NULL;
	if (rest[0] != '-' || !isdigit((unsigned char)rest[1]))
		return NULL;

	size_t n = strspn(rest + 1, "0123456789.");

	/* The span takes the dot of ".so" too. */
	return strcmp(rest + n, ".so") == 0 ? rest : NULL;
}

const char *library_version(const char *file, const char *wanted)
{
	size_t n = strlen(wanted);

	if (strcmp(file, wanted) == 0)
		return file + n;
	if (n == 0 || strncmp(file, "lib", 3) != 0)
		return NULL;
	if (strncmp(file + 3, wanted, n) == 0)
		return version_behind(file + 3 + n);
	if (strncmp(file, wanted, n) != 0)
		return NULL;
	if (n > 3 && strcmp(wanted + n - 3, ".so") == 0)
		return is_version(file + n) ? file + n : NULL;
	return n > 3 ? version_behind(file + n) : NULL;
}

/* Checks only the magic, the class (64-bit) and the machine, as the loader would. */
bool is_native_elf(const char *path)
{
	static const char magic[] = { '\177', 'E', 'L', 'F', 2 };
	struct {
		char ident[16];
		uint16_t type;
		uint16_t machine;
	} header;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;

	cleanup_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && read(fd, &header, sizeof(header)) == sizeof(header) &&
	       memcmp(header.ident, magic, sizeof(magic)) == 0 && header.machine == ARCH_MACHINE;
}

static uint32_t u32_at(const char *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t u64_at(const char *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* The string at @offset. NULL if it has no NUL within the file. */
static const char *string_at(const char *data, size_t size, uint32_t offset)
{
	return offset < size && memchr(data + offset, '\0', size - offset) ? data + offset : NULL;
}

/* Returns the start of the new form, and *@size bytes to the end. NULL if there is none. */
static const char *find_new_ldcache(const char *data, size_t *size)
{
	if (*size >= OLD_HEADER_BYTES && memcmp(data, old_magic, sizeof(old_magic) - 1) == 0) {
		uint64_t skip = OLD_HEADER_BYTES + (uint64_t)u32_at(data + 12) * OLD_ENTRY_BYTES;

		skip = (skip + 7) & ~7ULL;
		if (skip > *size)
			return NULL;
		data += skip;
		*size -= skip;
	}
	if (*size < HEADER_BYTES || memcmp(data, new_magic, sizeof(new_magic) - 1) != 0)
		return NULL;
	return data;
}

static char *find_in_cache(const char *data, size_t size, const char *wanted)
{
	const char *best_path = NULL, *best_version = NULL;
	const char *cache = find_new_ldcache(data, &size);

	if (!cache)
		return NULL;

	size_t n = u32_at(cache + 20), fit = (size - HEADER_BYTES) / ENTRY_BYTES;

	for (size_t i = 0; i < n && i < fit; i++) {
		const char *entry = cache + HEADER_BYTES + i * ENTRY_BYTES;
		const char *name = string_at(cache, size, u32_at(entry + 4));
		const char *path = string_at(cache, size, u32_at(entry + 8));
		const char *version = name && path ? library_version(name, wanted) : NULL;

		if (!version || u64_at(entry + 16) != 0)
			continue;
		if (best_version && strverscmp(version, best_version) <= 0)
			continue;
		if (!is_native_elf(path))
			continue;
		best_path = path;
		best_version = version;
	}
	return best_path ? xstrdup(best_path) : NULL;
}

char *ldcache_find(const char *cache, const char *wanted)
{
	cleanup_close int fd = open(cache, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > MAX_CACHE_BYTES)
		return NULL;

	cleanup_free char *data = xmalloc((size_t)st.st_size);
	size_t size = 0;

	while (size < (size_t)st.st_size) {
		ssize_t got = read(fd, data + size, (size_t)st.st_size - size);

		if (got <= 0)
			break;
		size += (size_t)got;
	}
	return find_in_cache(data, size, wanted);
}
