# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""stacksnoop --value: each event has the value of its own hit. The column of text is in tests/unit/test_event.c."""

import json
import re

import pytest
from snoop import live_snoop, trace
from sums import A, B
from tool import ROOTS, scaled, workload_path

pytestmark = pytest.mark.needs("uprobes")
WRITE = "t:syscalls:sys_enter_write"


def below_run(names):
    """@names, outermost first, below the workload's root."""
    roots = [i for i, name in enumerate(names) if name in ROOTS]
    return ";".join(names[names.index("run") + 1 :]) if roots and "run" in names else ""


def read_values(result):
    """{chain: [value, ...]} of --json, in the order of time; and the units."""
    found, units = {}, set()
    for line in result.ok().out.splitlines():
        event = json.loads(line)
        assert list(event)[4:6] == ["cpu", "value"], line
        units.add(event.get("unit"))
        found.setdefault(below_run([frame.get("name", "?") for frame in reversed(event["user"])]), []).append(event["value"])
    assert result.lost == 0, result.err
    return found, units


def values_of(work, *args):
    result, _ = trace(work, "-U", "--json", "-p", work.pid, *args)
    found, units = read_values(result)
    found.pop("", None)
    return found, units


@pytest.mark.needs("path of its own")
def test_a_field_of_a_tracepoint(workload):
    n = scaled(2_000, least=50)
    work = workload("values", "write", n)
    found, units = values_of(work, "--value", "count", WRITE)
    assert found == {A: [i % 1000 + 1 for i in range(n)], B: [7] * n}
    assert units == {"bytes"}


@pytest.mark.needs("kprobes", "way to kernel functions")
def test_events_with_the_value_at_different_places(workload):
    n = scaled(1_000, least=20)
    work = workload("values", "write", n)
    found, units = values_of(work, "--value", "count", "vfs_write", WRITE)
    assert found == {A: [i % 1000 + 1 for i in range(n) for _ in range(2)], B: [7] * 2 * n}
    assert units == {"bytes"}


@pytest.mark.thorough
def test_an_event_without_its_value_is_shown(workload):
    """A function that ends in a jump to another one has no result of its own there."""
    n = 120
    work = workload("returns", n)
    patterns = (f"r:{workload_path('returns')}:{name}" for name in ("tail", "exits"))
    result, _ = trace(work, "-U", "--json", "-p", work.pid, "--value", "retval", *patterns)
    assert result.ok().lost == 0, result
    words = "events have no value: it cannot be read, or is not known there"
    assert re.search(rf"^stacksnoop: {n} {words}$", result.err, re.M), result
    values = [json.loads(line)["value"] for line in result.out.splitlines()]
    assert len(values) == 2 * n and values.count(None) == n


def test_the_last_of_a_number_of_events(workload):
    work = workload("values", "write", 100)
    with live_snoop("-U", "-f", "-n", "5", "-p", work.pid, "--value", "count", WRITE) as tool:
        work.go()
        lines = tool.wait().ok().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["1", "7", "2", "7", "3"]
