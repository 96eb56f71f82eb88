# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""User stacks of any depth: whole up to 1,024 frames, each of them the right one, and marked
where more are missing."""

import os
import re
import signal

import pytest
from ladder import CUT, N_OWN, check_each, frames_below, frames_of, kept, number_of, run
from tool import GETPPID, STACKSNOOP, Live, read_folded, stackcount, workload_path

needs_deep = pytest.mark.needs("unwinding")

FP, DWARF = ("ladder", "--unwind", "fp"), ("ladder-nofp", "--unwind", "dwarf")
WALKS = [pytest.param(FP, id="fp"), pytest.param(DWARF, id="dwarf", marks=needs_deep)]


@pytest.fixture(scope="module")
def below():
    """Frames of libc below main(), by walk."""
    return {}


def check(lines, frames, n):
    assert lines == [(frames, n)], [(len(parts), parts[:2], count) for parts, count in lines]


@pytest.mark.parametrize("total", [1024, 1025])
@pytest.mark.parametrize("walk", WALKS)
def test_each_frame_of_a_stack(workload, below, walk, total):
    outer = frames_below(below, workload, walk)
    depth = total - len(outer) - N_OWN
    frames = outer + frames_of(depth)
    assert len(frames) == total
    check(run(workload, walk, depth, times=50), kept(frames), 50)


@pytest.mark.parametrize("walk", WALKS)
def test_the_innermost_of_a_deep_stack(workload, walk):
    lines = run(workload, walk, 3000, times=5, options=["--max-depth", 1023])
    check(lines, [CUT, *frames_of(3000)[-1023:]], 5)


@needs_deep
def test_events_of_distinct_deep_stacks(workload, below):
    outer = frames_below(below, workload, DWARF)
    lines = run(workload, DWARF, 1000, stacks=300, program=STACKSNOOP)
    assert [parts for parts, _ in lines] == [outer + frames_of(1000, i) for i in range(300)]


@needs_deep
@pytest.mark.parametrize("walk", [pytest.param(FP, id="fp"), pytest.param(DWARF, id="dwarf", marks=pytest.mark.core)])
def test_what_has_no_room_is_lost_as_a_whole(workload, below, walk):
    """The tool does not run meanwhile. 8,192 pieces of 16 words are 130 of these stacks."""
    outer = frames_below(below, workload, walk)
    n = 400
    work = workload(walk[0], 1000, n, 1)
    with Live([*walk[1:], "--max-memory", "4M", "-U", "-f", "-p", work.pid, GETPPID]) as tool:
        tool.send(signal.SIGSTOP)
        work.run()
        tool.send(signal.SIGCONT)
        result = tool.end().ok()
    counts = check_each(read_folded(result.out), outer, 1000)
    assert counts == dict.fromkeys(range(130), 1), result.err
    assert re.search(rf"Lost {n - 130} hits \(67.5%\): {n - 130} no room in the kernel", result.err), result.err


@pytest.mark.needs("path of its own")
@needs_deep
def test_deep_stacks_with_interrupts_off_have_memory():
    """More pieces at a time than the kernel's allocator has at hand; fewer than are there from the
    beginning. Some sleep may end before the program has left the CPU: it makes no hit. A preemptible
    kernel skips a hit while another program runs on the CPU."""
    command = [workload_path("ladder"), "--quiet", "1000", "200", "1"]
    arguments = ["--unwind", "fp", "-U", "-f", "t:sched:sched_switch", "--", *command]
    result = stackcount(*arguments, env={**os.environ, "LADDER_SLEEPS": "1"})
    stacks = [stack for stack, _ in read_folded(result.ok().out) if stack[-1] == "hit"]
    assert "no memory at hand" not in result.err
    assert 100 < len({number_of(stack) for stack in stacks}) <= 200
