# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The text layout and the folded lines, to the byte."""

import re

import pytest
from tool import GETPPID, read_folded, trace, workload_path

pytestmark = pytest.mark.needs("uprobes")


@pytest.fixture
def work(workload):
    return workload("calls", 7, 3, 0)


LEAF = f"{workload_path('calls')}:leaf"
CUT = r"(?:  .*\n)*"  # what leads to main


def test_text_is_bcc_s(work):
    result, _ = trace(work, "-p", work.pid, LEAF)
    expected = (
        rf'Tracing 1 functions for "{re.escape(LEAF)}"\.\.\. Hit Ctrl-C to end\.\n'
        "\n"
        f"  leaf\n  middle\n  branch_b\n  run\n  work_run\n  main\n{CUT}    3\n"
        "\n"
        f"  leaf\n  branch_a\n  run\n  work_run\n  main\n{CUT}    7\n"
        "\n"
        r"Detaching\.\.\.\n"
    )
    assert re.fullmatch(expected, result.ok().out), result
    assert result.stderr == b"", result


def test_text_of_everything_at_once(workload):
    """What each option adds, and where, is in the golden files of tests/unit/test_render.c."""
    work = workload("syscalls", "getppid", 5, 0)
    result, _ = trace(work, "-PdsvT", "-p", work.pid, GETPPID)
    kernel = r"  [0-9a-f]{16} \S+\+0x[0-9a-f]+\n"
    named = r"  (?P<{0}>[0-9a-f]{{6}})           {0}\+0x[0-9a-f]+ syscalls\+0x(?P={0})\n"
    user = "".join(map(named.format, ("hit", "branch_a", "run")))
    process = rf"    syscalls \[{work.pid}\]\n"
    expected = rf"Tracing .*\n\n\d\d:\d\d:\d\d\n({kernel})+    --\n{user}(  .*\n)+{process}    5\n\nDetaching\.\.\.\n"
    assert re.fullmatch(expected, result.ok().out), result


def test_folded_with_a_delimiter_and_the_process(workload):
    """Nothing but stacks: the header is on standard error."""
    work = workload("syscalls", "getppid", 5, 0)
    result, _ = trace(work, "-dfP", "-p", work.pid, GETPPID)
    ((parts, count),) = read_folded(result.ok().out)
    assert count == 5 and parts[0] == "syscalls" and parts.count("-") == 1
    middle = parts.index("-")
    assert parts[middle - 1] == "hit" and "do_syscall_64" in parts[middle + 1 :]
    assert re.match(r"Tracing 1 functions for ", result.err), result
