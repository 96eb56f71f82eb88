# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Code that programs make as they run: named by their perf maps, and by no other file."""

import os
import re
import subprocess
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from contained import Contained
from tool import GETPPID, STACKSNOOP, Live, Tool, chains, check_own, read_folded, trace

ALL_ADDRESSES = f"0 {'f' * 15}"


@contextmanager
def map_at(path, make=None):
    """A map at @path, as @make puts it there, or a process; removed in the end."""
    path = Path(path)
    try:
        if make:
            make(path)
        yield path
    finally:
        path.unlink(missing_ok=True)


def names_all(name):
    """Makes a map by which every address is @name."""
    return lambda path: path.write_text(f"{ALL_ADDRESSES} {name}\n")


@pytest.fixture
def jit(workload):
    """jit(STEP...) starts one; its map is removed in the end."""
    started = []

    def start(*steps):
        started.append(workload("jit", *steps))
        return started[-1]

    yield start
    for work in started:
        Path(f"/tmp/perf-{work.pid}.map").unlink(missing_ok=True)


def chain(name):
    return f"main;work_run;run;call_place;call_made;{name}"


# --- named ---


def test_a_function_of_a_map(jit):
    work = jit("=0:first", "=1:second", "@0:30", "@1:20", "@2:10")
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert expected == {chain("first"): 30, chain("second"): 20, chain("[unknown]"): 10}
    assert chains(result.ok()) == expected, result


@pytest.mark.needs("path of its own")
@pytest.mark.walk("fp")
def test_events_soon_have_another_name_of_the_map(jit):
    work = jit("=0:first", "@0:1", ",", "=0:second", *["@0:1", ","] * 1000)
    with Live(["-U", "-f", "-p", work.pid, GETPPID], program=STACKSNOOP) as tool:
        for _ in range(1001):
            work.go().wait_for("paused")
            tool.drain()
            if b";second " in tool.bytes("stdout"):
                break
            time.sleep(0.02)
        result = tool.end().ok()
    assert re.search(r"(?s);first .*;second ", result.out), result


@pytest.mark.needs("path of its own")
@pytest.mark.walk("fp")
def test_code_in_a_memfd(jit):
    """And what has no name has its place with -v."""
    work = jit("m", "=0:made", "@0:30")
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert expected == {chain("made"): 30} and chains(result.ok()) == expected, result
    work = jit("@0:20", "m", "@0:10")
    result, _ = trace(work, "-U", "-f", "-v", "-p", work.pid, GETPPID)
    tops = {re.sub(r"\+0x[0-9a-f]+$", "", parts[-1]): n for parts, n in read_folded(result.ok().out)}
    assert tops == {"[unknown] [anon]": 20, "[unknown] memfd:made": 10}, result


# --- that end at once, or are elsewhere ---


def test_a_container(tmp_path):
    """Its own root, its own number: others' files of that number, or of its number here, are not its."""
    own = f"made{os.getpid()}"
    with Contained("jit", tmp_path, f"=0:{own}", "@0:30", own_pids=True) as work:
        (Path(f"/proc/{work.pid}/root") / "tmp").mkdir()
        names_all("wrong")(Path(f"/proc/{work.pid}/root/tmp/perf-{work.pid}.map"))
        with map_at("/tmp/perf-1.map", names_all("wrong")):
            with map_at(f"/tmp/perf-{work.pid}.map", names_all("wrong")):
                with Live(["-U", "-f", GETPPID]) as tool:
                    expected = work.run()
                    tool.drain()
                    work.close()
                    result = tool.end().ok()
    found = {known: n for known, n in chains(result).items() if known.endswith((own, "wrong"))}
    assert expected == {chain(own): 30} and not [known for known in found if known.endswith("wrong")], result
    check_own(result, found, expected)


# --- refused ---


def of_another(path):
    names_all("wrong")(path)
    os.chown(path, 4242, 4242)


def test_what_is_refused_is_said_once(workload):
    """Which files are is in tests/unit/test_jit.c and test_perf_map.c."""
    work = workload("jit", "@0:10", ",", "@1:5")
    with map_at(f"/tmp/perf-{work.pid}.map", of_another), Live(["-U", "-f", "-p", work.pid, GETPPID]) as tool:
        work.go().wait_for("paused")
        tool.drain()
        work.go()
        work.finish()
        result = tool.end().ok()
    assert chains(result) == {chain("[unknown]"): 15}, result
    said = rf"^stackcount: /tmp/perf-{work.pid}\.map of process {work.pid} is not read: .*it is user 4242's, and the process is user 0's"
    assert len(re.findall(said, result.err, re.M)) == 1, result


# --- real compilers ---


HOT = """
const fs = require('fs');
function innermost() { process.getegid(); }
function between(n) { for (let i = 0; i < n; i++) innermost(); }
function outermost() { for (let i = 0; i < 40; i++) between(500); }
outermost(); // what it calls is known from here on
console.error('ready');
fs.readSync(0, Buffer.alloc(1));
outermost();
"""


@pytest.mark.thorough
@pytest.mark.needs("uprobes", "node")
def test_node(tmp_path):
    """Its compiler maps code, of which the tool may hear late."""
    program = tmp_path / "hot.js"
    program.write_text(HOT)
    options = ["--perf-basic-prof", "--interpreted-frames-native-stack", "--no-turbo-inlining"]
    with Tool(["-f", "c:getegid", "--", "node", *options, program], stdin=subprocess.PIPE, cwd=tmp_path) as tool:
        tool.wait_for("stderr", rb"^ready$")
        tool.drain()
        tool.process.stdin.write(b"\n")
        tool.process.stdin.close()
        result = tool.wait().ok()
    for path in Path("/tmp").glob("perf-*.map"):
        with suppress(OSError):  # somebody else's, which may be anything
            if str(program) in path.read_text(errors="replace"):
                path.unlink()
    whole, cut = Counter(), 0
    for parts, n in read_folded(result.out):
        ours = tuple(re.findall("outermost|between|innermost", " ".join(part for part in parts if f" {program}:" in part)))
        if parts[0] == "[cut: no mapping]" and len(ours) < 3:
            cut += n
        elif ours:
            whole[ours] += n
    assert set(whole) == {("outermost", "between", "innermost")}, result
    assert 40000 <= whole.total() + cut < 40100, result  # node itself calls it a few times
