/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/object_ahead.h - open the object file of the programs, in a thread. For object.c only. */
#pragma once

#include "bpf/object.h"

struct stackcount_bpf;

/* NULL: no thread could start. */
struct object_ahead *object_ahead_begin(void);

/*
 * The opened file, which becomes the caller's. Waits for the thread. If there is none, or another
 * call has taken the file, this opens it. NULL: libbpf failed, and errno has the reason.
 */
struct stackcount_bpf *object_ahead_take(struct object_ahead *ahead);
