/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/libbpf_words.h - turn libbpf's messages into the reason of an error. The other messages go to
 * --debug.
 */
#pragma once

#include "base/error.h"

/* Listen to libbpf from now on. */
void libbpf_words_begin(void);

/*
 * Loading the programs has failed with @err. Sets @e, with libbpf's first message as the reason,
 * and returns its code.
 */
must_check int libbpf_words_refuse(int err, struct error *e);
