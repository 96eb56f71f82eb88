# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Programs without unwind tables whose functions keep frame pointers, or do not, or use rbp for other
things, and call each other at random: directly, through pointers, as their last act. Each program
knows its own chains, and prints how often it came by each to getppid().
"""

import random

N_FUNCTIONS = 96

HEAD = r"""
#define _GNU_SOURCE
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WITH __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
#define WITHOUT __attribute__((noinline, noclone, optimize("omit-frame-pointer")))
#define MOST 32
#define PLACES (1u << 18)

static uint64_t seed;
static int depth, n_chain;
static unsigned char chain[MOST];
static struct place { unsigned char chain[MOST]; int n, count; } places[PLACES];

static inline unsigned next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 20);
}

/* The chain as it is now, before the hit that is to come. */
__attribute__((noinline)) static void note(void)
{
	uint64_t h = 1469598103934665603u;

	for (int i = 0; i < n_chain; i++)
		h = (h ^ chain[i]) * 1099511628211u;
	for (unsigned at = (h ^ h >> 29) % PLACES;; at = (at + 1) % PLACES) {
		struct place *p = &places[at];

		if (!p->count) {
			p->n = n_chain;
			memcpy(p->chain, chain, MOST);
		}
		if (p->n == n_chain && memcmp(p->chain, chain, (size_t)n_chain) == 0) {
			p->count++;
			return;
		}
	}
}

__attribute__((noinline, noreturn)) static void panic(int n)
{
	printf("panic %d\n", n);
	exit(1);
}

/* What is left behind on the stack: frames of what has returned. */
#define ENTER(n) chain[n_chain++] = (n)
#define LEAVE() n_chain--
#define HIT() do { note(); getppid(); } while (0)
#define HIT_HERE() do { note(); long r = 110; __asm__ volatile("syscall" : "+a"(r) : : "rcx", "r11", "memory"); } while (0)
"""

MAIN = r"""
__attribute__((noinline)) static void roll(void)
{
	depth = (int)(next() % 9) + 1;
}

__attribute__((noinline)) static unsigned begin(char **argv)
{
	seed = (uint64_t)atoi(argv[2]) * 0x9e3779b97f4a7c15u + 1;
	return (unsigned)atoi(argv[1]);
}

__attribute__((noinline)) static void tell(void)
{
	for (unsigned at = 0; at < PLACES; at++) {
		if (!places[at].count)
			continue;
		printf("main;start");
		for (int i = 0; i < places[at].n; i++)
			printf(";f%d", places[at].chain[i]);
		printf(" %d\n", places[at].count);
	}
}

WITH void start(void)
{
	CALLS
	__asm__ volatile("");
}

WITH int main(int argc, char **argv)
{
	for (unsigned n = begin(argv); n; n--)
		start();
	tell();
	return argc == 0;
}
"""


def local_things(rng, kind, has_frame):
    """What a function has on its stack and in rbp: lines before its calls, and behind them."""
    before, behind = [], []
    size = rng.choice([16, 40, 136, 400])
    if kind in ("room", "local"):
        before.append(f'char room[{size}]; __asm__ volatile("" : : "r"(room) : "memory");')
        behind.append('__asm__ volatile("" : : "r"(room) : "memory");')
    if kind == "alloca":
        before.append("volatile char *far = alloca(next() % 300 + 8); far[0] = 1;")
        behind.append("far[1] = 2;")
    if kind in ("number", "local") and not has_frame:
        at = f"room + {rng.randrange(0, size // 8) * 8}" if kind == "local" else "(char *)(uintptr_t)next()"
        before.append(f'register char *bp __asm__("rbp") = {at}; __asm__ volatile("" : "+r"(bp));')
        behind.append('__asm__ volatile("" : : "r"(bp) : "memory");')
    return before, behind


def function(rng, i):
    has_frame = rng.random() < 0.6
    kind = rng.choice(["plain", "plain", "room", "alloca", "number", "local", "local"])
    before, behind = local_things(rng, kind, has_frame)
    a, b, c = (rng.randrange(N_FUNCTIONS) for _ in range(3))
    hit = rng.choice(["HIT", "HIT", "HIT_HERE"])
    ways = [f"f{a}();", "functions[next() % N]();", f"f{b}();"]
    rng.shuffle(ways)
    if rng.random() < 0.6:  # few instructions, one behind the other
        steps = [f"if (--depth > 0) f{a}();", f"if (depth <= 0) {hit}();"]
    else:
        steps = [f"if (--depth <= 0) {{ {hit}(); }}", f"else if (next() % 2) {{ {ways[0]} }}"]
        steps += [f"else if (next() % 8 == 0) {{ {ways[1]} depth++; {ways[2]} }}"] * (rng.random() < 0.5)
        steps += [f"else if (depth > 1000) panic({i});"] * (rng.random() < 0.4)
        steps.append(f"else {{ {ways[2]} }}")
    end = ["LEAVE();"]
    if kind == "plain" and rng.random() < 0.5:  # its last act
        end.append(f"if (depth > 1 && next() % 2) return f{c}();")
    if rng.random() < 0.2:  # a call that never returns is its last instruction
        end.append(f"if (depth > 1000) panic({i});")
    lines = "\n".join("\t" + line for line in [f"ENTER({i});", *before, *steps, *behind, *end, f"return {i};"])
    return f"{'WITH' if has_frame else 'WITHOUT'} long f{i}(void)\n{{\n{lines}\n}}\n"


def source(number):
    rng = random.Random(number)
    names = [f"f{i}" for i in range(N_FUNCTIONS)]
    parts = [HEAD, f"#define N {N_FUNCTIONS}", *(f"long {name}(void);" for name in names)]
    parts.append(f"static long (*const functions[])(void) = {{ {', '.join(names)} }};")
    order = list(range(N_FUNCTIONS))
    rng.shuffle(order)
    calls = " ".join(f"roll(); f{rng.randrange(N_FUNCTIONS)}();" for _ in range(8))
    return "\n".join(parts + [function(rng, i) for i in order] + [MAIN.replace("CALLS", calls)])


FLAGS = [*"-w -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -fomit-frame-pointer -fno-schedule-insns2".split()]
