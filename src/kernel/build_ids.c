// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/build_ids.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MOST_NOTES 16384
#define BUILD_ID_NOTE 3 /* NT_GNU_BUILD_ID */
#define ALIGNED(n) (((n) + 3UL) & ~3UL)

/* The description of the note in @bytes that has the build ID; 0: there is none. */
static size_t find_build_id(const uint8_t *bytes, size_t n, uint8_t *to, size_t size)
{
	struct {
		uint32_t n_name, n_bytes, type;
	} head; /* Elf64_Nhdr */

	for (size_t at = 0; n - at >= sizeof(head);) {
		memcpy(&head, bytes + at, sizeof(head));
		at += sizeof(head);

		const size_t name_bytes = ALIGNED((size_t)head.n_name);
		const size_t n_left = n - at;

		if (name_bytes > n_left || head.n_bytes > n_left - name_bytes)
			return 0;
		if (head.type == BUILD_ID_NOTE && head.n_name == 4 &&
		    memcmp(bytes + at, "GNU", 4) == 0 && head.n_bytes <= size) {
			memcpy(to, bytes + at + name_bytes, head.n_bytes);
			return head.n_bytes;
		}
		if (ALIGNED((size_t)head.n_bytes) > n_left - name_bytes)
			return 0;
		at += name_bytes + ALIGNED((size_t)head.n_bytes);
	}
	return 0;
}

/* Names of modules come from kallsyms, so they have no slash. */
size_t kernel_build_id(const char *module, uint8_t *to, size_t size)
{
	char path[128] = "/sys/kernel/notes";
	uint8_t notes[MOST_NOTES];

	if (module && (strchr(module, '/') || module[0] == '.'))
		return 0;
	if (module)
		(void)snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id",
			       module);

	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, notes, sizeof(notes));

	return n > 0 ? find_build_id(notes, (size_t)n, to, size) : 0;
}
