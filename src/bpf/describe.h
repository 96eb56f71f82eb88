/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/describe.h - programs and maps as --debug shows them. */
#pragma once

#include <bpf/libbpf.h>

/* The loaded program @fd. */
void describe_program(int fd);

/* All maps of @object, with the memory that each takes now. */
void describe_maps(const struct bpf_object *object);
