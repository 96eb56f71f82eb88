# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Ctrl-C ends a run, though hits, programs or mappings come faster than the tool works on them: some runs
never ended. How soon, is no verdict on a machine that is kept busy: it is printed.
"""

import os
import re
import signal
import struct
import subprocess
import time
from contextlib import contextmanager, suppress

import pytest
from processes import helpers
from tool import GETPPID, PATIENCE_S, Live, check_account, read_folded, workload_path

pytestmark = [pytest.mark.thorough, pytest.mark.needs("unwinding")]

DESCRIBED = r"after the signal: [\d.]+ s, with [\d.]+ s of work, and [\d.]+ s of waits for files of others$"
MANY = 300  # hits before the signal
NO_MOST = float("inf")  # others hit, too


class Flood:
    """Hits without end (tests/workload/flood.c)."""

    def __init__(self, folder, what, n_workers=2):
        self.folder = folder
        copied = [workload_path("liblate.so")] if what == "files" else []
        command = [workload_path("flood"), "--wait", what, str(n_workers), folder, *copied]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline().startswith(b"ready ")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()  # and so are its children
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def counts(self):
        """Of hits: (begun, over)"""
        with suppress(FileNotFoundError, struct.error):
            return struct.unpack("QQ", (self.folder / "count").read_bytes())
        return 0, 0

    def begin(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        deadline = time.monotonic() + PATIENCE_S
        while self.counts()[1] < MANY:
            assert time.monotonic() < deadline, "no flood"
            time.sleep(0.05)
        time.sleep(1)  # the tool may be at its limits now


def end_in_flood(tool, flood):
    """Returns (result, hits that were over before the signal)"""
    n_over = flood.counts()[1]
    result = tool.end().ok()
    described = re.search(DESCRIBED, result.err, re.M)
    assert described, result
    print(described[0])
    return result, n_over


# Two processes' floods, which others' hits are among, or one's, of which each hit is printed or lost.
@pytest.mark.parametrize("what, n_workers", [("files", 1), ("programs", 2)])
def test_a_flood_does_not_hold_up_the_end(tmp_path, what, n_workers):
    with Flood(tmp_path, what, n_workers) as flood:
        own = ["-p", flood.process.pid] if n_workers == 1 else []
        with Live(["--debug", "-f", "--max-memory", "8M", *own, GETPPID]) as tool:
            flood.begin()
            result, n_over = end_in_flood(tool, flood)
            n_begun = flood.counts()[0]
    check_account(result, n_over, most=n_begun if own else NO_MOST)
    assert read_folded(result.out), result


@contextmanager
def stopped(pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_helpers_that_are_stopped_do_not_hold_up_the_end_of_a_flood(tmp_path):
    """The warden, too, so nobody ends them or makes others. The main process waited for root's files."""
    with Flood(tmp_path, "files") as flood, Live(["--debug", "-f", "--max-memory", "8M", GETPPID]) as tool:
        with stopped(helpers(tool.pid).values()):
            flood.begin()
            result, n_over = end_in_flood(tool, flood)
    check_account(result, n_over, most=NO_MOST)
