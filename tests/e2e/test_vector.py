# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Functions that begin with a vector instruction, which the kernel's uprobes take for another one:
they are traced behind it or not at all, and what they compute stays right."""

import re
from collections import Counter

import pytest
from tool import ending, read_folded, scaled, stackcount, trace, user_chain, workload_path

pytestmark = pytest.mark.needs("uprobes", "path of its own")

VECTOR = workload_path("vector")


def test_the_probe_is_behind_the_vector_instructions(workload):
    """A part of the function, seen from its entry; the caller is there nevertheless."""
    work = workload("vector", 100)
    result, expected = trace(work, "-s", "-f", "-p", work.pid, f"{VECTOR}:v_[ef][qo]*_*")
    assert result.ok().lost == 0
    for parts, count in read_folded(result.out):
        name, _, offset = parts[-1].partition("+")
        if name.endswith("_vex"):
            assert offset == {"v_equal_vex": "0x4", "v_four_vex": "0x14"}[name], result
        assert parts[-2].partition("+")[0] in ("call", "check"), result
        assert count == 100, result
    assert len(read_folded(result.out)) == len(ending(expected, "v_equal_vex", "v_equal_sse",
                                                      "v_four_vex", "v_four_sse"))


@pytest.mark.needs("machine")
@pytest.mark.parametrize(
    "function,why,command",
    [
        ("v_loop_vex", "the kernel would mistake its first instruction for another one", []),
        ("v_clear_vex", "the kernel cannot probe its first instruction", ["--", VECTOR, "--quiet", "1"]),
    ],
    ids=["mistaken", "refused"],
)
def test_a_loop_behind_it_is_no_call(function, why, command):
    """As it is alone, that is an error; also where no process has the file mapped, in which case
    the kernel would take every probe and look at the instruction later."""
    result = stackcount("-D", "1", f"{VECTOR}:{function}", *command)
    assert result.status == 1
    assert re.fullmatch(rf"stackcount: attach {function}: {why} \({VECTOR}\+0x[0-9a-f]+\)\n", result.err), result
    several = stackcount("--debug", "-D", "0.1", f"{VECTOR}:{function[:-3]}*").ok()
    assert f"refused: {function}: {why}" in several.err
    assert "1 of 2 could not be traced" in several.err


LIBC = ["strchrnul", "strchr", "rawmemchr", "memchr", "strlen", "strcmp", "wcschr", "memset", "wmemset", "memcpy"]


def test_library_functions_are_counted_and_still_right(workload):
    """The implementation's own name may not be known, so the chain is compared up to the caller."""
    n = scaled(2_000, least=200)
    work = workload("strings", n)
    result, expected = trace(work, "-f", "-p", work.pid, *(f"c:{function}" for function in LIBC))
    assert result.ok().lost == 0
    found = Counter()
    for parts, count in read_folded(result.out):
        found[user_chain(parts[:-1])] += count
    callers = [chain.rpartition(";")[0] for function in LIBC for chain in expected if f";call_{function};" in chain]
    assert len(callers) == len(LIBC) and {caller: found[caller] for caller in callers} == dict.fromkeys(callers, n), result
