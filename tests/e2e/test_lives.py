# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that come, change and go: each stack named by what its own process ran then."""

import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from contained import Contained
from snoop import live_snoop, read_json
from text import parse_text
from tool import GETPPID, PATIENCE_S, Live, chains, check_own, ending
from tool import own_copy, read_folded, scaled, user_chain, workload_path

CALLS = workload_path("calls")
ONE, TWO = workload_path("lives-one"), workload_path("lives-two")
MANY = scaled(500, least=40)
OURS = ("lives-one", "lives-two")
ONE_HIT, TWO_HIT = ("lives-one", "main;one_run;one_hit"), ("lives-two", "main;two_run;two_hit")
PROGRAM = f"program{os.getpid()}"
PATIENCE_MANY_S = 2 * PATIENCE_S

pytestmark = pytest.mark.walk("fp")  # named from the first hit on: test_unwind.py has the tables


def run_shell(script, *arguments, wrap=()):
    subprocess.run([*wrap, "sh", "-ec", script, "sh", *map(str, arguments)], check=True, timeout=PATIENCE_MANY_S)


def by_process(result, names=OURS):
    """{(comm, pid, chain from main on): count} of our own programs, of text with -P."""
    sums = Counter()
    for entry in parse_text(result.out).entries:
        if entry.comm in names:
            sums[entry.comm, entry.pid, user_chain(entry.frames[::-1])] += entry.count
    return dict(sums)


def by_program(found):
    """{(comm, chain): count} of that."""
    sums = Counter()
    for (comm, _, chain), count in found.items():
        sums[comm, chain] += count
    return dict(sums)


def is_complete(result):
    return not result.lost and not result.lost_records


REPEAT = 'n=$1; shift; while [ $n -gt 0 ]; do n=$((n - 1)); "$@"; done'


# --- many that live a few milliseconds ---


@pytest.mark.core
@pytest.mark.needs("path of its own")
def test_many_short_programs_at_a_tracepoint(tmp_path):
    own = own_copy("lives-one", tmp_path)
    with Live(["-U", "-P", GETPPID]) as tool:
        run_shell(REPEAT, MANY, own, 3)
        result = tool.end(timeout_s=PATIENCE_MANY_S).ok()
    ours = by_process(result, [own.name])
    check_own(result, by_program(ours), {(own.name, "main;one_run;one_hit"): 3 * MANY})
    if is_complete(result):
        assert len(ours) == MANY and set(ours.values()) == {3}, "each its own PID and count"


# --- one process, several programs ---


def test_programs_that_follow_each_other_as_events():
    with live_snoop("--json", "-U", GETPPID) as tool:
        process = subprocess.Popen([ONE, "300", TWO, "500", ONE, "700"])
        assert process.wait(PATIENCE_S) == 0
        result = tool.end().ok()
    found = [(event.comm, event.chain) for event in read_json(result.out) if event.pid == process.pid]
    check_own(result, Counter(found), {ONE_HIT: 1000, TWO_HIT: 500})
    if is_complete(result):
        assert found == [ONE_HIT] * 300 + [TWO_HIT] * 500 + [ONE_HIT] * 700, "out of order"


# --- roots of their own ---


@pytest.fixture
def other_program(machine, tmp_path):
    """Outside, /bin/program is something else."""
    path = Path("/bin/program")
    assert not path.exists() or path.read_bytes() == Path(TWO).read_bytes(), "somebody's own"
    machine.callback(path.unlink, missing_ok=True)
    shutil.copy(TWO, path)
    return tmp_path


def test_a_root_of_its_own(other_program):
    """Gone, with its whole file system, when the report is made."""
    with Contained("calls-pie", other_program, 3, 2, 0) as work:
        with Live(["-f", "-p", work.pid, "/bin/program:leaf"]) as tool:
            expected = work.run()
            tool.drain()
            work.close()
            result = tool.wait().ok()
    assert chains(result) == ending(expected, "leaf"), result


# --- mappings that come and go ---


LATE = workload_path("liblate.so")


def test_a_library_that_is_loaded_late_by_a_process_that_ends_at_once(workload, tmp_path):
    own = own_copy("dl", tmp_path)
    with workload(own, LATE, 10) as work, Live(["-U", "-P", "-f", GETPPID]) as tool:
        work.go().wait_for("loading")
        work.go()
        expected = work.finish()
        work.close()
        result = tool.end().ok()
    check_own(result, chains(result, own.name), expected)


# A file system that is gone with the process: "$1" is where it is, "$2" the program.
ALONE = ["unshare", "-m", "--propagation", "private", "sh", "-ec"]
ON_OWN_TMPFS = f'mount -t tmpfs own "$1"; cp "$2" "$1/{PROGRAM}"; exec "$1/{PROGRAM}" --quiet 7'


@pytest.mark.parametrize("known_by", ["another process", None])
def test_a_program_that_is_gone_with_its_file_system(tmp_path, known_by):
    """Its build tells which other file has its names. The tool only looks when all is over."""
    if known_by is None:
        shutil.copy(CALLS, tmp_path / PROGRAM)
    with Live(["-U", "-P", "-f", GETPPID]) as tool:
        tool.send(signal.SIGSTOP)
        subprocess.run([*ALONE, ON_OWN_TMPFS, "sh", tmp_path, ONE], check=True, timeout=PATIENCE_S)
        if known_by == "another process":
            subprocess.run([ONE, "--quiet", "3"], check=True, timeout=PATIENCE_S)
        tool.send(signal.SIGCONT)
        result = tool.end().ok()
    found = Counter()
    for parts, n in read_folded(result.out):
        if parts[0] == PROGRAM:
            found[parts[-1]] += n
    check_own(result, found, {"one_hit" if known_by else f"[{PROGRAM}]": 7})


# --- merging ---


@pytest.mark.parametrize("program, walk, is_late", [
    pytest.param("leader", (), True, id="late"),
    pytest.param("leader-nofp", ("--unwind", "dwarf"), False, id="early", marks=pytest.mark.needs("unwinding")),
])
def test_a_process_whose_first_thread_has_ended(workload, program, walk, is_late):
    """/proc knows what it has mapped by its other threads."""
    work = workload(program, 100, 900)
    if is_late:
        work.go().wait_for("ended")
    with Live([*walk, "-U", "-f", "-p", work.pid, GETPPID]) as tool:
        if not is_late:
            work.go().wait_for("ended")
            tool.drain()
        work.run()
        result = tool.end().ok()
    expected = {"work_thread;after;hit": 900}
    if not is_late:
        expected["work_thread;before;hit"] = 100
    assert chains(result) == expected, result


# --- losses, and where nothing is followed ---


@pytest.mark.thorough
def test_records_that_were_lost_are_told_of(workload, tmp_path):
    """While the tool does not run, more comes than there is room for."""
    own = own_copy("syscalls", tmp_path)
    with workload(own, "getppid", 30, 20) as work, Live(["-U", "-P", "-f", GETPPID]) as tool:
        tool.send(signal.SIGSTOP)
        run_shell(REPEAT, 6000, "/bin/true")
        tool.send(signal.SIGCONT)
        tool.drain()
        run_shell(REPEAT, 20, "/bin/true")  # older kernels tell with the next record
        expected = work.run()
        result = tool.end().ok()
    said = re.findall(r"^stackcount: lost (\d+) process records: some frames and processes may be \[unknown\]$", result.err, re.M)
    assert len(said) == 1 and int(said[0]) > 0, result
    assert chains(result, own.name) == expected, result
