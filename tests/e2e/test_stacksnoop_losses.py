# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""stacksnoop where more comes than it can print, read or keep: what is lost is counted, with its
reason, and told; the traced program is never held up."""

import re
import signal
from collections import Counter

import pytest
from ladder import LEVELS, number_of
from snoop import check_sum, event_chains, folded_chains, live_snoop, now_ns, read_json, trace
from tool import GETPPID, PATIENCE_S, check_account, read_folded, scaled, wait_until_full
from tool import wait_until_taken


def stacks_printed(out):
    """{number of a stack: events} of folded output; each of them right from end to end."""
    sums = Counter()
    for line, n in Counter(out.split("\n")[:-1]).items():
        ((parts, _),) = read_folded(line + "\n")
        sums[number_of(parts, LEVELS)] += n
    return sums


def check_stacks(result, n_stacks, n_times):
    sums = stacks_printed(result.ok().out)
    assert all(number < n_stacks for number in sums)
    assert all(n <= n_times for n in sums.values()), sums.most_common(3)
    check_account(result, n_stacks * n_times, sum(sums.values()))
    return sums


# --- a reader that is slow ---

MORE_THAN_FITS = 40_000  # into pipe, buffer and rings of 4 MiB in all


def test_slow_reader_loses_events_and_is_told(workload):
    """The times of the others stay right."""
    work = workload("syscalls", "getppid", MORE_THAN_FITS, 0)
    args = ("--json", "-U", "--max-memory", "4M", "-p", work.pid, GETPPID)
    with live_snoop(*args, reads_later=True) as tool:
        before = now_ns()
        expected = work.run()  # to its end, though nobody reads
        after = now_ns()
        tool.wait_for("stderr", rb"^stacksnoop: lost \d+ hits so far$")
        assert tool.bytes("stdout") == b""
        tool.read_now()
        result = tool.end()
    assert result.lost > 0
    events = read_json(result.out)
    check_sum(result, event_chains(events), expected)
    times = [event.ns for event in events]
    assert times == sorted(times) and before <= times[0] and times[-1] <= after
    assert re.search(r"Lost \d+ hits(?: \([\d.]+%\))?: .*came faster than they could be printed", result.err), result.err


@pytest.mark.thorough
def test_nothing_that_comes_after_the_end_is_printed_however_slow_the_reader(workload):
    works = [workload("syscalls", "getppid", n, 0) for n in (20_000, 7)]
    pids = ",".join(str(work.pid) for work in works)
    with live_snoop("-f", "-U", "-p", pids, GETPPID, reads_later=True) as tool:
        expected = works[0].run()
        wait_until_full(tool.pid)  # and more waits
        tool.send(signal.SIGINT)
        wait_until_taken(tool.pid)
        works[1].run()
        tool.read_now()
        result = tool.wait()
    found, _ = folded_chains(result.ok().out)
    check_sum(result, found, expected)


def test_what_is_not_printed_in_the_end_is_told(workload):
    n = 20_000
    work = workload("syscalls", "getppid", n, 0)
    with live_snoop("-f", "-U", "-p", work.pid, GETPPID, reads_later=True) as tool:
        work.run()
        for _ in range(2):
            wait_until_full(tool.pid)
            tool.send(signal.SIGINT)
            wait_until_taken(tool.pid)
        tool.process.wait(PATIENCE_S)
        tool.read_now()
        result = tool.wait()
    assert result.status == 1 and "nobody read it" in result.err, result
    unprinted = int(re.search(r"(\d+) events were not printed", result.err)[1])
    # What was being written when it ended is among those that may be there in part.
    check_account(result, n, result.out.count("\n") + unprinted, most=n + 65536 // 20)


# --- many stacks, little memory ---


def test_many_stacks_at_full_speed(workload):
    n_stacks = scaled(60_000, least=2_000)
    work = workload("ladder", LEVELS, n_stacks, 2)
    result, _ = trace(work, "-U", "-f", "--max-memory", "1M", "-p", work.pid, GETPPID)
    check_stacks(result, n_stacks, 2)
