# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pprof files: read by a strict reader of our own, and by Go's pprof, with the same sums.

The files are those that tests/unit/test_pprof.c makes, with one of everything that a profile can have.
"""

import gzip
import json
import os
import re
import socket
import subprocess
import time
import urllib.request
from collections import Counter
from contextlib import suppress

import pytest

import pprof
from tool import BUILD, GETPPID, PATIENCE_S, STACKCOUNT, TOP, Live, read_folded, stackcount


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{name: path} of files that the unit test writes."""
    folder = tmp_path_factory.mktemp("pprof")
    program = BUILD / "unit/test_pprof"
    subprocess.run(["make", "-s", f"BUILD={BUILD}", str(program)], cwd=TOP, check=True)
    subprocess.run([str(program), "write", str(folder)], check=True)
    return {path.name.removesuffix(".pb.gz"): path for path in folder.iterdir()}


def run_go(*args, check=True):
    environ = {**os.environ, "HOME": "/nonexistent", "PPROF_TMPDIR": "/nonexistent"}
    command = [pprof.go_pprof(), "-symbolize=none", *map(str, args)]
    run = subprocess.run(command, check=False, env=environ, capture_output=True, text=True, timeout=PATIENCE_S)
    assert not check or run.returncode == 0, run.stderr
    return run.stdout


def go_cumulated(path, symbolize):
    """{function: hits in it or below it} as -top shows them, and the sum of all."""
    environ = {**os.environ, "HOME": "/nonexistent", "PPROF_TMPDIR": "/nonexistent", "DEBUGINFOD_URLS": ""}
    command = [pprof.go_pprof(), f"-symbolize={symbolize}", "-top", "-cum", "-nodecount=10000", "-nodefraction=0", str(path)]
    run = subprocess.run(command, check=True, env=environ, capture_output=True, text=True, timeout=PATIENCE_S)
    total = int(re.search(r"of (\d+) total", run.stdout)[1])
    rows = re.findall(r"^ +\d+ +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +(.*?)(?: \(inline\))?$", run.stdout, re.M)
    return {name: int(count) for count, name in rows}, total


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [["-no-pie", "-fno-pic"], ["-pie", "-fPIE"]], ids=["no-pie", "pie"])
def test_go_names_the_functions_that_we_name(tmp_path, flags):
    """--no-names leaves symbols out. Go's pprof finds functions in local files that have DWARF, those of another run."""
    program, bare, named = tmp_path / "program", tmp_path / "bare.pb.gz", tmp_path / "named.pb.gz"
    sources = [TOP / "tests/workload" / name for name in ("syscalls.c", "work.c")]
    subprocess.run(["cc", "-std=gnu17", "-g", "-O1", "-D_GNU_SOURCE", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                    *flags, f"-I{TOP}/tests/workload", "-o", program, *sources, "-pthread", "-ldl"], check=True)
    for path, options in ((bare, ["--no-names"]), (named, [])):
        stackcount("-U", *options, "-o", path, GETPPID, "--", program, "getppid", 200, 2).ok()
    ours, expected = pprof.read(named), Counter()
    for locations, values, _ in ours.samples:
        mappings = {one: ours.locations[one]["mapping"] for one in locations}
        of_program = {ours.names(one)[0] for one in locations
                      if mappings[one] and ours.mappings[mappings[one]]["file"] == str(program)}
        for name in of_program:
            expected[name] += values[0]
    found, total = go_cumulated(bare, "local")
    assert {"main", "hit", "branch_a", "branch_b"} <= set(expected)
    expected.pop("_start", None)  # of assembly: DWARF has no function there
    assert {name: found.get(name) for name in expected} == expected
    assert total == sum(values[0] for _, values, _ in ours.samples)
    assert "hit" not in go_cumulated(bare, "none")[0]


@pytest.mark.thorough
def test_all_forms_of_a_run_have_the_sums_that_go_reads(workload, tmp_path):
    files = [tmp_path / f"a{ending}" for ending in (".folded", ".json", ".html", ".pb.gz", ".txt")]
    one = workload("syscalls", "getppid", 200, 2)
    with Live(["-p", one.pid, *(word for path in files for word in ("-o", path)), GETPPID]) as tool:
        total = sum(one.run().values())
        tool.end().ok()
    folded, json_file, page, packed, text = files
    of_folded = sum(count for _, count in read_folded(folded.read_text()))
    full = json.loads(json_file.read_text())
    assert of_folded == full["total"] == sum(stack["values"][0] for stack in full["stacks"]) == total
    assert {stack["pid"] for stack in full["stacks"]} == {one.pid} and full["slices"]
    assert {stack["comm"] for stack in full["stacks"]} == {"syscalls"}
    assert all(sum(count for _, count in stack["slices"]) == stack["values"][0] for stack in full["stacks"])
    assert sum(map(int, re.findall(r"^    (\d+)$", text.read_text(), re.M))) == total
    again = tmp_path / "again.pb.gz"
    subprocess.run([STACKCOUNT, "--read", "-o", again, page], check=True, timeout=PATIENCE_S)
    of_go, all_of_go = go_cumulated(packed, "none")
    assert all_of_go == go_cumulated(again, "none")[1] == total
    assert of_go["main"] == of_go["hit"] == total


def go_sums(path, number=0):
    """{frames of a stack, innermost first: sum} as -traces shows them."""
    sums = Counter()
    p = pprof.read(path)
    text = run_go("-traces", f"-sample_index={p.types[number][0]}", path)
    for block in text.split("-----------+-------------------------------------------------------\n")[1:]:
        stack = re.findall(r"^(?: +(-?\d+)(?:ns|B)?   |             )(.*)$", block, re.M)
        value = [int(count) for count, _ in stack if count]
        if value:
            sums[tuple(name.removesuffix(" (inline)") for _, name in stack)] += value[0]
    return sums


@pytest.mark.parametrize("name", ["full", "difference", "empty"])
def test_a_strict_reader_takes_them(files, name):
    p = pprof.read(files[name])
    assert p.default_type == "hits"
    assert (p.period_type, p.period) == ((("event", "count"), 1) if name == "full" else (("", ""), 0))
    assert len(p.comments) <= 12


def test_they_have_everything(files):
    p = pprof.read(files["full"])
    assert p.types == [("hits", "count"), ("latency", "nanoseconds"), ("size", "bytes")]
    assert p.time_ns == 1700000000123456789
    assert p.duration_ns == 2500000000
    assert p.own("command") == ["stackcount -p 'a b'"]
    assert p.own("loss") == ["12 no room for a new stack", f"{(2**64 - 1) // 3} nested too deep on one CPU"]
    assert p.own("slice") == ["0 1000000000 1000000000 2500000000"]
    assert (p.own("go"), p.own("jit")) == (["/usr/bin/gopher"], ["[anon]|perf-7.map"])
    labels = [dict((key, value) for key, value, _ in labels) for _, _, labels in p.samples]
    assert labels[0] == {"pid": 7, "comm": "tarä", "cgroup": "/a;b", "cpu": 3, "size": -4, "zero": 0, "slice": 0}
    assert labels[1]["slice"] == 1
    by_file = {mapping["file"]: mapping for mapping in p.mappings.values()}
    libc = by_file["/usr/lib/libc.so.6"]
    assert (libc["start"], libc["limit"], libc["offset"]) == (0x7F3A11C28000, 0x7F3A11D80000, 0x28000)
    assert libc["build_id"] == "deadbeef"
    assert {"[kernel.kallsyms]", "[ext4]", "[vdso]"} <= set(by_file)
    kernel = {p.mappings[one["mapping"]]["file"] for one in p.locations.values() if one["address"] >> 63}
    assert kernel == {"[kernel.kallsyms]", "[ext4]", "[nf_tables]"}


def test_one_location_has_all_inlined_functions(files):
    p = pprof.read(files["full"])
    stack = next(locations for locations, values, _ in p.samples if values[0] == 40)
    assert [p.names(location) for location in stack] == [["vfs_read"], ["entry_SYSCALL_64"], ["__read"], ["inner", "middle", "outer"]]


def test_addresses_are_where_the_mapping_has_the_file_offset(files):
    p = pprof.read(files["full"])
    location = next(one for number, one in p.locations.items() if p.names(number) == ["__read"])
    mapping = p.mappings[location["mapping"]]
    assert location["address"] - mapping["start"] + mapping["offset"] == 0xFE4FA + 0x20000


def test_marks_are_functions_at_no_address(files):
    """Those of kernel stacks are in the kernel's mapping, which all of its code is in."""
    p = pprof.read(files["full"])
    marks = {(p.names(number)[0], p.mappings[one["mapping"]]["file"] if one["mapping"] else "")
             for number, one in p.locations.items() if not one["address"]}
    assert marks == {("[cut: depth]", "[kernel.kallsyms]"), ("[cut: depth]", ""), ("[unverified: frame pointers]", "")}


def test_a_function_without_a_name_is_called_by_its_place(files):
    p = pprof.read(files["full"])
    (location,) = [one for number, one in p.locations.items() if p.names(number) == ["[prog+0x1200]"]]
    assert not p.mappings[location["mapping"]]["has_functions"]


def test_a_difference_has_values_before_it_negated(files):
    p = pprof.read(files["difference"])
    base = [values for _, values, labels in p.samples if ("pprof::base", "true", "") in labels]
    assert base == [[-7, -21], [-9, -27]]
    assert [values for _, values, labels in p.samples if not labels] == [[10, 20], [4, 8], [0, 0]]


@pytest.mark.thorough
@pytest.mark.parametrize("name, hits", [("full", 100074), ("difference", -2)])
def test_go_reads_the_same_sums(files, name, hits):
    p = pprof.read(files[name])
    assert sum(values[0] for _, values, _ in p.samples) == hits
    text = run_go("-top", "-nodecount=1000", "-nodefraction=0", "-trim=false", files[name])
    rows = [line.removesuffix(" (inline)").split() for line in text.splitlines() if re.match(r" +-?\d+ .*%", line)]
    flat = {row[-1]: int(row[0]) for row in rows}
    expected = Counter()
    for locations, values, _ in p.samples:
        if locations:
            expected[p.names(locations[0])[0]] += values[0]
    for function, value in expected.items():
        if function and " " not in function and value:
            assert flat[function] == value, function


@pytest.mark.thorough
def test_go_reads_the_same_stacks(files):
    ours = {tuple(name or "?" for name in stack): n for stack, n in pprof.read(files["difference"]).sums().items() if n}
    theirs = {tuple("?" if name.startswith(("[prog]", "<unknown>")) else name for name in stack): n
              for stack, n in go_sums(files["difference"]).items() if n}
    assert theirs == ours


@pytest.mark.thorough
def test_go_reads_raw_and_comments(files):
    p = pprof.read(files["full"])
    assert run_go("-comments", files["full"]).splitlines() == p.comments
    raw = run_go("-raw", files["full"])
    assert "hits/count[dflt] latency/nanoseconds size/bytes" in raw
    assert "Time: 2023-11-14 22:13:20.123456789" in raw
    assert re.search(r"0x7f3a11c28000/0x7f3a11d80000/0x28000 /usr/lib/libc\.so\.6 deadbeef \[FN\]", raw)


@pytest.mark.thorough
def test_go_writes_a_file_that_is_still_one(files, tmp_path):
    again = tmp_path / "again.pb.gz"
    run_go("-proto", f"-output={again}", files["full"])
    theirs = pprof.parse(gzip.decompress(again.read_bytes()))
    ours = pprof.read(files["full"])
    without_empty = {stack: n for stack, n in ours.sums().items() if stack}
    assert {stack: n for stack, n in theirs.sums().items() if stack} == without_empty
    assert theirs.comments == ours.comments


@pytest.mark.thorough
def test_go_shows_them_in_a_browser(files):
    """-http, on loopback, for one request of each view."""
    with socket.create_server(("127.0.0.1", 0)) as free:  # pprof takes port 0 as it is
        address = "127.0.0.1:%d" % free.getsockname()[1]
    command = [pprof.go_pprof(), "-symbolize=none", f"-http={address}", "-no_browser", str(files["full"])]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for view in ("top", "flamegraph"):
                deadline = time.monotonic() + PATIENCE_S
                while True:
                    with suppress(OSError):
                        page = urllib.request.urlopen(f"http://{address}/ui/{view}", timeout=PATIENCE_S).read()
                        break
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
                assert b"__vdso_clock_gettime" in page
        finally:
            server.kill()
