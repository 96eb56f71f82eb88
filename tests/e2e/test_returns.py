# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""r:LIB:FUNC and r:FUNC: every return is counted, once, and the programs go on unharmed."""

import re
import subprocess

import pytest
from calls import count_calls, funccount
from sums import RETURNS, expected_counts
from tool import BUILD, PATIENCE_S, chains, check_account, check_refused, read_folded, scaled, stackcount, trace

pytestmark = pytest.mark.needs("uprobes")


# --- user functions ---


@pytest.mark.thorough
@pytest.mark.core
@pytest.mark.needs("path of its own")
def test_returns_and_calls_of_each_kind(workload):
    """Exceptions and longjmp() leave functions without a return."""
    n = scaled(12_000, least=120) // 120 * 120
    calls, returns = expected_counts(n)
    for prefix, expected in (("", calls), ("r:", returns)):
        work = workload("returns", n, cpus=[0, 1])
        text = count_calls(work, *(f"{prefix}{RETURNS}:{name}" for name in expected))
        assert text.n_functions == len(expected)
        assert text.counts == {prefix + name: count for name, count in expected.items()}


@pytest.mark.thorough
@pytest.mark.needs("path of its own", "unwinding")
@pytest.mark.walk("dwarf")
def test_the_stack_is_the_callers_with_the_function_on_top(workload):
    """After a tail call, the caller of both is the same."""
    n = scaled(12_000, least=120) // 120 * 120
    names = ("exits", "tail", "by_pointer", "chosen", "target", "catcher", "passed", "thrower", "jumped", "jumper")
    work = workload("returns", n, cpus=[0, 1])
    result, expected = trace(work, "-f", "-p", work.pid, *(f"r:{RETURNS}:{name}" for name in names))
    check_account(result, sum(expected.values()))
    assert chains(result) == expected, result


@pytest.mark.needs("unwinding")
@pytest.mark.walk("dwarf")
def test_recursion_has_a_stack_for_each_depth(workload):
    n = 120
    work = workload("returns", n)
    result, _ = trace(work, "-f", "-p", work.pid, f"r:{RETURNS}:nested")
    depths = {}
    for parts, count in read_folded(result.ok().out):
        assert parts[-1] == "nested", parts
        depths[parts.count("nested")] = depths.get(parts.count("nested"), 0) + count
    expected = {depth: 1 for depth in range(1, 202)}
    for depth in range(1, 5):
        expected[depth] += n // 4 * (5 - depth)
    assert depths == expected


def test_functions_that_do_not_return_are_refused_by_name():
    words = r"^stackcount: the returns of exit in \S+/libc\.so\.6 cannot be traced: it never returns \(0x[0-9a-f]+\)\n$"
    check_refused(stackcount("r:c:exit"), 1, words)


# --- real programs: what is entered returns ---


GO = sorted(BUILD.glob("programs/usr/lib/go-*/pkg/tool/*/pprof"))


@pytest.mark.thorough
def test_a_go_program_goes_on_unharmed():
    """Its stacks are copied and scanned, so replaced return addresses would end it."""
    assert GO, "no Go program: 'scripts/deps all' fetches one"
    go = str(GO[0])
    plain = subprocess.run([go, "-h"], capture_output=True, text=True, timeout=PATIENCE_S)
    names = ("runtime.mallocgc", "runtime.newobject", "runtime.growslice", "runtime.mapassign_faststr")
    result = funccount(*(f"r:{go}:{name}" for name in names), "--", go, "-h").ok()
    assert f"exited with status {plain.returncode}" in result.err, result
    table = re.search(r"^FUNC +COUNT\n(.*?)^(Lost|Detaching)", result.out, re.S | re.M)[1]  # among the lines of the command
    returns = {name: int(n) for name, n in re.findall(r"^(.*\S) +(\d+)$", table, re.M)}
    assert len(returns) == len(names) and all(n > 10 for n in returns.values()), result
    assert returns["r:runtime.mallocgc"] >= returns["r:runtime.newobject"], result


# --- kernel functions ---


@pytest.mark.needs("uncounted returns")
def test_a_kernel_that_does_not_count_what_it_misses_is_refused():
    """The rest of a run does not go on without them."""
    for args in (["r:vfs_read"], ["vfs_read", "r:vfs_read"]):
        check_refused(stackcount(*args), 1, r"does not tell how many returns it missed \(Linux 6.7 does\); ")
