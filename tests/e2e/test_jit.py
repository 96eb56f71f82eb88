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
from snoop import folded_chains, live_snoop, read_json
from text import parse_text
from tool import GETPPID, PATIENCE_S, Live, Tool, chains, read_folded, trace, workload_path

JIT = workload_path("jit")
NOBODY = 65534
ALL_ADDRESSES = f"0 {'f' * 15}"
SAID = r"^stackcount: /tmp/perf-{pid}\.map of process {pid} is not read: .*{words}"


@contextmanager
def map_at(path, make=None):
    """A map at @path, as @make puts it there, or a process; removed in the end."""
    path = Path(path)
    try:
        if make:
            make(path)
        yield path
    finally:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
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
def test_code_in_a_memfd(jit):
    work = jit("m", "=0:made", "@0:30")
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert expected == {chain("made"): 30} and chains(result.ok()) == expected, result


def test_verbose_shows_the_map_and_the_address_in_it(jit):
    work = jit("=0:made", "@0:3")
    result, _ = trace(work, "-U", "-v", "-s", "-p", work.pid, GETPPID)
    ((top, *_),) = [entry.frames for entry in parse_text(result.ok().out).entries]
    start, _, name = Path(f"/tmp/perf-{work.pid}.map").read_text().split()
    place = int(start, 16) + 11  # behind the system call
    assert top == f"{place:<16x} {name}+0xb perf-{work.pid}.map+0x{place:x}", result


ODD_NAMES = {
    "Lcom/x;::total": "Lcom/x_::total",
    "a\033[31mb\007": r"a\x1b[31mb\x07",
    "\udcff\udcfe": r"\xff\xfe",
    "-": "_",
    "_ZN3app4workEi": "_ZN3app4workEi",
    "JS:*f /srv/a b.js:1:2": "JS:*f /srv/a b.js:1:2",
}


def test_names_are_shown_raw_and_break_nothing(jit):
    work = jit(*(step for i, name in enumerate(ODD_NAMES) for step in (f"={i}:{name}", f"@{i}:{i + 1}")))
    result, _ = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    found = {parts[-1]: n for parts, n in read_folded(result.ok().out)}
    assert found == {shown: i + 1 for i, shown in enumerate(ODD_NAMES.values())}, result


def test_an_event_says_which_map(jit):
    work = jit("=0:made", "@0:3")
    with live_snoop("--json", "-U", "-p", work.pid, GETPPID) as tool:
        work.run()
        result = tool.end().ok()
    assert [event.chain for event in read_json(result.out)] == [chain("made")] * 3, result
    assert f'"module":"perf-{work.pid}.map"' in result.out, result


def test_a_name_that_is_told_late(jit):
    """stacksnoop looks for it again, a second later at most."""
    work = jit("@0:5", ",", "=0:late", ",", "@0:5")
    with live_snoop("-U", "-f", "-p", work.pid, GETPPID) as tool:
        work.go()
        tool.wait_for("stdout", rb"(.*call_made;\[unknown\] 1\n){5}")
        work.go().wait_for("paused")
        time.sleep(1.1)
        work.go().finish()
        result = tool.end().ok()
    assert folded_chains(result.out)[0] == {chain("[unknown]"): 5, chain("late"): 5}, result


@pytest.mark.parametrize("how", "=~", ids=["appended", "anew"])
def test_a_function_in_the_place_of_another(jit, how):
    """The later line counts, for all hits of a report."""
    work = jit("=0:first", "@0:100", f"{how}0:second", "@0:50")
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert expected == {chain("first"): 100, chain("second"): 50}
    assert chains(result.ok()) == {chain("second"): 150}, result


@pytest.mark.thorough
def test_what_was_named_in_an_interval_stays_so(jit):
    work = jit("=0:first", "@0:10", ",", "=0:second", ",", "@0:20")
    with Live(["-U", "-f", "-i", "0.5", "-p", work.pid, GETPPID]) as tool:
        work.go().wait_for("paused")
        tool.wait_for_sum(rb"first (\d+)$", 10)
        work.go().wait_for("paused")
        tool.drain()
        work.go()
        expected = work.finish()
        result = tool.end().ok()
    assert chains(result) == expected == {chain("first"): 10, chain("second"): 20}, result


# --- that end at once, or are elsewhere ---


@pytest.mark.walk("fp")
@pytest.mark.parametrize("wrap", [[], ["setpriv", f"--reuid={NOBODY}", "--clear-groups"]], ids=["root", "nobody"])
def test_processes_that_end_at_once(wrap):
    """Over, most of them, when they are heard of: their user is known from the hit. Their maps go before the report."""
    n, own = 20, f"made{os.getpid()}"
    with Live(["-U", "-f", GETPPID]) as tool:
        processes = [subprocess.Popen([*wrap, JIT, "--quiet", f"=0:{own}_{i % 2}", "@0:3"]) for i in range(n)]
        assert [process.wait(PATIENCE_S) for process in processes] == [0] * n
        tool.drain()
        for process in processes:
            os.unlink(f"/tmp/perf-{process.pid}.map")
        result = tool.end().ok()
    found = {parts[-1]: count for parts, count in read_folded(result.out) if parts[-1].startswith(own)}
    assert found == {f"{own}_0": 3 * n // 2, f"{own}_1": 3 * n // 2}, result


@pytest.mark.parametrize("where", ["outside", "inside"])
def test_a_container(tmp_path, where):
    """Its own root, its own number: others' files of that number, or of its number here, are not its."""
    own = f"made{os.getpid()}"
    with Contained("jit", tmp_path, f"=0:{own}", "@0:30", own_pids=True) as work:
        enter = ["nsenter", "-t", str(work.pid), "-m"] if where == "inside" else []
        (Path(f"/proc/{work.pid}/root") / "tmp").mkdir()
        names_all("wrong")(Path(f"/proc/{work.pid}/root/tmp/perf-{work.pid}.map"))
        with map_at("/tmp/perf-1.map", names_all("wrong")):
            with map_at(f"/tmp/perf-{work.pid}.map", names_all("wrong")):
                with Live(["-U", "-f", GETPPID], wrap=enter) as tool:
                    expected = work.run()
                    tool.drain()
                    work.close()
                    result = tool.end().ok()
    found = {known: n for known, n in chains(result).items() if known.endswith((own, "wrong"))}
    assert found == expected == {chain(own): 30}, result


def test_an_agent_may_write_it_outside(tmp_path):
    """Where the process has none, by its number here."""
    with Contained("jit", tmp_path, "@0:30", own_pids=True) as work:
        with map_at(f"/tmp/perf-{work.pid}.map", names_all("by_an_agent")):
            with Live(["-U", "-f", "-p", work.pid, GETPPID]) as tool:
                work.run()
                result = tool.end().ok()
    assert chains(result) == {chain("by_an_agent"): 30}, result


# --- refused ---


def of_another(path):
    names_all("wrong")(path)
    os.chown(path, 4242, 4242)


# Which files are refused is in tests/unit/test_jit.c and test_perf_map.c.
REFUSED = {
    "user": (of_another, "it is user 4242's, and the process is user 0's"),
    "fifo": (os.mkfifo, "it is not a regular file"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_is_said_once_and_blocks_nothing(workload, kind):
    make, words = REFUSED[kind]
    work = workload("jit", "@0:10", ",", "@1:5")
    with map_at(f"/tmp/perf-{work.pid}.map", make), Live(["-U", "-f", "-p", work.pid, GETPPID]) as tool:
        work.go().wait_for("paused")
        tool.drain()
        work.go()
        work.finish()
        result = tool.end().ok()
    assert chains(result) == {chain("[unknown]"): 15}, result
    assert len(re.findall(SAID.format(pid=work.pid, words=words), result.err, re.M)) == 1, result


def test_garbage_is_passed_over(workload):
    work = workload("jit", "=0:made", "@0:10")
    lines = [os.urandom(1 << 16).replace(b"\n", b""), b"x", b"1000", b"", b"0" * 100000, b"1000 0 empty"]
    with map_at(f"/tmp/perf-{work.pid}.map", lambda path: path.write_bytes(b"\n".join([*lines, b""]))):
        result, expected = trace(work, "-U", "-f", "--debug", "-p", work.pid, GETPPID)
    assert chains(result.ok()) == expected == {chain("made"): 10}, result
    assert f"perf-{work.pid}.map of process {work.pid}: {len(lines)} lines are not of the form" in result.err, result


@pytest.mark.parametrize("owner, name", [(NOBODY, "made"), (0, "made"), (4242, "[unknown]")])
def test_whose_file_it_is(owner, name):
    """Of a process that is not root's: its user's and root's are taken."""
    command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", JIT, "--wait", "@0:10"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        with map_at(f"/tmp/perf-{process.pid}.map", names_all("made")) as path:
            os.chown(path, owner, 0)
            with Live(["-U", "-f", "-p", process.pid, GETPPID]) as tool:
                process.communicate(b"\n", timeout=PATIENCE_S)
                result = tool.end().ok()
    finally:
        process.kill()
        process.wait()
    assert chains(result) == {chain(name): 10}, result


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


HOT_CLASS = """
public class Hot {
	static void innermost() { Thread.yield(); }
	static void between(int n) { for (int i = 0; i < n; i++) innermost(); }
	static void outermost() { for (int i = 0; i < 40; i++) between(500); }
	public static void main(String[] arguments) throws Exception {
		outermost(); // what it calls is known from here on
		System.out.println("ready");
		System.in.read();
		outermost();
		System.out.println("done");
		System.in.read();
		System.in.read();
	}
}
"""


@pytest.mark.thorough
@pytest.mark.needs("uprobes")
def test_java(tmp_path):
    """Its map is written as a whole, when it is asked for: after the hits."""
    (tmp_path / "Hot.java").write_text(HOT_CLASS)
    subprocess.run(["javac", "Hot.java"], cwd=tmp_path, check=True)
    options = ["-Xcomp", "-XX:-Inline", "-XX:CompileCommand=compileonly,Hot::*", "-XX:+PreserveFramePointer"]
    java = subprocess.Popen(
        ["java", *options, "Hot"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    try:
        while java.stdout.readline() != b"ready\n":
            assert java.poll() is None
        maps = Path(f"/proc/{java.pid}/maps").read_text()
        (library,) = set(re.findall(r"/\S*/libjvm\.so$", maps, re.M))
        with map_at(f"/tmp/perf-{java.pid}.map"), Live(["-f", "-p", java.pid, f"{library}:JVM_Yield"]) as tool:
            java.stdin.write(b"\n")
            assert java.stdout.readline() == b"done\n"
            subprocess.run(["jcmd", str(java.pid), "Compiler.perfmap"], check=True, capture_output=True)
            result = tool.end().ok()
    finally:
        java.kill()
        java.communicate()
    found = Counter()
    for parts, n in read_folded(result.out):
        found[tuple(re.findall(r"Hot\.(outermost|between|innermost)\(", ";".join(parts)))] += n
    assert found == {("outermost", "between", "innermost"): 20000}, result
