# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Helpers as the product has them, without sanitizers: src/helper within build/workload/helpers. What a
role must not do it tries, and says how it went. What it holds, /proc says.
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

PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE = 1 << 19, 1 << 2, 1 << 40
SECCOMP = 1
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


class Staying:
    """Roles that run, by name: their PIDs, and the layers that they say hold."""

    def __init__(self, *command, **more):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more
        )
        rows = [self.process.stdout.readline().split() for _ in range(3)]
        self.pids = {row[0]: int(row[1]) for row in rows}
        self.layers = {row[0]: int(row[3]) for row in rows}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)

    def status(self, role):
        with open(f"/proc/{self.pids[role]}/status") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    def descriptors(self, role):
        folder = f"/proc/{self.pids[role]}/fd"
        return {int(fd): os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)}


def test_what_a_role_may_is_what_it_needs():
    with Staying(PROGRAM) as staying:
        allowed = {"opener": PTRACE | DAC_READ_SEARCH | CHECKPOINT_RESTORE, "parser": 0}
        allowed["warden"] = allowed["opener"]
        for role, capabilities in allowed.items():
            status = staying.status(role)
            for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
                assert int(status[kind], 16) & ~capabilities == 0, (role, kind)
            assert status["NoNewPrivs"] == "1"
            assert status["Seccomp"] == ("0" if role == "warden" else "2")
        assert int(staying.status("opener")["CapEff"], 16) == allowed["opener"]
        assert staying.layers["opener"] == SECCOMP
        assert staying.layers["parser"] & SECCOMP


def test_what_else_a_user_may_no_parser_may():
    more = "+bpf,+perfmon"
    as_user = ("setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps", more, "--ambient-caps", more)
    with Staying(*as_user, PROGRAM) as staying:
        with open(f"/proc/{staying.process.pid}/status") as file:
            assert "CapEff:\t000000c000000000\n" in file.read()
        assert int(staying.status("parser")["CapPrm"], 16) == 0
        # Without SYS_PTRACE the kernel compares: the user's command has these, too. No call uses them.
        assert int(staying.status("opener")["CapEff"], 16) == 0xC0 << 32


def test_no_helper_has_what_the_main_process_has_open(tmp_path):
    secret = os.open(tmp_path / "secret", os.O_WRONLY | os.O_CREAT)
    far = os.dup2(secret, 200)
    with Staying(PROGRAM, pass_fds=(secret, far)) as staying:
        for role in staying.pids:
            held = staying.descriptors(role).values()
            own = ("socket:", "/memfd:area", "anon_inode:[signalfd]", "anon_inode:[pidfd]", "pidfd:")
            assert all(name.startswith(own) for name in held), role
        assert sorted(staying.descriptors("parser")) == [0, 1, 2, 3, 4, 5]
        # Numbers below 64 are ours, so that no file of an opener has one of these.
        assert sorted(staying.descriptors("opener")) == list(range(64))
    os.close(far)
    os.close(secret)


def test_no_helper_outlives_a_main_process_that_is_killed():
    with Staying(PROGRAM) as staying:
        handles = [os.pidfd_open(pid) for pid in staying.pids.values()]
        staying.process.kill()
        wait_for_ends(handles)


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
