# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Ctrl-C ends a run, though hits, programs or mappings come faster than the tool works on them: some runs
never ended. How soon, is no verdict on a machine that is kept busy: it is printed.
"""

import os
import re
import signal
import struct
import time
from contextlib import contextmanager, suppress

import pytest
from processes import zygote_of
from tool import GETPPID, Live, Workload, check_account, read_folded, wait_until, workload_path

pytestmark = [pytest.mark.thorough, pytest.mark.needs("unwinding")]

DESCRIBED = r"after the signal: [\d.]+ s, with [\d.]+ s of work, and [\d.]+ s of waits for files of others$"
MANY = 300  # hits before the signal
NO_MOST = float("inf")  # others hit, too


class Flood(Workload):
    """Hits without end (tests/workload/flood.c)."""

    def __init__(self, folder, what, n_workers=2):
        self.folder = folder
        super().__init__("flood", what, n_workers, folder, *[workload_path("liblate.so")] * (what == "files"))

    def close(self):
        self.process.kill()  # and so are its children
        super().close()

    def counts(self):
        """Of hits: (begun, over)"""
        with suppress(FileNotFoundError, struct.error):
            return struct.unpack("QQ", (self.folder / "count").read_bytes())
        return 0, 0

    def begin(self):
        self.go()
        wait_until(lambda: self.counts()[1] >= MANY, "no flood")
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


def test_a_zygote_that_is_stopped_does_not_hold_up_the_end_of_a_flood(tmp_path):
    """So nobody makes helpers. The main process waited for root's files."""
    with Flood(tmp_path, "files") as flood, Live(["--debug", "-f", "--max-memory", "8M", GETPPID]) as tool:
        with stopped([zygote_of(tool)]):
            flood.begin()
            result, n_over = end_in_flood(tool, flood)
    check_account(result, n_over, most=NO_MOST)
