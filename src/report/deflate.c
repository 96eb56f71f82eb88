// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/deflate.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define N_LITERALS 286 /* 256: end of the block; from 257 on: lengths of repetitions */
#define END_OF_BLOCK 256
#define N_DISTANCES 30
#define LONGEST_CODE 15
#define HASH_BITS 14
#define SHORTEST_MATCH 4
#define LONGEST_MATCH 258
#define MOST_DISTANCE 32768

/* A repetition: its length and, less one, how far it is behind. Else the token is a byte. */
#define TOKEN_MATCH 0x80000000U

struct code {
	uint16_t bits;
	uint8_t n;
};

/* Where the next bits go. A variable of its own, so that it may stay in registers. */
struct bits {
	uint64_t held; /* bits that are no whole byte yet */
	unsigned n_held;
	uint8_t *to;
};

struct deflate {
	struct bits bits;
	uint32_t tokens[DEFLATE_MOST_IN];
	size_t n_tokens;
	uint16_t last[1 << HASH_BITS]; /* where four bytes with this hash were seen last */
	uint32_t n_literals[N_LITERALS], n_distances[N_DISTANCES];
	struct code literals[N_LITERALS], distances[N_DISTANCES];
};

struct deflate *deflate_new(void)
{
	return xcalloc(1, sizeof(struct deflate));
}

void deflate_free(struct deflate *d)
{
	free(d);
}

static unsigned log2_of(unsigned n)
{
	return 31 - (unsigned)__builtin_clz(n);
}

/* The symbol of a length, and the bits that say which of its lengths. */
static unsigned length_symbol(unsigned length, unsigned *n_extra)
{
	const unsigned l = length - 3;

	*n_extra = 0;
	if (length == LONGEST_MATCH)
		return 285;
	if (l < 8)
		return 257 + l;

	const unsigned log = log2_of(l);

	*n_extra = log - 2;
	return 257 + 4 * (log - 1) + (l >> (log - 2) & 3);
}

/* The same of a distance less one. */
static unsigned distance_symbol(unsigned distance, unsigned *n_extra)
{
	*n_extra = 0;
	if (distance < 4)
		return distance;

	const unsigned log = log2_of(distance);

	*n_extra = log - 1;
	return 2 * log + (distance >> (log - 1) & 1);
}

static uint32_t load32(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static void add_literal(struct deflate *d, uint8_t byte)
{
	d->tokens[d->n_tokens++] = byte;
	d->n_literals[byte]++;
}

static void add_match(struct deflate *d, unsigned length, unsigned distance)
{
	unsigned n_extra;

	d->tokens[d->n_tokens++] = TOKEN_MATCH | length << 16 | (distance - 1);
	d->n_literals[length_symbol(length, &n_extra)]++;
	d->n_distances[distance_symbol(distance - 1, &n_extra)]++;
}

static unsigned match_length(const uint8_t *a, const uint8_t *b, size_t most)
{
	unsigned n = SHORTEST_MATCH;

	if (most > LONGEST_MATCH)
		most = LONGEST_MATCH;
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

/* Where nothing repeats, look at fewer and fewer places. */
static void find_tokens(struct deflate *d, const uint8_t *from, size_t n)
{
	size_t at = 0, n_misses = 0;

	memset(d->last, 0, sizeof(d->last));
	memset(d->n_literals, 0, sizeof(d->n_literals));
	memset(d->n_distances, 0, sizeof(d->n_distances));
	d->n_tokens = 0;
	while (at + SHORTEST_MATCH <= n) {
		const uint32_t word = load32(from + at);
		uint16_t *last = &d->last[(word * 2654435761U) >> (32 - HASH_BITS)];
		const size_t before = *last;

		*last = (uint16_t)at;
		if (before < at && at - before <= MOST_DISTANCE && load32(from + before) == word) {
			const unsigned length = match_length(from + before, from + at, n - at);

			add_match(d, length, (unsigned)(at - before));
			at += length;
			n_misses = 0;
			continue;
		}
		for (size_t skip = 1 + (n_misses++ >> 5); skip && at < n; skip--)
			add_literal(d, from[at++]);
	}
	while (at < n)
		add_literal(d, from[at++]);
}

struct node {
	uint32_t weight;
	uint16_t symbol, parent;
};

static int compare_nodes(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? -1 : 1;
	return a->symbol < b->symbol ? -1 : a->symbol > b->symbol;
}

/*
 * Give each of the @n nodes, which are sorted, its depth in Huffman's tree in its member parent.
 * Leaves and joined nodes are two queues with rising weights. Returns the greatest depth.
 */
static unsigned find_depths(struct node *nodes, size_t n)
{
	size_t leaf = 0, joined = n, next = n;
	unsigned deepest = 0;

	for (; next < 2 * n - 1; next++) {
		nodes[next].weight = 0;
		for (int i = 0; i < 2; i++) {
			const bool is_leaf =
				leaf < n &&
				(joined == next || nodes[leaf].weight <= nodes[joined].weight);
			struct node *least = &nodes[is_leaf ? leaf++ : joined++];

			nodes[next].weight += least->weight;
			least->parent = (uint16_t)next;
		}
	}
	nodes[next - 1].parent = 0;
	for (size_t i = next - 1; i-- > 0;) {
		nodes[i].parent = nodes[nodes[i].parent].parent + 1;
		if (nodes[i].parent > deepest)
			deepest = nodes[i].parent;
	}
	return deepest;
}

/* Codes begin with their first bit, and DEFLATE has it last. */
static uint16_t reversed(unsigned bits, unsigned n)
{
	unsigned ret = 0;

	for (; n; n--, bits >>= 1)
		ret = ret << 1 | (bits & 1);
	return (uint16_t)ret;
}

/* Codes of equal length follow each other in the order of symbols. */
static void number_codes(struct code *codes, size_t n)
{
	unsigned next = 0;

	for (unsigned length = 1; length <= LONGEST_CODE; length++, next <<= 1)
		for (size_t i = 0; i < n; i++)
			if (codes[i].n == length)
				codes[i].bits = reversed(next++, length);
}

/* At least two symbols are used. */
static void make_codes(uint32_t *weights, size_t n, struct code *codes)
{
	struct node nodes[2 * N_LITERALS];
	size_t n_used;

	for (;;) {
		n_used = 0;
		for (size_t i = 0; i < n; i++)
			if (weights[i])
				nodes[n_used++] = (struct node){ weights[i], (uint16_t)i, 0 };
		qsort(nodes, n_used, sizeof(*nodes), compare_nodes);
		if (find_depths(nodes, n_used) <= LONGEST_CODE)
			break;
		for (size_t i = 0; i < n; i++) /* a flatter tree */
			weights[i] = weights[i] ? weights[i] / 2 + 1 : 0;
	}
	memset(codes, 0, n * sizeof(*codes));
	for (size_t i = 0; i < n_used; i++)
		codes[nodes[i].symbol].n = (uint8_t)nodes[i].parent;
	number_codes(codes, n);
}

/* At most 48 bits at once. Writes eight bytes, of which the last ones do not count yet. */
static inline void put_bits(struct bits *b, uint64_t bits, unsigned n)
{
	uint64_t word;

	b->held |= bits << b->n_held;
	b->n_held += n;
	word = htole64(b->held);
	memcpy(b->to, &word, sizeof(word));
	b->to += b->n_held >> 3;
	b->held >>= b->n_held & ~7U;
	b->n_held &= 7;
}

/* Lengths of codes are written in four bits each: saving more of these 160 bytes is not worth it.
 */
static void put_codes(const struct deflate *d, bool is_last, struct bits *b)
{
	put_bits(b, is_last, 1);
	put_bits(b, 2, 2); /* codes of its own */
	put_bits(b, N_LITERALS - 257, 5);
	put_bits(b, N_DISTANCES - 1, 5);
	put_bits(b, 19 - 4, 4);
	for (unsigned i = 0; i < 19; i++) /* the first three are of repeated lengths */
		put_bits(b, i < 3 ? 0 : 4, 3);
	for (size_t i = 0; i < N_LITERALS; i++)
		put_bits(b, reversed(d->literals[i].n, 4), 4);
	for (size_t i = 0; i < N_DISTANCES; i++)
		put_bits(b, reversed(d->distances[i].n, 4), 4);
}

static inline void put_match(const struct deflate *d, uint32_t token, struct bits *b)
{
	const unsigned length = token >> 16 & 0x1ff, distance = token & 0xffff;
	unsigned n_length, n_distance;
	const struct code *code = &d->literals[length_symbol(length, &n_length)];
	const struct code *behind = &d->distances[distance_symbol(distance, &n_distance)];
	uint64_t bits = code->bits;
	unsigned n = code->n;

	bits |= (uint64_t)((length - 3) & ((1U << n_length) - 1)) << n;
	n += n_length;
	bits |= (uint64_t)behind->bits << n;
	n += behind->n;
	bits |= (uint64_t)(distance & ((1U << n_distance) - 1)) << n;
	put_bits(b, bits, n + n_distance);
}

static void put_tokens(const struct deflate *d, struct bits *to)
{
	const struct code *end = &d->literals[END_OF_BLOCK];
	struct bits b = *to;

	for (size_t i = 0; i < d->n_tokens; i++) {
		const uint32_t token = d->tokens[i];

		if (token & TOKEN_MATCH)
			put_match(d, token, &b);
		else
			put_bits(&b, d->literals[token].bits, d->literals[token].n);
	}
	put_bits(&b, end->bits, end->n);
	*to = b;
}

size_t deflate_block(struct deflate *d, const uint8_t *from, size_t n, bool is_last, uint8_t *to)
{
	find_tokens(d, from, n);
	d->n_literals[END_OF_BLOCK] = 1;
	d->n_literals[0] += !d->n_literals[0]; /* a code of one symbol is none */
	for (size_t i = 0; i < 2; i++)
		d->n_distances[i] += !d->n_distances[i];
	make_codes(d->n_literals, N_LITERALS, d->literals);
	make_codes(d->n_distances, N_DISTANCES, d->distances);
	d->bits.to = to;
	put_codes(d, is_last, &d->bits);
	put_tokens(d, &d->bits);
	if (is_last && d->bits.n_held)
		put_bits(&d->bits, 0, 8 - d->bits.n_held);
	return (size_t)(d->bits.to - to);
}
