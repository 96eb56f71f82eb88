# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""e:EVENT: perf events. Samples and losses add up to the event's own count, and stacks are whole."""

import re
from pathlib import Path

import pytest
from kernel_walks import compare
from tool import PATIENCE_S, Tool, read_folded, scaled, stackcount, trace, wait_until

pytestmark = pytest.mark.needs("uprobes")


def periods(result):
    """(periods by the events' own counts, samples) of a run with --debug."""
    found = re.search(r"perf events: (\d+) periods, (\d+) samples$", result.err, re.M)
    assert found, result
    return int(found[1]), int(found[2])


def check_accounts(result):
    """A sample that the kernel left out is a loss. Nothing else is one of that kind."""
    n_due, n_taken = periods(result)
    assert result.lost_by("samples that the kernel left out") == max(n_due - n_taken, 0), result
    return n_due


def counted(result, *functions):
    """Hits in stacks through all of @functions, in this order."""
    found = 0
    for parts, count in read_folded(result.out):
        at = iter(parts)
        found += count if all(name in at for name in functions) else 0
    return found


def test_faults_of_the_kernel_alone(workload):
    """Those of touch() are the user's."""
    work = workload("samples", 1000, 0, 0, 0)
    result, _ = trace(work, "-f", "-p", work.pid, "e:page-faults:k")
    assert counted(result.ok(), "touch") == 0, result


def test_one_of_so_many_faults(workload):
    n = scaled(20_000)
    work = workload("samples", n, 0, 0, 0, cpus=[0])
    result, _ = trace(work, "-f", "-p", work.pid, "--debug", "--period", 10, "e:page-faults")
    check_accounts(result.ok())
    hits = counted(result, "touch")
    assert n / 10 * 0.8 - result.lost <= hits <= n / 10 * 1.2, result


def test_each_switch_is_counted(workload):
    work = workload("samples", 0, scaled(2000), 0, 0)
    result, expected = trace(work, "-d", "-f", "-p", work.pid, "--debug", "e:context-switches")
    check_accounts(result.ok())
    [wanted] = [n for chain, n in expected.items() if chain.endswith("nap_all")]
    assert wanted >= scaled(2000) / 2  # a nap may end before it begins
    hits = counted(result, "nap_all")
    assert wanted - 2 - result.lost <= hits <= wanted + 2, result
    kernel = [parts[parts.index("-") + 1 :] for parts, _ in read_folded(result.out) if "nap" in parts]
    assert all(parts and parts[-1] == "schedule" for parts in kernel), kernel


@pytest.mark.needs("path of its own", "unwinding")
def test_cpu_time_is_sampled(workload):
    """Samples that are due are there, or told as lost. Each stack is whole."""
    work = workload("samples-nofp", 0, 0, 500, 0)
    result, _ = trace(work, "-d", "-f", "-p", work.pid, "--debug", "--frequency", 200, "e:cpu-clock")
    check_accounts(result.ok())
    samples = counted(result, "spin")
    assert samples > 0, result
    whole = counted(result, "main", "work_run", "run", "spin")
    assert whole >= 0.999 * samples, result


@pytest.mark.thorough
@pytest.mark.parametrize(
    "events", [["--frequency", "500", "e:cpu-clock"], pytest.param(["e:context-switches", "e:page-faults"], marks=pytest.mark.needs("path of its own"))], ids=" ".join
)
@pytest.mark.needs("kernel tables")
def test_kernel_tables_agree_with_the_kernel(workload, events):
    """In interrupts, and where perf has made up the registers."""
    work = workload("samples", 1000, 200, 0, 2000)
    walks = compare(work.run, *events)
    walks.check(least_share=0.9)


def test_machine_without_counters_says_so():
    is_listed = "e:cycles\n" in stackcount("-l", "e:*").ok().out
    result = stackcount("-D", "0.1", "e:cycles")
    assert (result.status == 0) == is_listed, result
    assert is_listed or ("no counter for it" in result.err and "e:cpu-clock" in result.err), result


@pytest.mark.core
@pytest.mark.needs("guest")
def test_a_cpu_that_went_and_came_back_is_sampled_again():
    """Its perf events have ended. An interval has about 20 samples, idle or not."""
    online = Path("/sys/devices/system/cpu/cpu1/online")
    with Tool(["-f", "-K", "-c", "1", "-i", "0.2", "e:cpu-clock"]) as tool:
        tool.wait_for("stdout", rb" \d+$")
        online.write_text("0")
        online.write_text("1")
        tool.wait_for("stderr", rb"CPUs have come online")
        before = len(tool.bytes("stdout"))

        def is_sampled():
            return sum(map(int, re.findall(rb" (\d+)$", tool.bytes("stdout")[before:], re.M))) > 200

        wait_until(is_sampled, "no samples after the CPU came back")
        result = tool.end(timeout_s=PATIENCE_S).ok()
    assert len(re.findall("come online", result.err)) == 1, result


@pytest.mark.core
@pytest.mark.needs("guest")
def test_a_rate_that_a_machine_cannot_bear_is_lowered():
    """A clock's timer comes whatever else is to be done: where a hit takes longer than a period, nothing else ran any more."""
    result = stackcount("-f", "-d", "--frequency", 100_000, "-D", 2, "e:cpu-clock").ok()
    found = re.search(r"100000 samples a second would take more than a quarter of a CPU: there are (\d+),", result.err)
    assert found and int(found[1]) < 100_000, result
    assert result.lost_by("samples left out to hold the share of a CPU that they take") > 0, result
