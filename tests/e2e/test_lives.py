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
from tool import GETPPID, PATIENCE_S, Live, chains, check_account, check_own, ending
from tool import own_copy, read_folded, scaled, trace, user_chain, workload_path

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


def test_a_process_that_was_there_before_execs(workload):
    """What it ran first is known from a look at it, what it runs then from its records."""
    with workload("lives-one", 3, TWO, 5) as work, Live(["-U", "-P", "-p", work.pid, GETPPID]) as tool:
        work.process.stdin.write(b"\n")
        assert work.process.wait(PATIENCE_S) == 0
        result = tool.wait().ok()
    assert by_process(result) == {
        ("lives-one", work.pid, "main;one_run;one_hit"): 3,
        ("lives-two", work.pid, "main;two_run;two_hit"): 5,
    }, result


# --- numbers that come round ---


# All have number 1000; the shell forks only for them.
SAME_NUMBER = """
i=0
while [ $i -lt $1 ]; do
	i=$((i + 1))
	echo 999 >/proc/sys/kernel/ns_last_pid; "$2" 3
	echo 999 >/proc/sys/kernel/ns_last_pid; "$3" 5
done
"""


def child_of(pid):
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())


@pytest.fixture
def in_namespace():
    """A wrapper: in a PID name space of its own, which lasts as long as the test."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--mount", "--propagation", "private", "sh", "-c", "echo; exec sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as holder:
        holder.stdout.readline()
        yield ["nsenter", "-t", str(child_of(holder.pid)), "-p", "-m"]
        os.kill(child_of(holder.pid), signal.SIGKILL)


def test_a_number_that_is_used_again(tmp_path, in_namespace):
    times = scaled(50, least=10)
    one, two = (own_copy(f"lives-{name}", tmp_path, name) for name in ("one", "two"))
    with Live(["-U", "-P", GETPPID], wrap=in_namespace) as tool:
        run_shell(SAME_NUMBER, times, one, two, wrap=in_namespace)
        os.kill(child_of(tool.pid), signal.SIGINT)  # nsenter(1) with -p passes no signal on to what it has forked
        result = tool.wait(PATIENCE_MANY_S).ok()
    found = by_process(result, (one.name, two.name))
    made = {(one.name, "main;one_run;one_hit"): 3 * times, (two.name, "main;two_run;two_hit"): 5 * times}
    check_own(result, by_program(found), made)
    assert {pid for _, pid, _ in found} == {1000}, result


# --- roots of their own ---


@pytest.fixture
def other_program(machine, tmp_path):
    """Outside, /bin/program is something else."""
    path = Path("/bin/program")
    assert not path.exists() or path.read_bytes() == Path(TWO).read_bytes(), "somebody's own"
    machine.callback(path.unlink, missing_ok=True)
    shutil.copy(TWO, path)
    return tmp_path


@pytest.mark.parametrize("where", ["outside", pytest.param("inside", marks=pytest.mark.thorough)])
def test_a_root_of_its_own(other_program, where):
    """Gone, with its whole file system, when the report is made."""
    with Contained("calls-pie", other_program, 3, 2, 0) as work:
        enter = ["nsenter", "-t", str(work.pid), "-m"] if where == "inside" else []
        with Live(["-f", "-p", work.pid, "/bin/program:leaf"], wrap=enter) as tool:
            expected = work.run()
            tool.drain()
            work.close()
            result = tool.wait().ok()
    assert chains(result) == ending(expected, "leaf"), result


def test_a_root_of_its_own_at_a_tracepoint(other_program):
    with Live(["-U", "-P", "-f", GETPPID]) as tool:
        with Contained("syscalls", other_program, "getppid", 30, 20) as work:
            expected = work.run()
            tool.drain()
        result = tool.end().ok()
    check_own(result, chains(result, "program"), expected)


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


def test_a_program_that_is_not_there_any_more(workload, tmp_path):
    program = own_copy("syscalls", tmp_path)
    work = workload(program, "getppid", 3, 2)
    program.unlink()
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert chains(result.ok()) == expected and len(expected) == 2, result


def test_programs_without_build_id_in_one_file(tmp_path):
    """One written over the other: a name is right, or there is none, and a message says why."""
    programs = [tmp_path / "one", tmp_path / "two"]
    for program, of in zip(programs, (ONE, TWO)):
        subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", of, program], check=True)
    one_file = tmp_path / PROGRAM
    script = 'for i in 1 2 3 4 5; do for p in "$2" "$3"; do cat "$p" >"$1"; chmod +x "$1"; "$1" --quiet 4; done; done'
    with Live(["-U", "-P", "-f", GETPPID]) as tool:
        subprocess.run(["sh", "-c", script, "sh", one_file, *programs], check=True, timeout=PATIENCE_S)
        result = tool.end().ok()
    sums = Counter()
    for parts, n in read_folded(result.out):
        if parts[0] == PROGRAM:
            sums[parts[-1]] += n
    assert sums["one_hit"] <= 20 and sums["two_hit"] <= 20, result
    assert set(sums) <= {"one_hit", "two_hit", "[unknown]", f"[{PROGRAM}]"}, result
    if is_complete(result):
        assert sum(sums.values()) == 40 and sums["two_hit"] >= 4, result
        n_said = result.err.count(f"no symbols for {PROGRAM}: the file was changed while it was mapped")
        assert n_said == (sums["one_hit"] + sums["two_hit"] < 40), result


# A file system that is gone with the process: "$1" is where it is, "$2" the program.
ALONE = ["unshare", "-m", "--propagation", "private", "sh", "-ec"]
ON_OWN_TMPFS = f'mount -t tmpfs own "$1"; cp "$2" "$1/{PROGRAM}"; exec "$1/{PROGRAM}" --quiet 7'


@pytest.mark.parametrize("known_by", ["another process", pytest.param("its path", marks=pytest.mark.thorough), None])
def test_a_program_that_is_gone_with_its_file_system(tmp_path, known_by):
    """Its build tells which other file has its names. The tool only looks when all is over."""
    if known_by == "its path":
        shutil.copy(ONE, tmp_path / PROGRAM)
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


@pytest.mark.parametrize("options", [[], ["-v", "-P"]], ids=["plain", "places"])
def test_lines_that_read_the_same_are_one(options):
    """At addresses that differ from process to process, which folded does not show."""
    program = workload_path("calls-pie")
    with Live(["-f", *options, f"{program}:leaf"]) as tool:
        for _ in range(5):
            subprocess.run([program, "--quiet", "2", "0", "0"], check=True, timeout=PATIENCE_S)
        result = tool.end().ok()
    check_account(result, 10)
    assert len(read_folded(result.out)) == 1 or not is_complete(result), result


def test_equal_names_in_different_files_stay_apart(tmp_path):
    """Two files with the same functions, at addresses that differ from process to process."""
    copies = [tmp_path / "first", tmp_path / "second"]
    for copy in copies:
        shutil.copy(workload_path("calls-pie"), copy)
    with Live(["-f", *(f"{copy}:leaf" for copy in copies)]) as tool:
        for copy in copies * 3:
            subprocess.run([copy, "--quiet", "2", "0", "0"], check=True, timeout=PATIENCE_S)
        result = tool.end().ok()
    check_account(result, 12)
    assert [n for parts, n in read_folded(result.out) if parts[-1] == "leaf"] == [6, 6] or not is_complete(result), result


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


def test_without_user_stacks_nothing_is_followed():
    with Live(["-K", "-f", GETPPID]) as tool:
        alone = tool.n_perf_events()
    with Live(["-f", GETPPID]) as tool:
        followed = tool.n_perf_events()
    # Of each CPU, the second tells build IDs, the last who shares memory.
    assert followed == alone + 3 * os.cpu_count() and alone <= os.cpu_count()


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
