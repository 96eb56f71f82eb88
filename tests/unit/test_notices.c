/* rooms: store bpf base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The ring of notices as the kernel fills it, in plain memory. */
#include "test.h"

#include <linux/bpf.h>

#include "store/notices.h"

#define BYTES 1024U /* of the ring */
#define RECORD (sizeof(struct notice) + BPF_RINGBUF_HDR_SZ)
#define ROOM (BYTES / RECORD)

/* A ring, and the program that fills it. */
struct filled {
	struct notices ring;
	uint64_t consumer, producer;
	uint8_t data[2 * BYTES]; /* the kernel maps the same bytes twice */
	uint32_t n_sent;
	uint32_t seen[4 * ROOM]; /* tgids, in order */
	uint32_t n_seen;
	uint32_t last;      /* take_one() ends with the notice of this tgid */
	uint32_t n_answers; /* take_one() sends so many notices for each one that it gets */
};

static void begin_ring(struct filled *f)
{
	*f = (struct filled){};
	f->ring = (struct notices){ .consumer = &f->consumer,
				    .producer = &f->producer,
				    .data = f->data,
				    .mask = BYTES - 1 };
}

static void put_byte(struct filled *f, uint64_t at, uint8_t byte)
{
	f->data[at % BYTES] = f->data[at % BYTES + BYTES] = byte;
}

/* False: there is no room. @bits: of the header. */
static bool send_one(struct filled *f, uint32_t bits)
{
	const struct notice notice = { .type = NOTICE_PROCESS, .tgid = f->n_sent + 1 };
	const uint32_t header[2] = { sizeof(notice) | bits };
	uint8_t record[RECORD];

	if (f->producer - f->consumer + RECORD > BYTES)
		return false;
	memcpy(record, header, sizeof(header));
	memcpy(record + sizeof(header), &notice, sizeof(notice));
	for (size_t i = 0; i < RECORD; i++)
		put_byte(f, f->producer + i, record[i]);
	f->n_sent++;
	f->producer += RECORD;
	return true;
}

static bool take_one(void *context, const struct notice *notice)
{
	struct filled *f = context;

	assert_true(f->n_seen < 4 * ROOM); /* else it reads what has come since it began */
	f->seen[f->n_seen++] = notice->tgid;
	for (uint32_t i = 0; i < f->n_answers; i++)
		(void)send_one(f, 0);
	return notice->tgid != f->last;
}

static void assert_seen(const struct filled *f, uint32_t from, uint32_t n)
{
	assert_int_equal(f->n_seen, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(f->seen[i], from + i);
}

TEST(passes_on_all_notices_in_their_order)
{
	struct filled f;

	begin_ring(&f);
	for (uint32_t turn = 0; turn < 5; turn++) { /* the ring's end lies within a record */
		const uint32_t before = f.n_sent;

		while (send_one(&f, 0))
			;
		f.n_seen = 0;
		notices_read(&f.ring, take_one, &f);
		assert_seen(&f, before + 1, ROOM);
		assert_int_equal(f.consumer, f.producer);
	}
}

/* Programs send two notices while one is read. ring_buffer__consume() never returned then. */
TEST(a_reading_ends_though_notices_come_faster_than_they_are_read)
{
	struct filled f;

	begin_ring(&f);
	for (int i = 0; i < 3; i++)
		assert_true(send_one(&f, 0));
	f.n_answers = 2;
	notices_read(&f.ring, take_one, &f);
	assert_seen(&f, 1, 3);
	notices_read(&f.ring, take_one, &f); /* those that came meanwhile */
	assert_seen(&f, 1, 3 + 6);
}

TEST(whoever_takes_notices_may_end_the_reading)
{
	struct filled f;

	begin_ring(&f);
	for (int i = 0; i < 5; i++)
		assert_true(send_one(&f, 0));
	f.last = 2;
	notices_read(&f.ring, take_one, &f);
	assert_seen(&f, 1, 2);
	f.last = 0;
	notices_read(&f.ring, take_one, &f);
	assert_seen(&f, 1, 5);
}

TEST(a_notice_that_is_being_written_waits_and_a_discarded_one_is_left_out)
{
	struct filled f;

	begin_ring(&f);
	assert_true(send_one(&f, 0));
	assert_true(send_one(&f, BPF_RINGBUF_BUSY_BIT));
	assert_true(send_one(&f, 0));
	notices_read(&f.ring, take_one, &f);
	assert_seen(&f, 1, 1);

	const uint32_t discarded = sizeof(struct notice) | BPF_RINGBUF_DISCARD_BIT;

	memcpy(f.data + RECORD, &discarded, sizeof(discarded));
	notices_read(&f.ring, take_one, &f);
	assert_int_equal(f.n_seen, 2);
	assert_int_equal(f.seen[1], 3);
}

TEST_MAIN(NULL, NULL)
