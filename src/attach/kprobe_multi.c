// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One link for thousands of kernel functions, by address if it is known, else by symbol.
 *
 * Several functions may have one name, and some of them may not be traceable. If addresses were
 * found by name, the kernel may refuse the whole list because of them. Halving finds them, but
 * leaves a link for each piece, and each link is a wait at the end (35 links: 9 s instead of 2). So
 * a refused list is divided. Functions that have their name alone are tried once more as a whole.
 * Namesakes are halved.
 */
#include "attach/backend.h"

#include <stdlib.h>
#include <string.h>

#include "attach/batch.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"

/* Places, as parallel arrays. */
struct places {
	uint32_t *targets;
	uint64_t *addrs;
	const char **symbols;
	uint64_t *cookies; /* or NULL; made when all places have been added */
	size_t n;
};

static void places_init(struct places *p, size_t capacity)
{
	p->targets = xcalloc(capacity, sizeof(*p->targets));
	p->addrs = xcalloc(capacity, sizeof(*p->addrs));
	p->symbols = xcalloc(capacity, sizeof(*p->symbols));
	p->cookies = NULL;
	p->n = 0;
}

static void places_fini(struct places *p)
{
	free(p->targets);
	free(p->addrs);
	free(p->symbols);
	free(p->cookies);
}

static void places_add(struct places *p, const struct attaching *at, uint32_t target)
{
	p->targets[p->n] = target;
	p->addrs[p->n] = at->targets[target].addr;
	p->symbols[p->n] = at->targets[target].symbol;
	p->n++;
}

static int link_functions(const struct batch *b, size_t first, size_t n)
{
	const struct link_places range = batch_range(b, first, n);
	const int prog_fd = object_program_fd(b->at->object, b->program);

	return attaching_add_link(
		b->at, link_kprobe_multi(prog_fd, &range, b->program == PROGRAM_KRETURN_MULTI));
}

static struct batch make_kprobe_batch(struct attaching *at, struct places *p, bool by_symbol)
{
	const enum object_program program =
		p->n && at->targets[p->targets[0]].kind == TARGET_KERNEL_RETURN
			? PROGRAM_KRETURN_MULTI
			: PROGRAM_KPROBE_MULTI;

	if (!p->cookies)
		p->cookies = attaching_cookies(at, p->targets, p->n);
	return (struct batch){
		.at = at,
		.targets = p->targets,
		.places = by_symbol ? NULL : p->addrs,
		.symbols = by_symbol ? p->symbols : NULL,
		.cookies = p->cookies,
		.program = program,
		.link = link_functions,
	};
}

/* Divide @all into functions that have their name alone, and namesakes. */
static void divide_by_name(const struct attaching *at, const struct places *all,
			   struct places *alone, struct places *namesakes)
{
	struct u64_map n_named = {};

	for (size_t i = 0; i < all->n; i++)
		++*u64_map_put(&n_named, hash_bytes(all->symbols[i], strlen(all->symbols[i])), 0,
			       NULL);
	for (size_t i = 0; i < all->n; i++) {
		const char *symbol = all->symbols[i];
		bool is_alone = *u64_map_get(&n_named, hash_bytes(symbol, strlen(symbol))) == 1;

		places_add(is_alone ? alone : namesakes, at, all->targets[i]);
	}
	u64_map_fini(&n_named);
}

static void attach_by_addr(struct attaching *at, struct places *all)
{
	struct batch whole = make_kprobe_batch(at, all, false);

	if (all->n == 0 || batch_attach_whole(&whole, all->n))
		return;

	cleanup(places_fini) struct places alone, namesakes;
	places_init(&alone, all->n);
	places_init(&namesakes, all->n);
	divide_by_name(at, all, &alone, &namesakes);

	/* By symbol, the kernel picks the traceable function of that name. */
	struct batch by_symbol = make_kprobe_batch(at, &alone, true);
	struct batch by_addr = make_kprobe_batch(at, &alone, false);
	if (alone.n && !batch_attach_whole(&by_symbol, alone.n))
		batch_attach(&by_addr, alone.n);

	struct batch rest = make_kprobe_batch(at, &namesakes, false);
	batch_attach(&rest, namesakes.n);
}

void kprobe_multi_attach(struct attaching *at, const struct selection *chosen)
{
	cleanup(places_fini) struct places known, unknown;
	places_init(&known, chosen->n);
	places_init(&unknown, chosen->n);

	for (size_t i = 0; i < chosen->n; i++) {
		bool is_known = at->targets[chosen->items[i]].addr != 0;

		places_add(is_known ? &known : &unknown, at, chosen->items[i]);
	}
	attach_by_addr(at, &known);

	struct batch by_symbol = make_kprobe_batch(at, &unknown, true);
	batch_attach(&by_symbol, unknown.n);
}
