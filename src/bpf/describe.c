// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/describe.h"

#include <bpf/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

/* A number from /proc/self/fdinfo: "memlock:\t4096". */
static uint64_t fdinfo_number(int fd, const char *field)
{
	char path[64], line[128];
	uint64_t n = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);

	cleanup_fclose FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			n = strtoull(line + strlen(field), NULL, 10);
	return n;
}

void describe_program(int fd)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return;
	log_debug("program %s: %u instructions (%u bytes of machine code)", info.name,
		  (unsigned)(info.xlated_prog_len / sizeof(struct bpf_insn)), info.jited_prog_len);
	log_debug("program %s: verified in %u steps", info.name, info.verified_insns);
}

void describe_maps(const struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		log_debug("map %s: %u entries, key %u bytes, value %u bytes, %llu bytes now",
			  bpf_map__name(map), bpf_map__max_entries(map), bpf_map__key_size(map),
			  bpf_map__value_size(map),
			  (unsigned long long)fdinfo_number(bpf_map__fd(map), "memlock:"));
	}
}
