# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Helpers as the product has them, without sanitizers: src/helper within build/workload/helpers. What a
role must not do it tries, and says how it went. What it holds and may is in test_arms_length.py.
"""

import os
import signal
import subprocess

from processes import wait_for_ends
from silent import dead_fuse
from tool import PATIENCE_S, workload_path

# What ends the process: no library of ours makes these calls.
FATAL = ("socket", "execve", "fork", "kill", "ptrace", "bpf", "perf_event_open", "unshare", "x32")
# What is refused, so that a library goes on without it.
REFUSED = ("write", "make", "remove", "exec_mmap", "exec_mprotect", "setuid")
MOST_MIB = {"opener": 64, "parser": 512}

PROGRAM = workload_path("helpers")


def tried(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {(role, what): result for role, what, *result in rows}


def test_what_a_role_must_not_do_it_cannot():
    results = tried(PROGRAM, "try")
    for role in MOST_MIB:
        for what in FATAL:
            assert results[role, what] == ["killed", str(signal.SIGSYS.value)], (role, what)
        for what in REFUSED:
            assert results[role, what] == ["EPERM", "0"], (role, what)
        assert results[role, "abort"] == ["killed", str(signal.SIGABRT.value)]
        why, n_mib = results[role, "allocate"]
        assert why == "ENOMEM" and int(n_mib) < MOST_MIB[role]
    assert results["opener", "read"] == ["0", "0"]
    assert results["parser", "read"] == ["EPERM", "0"]
    assert results["parser", "send_file"] == ["EPERM", "0"]
    assert not os.path.exists("/tmp/helpers.made")


def test_a_user_without_any_capability_has_the_same():
    as_user = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    plain = tried(PROGRAM, "try")
    user = tried(*as_user, "--bounding-set", "-all", "--inh-caps", "-all", PROGRAM, "try")
    assert {key: row[0] for key, row in user.items()} == {key: row[0] for key, row in plain.items()}


def state_of(pid):
    """R, S, D ...; None: it has gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None


def test_helpers_in_a_file_system_that_does_not_answer_are_left_behind(tmp_path):
    lines = []
    with dead_fuse(tmp_path, PROGRAM, "stuck", tmp_path / "file") as server:
        # The program ends, though its helpers cannot.
        while not (lines and lines[-1].startswith("exited")):
            lines.append(server.stdout.readline().rstrip("\n"))
            assert lines[-1], lines
        waiting = [int(line.split()[1]) for line in lines if line.startswith("stuck")]
        waiting = [os.pidfd_open(pid) for pid in waiting if state_of(pid) == "D"]
        parsers = [line for line in lines if line.startswith("parser")]
    wait_for_ends(waiting)
    assert lines[-2:] == ["unable too many wait for file systems that do not answer", "exited 0"]
    assert len(waiting) == 4
    # Each opener that hung had a file open, and no parser that was made then had to close it.
    assert len(set(parsers)) == len(parsers) >= 3
