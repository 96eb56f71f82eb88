# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""stacksnoop where more comes than it can print, read or keep: what is lost is counted, with its
reason, and told; the traced program is never held up. And what is wrong in the classic stacksnoop, by
its number."""

import os
import re
import signal
import subprocess
import time
from collections import Counter

import pytest
from snoop import check_all, check_sum, event_chains, folded_chains, read_json, read_text, snoop, trace
from test_stacksnoop import now_ns
from tool import BUILD, GETPPID, PATIENCE_S, STACKCOUNT, TOP, Tool, check_account, read_folded, scaled
from tool import stacksnoop, workload_path


CALLS = workload_path("calls")
LEVELS = 18  # of the workload 'distinct'


def stack_number(parts):
    """Which of the workload's stacks this is: its bits, the lowest outermost."""
    at = parts.index("run") + 1
    bits = parts[at : at + LEVELS]
    assert parts[at + LEVELS] == "hit" and set(bits) <= {"zero", "one"}, parts
    return sum((bit == "one") << i for i, bit in enumerate(bits))


def stacks_printed(out):
    """{number of a stack: events} of folded output or JSON; each of them right from end to end."""
    sums = Counter()
    if out.startswith("{"):
        sums.update(stack_number(event.user[::-1]) for event in read_json(out))
        return sums
    for line, n in Counter(out.split("\n")[:-1]).items():
        ((parts, _),) = read_folded(line + "\n")
        sums[stack_number(parts)] += n
    return sums


def check_stacks(result, n_stacks, n_times):
    sums = stacks_printed(result.ok().out)
    assert all(number < n_stacks for number in sums)
    assert all(n <= n_times for n in sums.values()), sums.most_common(3)
    check_account(result, n_stacks * n_times, sum(sums.values()))
    return sums


def trace_in_parts(works, *args):
    """One after the other, each when the one before has been printed: rings and maps have room."""
    with snoop(*args, "-p", ",".join(str(work.pid) for work in works), GETPPID) as tool:
        tool.wait_live()
        for work in works:
            work.run()
            tool.wait_idle()
        return tool.end()


# --- a reader that is slow ---

MORE_THAN_FITS = 40_000  # into pipe, buffer and rings of 4 MiB in all


@pytest.mark.needs("machine")
@pytest.mark.parametrize("form", ["-f", "--json"])
def test_slow_reader_loses_events_and_is_told(workload, form):
    work = workload("syscalls", "getppid", MORE_THAN_FITS, 0)
    args = (form, "-U", "--max-memory", "4M", "-p", work.pid, GETPPID)
    with snoop(*args, reads_later=True) as tool:
        tool.wait_live()
        expected = work.run()  # to its end, though nobody reads
        tool.wait_for("stderr", rb"^stacksnoop: lost \d+ hits so far$")
        assert tool.bytes("stdout") == b""
        tool.read_now()
        result = tool.end()
    found = event_chains(read_json(result.out)) if form == "--json" else folded_chains(result.out)[0]
    assert result.lost > 0
    check_sum(result, found, expected)
    assert re.search(r"Lost \d+ hits: .*came faster than they could be printed", result.err), result.err


@pytest.mark.needs("machine")
@pytest.mark.parametrize("by_signal", [True, False])
def test_nothing_that_comes_after_the_end_is_printed_however_slow_the_reader(workload, by_signal):
    works = [workload("syscalls", "getppid", n, 0) for n in (20_000, 7)]
    pids = ",".join(str(work.pid) for work in works)
    end = [] if by_signal else ["-D", "2"]
    with snoop("-f", "-U", *end, "-p", pids, GETPPID, reads_later=True) as tool:
        tool.wait_live()
        expected = works[0].run()
        if by_signal:
            tool.wait_idle()  # the pipe is full, and more waits
            tool.send(signal.SIGINT)
        else:
            time.sleep(2)
        tool.wait_idle()
        works[1].run()
        tool.read_now()
        result = tool.wait()
    found, _ = folded_chains(result.ok().out)
    check_sum(result, found, expected)


@pytest.mark.needs("machine")
def test_what_is_not_printed_in_the_end_is_told(workload):
    n = 20_000
    work = workload("syscalls", "getppid", n, 0)
    with snoop("-f", "-U", "-p", work.pid, GETPPID, reads_later=True) as tool:
        tool.wait_live()
        work.run()
        for _ in range(2):
            tool.wait_idle()
            tool.send(signal.SIGINT)
        tool.process.wait(PATIENCE_S)
        tool.read_now()
        result = tool.wait()
    assert result.status == 1 and "nobody read it" in result.err, result
    unprinted = int(re.search(r"(\d+) events were not printed", result.err)[1])
    # What was being written when it ended is among those that may be there in part.
    check_account(result, n, result.out.count("\n") + unprinted, most=n + 65536 // 20)


@pytest.mark.needs("machine")
def test_what_a_signal_leaves_no_time_for_is_told(workload):
    """The reader takes longer for the pending events than the tool waits."""
    work = workload("syscalls", "getppid", 20_000, 0)
    read = b""
    with snoop("-f", "-U", "-p", work.pid, GETPPID, reads_later=True) as tool:
        tool.wait_live()
        expected = work.run()
        tool.wait_idle()  # the pipe is full, and more waits
        tool.send(signal.SIGINT)
        for _ in range(4):
            read += os.read(tool.process.stdout.fileno(), 1 << 16)
            time.sleep(0.2)
        tool.read_now()
        result = tool.wait()
    found, _ = folded_chains(read.decode() + result.ok().out)
    unprinted = re.search(r"(\d+) not printed before a signal ended the run", result.err)
    assert unprinted and int(unprinted[1]) > 0, result
    check_sum(result, found, expected)


@pytest.mark.needs("machine")
def test_slow_reader_has_all_that_was_kept_when_a_signal_came(workload):
    """Or the tool reports them as lost. The signal comes while nobody reads."""
    work = workload("syscalls", "getppid", MORE_THAN_FITS, 0)
    args = ("-f", "-U", "--max-memory", "4M", "-p", work.pid, GETPPID)
    with snoop(*args, reads_later=True) as tool:
        tool.wait_live()
        expected = work.run()
        tool.wait_for("stderr", rb"^stacksnoop: lost \d+ hits so far$")
        tool.send(signal.SIGTERM)
        tool.read_now()
        result = tool.wait()
    check_sum(result, folded_chains(result.out)[0], expected)


@pytest.mark.needs("machine")
def test_times_stay_right_across_what_was_lost(workload):
    work = workload("syscalls", "getppid", MORE_THAN_FITS, 0, cpus=[0, 1])
    args = ("--json", "-U", "--max-memory", "4M", "-p", work.pid, GETPPID)
    with snoop(*args, reads_later=True) as tool:
        tool.wait_live()
        before = now_ns()
        expected = work.run()
        after = now_ns()
        tool.read_now()
        result = tool.end()
    events = read_json(result.out)
    check_sum(result, event_chains(events), expected)
    times = [event.ns for event in events]
    assert times == sorted(times) and before <= times[0] and times[-1] <= after


@pytest.mark.needs("machine")
def test_losses_are_silent_when_there_are_none(workload):
    work = workload("syscalls", "getppid", 500, 300)
    result, expected = trace(work, "-f", "-U", "-p", work.pid, GETPPID)
    check_all(result, folded_chains(result.out)[0], expected)
    assert "ost" not in result.err, result.err


# --- many stacks, little memory ---


@pytest.mark.needs("machine")
@pytest.mark.parametrize("memory", ["4M", "1M", "16M"])
def test_many_stacks_at_full_speed(workload, memory):
    n_stacks = scaled(60_000, least=2_000)
    work = workload("distinct", n_stacks, 2)
    result, _ = trace(work, "-U", "-f", "--max-memory", memory, "-p", work.pid, GETPPID)
    check_stacks(result, n_stacks, 2)


def calls_of(name, run):
    """(what @run returns, how often the tool itself called that function)"""
    with Tool(["-f", f"{STACKCOUNT}:{name}"]) as spy:
        spy.wait_live()
        result = run()
        return result, sum(count for _, count in read_folded(spy.end().ok().out))


# Pieces of stacks in the kernel, of --max-memory 4M; each stack here has two.
MOST_PIECES = 4096


@pytest.mark.needs("machine", "uprobes")
def test_more_stacks_than_the_kernel_has_room_for(workload):
    """What was read is forgotten there, in time."""
    works = [workload("distinct", 900, 1) for _ in range(6)]
    args = ("-U", "-f", "--max-memory", "4M")
    result, n = calls_of("stream_make_room", lambda: trace_in_parts(works, *args))
    assert n > 0
    sums = check_stacks(result, 900, len(works))
    assert 2 * sum(sums.values()) > MOST_PIECES


@pytest.mark.needs("machine", "uprobes")
def test_everything_is_forgotten_where_memory_ends(workload):
    """The text of each process's 200 stacks is 0.4 MB, and all together may take 1 MiB."""
    works = [workload("distinct", 200, 3) for _ in range(6)]
    args = ("-U", "--json", "--max-memory", "1M")
    result, n = calls_of("stream_forget_all", lambda: trace_in_parts(works, *args))
    assert n > 0
    sums = check_stacks(result, 200, 3 * len(works))
    assert len(sums) == 200, "what was seen again later has no stack any more"


@pytest.mark.needs("machine")
def test_slow_reader_of_many_stacks(workload):
    n_stacks = 10_000
    work = workload("distinct", n_stacks, 3)
    args = ("-U", "-f", "--max-memory", "4M", "-p", work.pid, GETPPID)
    with snoop(*args, reads_later=True) as tool:
        tool.wait_live()
        work.run()
        tool.wait_for("stderr", rb"^stacksnoop: lost \d+ hits so far$")
        tool.read_now()
        result = tool.end()
    check_stacks(result, n_stacks, 3)
    assert result.lost > 0


@pytest.mark.needs("machine")
def test_memory_stays_within_its_bounds(workload):
    work = workload("distinct", 100_000, 1)
    with snoop("-U", "-f", "--max-memory", "16M", "-p", work.pid, GETPPID) as tool:
        tool.wait_live()
        work.run()
        tool.wait_idle()
        peak = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{tool.pid}/status").read())[1])
        result = tool.end()
    check_stacks(result, 100_000, 1)
    assert peak < (16 + 12) * 1024, f"{peak} KiB"


# --- defects of the classic tool ---


@pytest.mark.needs("machine")
def test_defect_57_more_than_128_stacks(workload):
    work = workload("distinct", 600, 2)
    result, _ = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert check_stacks(result, 600, 2) == {number: 2 for number in range(600)}


@pytest.mark.needs("machine")
def test_defect_58_an_event_without_a_stack_is_an_event(workload):
    """The idle task, which a busy machine does not come to, has no user stack, nor have the kernel's threads."""
    work = workload("syscalls", "getppid", 300, 0, 1)
    with snoop("-U", "-v", "t:sched:sched_switch") as tool:
        tool.wait_live()
        work.run()
        tool.wait_for("stdout", rb" (swapper|kworker|ksoftirqd|migration)/\d")
        events = read_text(tool.end().ok().out, is_verbose=True)
    kernels = [event for event in events if re.match(r"(swapper|kworker|ksoftirqd|migration)/\d", event.comm)]
    assert kernels and all(event.user == [] for event in kernels)
    assert all(re.fullmatch(r"swapper/\d+", event.comm) for event in events if event.pid == 0)


@pytest.mark.needs("uprobes", "path of its own")
@pytest.mark.parametrize("form,read", [("-s", read_text), ("--json", read_json)])
def test_defect_60_every_kind_of_event_and_both_stacks(workload, form, read):
    patterns = [GETPPID, f"{CALLS}:leaf*", f"u:{workload_path('usdt')}:alpha:*"]
    works = [workload("syscalls", "getppid", 10, 0), workload("calls", 10, 0, 10), workload("usdt", 10)]
    pids = ",".join(str(work.pid) for work in works)
    with snoop(form, "-p", pids, *patterns) as tool:
        tool.wait_live()
        for work in works:
            work.run()
        events = read(tool.end().ok().out)
    innermost = Counter(event.user[0].partition("+")[0] for event in events)
    assert innermost == {"hit": 10, "leaf": 10, "leaf_bare": 10, "leafy": 1, "fire_alpha": 10, "fire_gated": 10}
    assert all(bool(event.kernel) == event.user[0].startswith("hit") for event in events)


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes")
def test_defect_60_kernel_functions_under_a_wildcard(workload):
    work = workload("syscalls", "read", 50, 0)
    with snoop("-p", work.pid, "vfs_re*") as tool:
        tool.wait_live(240)
        expected = work.run()
        result = tool.end(timeout_s=240).ok()
    ours = [event for event in read_text(result.out) if event.chain in expected]
    assert len(ours) == 50 and all(event.kernel[0] == "vfs_read" for event in ours)


@pytest.mark.needs("machine")
def test_defect_61_the_time_is_when_it_happened(workload):
    """Not when it was read: the reader does not run meanwhile."""
    work = workload("syscalls", "getppid", 30, 0)
    with snoop("-U", "-p", work.pid, GETPPID) as tool:
        tool.wait_live()
        tool.send(signal.SIGSTOP)
        before = now_ns()
        work.run()
        after = now_ns()
        tool.send(signal.SIGCONT)
        events = read_text(tool.end().ok().out)
    assert len(events) == 30
    assert all(before <= event.ns <= after for event in events)
    assert len({event.ns for event in events}) > 1


@pytest.mark.needs("machine")
def test_defect_61_zero_is_no_start_of_the_tool(workload):
    times = []
    for _ in range(2):
        work = workload("syscalls", "getppid", 1, 0)
        result, _ = trace(work, "-U", "-p", work.pid, GETPPID)
        (event,) = read_text(result.ok().out)
        times.append(event.ns)
    assert 0 < times[0] < times[1] < now_ns()


@pytest.mark.needs("machine")
@pytest.mark.parametrize("pattern", ["t:sched:no_such_event", f"{CALLS}:no_such_function", "no_such_function"])
def test_defect_62_what_does_not_exist_is_told_in_a_line(pattern):
    result = stacksnoop(pattern)
    assert result.status == 1 and result.stdout == b"", result
    assert re.fullmatch(r"stacksnoop: .*\n", result.err), result


@pytest.mark.needs("machine")
def test_defect_63_cpus_take_turns_and_events_stay_in_order(workload):
    """Two processes, one per CPU, each event of one answered by one of the other's."""
    works = [workload("syscalls", "getppid", 1, 0, cpus=[cpu]) for cpu in (0, 1, 0, 1, 0, 1)]
    pids = [work.pid for work in works]
    with snoop("--json", "-p", ",".join(map(str, pids)), GETPPID) as tool:
        tool.wait_live()
        tool.send(signal.SIGSTOP)
        for work in works:
            work.run()
        tool.send(signal.SIGCONT)
        events = read_json(tool.end().ok().out)
    assert [event.pid for event in events] == pids
    assert [event.cpu for event in events] == [0, 1, 0, 1, 0, 1]


@pytest.mark.needs("machine")
def test_defect_64_thread_user_stack_limits_and_time_of_day(workload):
    work = workload("syscalls", "getppid", 40, 0, cpus=[0, 1])
    with snoop("--json", "-T", "-n", 50, "-D", 60, "-p", work.pid, GETPPID) as tool:
        tool.wait_live()
        before = time.time_ns()
        work.run()
        after = time.time_ns()
        events = read_json(tool.wait().ok().out)
    assert len(events) == 50 and all(before <= event.ns <= after for event in events)
    assert all(event.user[0] == "hit" and event.tid != event.pid == work.pid for event in events)


@pytest.mark.needs("machine")
def test_defect_66_is_installed_with_its_manual(tmp_path):
    command = ["make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr", f"BUILD={BUILD}"]
    subprocess.run(command, cwd=TOP, check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "usr/share/man/man8/stacksnoop.8").exists()
    assert (tmp_path / "usr/share/bash-completion/completions/stacksnoop").exists()
    program = tmp_path / "usr/sbin/stacksnoop"
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("stacksnoop ")
