# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Thousands of functions: attached, counted and taken away."""

import os
import re
from collections import Counter
from pathlib import Path

import elf
import pytest
from elf import write_program
from text import parse_text
from tool import Live, check_refused, stackcount, workload_path

LIMIT = 200_000  # of places in a run


@pytest.mark.needs("uprobes")
def test_60000_functions_are_listed(tmp_path):
    program = write_program(tmp_path / "many", 60_000)
    lines = stackcount("-lr", f"{program}:.").ok().out.splitlines()
    assert lines == [f"{program}:{elf.name(i)}" for i in range(60_000)]


@pytest.mark.needs("uprobes")
def test_patterns_that_pass_the_limit_together_are_refused(tmp_path):
    few, many = write_program(tmp_path / "few", 10), write_program(tmp_path / "many", LIMIT - 5)
    result = stackcount("-l", f"{few}:*", f"{many}:*")
    check_refused(result, 1, rf"many:\*' and the patterns before it match more than {LIMIT} places\n")


def test_all_kernel_functions_are_listed():
    lines = stackcount("-l", "*").ok().out.splitlines()
    assert len(lines) > 20_000 and "vfs_read" in lines


THOUSANDS = [
    pytest.param("c:*", 1000, marks=pytest.mark.needs("machine", "uprobe.multi"), id="user functions"),
    pytest.param("s*", 1000, marks=pytest.mark.needs("kprobe.multi"), id="kernel functions"),
    pytest.param("ext4_*", 400, marks=pytest.mark.needs("kprobe.multi"), id="functions of a module"),
]


@pytest.mark.needs("newest kernel")
@pytest.mark.parametrize("pattern,least", THOUSANDS)
def test_thousands_of_functions_take_no_event_each(workload, pattern, least):
    """One function that the kernel refuses does not cost the others."""
    work = workload("calls", 1, 0, 0)  # c: is what this process has mapped
    with Live(["-p", work.pid, pattern]) as tool:
        n_events = tool.n_perf_events()
        result = tool.end().ok()
    assert parse_text(result.out).n_functions > least
    assert n_events <= 3 * os.cpu_count() + 1  # those that follow processes


REFUSED = f"{workload_path('vector')}:to_ss"


@pytest.mark.needs("uprobes", "path of its own")
def test_refused_functions_are_told(workload):
    """The kernel looks at its first instruction where a process has it mapped."""
    workload("vector", 1)
    result = stackcount("--debug", "-D", "0.1", REFUSED, "c:pthread_spin_unlock").ok()
    assert re.findall(r"refused: (\S+): ", result.err) == ["to_ss"], result
    assert "1 of 2 could not be traced" in result.err, result
    check_refused(stackcount("-D", "0.1", REFUSED), 1, "^stackcount: attach to_ss: ")


def namesakes():
    """{name: how many functions of it ftrace can trace}, of those that kallsyms has more of."""
    def names(path, column):
        return Counter(line.split()[column] for line in Path(path).read_text().splitlines())

    traceable = names("/sys/kernel/tracing/available_filter_functions", 0)
    symbols = names("/proc/kallsyms", 2)
    return {name: n for name, n in traceable.items() if symbols[name] > n}


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes", "site addresses")
def test_namesakes_that_cannot_be_traced_do_not_cost_the_one_that_can():
    name, n = next(iter(namesakes().items()))
    result = stackcount("-D", "0.2", f"[{name[0]}]{name[1:]}").ok()
    assert parse_text(result.out).n_functions == n and "could not be traced" not in result.err
