/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/libbpf_words.h - what libbpf says: the reason of an error. The rest is for --debug. */
#pragma once

#include "base/error.h"

/* Listen from now on. */
void libbpf_words_begin(void);

/* Loading the programs has failed with @err: sets @e, with libbpf's first words. Returns its code.
 */
must_check int libbpf_words_refuse(int err, struct error *e);
