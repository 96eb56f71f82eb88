# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tools leave out their own hits."""

import re
import signal
import subprocess

import pytest
from folded import parse_line
from snoop import read_text
from tool import FUNCCOUNT, STACKCOUNT, STACKSNOOP, Tool

SYSCALLS = "t:raw_syscalls:sys_enter"
WRITES = "t:syscalls:sys_enter_write"
LEFT_OUT = re.compile(r"^\S+: left out (\d+) of this program's own hits", re.M)


@pytest.fixture
def own(tmp_path):
    """stackcount by a name that no other process of the machine has."""
    path = tmp_path / "counts-itself"
    path.symlink_to(STACKCOUNT)
    return str(path)


def left_out(result):
    return sum(map(int, LEFT_OUT.findall(result.ok().err)))


def processes(result):
    """The names of those that folded lines are of."""
    return {parse_line(line)[0][0] for line in result.ok().out.splitlines()}


def run_until(tool, pattern):
    """Until there is output, which the tool has written by system calls of its own."""
    tool.wait_live()
    tool.wait_for("stdout", pattern)
    tool.send(signal.SIGINT)  # not end(), which waits for what our reading makes stacksnoop print
    return tool.wait()


def test_stackcount_leaves_itself_out(own):
    with Tool(["--debug", "-i", "0.1", "-f", "-P", SYSCALLS], program=own) as tool:
        result = run_until(tool, rb"\n(.*\n){20}")
    assert "counts-itself" not in processes(result)
    assert left_out(result) > 0


def test_stackcount_counts_itself_if_asked_to(own):
    with Tool(["--debug", "--self", "-i", "0.1", "-f", "-P", SYSCALLS], program=own) as tool:
        result = run_until(tool, rb"^counts-itself;")
    assert left_out(result) == 0


def test_stacksnoop_leaves_itself_out():
    writer = ["sh", "-c", "i=0; while [ $((i += 1)) -le 2000 ]; do echo >/dev/null; sleep 0.02; done"]
    with Tool(["--debug", "-v", WRITES], program=STACKSNOOP) as tool, subprocess.Popen(writer) as others:
        result = run_until(tool, rb"\n(.*\n){20}")
        others.kill()
    assert tool.pid not in {event.pid for event in read_text(result.out, is_verbose=True)}
    assert left_out(result) > 0


@pytest.mark.parametrize("options", [[], ["--self"]], ids=" ".join)
def test_funccount_leaves_itself_out(options):
    with Tool(["-D", *options, "-i", "0.1", WRITES], program=FUNCCOUNT) as tool:
        result = run_until(tool, rb"(?s)FUNC.*FUNC.*FUNC")  # each is written by the tool
    assert (left_out(result) == 0) == bool(options), result


@pytest.mark.needs("context", "way to kernel functions")
def test_interrupts_upon_the_tool_count(own):
    """The timer comes while the tool, which has much to print, is at work."""
    args = ["-i", "0.01", "-f", "-P", "-K", "--max-depth", "1", "t:irq_vectors:local_timer_entry", SYSCALLS]
    with Tool(args, program=own) as tool:
        result = run_until(tool, rb"^counts-itself;")
    rows = [line for line in result.ok().out.splitlines() if line.startswith("counts-itself;")]
    assert rows and all("sysvec_apic_timer_interrupt" in row for row in rows), rows
