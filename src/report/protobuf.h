/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/protobuf.h - appends fields of protobuf's messages to a buffer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* A number alone: an element of packed numbers. */
void proto_varint(struct strbuf *m, uint64_t value);

/* Nothing if @value is 0, as protobuf has it. */
void proto_number(struct strbuf *m, unsigned field, uint64_t value);

/* The same, even of 0. */
void proto_any_number(struct strbuf *m, unsigned field, uint64_t value);

/* A text, packed numbers or a message of @n bytes, even of none. */
void proto_bytes(struct strbuf *m, unsigned field, const void *bytes, size_t n);
