# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The zygote's children as the product has them, without sanitizers (build/workload/helpers). What a child must
not do it tries, and says how it went. What it holds and may is in test_arms_length.py.
"""

import os
import signal
import subprocess
from pathlib import Path

from processes import wait_for_ends
from silent import dead_fuse
from tool import PATIENCE_S, workload_path

# What ends a parser, because no library of ours makes these calls, and what is refused, so that one goes on without it.
FATAL = ("socket", "execve", "fork", "kill", "ptrace", "bpf", "perf_event_open", "unshare", "x32")
REFUSED = ("read", "write", "make", "remove", "exec_mmap", "exec_mprotect", "setuid")
# A finder parses nothing. It opens files, and its zygote forks and ends others.
FINDERS_FATAL = {"write": signal.SIGXFSZ, "x32": signal.SIGSYS, "abort": signal.SIGABRT}
FINDERS_REFUSED = ("setuid", "execve", "ptrace", "bpf", "perf_event_open", "unshare")

PROGRAM = workload_path("helpers")
THERE, MADE = Path("/tmp/helpers.there"), Path("/tmp/helpers.made")


def tried(*command):
    THERE.touch()
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert not THERE.exists() or THERE.stat().st_size == 0
    for path in (THERE, MADE):
        path.unlink(missing_ok=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {(kind, what): result for kind, what, *result in rows}


def test_what_a_child_must_not_do_it_cannot():
    results = tried(PROGRAM)
    fatal = {("parser", what): signal.SIGSYS for what in FATAL}
    fatal |= {("parser", "abort"): signal.SIGABRT} | {("finder", what): by for what, by in FINDERS_FATAL.items()}
    refused = {("parser", what) for what in REFUSED} | {("finder", what) for what in FINDERS_REFUSED}
    assert {what: results[what] for what in fatal} == {what: ["killed", str(by.value)] for what, by in fatal.items()}
    assert {what: results[what] for what in refused} == {what: ["EPERM", "0"] for what in refused}
    why, n_mib = results["parser", "allocate"]
    assert why == "ENOMEM" and int(n_mib) < 512
    assert results["finder", "read"] == ["0", "0"]


def test_a_user_without_any_capability_has_the_same():
    as_user = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    plain = tried(PROGRAM)
    user = tried(*as_user, "--bounding-set", "-all", "--inh-caps", "-all", PROGRAM)
    same = [key for key in plain if key[0] == "parser" or key[1] in FINDERS_REFUSED[1:]]
    assert {key: user[key][0] for key in same} == {key: plain[key][0] for key in same}


def state_of(pid):
    """R, S, D ...; None: it has gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None


def test_children_in_a_file_system_that_does_not_answer_are_left_behind(tmp_path):
    lines = []
    with dead_fuse(tmp_path, PROGRAM, tmp_path / "file") as server:
        # The program ends, though its children cannot.
        while not (lines and lines[-1].startswith("exited")):
            lines.append(server.stdout.readline().rstrip("\n"))
            assert lines[-1], lines
        waiting = [int(line.split()[1]) for line in lines if line.startswith("stuck")]
        waiting = [os.pidfd_open(pid) for pid in waiting if state_of(pid) == "D"]
    wait_for_ends(waiting)
    # Each that hung had a file open, and no parser that was made then had to close it.
    assert len(waiting) == 4 and lines[-2:] == ["refused EBUSY", "exited 0"], lines
