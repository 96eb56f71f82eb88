# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The stacks of tests/workload/ladder.c, of any depth."""

from collections import Counter

from tool import GETPPID, read_folded, trace

LEVELS = 18  # of tests/workload/ladder.c that tell its stacks apart
MASK = (1 << 64) - 1
MOST = 1024
CUT = "[cut: depth]"
OWN = ["main", "work_run", "run"]
N_OWN = len(OWN) + 1  # and hit()


def bit_of(number, level):
    """bit_of() of the workload."""
    if level < LEVELS:
        return number >> level & 1
    x = level * 0x9E3779B97F4A7C15 & MASK
    x ^= x >> 32
    return (x * 0xD6E8FEB86659FD93 & MASK) >> 63


OUTER = [("zero", "one")[bit_of(0, level)] for level in range(LEVELS, 4000)]


def frames_of(depth, number=0):
    """The workload's own, outermost first."""
    inner = [("zero", "one")[bit_of(number, level)] for level in range(LEVELS)]
    return [*OWN, *reversed(inner + OUTER[: depth - LEVELS]), "hit"]


def number_of(parts, depth=None):
    """Which of the stacks this is, of so many levels."""
    at = parts.index("hit")
    inner = parts[at - LEVELS : at]
    assert set(inner) <= {"zero", "one"} and (depth is None or parts[at - depth - 1] == "run"), parts
    return sum(1 << level for level, name in enumerate(reversed(inner)) if name == "one")


def run(workload, walk, depth, times=1, stacks=1, options=(), program=None, target=GETPPID):
    """Folded lines of @times hits of each of the stacks, without what is before the user's."""
    work = workload(walk[0], depth, stacks, times)
    arguments = [*walk[1:], *options, "-U", "-f", "-p", work.pid, target]
    result, _ = trace(work, *arguments, **({"program": program} if program else {}))
    assert result.ok().lost == 0, result.err
    lines = read_folded(result.out)
    return [(parts[1:], n) for parts, n in lines] if program else lines


def frames_below(below, workload, walk):
    if walk not in below:
        ((parts, n),) = run(workload, walk, LEVELS)
        assert "main" in parts, parts
        below[walk] = parts[: parts.index("main")]
        assert n == 1 and parts == below[walk] + frames_of(LEVELS), parts
        assert CUT not in parts and len(below[walk]) <= 3, parts
    return below[walk]


def kept(frames, most=MOST):
    return frames if len(frames) <= most else [CUT, *frames[-most:]]


def check_each(lines, outer, depth):
    """Each line is of one stack, and it is as the workload made it. Returns {number: hits}."""
    counts = Counter()
    rest = [*outer, *frames_of(depth)[: -1 - LEVELS]]
    for parts, n in lines:
        assert parts[: -1 - LEVELS] == rest and parts[-1] == "hit", parts[:3]
        counts[number_of(parts)] += n
    assert len(counts) == len(lines), "stacks merged or split"
    return counts
