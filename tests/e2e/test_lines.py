# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--lines: source lines and inlined functions, where there is DWARF."""

import json

from tool import GETPPID, STACKSNOOP, TOP, read_folded, trace

SOURCES = TOP / "tests" / "workload"


def line_of(text, name="inlined.c"):
    lines = (SOURCES / name).read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if text in line]
    return f"{name}:{number}"


def expected():
    """Frames, innermost first. The system call is an inline function of work.h."""
    return [
        ("raw_syscall3 [inlined]", line_of('__asm__ volatile("syscall"', "work.h")),
        ("inner [inlined]", line_of("/* in inner */")),
        ("outer [inlined]", line_of("/* in outer */")),
        ("run", line_of("/* in run */")),
    ]


def trace_lines(workload, *options):
    work = workload("inlined", 20)
    result, _ = trace(work, "--lines", "-U", *options, "-p", work.pid, GETPPID)
    return result.ok()


def test_folded_has_inlined_functions_and_lines(workload):
    result = trace_lines(workload, "-f")
    ((parts, count),) = read_folded(result.out)
    assert parts[: -5 : -1] == [f"{name} {place}" for name, place in expected()], result
    assert count == 20


def test_max_depth_counts_them(workload):
    result = trace_lines(workload, "-f", "--max-depth", "2")
    ((parts, _),) = read_folded(result.out)
    assert parts == ["[cut: depth]", *(f"{name} {place}" for name, place in expected()[1::-1])], result


def test_events_have_them_as_members(workload):
    work = workload("inlined", 1)
    result, _ = trace(work, "--lines", "-U", "--json", "-n", "1", "-p", work.pid, GETPPID, end=False, program=STACKSNOOP)
    event = json.loads(result.ok().out)
    frames = event["user"][:4]
    for frame, (name, place) in zip(frames, expected()):
        assert frame["name"] == name.partition(" ")[0]
        assert f"{frame['file']}:{frame['line']}" == place
        assert frame.get("inlined", False) == ("inlined" in name)
        assert ("offset" in frame) != ("inlined" in name)
