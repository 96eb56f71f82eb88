# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""profile: the header and the layout of bcc's tool, and what is left out."""

import os
import re

import pytest
from tool import BUILD, Tool, read_folded, stackcount, trace

pytestmark = pytest.mark.needs("uprobes")

PROFILE = str(BUILD / "profile")
LOST = r"(?:Lost \d+ hits?(?: \([\d.]+%\))?: .*\n)?"


def profile(*args, **popen):
    return stackcount(*args, program=PROFILE, **popen)


def header(*args):
    return profile(*args).ok().out.partition("\n")[0]


def test_headers_are_bcc_s():
    pid = os.getpid()
    assert header("0.1") == "Sampling at 49 Hertz of all threads by user + kernel stack for 0.1 secs."
    assert header("-F", "99", "-U", "-p", pid, "0.1") == f"Sampling at 99 Hertz of PID {pid} by user stack for 0.1 secs."
    assert (
        header("-c", "1000000", "-K", "-L", pid, "-C", "0", "0.1")
        == f"Sampling at every 1000000 events of TID {pid} by kernel stack on CPU#0 for 0.1 secs."
    )
    with Tool([], program=PROFILE) as tool:
        tool.wait_for_header()
        said = tool.end().ok().out
    assert said.startswith("Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n"), said


@pytest.fixture
def work(workload):
    return workload("samples", 0, 0, 300, 300)


def test_text_is_bcc_s(work):
    result, _ = trace(work, "-F", 199, "-d", "-p", work.pid, program=PROFILE)
    assert re.fullmatch(
        rf"Sampling at 199 Hertz of PID {work.pid} by user \+ kernel stack\.\.\. Hit Ctrl-C to end\.\n"
        "\n"
        rf"(?:(?:    [^- ].*\n)*(?:    --\n)?(?:    [^- ].*\n)*    -                samples \({work.pid}\)\n        \d+\n\n)+"
        rf"{LOST}",
        result.ok().out,
    ), result
    counts = [int(n) for n in re.findall(r"^        (\d+)$", result.out, re.M)]
    assert counts == sorted(counts)
    blocks = result.out.split("\n\n")[1:-1]
    in_kernel = [block for block in blocks if "do_syscall_64" in block]
    assert in_kernel and all("\n    --\n" in block for block in in_kernel), result
    assert all("\n    --\n" not in block for block in blocks if block.startswith("    turn\n")), result


@pytest.mark.thorough
def test_annotations(work):
    result, _ = trace(work, "-F", 199, "-a", "-f", "-p", work.pid, program=PROFILE)
    for parts, _ in read_folded(result.ok().out):
        assert parts[0] == "samples", parts
        begins = [i for i, name in enumerate(parts) if name.endswith("_[k]")]
        assert begins == list(range(begins[0], len(parts))) if begins else True, parts
    assert "do_syscall_64_[k]" in result.out, result


@pytest.mark.thorough
def test_idle_cpus_are_left_out():
    result = profile("-K", "-f", "-F", "199", "1").ok()
    assert not [parts for parts, _ in read_folded(result.out) if parts[0].startswith("swapper")], result
