# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""As on Linux 5.15 and 5.16, which have neither bpf_loop() nor bpf_find_vma(): stacks are walked by
tables all the same, as soon as user space has looked at what a process has mapped."""

import re

import pytest
from ladder import check_each, frames_below, frames_of, here, kept
from tool import GETPPID, STACKSNOOP, Live, read_folded, scaled, trace, workload_path
from unwinding import check_whole

OLDER = ("--without", "bpf_loop", "--unwind", "dwarf", "-U", "-f")
WALK = ("ladder-nofp", *OLDER[:4])
MOST_STEPS = 75_900  # of a program, for the verifier: 6.1 needs 66,378, the most, and a seventh more

pytestmark = pytest.mark.needs("unwinding")
uprobes = pytest.mark.needs("uprobes")


@pytest.fixture(scope="module")
def below():
    """Frames of libc below main(), by walk."""
    return {}


@uprobes
def test_stacks_are_whole(workload):
    work = workload("syscalls-nofp", "getppid", 1000, 500, cpus=[0, 1])
    result, expected = trace(work, *OLDER, "-p", work.pid, GETPPID)
    assert check_whole(result) == expected


@uprobes
def test_at_a_function(workload):
    work = workload("calls-nofp", 200, 100, 3)
    result, expected = trace(work, *OLDER, "-p", work.pid, f"{workload_path('calls-nofp')}:leaf")
    assert check_whole(result) == {chain: n for chain, n in expected.items() if chain.endswith(";leaf")}


@pytest.mark.needs("path of its own")
@pytest.mark.parametrize("total", [1024, *here(5, 127, 128, 1025)])
@pytest.mark.parametrize("program", [None, *here(STACKSNOOP)], ids=["rows", "events"])
def test_of_any_depth(workload, below, program, total):
    outer = frames_below(below, workload, WALK)
    depth = max(total - len(outer) - 4, 16)
    work = workload("ladder-nofp", depth, 1, 10)
    result, _ = trace(work, *OLDER, "-p", work.pid, GETPPID, **({"program": program} if program else {}))
    assert result.ok().lost == 0, result
    lines = [(parts[1:] if program else parts, n) for parts, n in read_folded(result.out)]
    assert lines == [(kept(outer + frames_of(depth)), 1 if program else 10)] * (10 if program else 1)


@uprobes
def test_many_deep_ones(workload, below):
    outer = frames_below(below, workload, WALK)
    n = scaled(1000, least=200)
    work = workload("ladder-nofp", 1000, n, 2)
    result, _ = trace(work, *OLDER, "-p", work.pid, GETPPID)
    assert result.ok().lost == 0, result
    assert check_each(read_folded(result.out), outer, 1000) == dict.fromkeys(range(n), 2)


@uprobes
def test_no_frame_is_made_up_where_libraries_take_turns(workload):
    """Most are marked here: nobody can be asked what has come, until user space has looked."""
    late, following = (workload_path(name) for name in ("liblate-nofp.so", "libnext-nofp.so"))
    work = workload("swap-nofp", late, following, 5, 300, "child")
    with Live([*OLDER, "-p", work.pid, GETPPID]) as tool:
        work.go().wait_for("swapped")
        work.go()
        expected = work.finish()
        result = tool.end().ok()
    lines = read_folded(result.out)
    assert sum(n for _, n in lines) == sum(expected.values()) and result.lost == 0, result
    assert all(parts[0].startswith(("[cut: no ", "[cut: too many ")) or parts[-3] == "run" for parts, _ in lines), result


@pytest.mark.parametrize("program", [pytest.param("stackcount", marks=pytest.mark.core), "stacksnoop"])
def test_the_verifier_takes_it(program):
    with Live(["--debug", *OLDER[:5], GETPPID], program=workload_path("../" + program)) as tool:
        result = tool.end().ok()
    steps = [int(n) for n in re.findall(r"program on_\w+: verified in (\d+) steps", result.err)]
    assert len(steps) > 3 and max(steps) < MOST_STEPS, result


@uprobes
def test_by_frame_pointers_if_that_is_asked_for(workload):
    work = workload("syscalls", "getppid", 1000, 500)
    result, expected = trace(work, *OLDER[:2], "--unwind", "fp", "--debug", "-U", "-f", "-p", work.pid, GETPPID)
    assert "program old_tracepoint: " in result.err, result
    assert sum(n for parts, n in read_folded(result.out)) == sum(expected.values())
