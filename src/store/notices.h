/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* store/notices.h - receives the notices that BPF programs send to user space. */
#pragma once

#include "base/error.h"
#include "bpf/object.h"

struct notices;

/* Map the ring buffer of notices. @object must outlive the result. Errors: from mapping. */
must_check int notices_open(const struct object *object, struct notices **ret, struct error *e);
void notices_close(struct notices *n);
void notices_closep(struct notices **n);

/* A descriptor for epoll, readable while a notice waits. Lent by @n. */
int notices_fd(const struct notices *n);

/* Call @take for each waiting notice. Returns at once if there is none. */
typedef void notice_take(void *context, const struct notice *notice);
void notices_read(struct notices *n, notice_take *take, void *context);
