# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Many user functions by one event that is defined in tracefs, for kernels without uprobe.multi:
as exact as by the other backends, and nothing is left there, however a run ends.
"""

import os
import re
import shutil
import signal
import time

import pytest
from kernel import MOUNT_READ_ONLY, UNMOUNT, definitions, in_tracefs, with_mounts
from text import parse_text
from tool import PATIENCE_S, Live, Tool, chains, check_refused, ending, stackcount, trace, workload_path

pytestmark = pytest.mark.needs("uprobe events", "path of its own")

CALLS = workload_path("calls")
LEAVES = [f"{CALLS}:leaf", f"{CALLS}:leaf_bare"]
REFUSED = f"{workload_path('vector')}:to_ss"  # the kernel refuses its first instruction, once it is mapped
MANY = ["--without", "uprobe.multi"]  # for more than a few
ALWAYS = ["--without", "uprobe.multi,uprobe"]
PATIENCE_MANY_S = 4 * PATIENCE_S


def of_run(tool):
    return definitions(f"p:stackcount_{tool.pid}_")


def wait_until_none_is_of(tool):
    deadline = time.monotonic() + PATIENCE_S
    while lines := of_run(tool):
        assert time.monotonic() < deadline, f"still defined: {lines[:3]}"
        time.sleep(0.05)


def backends(result):
    """{backend: number of places} of --debug."""
    return {name: int(n) for n, name in re.findall(r"^stackcount: (\d+) targets: backend (\S+)$", result.err, re.M)}


def hits(result):
    """Of a program that is a workload."""
    return sum(chains(result.ok()).values())


OTHERS = f"others{os.getpid()}"


@pytest.fixture
def others(machine):
    """An event that somebody else has defined and traces: its line."""
    machine.callback(in_tracefs, "echo 0 >events/$1/place/enable; echo -:$1/place >>uprobe_events", OTHERS)
    script = 'echo "p:$1/place $2:0x1000" >>uprobe_events && echo 1 >events/$1/place/enable'
    assert in_tracefs(script, OTHERS, CALLS).returncode == 0
    (line,) = definitions(f"p:{OTHERS}/")
    return line


def test_an_event_that_somebody_has_defined_is_no_tracepoint(others):
    """It wants another kind of program."""
    check_refused(stackcount("-l", f"t:{OTHERS}:*"), 1, f"no tracepoint matches 't:{OTHERS}:\\*'")
    check_refused(stackcount(f"t:{OTHERS}:place"), 1, f"attach {OTHERS}:place: .* trace its function instead")


@pytest.mark.needs("machine")
def test_all_of_libc(workload):
    work = workload("calls", 300, 200, 100, cpus=[0, 1])
    with Tool(["-f", "--debug", *MANY, "-p", work.pid, "c:*", f"{CALLS}:leaf"]) as tool:
        tool.wait_live(PATIENCE_MANY_S)
        n_lines = len(of_run(tool))
        expected = work.run()
        result = tool.end(timeout_s=PATIENCE_MANY_S).ok()
    found = {chain: n for chain, n in chains(result).items() if chain.endswith(";leaf")}
    assert found == ending(expected, "leaf"), result
    assert backends(result).keys() == {"uprobe.event"} and backends(result)["uprobe.event"] > 1000
    assert n_lines > 1000
    assert of_run(tool) == []


def test_few_functions_get_a_perf_event_each(workload):
    work = workload("calls", 30, 0, 0)
    with Live(["-f", "--debug", *MANY, "-p", work.pid, f"{CALLS}:leaf*"]) as tool:
        assert of_run(tool) == []
        result = tool.end().ok()
    assert backends(result) == {"uprobe": 3}


def test_without_it_many_functions_get_a_perf_event_each(workload):
    work = workload("calls", 30, 0, 0)
    with Live(["--debug", "--without", "uprobe.multi,uprobe.event", "-p", work.pid, "c:strc*"]) as tool:
        assert of_run(tool) == []
        result = tool.end().ok()
    assert backends(result).keys() == {"uprobe"}
    assert parse_text(result.out).n_functions > 4


@pytest.mark.needs("machine")
def test_functions_of_several_processes_are_counted_and_no_others(workload):
    works = [workload("calls", 10 * n, n, 0) for n in (1, 2, 3)]
    pids = ",".join(str(work.pid) for work in works[:2])
    with Live(["-f", *ALWAYS, "-p", pids, *LEAVES]) as tool:
        for work in works:
            work.run()
        result = tool.end()
    assert hits(result) == 33, result


@pytest.mark.needs("machine")
def test_functions_of_a_started_command_are_counted():
    result = stackcount("-f", *ALWAYS, *LEAVES, "--", CALLS, "--quiet", "30", "20", "10")
    assert hits(result) == 60, result


def test_a_semaphore_is_up_for_a_process_that_is_there_and_for_one_that_comes(workload):
    program = workload_path("usdt")
    work = workload("usdt", 30)
    result, expected = trace(work, "-f", *ALWAYS, "-p", work.pid, f"u:{program}:*")
    assert chains(result.ok()) == ending(expected, "fire_alpha", "fire_beta", "fire_gated"), result
    result = stackcount("-f", *ALWAYS, f"u:{program}:gated", "--", program, "--quiet", "30")
    assert hits(result) == 30, result


def test_a_refused_function_does_not_cost_the_others(workload):
    workload("vector", 1)
    args = ["--debug", *MANY, "-D", "0.1", REFUSED, "c:pthread_[a-r]*"]
    result = stackcount(*args, timeout_s=PATIENCE_MANY_S).ok()
    assert re.findall(r"^stackcount: refused: (\S+): ", result.err, re.M) == ["to_ss"], result
    assert parse_text(result.out).n_functions == backends(result)["uprobe.event"] - 1 > 20


@pytest.mark.needs("machine")
# The last two: what else a definition consists of, and a path that is longer than a line of tracefs may be.
@pytest.mark.parametrize("name", ["a b", "#no", "new\nline", "\u00a0", "%return", "(0x10)", '"$arg1"\t-', "/".join(["n" * 200] * 18)])
def test_a_path_that_no_definition_can_hold(name, tmp_path):
    folder = tmp_path / name
    folder.mkdir(parents=True)
    program = shutil.copy(CALLS, folder / "calls")
    result = stackcount("-f", *ALWAYS, f"{program}:leaf", "--", program, "--quiet", "30", "0", "0")
    assert hits(result) == 30, result


@pytest.mark.needs("machine")
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.thorough), signal.SIGKILL])
def test_no_definition_is_left_and_no_other_is_touched(number, others):
    with Tool([*MANY, "c:str*"]) as tool:
        tool.wait_live(PATIENCE_MANY_S)
        assert of_run(tool) != []
        tool.send(number)
        tool.wait(PATIENCE_MANY_S)
    wait_until_none_is_of(tool)
    assert definitions(f"p:{OTHERS}/") == [others]
    assert in_tracefs("cat events/$1/place/enable", OTHERS).stdout == b"1\n"


@pytest.mark.needs("machine")
def test_no_definition_is_left_when_nothing_could_be_attached(workload):
    workload("vector", 1)
    with Tool([*ALWAYS, REFUSED]) as tool:
        check_refused(tool.wait(), 1, "attach to_ss: ")
    wait_until_none_is_of(tool)


@pytest.mark.thorough
@pytest.mark.needs("machine")
@pytest.mark.parametrize(
    "mounts,backend", [(UNMOUNT, "uprobe.event"), (MOUNT_READ_ONLY, "uprobe")], ids=["not mounted", "read-only"]
)
def test_tracefs_that_cannot_be_written_to_is_passed_over(mounts, backend, workload):
    work = workload("calls", 30, 0, 0)
    args = [*MANY, "-p", work.pid, "c:strc*"]
    with Live(["--debug", *args], wrap=with_mounts(mounts)) as tool:
        result = tool.end().ok()
    assert backends(result).keys() == {backend}, result
    with Live(args, wrap=with_mounts(mounts)) as tool:
        assert tool.so_far().err == ""
