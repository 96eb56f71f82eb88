# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--sum: sums and counts are exactly those of a workload that knows its values; and --value of stacksnoop."""

import json
import re
import subprocess

import pytest
from folded import parse_line
from names import run
from sums import A, B, below, below_run, read_sums, rows_of, sizes
from tool import PATIENCE_S, ROOTS, STACKCOUNT, STACKSNOOP, Result, check_refused, read_folded, scaled, stackcount, trace, user_chain
from tool import workload_path

pytestmark = pytest.mark.needs("uprobes")
WRITE = "t:syscalls:sys_enter_write"


def read_files(*args):
    command = [STACKCOUNT, "--read", *map(str, args)]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
    return Result(command, done.stdout, done.stderr, done.returncode).ok()


def sums_of(work, *args):
    result, expected = trace(work, "-U", "--format", "json", *args)
    assert result.lost == 0, result
    return (*read_sums(result), below_run(expected))


@pytest.mark.needs("path of its own")
def test_field_of_a_tracepoint(workload, tmp_path):
    """In intervals, and in the file of the run."""
    n = scaled(200_000)
    work = workload("values", "write", n, cpus=[0, 1])
    args = ["-U", "--format", "json", "-o", tmp_path / "run.json", "-i", "0.05", "-p", work.pid, "--sum", "count", WRITE]
    result, expected = trace(work, *args)
    assert result.ok().lost == 0
    reports = [json.loads(line) for line in result.out.splitlines()]
    assert reports[0]["values"] == [{"name": "count", "unit": "bytes"}, {"name": "hits", "unit": "count"}], reports[0]["values"]
    total = below("", (2 * sizes(n), 14 * n))
    for value, wanted in ((0, total), (1, below_run(expected))):
        rows = [rows_of(report, value) for report in reports]
        assert {chain: sum(row.get(chain, 0) for row in rows) for chain in wanted} == wanted
    run = json.loads((tmp_path / "run.json").read_text())
    assert rows_of(run) == total and rows_of(run, 1) == below_run(expected) == {A: 2 * n, B: 2 * n}
    parts = sum(part for stack in run["stacks"] for _, part in stack.get("slices", []))
    assert parts == run["total"] >= sum(total.values())


def test_unit_that_some_events_have_is_unknown():
    """Both have the field at one place. One has the type size_t."""
    events = [f"t:syscalls:sys_enter_{name}" for name in ("munmap", "mmap")]
    result = stackcount("--format", "json", "--sum", "len", *events, "--", "true").ok()
    assert json.loads(result.out)["values"][0] == {"name": "len", "unit": None}


def test_two_tracepoints_with_values_at_different_places(workload):
    """They have one row: each hit adds its own value."""
    n = scaled(1_000)
    work = workload("values", "write", n)
    sums, counts, _, _ = sums_of(work, "-p", work.pid, "--sum", "-count", WRITE, "t:syscalls:sys_enter_re*")
    assert sums == below("", (-sizes(n), -7 * n))
    assert counts == below("", (n, n))


@pytest.mark.needs("unwinding")
def test_deferred_hits_bring_their_values():
    """The program is new, so its first hits wait for its tables."""
    n = 50
    command = [workload_path("values"), "--quiet", "write", n]
    result = stackcount("-U", "--format", "json", "--sum", "count", WRITE, "--", *command)
    sums, counts, _ = read_sums(result)
    assert result.lost == 0, result
    assert counts == below("", (n, n)) and sums == below("", (sizes(n), 7 * n))


def test_each_form_shows_the_sum(workload, tmp_path):
    n = 1_000
    work = workload("values", "write", n)
    names = ["x.txt", "x.folded", "x.pb.gz", "x.html", "x.tree", "x.json"]
    files = [tmp_path / name for name in names]
    result, _ = trace(work, "-U", *(word for file in files for word in ("-o", file)), "-p", work.pid, "--sum", "count", WRITE)
    assert result.ok().lost == 0
    document = json.loads((tmp_path / "x.json").read_text())
    total = document["total"]
    text, folded, _, _, tree, _ = [file.read_bytes().decode("latin-1") for file in files]
    assert f"\n    {sizes(n)} bytes ({n} hits)\n" in text
    assert below_run({user_chain(parts): count for parts, count in map(parse_line, folded.splitlines())}).items() >= below("", (sizes(n), 7 * n)).items()
    assert re.search(rf"^ +COUNT .*\n +{total} ", tree, re.M), tree
    for name in ("x.pb.gz", "x.html"):
        again = read_files("--format", "json", tmp_path / name)
        assert json.loads(again.ok().out)["values"] == document["values"]
        assert read_sums(again)[:2] == (below("", (sizes(n), 7 * n)), below("", (n, n)))
    twice = read_files("--format", "json", tmp_path / "x.pb.gz", tmp_path / "x.pb.gz")
    assert read_sums(twice)[:2] == (below("", (2 * sizes(n), 14 * n)), below("", (2 * n, 2 * n)))
    difference = read_files("-f", tmp_path / "x.pb.gz", "--minus", tmp_path / "x.pb.gz")
    assert f" {sizes(n)} {sizes(n)}\n" in difference.out
    chosen = read_files("-f", "--min", 7 * n + 1, tmp_path / "x.pb.gz")
    assert [count for _, count in read_folded(chosen.out)] == [sizes(n)]


def test_lv_lists_the_values_of_an_event():
    assert stackcount("-l", WRITE).ok().out == f"{WRITE}\n", "without -v"
    lines = run("funccount", "-lv", WRITE).ok().out.splitlines()
    # Linux 7.0 has another type for the buffer.
    assert [re.sub(" +", " ", line) for line in lines if " buf " not in line] == [
        WRITE, " __syscall_nr int s32", " fd unsigned int u32", " count size_t u64 bytes",
    ]


def test_the_list_has_the_events_with_the_value():
    every = sorted(stackcount("-l", "t:syscalls:sys_*_write").ok().out.split())
    result = stackcount("-l", "--sum", "count", "t:syscalls:sys_*_write").ok()
    assert every == ["t:syscalls:sys_enter_write", "t:syscalls:sys_exit_write"], every
    assert result.out.split() == every[:1] and "1 of 2 have no value 'count'" in result.err, result
    check_refused(stackcount("-l", "--sum", "nix", WRITE), 1, r"no field 'nix'\n  nix\n  \^\n$", lines=3)


MANY = f"{workload_path('values')}:many"


def series(n):
    return n * (n - 1) // 2


def test_arguments_of_user_functions(workload):
    """The first one and those on the stack are in test_matrix.py."""
    n, expression = 500, "arg3 - 2 * arg2 + (signed char)arg4"
    work = workload("values", "call", n)
    sums, counts, name, expected = sums_of(work, "-p", work.pid, "--sum", expression, MANY)
    assert name == (expression, None)
    assert sums == below(";many", (series(n) - n, series(n) - n))
    assert counts == {f"{chain};many": count for chain, count in expected.items()}


@pytest.mark.needs("path of its own")
def test_results_of_user_functions(workload):
    """Without the cast, the register's upper half, which the function leaves at 0, makes -11 another number."""
    n = 500
    for expression, wanted in (("(int)retval", (-series(n), series(n))), ("retval", ((n - 1 << 32) - series(n), series(n)))):
        work = workload("values", "call", n)
        sums, counts, _, _ = sums_of(work, "-p", work.pid, "--sum", expression, f"r:{MANY}")
        assert sums == below(";many", wanted)
        assert counts == below(";many", (n, n))


def test_a_result_that_another_function_returns_is_lost(workload):
    """A function that ends in a jump to another one has no result of its own there."""
    n = 120
    work = workload("returns", n)
    tail, exits = (f"r:{workload_path('returns')}:{name}" for name in ("tail", "exits"))
    result, _ = trace(work, "-U", "--format", "json", "-p", work.pid, "--sum", "retval", tail, exits)
    document = json.loads(result.ok().out)
    hits = sum(stack["values"][1] for stack in document["stacks"])
    assert document["losses"] == [{"reason": "their value cannot be read, or is not known there", "count": 2 * n - hits}]
    assert hits == n


HIT = f"u:{workload_path('places')}:places:hit"

# Sums of N hits. The first argument is at two places, where the second one is a 7.
OF_PROBE = {
    "arg1": lambda n: 7 * n - series(n),
    "arg3 * 2 - arg2 + arg4 + arg5 + arg6": lambda n: 2 * (series(n) - 5 * n) + 3 * n + sum(i % 4 for i in range(n)) + 144 * n,
}


@pytest.mark.needs("path of its own")
@pytest.mark.parametrize("expression", OF_PROBE)
def test_arguments_of_usdt_probes(workload, expression):
    """Each kind of place in the notes: registers, numbers and memory."""
    n = 100
    work = workload("places", n)
    result, expected = trace(work, "-U", "--format", "json", "-p", work.pid, "--sum", expression, HIT)
    document = json.loads(result.ok().out)
    assert document["total"] == OF_PROBE[expression](n), result
    hits = sum(stack["values"][1] for stack in document["stacks"])
    assert hits == n * (2 if expression == "arg1" else 1) and result.lost == 0, result


KERNEL = [
    ("count", "vfs_write", "write"),
    ("retval", "r:vfs_write", "write"),
    ("retval", "r:ksys_read", "read"),
]


@pytest.mark.parametrize(
    ("expression", "event", "kind"),
    [pytest.param(*row, marks=pytest.mark.needs("kernel returns" if row[1].startswith("r:") else "kprobes"), id=" ".join(row)) for row in KERNEL],
)
def test_arguments_and_results_of_kernel_functions(workload, expression, event, kind):
    n = scaled(2_000)
    work = workload("values", kind, n)
    sums, counts, name, _ = sums_of(work, "-p", work.pid, "--sum", expression, event)
    wanted = (sizes(n), 7 * n) if kind == "write" else (-9 * n, sum(i % 100 for i in range(n)))
    assert sums == below("", wanted) and counts == below("", (n, n))
    assert name == (expression, "bytes")


@pytest.mark.needs("path of its own")
def test_the_verifier_takes_the_code(workload):
    """Of a value that needs much: nested, divided, read from the stack."""
    n = 10
    work = workload("values", "call", n)
    sums, _, _, _ = sums_of(work, "-p", work.pid, "--sum", "((arg7 - 1000) / 3 * 3 + (arg7 - 1000) % 3) * (1 + (2 * (3 - (int)arg8 / -7 * 3)))", MANY)
    assert sums == below(";many", (series(n), series(n)))


# --- each event has the value of its own hit; the column of text is in tests/unit/test_event.c ---


def chain_of(names):
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
        found.setdefault(chain_of([frame.get("name", "?") for frame in reversed(event["user"])]), []).append(event["value"])
    assert result.lost == 0, result.err
    return found, units


def values_of(work, *args):
    result, _ = trace(work, "-U", "--json", "-p", work.pid, *args, program=STACKSNOOP)
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
