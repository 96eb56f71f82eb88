# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tool reports to its parent when it counts: by the header, and by --ready-fd."""

import os
import re
import signal
import subprocess
from contextlib import suppress
from subprocess import DEVNULL, PIPE

import pytest
from tool import GETPPID, PATIENCE_S, STACKCOUNT, STACKSNOOP, Live, Tool, chains, check_account, check_own, own_copy, read_folded

N = 300
USAGE = 2


def test_what_follows_the_header_is_counted(workload):
    """However soon: no test here waits for the tables of running processes."""
    work = workload("syscalls", "getppid", N, 0)
    with Tool(["-p", work.pid, GETPPID]) as tool:
        tool.wait_for_header()
        work.run()
        result = tool.end().ok()
    check_account(result, N, sum(map(int, re.findall(r"^    (\d+)$", result.out, re.M))))
    assert result.lost == 0, result


@pytest.mark.parametrize("event", [GETPPID, "u:/bin/true:none"], ids=["ready", "never"])
def test_a_newline_says_that_all_is_ready(event):
    """And the end of the file alone that it never was; the command begins behind it and has none of it."""
    ready, write_end = os.pipe()
    inode = os.fstat(write_end).st_ino
    command = [STACKCOUNT, "--ready-fd", str(write_end), event, "--", "sh", "-c", "ls -l /proc/self/fd; cat"]
    with subprocess.Popen(command, pass_fds=[write_end], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
        os.close(write_end)
        with os.fdopen(ready, "rb") as pipe:
            said = pipe.read()
        out, err = process.communicate(timeout=PATIENCE_S)  # ends the command
    assert (said, process.returncode) == ((b"\n", 0) if event == GETPPID else (b"", 1)), (out, err)
    assert ("/proc/" in out) == (event == GETPPID) and f"[{inode}]" not in out, out


def test_nobody_needs_to_read_it():
    ready, write_end = os.pipe()
    os.close(ready)
    with os.fdopen(write_end):
        command = [STACKCOUNT, "--debug", "--ready-fd", str(write_end), GETPPID, "--", "cat"]
        with subprocess.Popen(command, pass_fds=[write_end], stdin=PIPE, stdout=DEVNULL, stderr=PIPE, text=True) as tool:
            assert any(f"--ready-fd: nobody reads descriptor {write_end}" in line for line in tool.stderr)
            tool.communicate()  # ends the command
    assert tool.returncode == 0


def test_a_descriptor_that_cannot_be_written_to_is_refused():
    with open("/dev/null", "rb") as null:
        for fd, words in (
            (null.fileno(), "is not open for writing"),
            (999, "descriptor 999 is not open for writing"),
        ):
            command = [STACKCOUNT, "--ready-fd", str(fd), GETPPID]
            done = subprocess.run(command, pass_fds=[null.fileno()], capture_output=True, text=True, timeout=PATIENCE_S)
            assert done.returncode == USAGE and "--ready-fd" in done.stderr and words in done.stderr, done


def test_an_answer_says_that_all_events_are_printed(workload):
    work = workload("syscalls", "getppid", N, 0)
    with Tool(["-f", "-K", "-p", work.pid, GETPPID], program=STACKSNOOP, reads_later=True) as tool:
        tool.wait_live()
        work.run()
        tool.drain()
        printed = os.read(tool.process.stdout.fileno(), 1 << 20)
        result = tool.end().ok()
    check_account(result, N, printed.count(b"\n"))


@pytest.mark.needs("unwinding")
@pytest.mark.walk("dwarf")
def test_an_answer_says_that_programs_have_tables(workload, tmp_path):
    """A new one, whose file nobody has seen: from then on, its stacks are whole in the kernel."""
    own = own_copy("syscalls-nofp", tmp_path)
    with Live(["-U", "-f", "-P", "--debug", "t:syscalls:sys_enter_getpriority"]) as tool:
        work = workload(own, "priority", N, N)
        tool.drain()
        expected = work.run()
        result = tool.end().ok()
    check_own(result, chains(result, own.name), expected)
    has_others = any(parts[0] != own.name for parts, _ in read_folded(result.out))
    assert has_others or "deferred hits: 0 walked" in result.err, result


@pytest.mark.thorough
def test_a_flood_holds_up_neither_answers_nor_the_end(tmp_path):
    """Each question is answered by one byte, though hits, new programs and their mappings never stop: some runs never ended."""
    flood = subprocess.Popen(["sh", "-c", 'while :; do cp /bin/true "$0"; "$0"; rm "$0"; done', tmp_path / "new"])
    try:
        for program in (STACKCOUNT, STACKSNOOP):
            with Live(["--max-memory", "8M", "t:raw_syscalls:sys_enter"], program=program) as tool:
                for n in (1, 3):
                    tool.parent.send(b"?" * n)
                    for _ in range(n):
                        tool.wait_for_line(PATIENCE_S)
                tool.send(signal.SIGINT)
                tool.wait().ok()
    finally:
        flood.kill()
        flood.wait()


def test_a_parent_that_has_gone_or_reads_no_answers_harms_nothing(workload):
    work = workload("syscalls", "getppid", N, 0)
    with Live(["-f", "-p", work.pid, GETPPID]) as gone, Live(["-f", "-p", work.pid, GETPPID]) as silent:
        gone.parent.close()
        silent.parent.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                silent.parent.send(b"?" * 64)
        work.run()
        for tool in (gone, silent):
            assert sum(n for _, n in read_folded(tool.end().ok().out)) == N
