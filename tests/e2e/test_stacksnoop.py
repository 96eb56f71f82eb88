# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""stacksnoop: every event with its stack, at its time, in order; or counted as lost."""

import re
import signal
import subprocess
import time

import pytest
from snoop import check_all, folded_chains, live_snoop, now_ns, read_json, read_text, trace
from tool import GETPPID, PATIENCE_S, STACKSNOOP, check_account, read_folded, scaled, stacksnoop
from tool import user_chain, workload_path

FEW = scaled(2_000, 200)  # fit into every ring; each line of them is read


# --- times ---


def test_time_of_day(workload):
    work = workload("syscalls", "getppid", 30, 0)
    before = time.localtime()
    result, _ = trace(work, "-U", "-T", "-p", work.pid, GETPPID)
    after = time.localtime()
    events = read_text(result.ok().out)
    check_account(result, 30, len(events))
    assert len(events) == 30, result
    for event in events:
        clock = event.time.partition(".")[0]
        assert re.fullmatch(r"\d\d:\d\d:\d\d", clock), event
        if before.tm_yday == after.tm_yday:
            assert time.strftime("%H:%M:%S", before) <= clock <= time.strftime("%H:%M:%S", after)


def test_an_event_without_a_stack_is_an_event(workload):
    """The idle task, which a busy machine does not come to, has no user stack, nor have the kernel's threads."""
    work = workload("syscalls", "getppid", 300, 0, 0.2)
    with live_snoop("-U", "-v", "t:sched:sched_switch") as tool:
        work.run()
        tool.wait_for("stdout", rb" (swapper|kworker|ksoftirqd|migration)/\d")
        events = read_text(tool.end().ok().out, is_verbose=True)
    kernels = [event for event in events if re.match(r"(swapper|kworker|ksoftirqd|migration)/\d", event.comm)]
    assert kernels and all(event.user == [] for event in kernels)
    assert all(re.fullmatch(r"swapper/\d+", event.comm) for event in events if event.pid == 0)


@pytest.mark.core
def test_cpus_take_turns_and_events_stay_in_order(workload):
    """
    Two processes, one per CPU, each event of one answered by one of the other's. Its time is when it happened, not when it
    was read: the reader does not run meanwhile.
    """
    works = [workload("syscalls", "getppid", 1, 0, cpus=[cpu]) for cpu in (0, 1, 0, 1, 0, 1)]
    pids = [work.pid for work in works]
    with live_snoop("--json", "-p", ",".join(map(str, pids)), GETPPID) as tool:
        tool.send(signal.SIGSTOP)
        clock = [now_ns()]
        for work in works:
            work.run()
            clock.append(now_ns())
        tool.send(signal.SIGCONT)
        result = tool.end().ok()
    events = read_json(result.out)
    check_account(result, len(pids), len(events))
    assert [event.pid for event in events] == pids
    assert [event.cpu for event in events] == [0, 1, 0, 1, 0, 1]
    assert all(before <= event.ns <= after for event, before, after in zip(events, clock, clock[1:]))


# --- whose it was ---


def test_threads_are_told_apart(workload):
    work = workload("syscalls", "getppid", 30, 0, cpus=[0, 1], options=["--rename"])
    result, _ = trace(work, "--json", "-p", work.pid, GETPPID)
    events = read_json(result.ok().out)
    check_account(result, 60, len(events))
    assert len(events) == 60, result
    assert {event.comm for event in events if event.cpu == 0} == {"thread-0"}
    assert {event.comm for event in events if event.cpu == 1} == {"thread-1"}
    assert {event.pid for event in events} == {work.pid}
    assert len({event.tid for event in events}) == 2 and work.pid not in {event.tid for event in events}


# --- the end ---


def test_signal_ends_with_all_events_so_far(workload):
    work = workload("syscalls", "getppid", FEW, FEW, cpus=[0, 1])
    with live_snoop("-U", "-f", "-p", work.pid, GETPPID) as tool:
        expected = work.run()
        result = tool.end(signal.SIGTERM)
    check_all(result, folded_chains(result.out)[0], expected)


def test_end_of_the_command_ends_with_all_events():
    command = [workload_path("syscalls"), "--quiet", "getppid", FEW, 0]
    result = stacksnoop("-U", "-f", GETPPID, "--", *command)
    check_all(result, folded_chains(result.out)[0], {"main;work_run;run;branch_a;hit": FEW})


def test_reader_that_goes_ends_the_run(workload):
    work = workload("syscalls", "getppid", FEW, 0, 0.2)
    script = f"{STACKSNOOP} -f -U -p {work.pid} {GETPPID} | head -c 1; exit ${{PIPESTATUS[0]}}"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr.readline().startswith(b"Tracing 1 functions")
        work.go()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0 and len(out) == 1
    assert re.sub(rb"stacksnoop: Lost \d+ hits?.*\n", b"", err) == b""


# --- options ---


def test_folded_lines_are_command_user_kernel(workload):
    work = workload("syscalls", "getppid", 5, 0)
    result, _ = trace(work, "-f", "-p", work.pid, GETPPID)
    lines = read_folded(result.ok().out)
    assert [count for _, count in lines] == [1] * 5
    for parts, _ in lines:
        at = parts.index("hit")
        assert parts[0] == "syscalls" and user_chain(parts[: at + 1]).endswith("branch_a;hit")
        assert parts[at + 1].startswith("entry_SYSCALL_64") and "do_syscall_64" in parts


@pytest.mark.core
def test_events_are_seen_as_they_happen(workload):
    """Before the end, though standard output is a pipe; and again after a rest."""
    works = [workload("syscalls", "getppid", 3, 0) for _ in range(2)]
    with live_snoop("--json", "-U", "--max-depth", 3, "-p", ",".join(str(work.pid) for work in works), GETPPID) as tool:
        for work in works:
            work.run()
            tool.wait_for("stdout", rb'("pid":%d,.*\n(?s:.*)){3}' % work.pid)
            time.sleep(0.3)  # it does not look any more, as it does every 2 ms while events come
        result = tool.end().ok()
    events = read_json(result.out)
    check_account(result, 6, len(events))
    assert {event.user[-1] for event in events} == {"[cut: depth]"}
