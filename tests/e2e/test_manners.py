# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tool's own use of CPU time, memory and priority, and what it leaves to others."""

import ctypes
import os
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path

import kernel
import pytest
from tool import GETPPID, PATIENCE_S, STACKCOUNT, Live

pytestmark = pytest.mark.needs("unwinding")

NICE = 16  # of the fields of /proc/PID/stat behind the name
LIBC = ctypes.CDLL(None, use_errno=True)


@pytest.mark.walk("dwarf")
def test_it_keeps_the_priority_it_was_given():
    with Live(["t:syscalls:sys_enter_sethostname"], wrap=["nice", "-n", "7"]) as tool:
        stats = [path.read_text() for path in Path(f"/proc/{tool.pid}/task").glob("*/stat")]
        given = {stat.rsplit(")", 1)[1].split()[NICE] for stat in stats}
        assert len(stats) > 1 and given == {str(min(os.nice(0) + 7, 19))}
        tool.end()


GETSID = "syscalls/sys_enter_getsid"  # others trace getppid(), and may keep samples back
N_CALLS = 50


@contextmanager
def event_of_another(tracepoint):
    """A perf event of somebody else, of this thread. A program of ours may keep the kernel from counting it for them."""
    number = int(kernel.in_tracefs(f"cat events/{tracepoint}/id").stdout)
    attributes = struct.pack("<IIQ", 2, 64, number).ljust(64, b"\0")  # struct perf_event_attr: tracepoint, size, which
    fd = LIBC.syscall(kernel.NUMBERS["perf_event_open"], attributes, 0, -1, -1, 0)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    try:
        yield lambda: struct.unpack("Q", os.read(fd, 8))[0]
    finally:
        os.close(fd)


def fork():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("event, act, args", [
    (GETSID, lambda: os.getsid(0), [f"t:{GETSID.replace('/', ':')}"]),
    pytest.param("task/task_newtask", fork, [GETPPID, "--", "cat"], marks=pytest.mark.thorough),
], ids=["traced", "followed"])
@pytest.mark.walk("fp")
def test_perf_events_of_others_at_a_tracepoint_go_on(event, act, args):
    with event_of_another(event) as count, Live(["-f", *args], stdin=subprocess.PIPE) as tool:
        before = count()
        for _ in range(N_CALLS):
            act()
        assert count() - before == N_CALLS
        tool.process.stdin.close()  # the command ends
        (tool.wait() if "--" in args else tool.end()).ok()


@pytest.mark.walk("fp")
def test_a_shifted_clock_is_told():
    wrap = ["unshare", "--time", "--fork", "--kill-child=SIGINT", "--monotonic", "1000"]
    done = subprocess.run([*wrap, STACKCOUNT, "-D", "0.1", GETPPID], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0 and "clock of this time namespace" in done.stderr, done
