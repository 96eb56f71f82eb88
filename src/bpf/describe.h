/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/describe.h - describe programs and maps for --debug. */
#pragma once

#include <bpf/libbpf.h>

/* Log the size of the loaded program @fd, and the verifier's steps. */
void describe_program(int fd);

/* Log all maps of @object, with their current memory. */
void describe_maps(const struct bpf_object *object);
