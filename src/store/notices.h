/* store/notices.h - what the BPF programs tell while they count. */
#pragma once

#include "base/error.h"
#include "bpf/object.h"

struct notices;

/* Errors: from mapping the ring buffer. @object must outlive the notices. */
must_check int notices_open(const struct object *object, struct notices **ret, struct error *e);
void notices_close(struct notices *n);
void notices_closep(struct notices **n);

/* Readable when there is something; for epoll. */
int notices_fd(const struct notices *n);

/* Call @take for each notice that is there, without waiting. */
typedef void notice_take(void *context, const struct notice *notice);
void notices_read(struct notices *n, notice_take *take, void *context);
