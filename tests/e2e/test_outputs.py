# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files of -o: their forms, that they are whole or not there, whom they belong to, and --read."""

import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import termios
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pprof
import pytest
from text import parse_text
from tool import GETPPID, PATIENCE_S, STACKCOUNT, Live, Workload, chains, check_account, check_refused, read_folded
from tool import stackcount, wait_until, workload_path

NOBODY = 65534


def count_lines(text):
    return Counter({";".join(frames): count for frames, count in read_folded(text)})


def lines(path):
    return count_lines(Path(path).read_text())


def run_on(workload, *args, n=200, times=2, during=None):
    """A run on a workload that knows the answer: its chains, and the run's result."""
    one = workload("syscalls", "getppid", n, times)
    with Live(["-p", one.pid, *args, GETPPID]) as tool:
        expected = one.run()
        if during:
            during(tool)
        return expected, tool.end()


# -- Forms. --


def test_a_file_alone_leaves_only_the_header_for_standard_output(workload, tmp_path):
    path = tmp_path / "a.folded"
    expected, result = run_on(workload, "-U", "-o", path)
    result.ok()
    assert result.out.count("\n") == 1 and result.out.startswith("Tracing ")
    assert sum(lines(path).values()) == sum(expected.values())
    assert list(tmp_path.iterdir()) == [path]


def test_the_top_of_each_output_is_its_own(tmp_path):
    """The file has processes apart, folded output has not: there, three processes make one stack."""
    folded = tmp_path / "a.folded"
    work = workload_path("syscalls")
    script = " && ".join(f"{work} --quiet getppid {n} 0" for n in (30, 30, 50))
    outputs = ("-o", tmp_path / "a.pb.gz", "-o", folded)
    stackcount("-U", "--unwind", "fp", "--top", "1", *outputs, GETPPID, "--", "sh", "-c", script).ok()
    assert list(lines(folded).values()) == [110]
    assert list(count_lines(read_well(tmp_path / "a.pb.gz", "-f")).values()) == [50]


def test_a_run_that_is_refused_leaves_no_file(tmp_path):
    result = stackcount("-o", tmp_path / "b.folded", "-o", tmp_path / "nowhere/a.txt", GETPPID)
    check_refused(result, 1)
    assert list(tmp_path.iterdir()) == []


# -- Whole or not at all. --


def test_a_run_that_is_killed_leaves_nothing(workload, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before\n")
    _, result = run_on(workload, "-o", path, "-o", tmp_path / "b.folded", during=lambda tool: tool.send(signal.SIGKILL))
    assert result.status == -signal.SIGKILL
    assert path.read_text() == "before\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_ends_the_run_with_an_error(workload, small_disk, tmp_path):
    disk = small_disk("64k")
    path, other = disk / "a.folded", tmp_path / "b.folded"
    path.write_text("before\n")
    (disk / "full").write_bytes(b"x" * 15 * 4096)
    expected, result = run_on(workload, "-U", "-o", path, "-o", other, "-o", "-", "--format", "folded")
    assert result.status == 1, result
    assert f"write to {path}: No space left on device" in result.err
    assert path.read_text() == "before\n"
    assert sorted(p.name for p in disk.iterdir()) == ["a.folded", "full"]
    assert chains(result) == expected and count_lines(result.out) == lines(other), "the other outputs are whole"


def test_a_report_of_a_file_that_cannot_be_written_is_an_error(small_disk, saved):
    disk, kept = small_disk("64k"), saved / "a.pb.gz"
    for form in ("text", "folded", "tree", "json", "html", "pprof"):
        with open("/dev/full", "w") as full:
            done = subprocess.run([STACKCOUNT, "--read", "--format", form, kept], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=PATIENCE_S, check=False)
        assert done.returncode == 1 and "write to standard output: No space left on device" in done.stderr, (form, done)
    (disk / "full").write_bytes(b"x" * 16 * 4096)
    status, _, err = read("-o", disk / "b.html", kept)
    assert status == 1 and "No space left on device" in err, err


def test_a_fifo_is_written_through(workload, tmp_path):
    path = tmp_path / "pipe.folded"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    expected, result = run_on(workload, "-U", "-o", path)
    reader.join(PATIENCE_S)
    result.ok()
    assert sum(count for _, count in read_folded(read[0])) == sum(expected.values())
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_file_of_an_interval_that_fails_costs_no_other_output_its_hits(small_disk, tmp_path):
    """The run ends then. The file of the whole run and standard output have all of it."""
    disk = small_disk("64k")
    whole = tmp_path / "whole.pb.gz"
    outputs = ["-o", disk / "%s.json", "-o", whole, "--format", "folded"]
    with Live(["-p", os.getpid(), "-U", "-i", "0.2", *outputs, GETPPID]) as tool:
        for _ in range(1000):
            os.getppid()
        with suppress(OSError), open(disk / "full", "wb", buffering=0) as full:
            while True:
                full.write(b"x" * 512)
        result = tool.wait()
    assert result.status == 1 and ".json: No space left on device" in result.err.splitlines()[-1], result
    total = sum(count_lines(read_well(whole, "-f")).values())
    assert total >= 1000
    assert sum(count for _, count in read_folded(result.out)) == total


# -- Whose file. --


def test_whose_a_file_is(workload, tmp_path):
    """
    A new one is the user's, by umask. One that is there keeps its owner and permissions. A link is replaced and its target
    stays, or somebody's link in a folder of all users would have root write over any file.
    """
    new, old, link, to_nothing = (tmp_path / name for name in ("new.txt", "old.txt", "link.txt", "nothing.txt"))
    target, missing = tmp_path / "target", tmp_path / "missing"
    for path in (old, target):
        path.write_text("before\n")
    old.chmod(0o604)
    os.chown(old, NOBODY, NOBODY)
    link.symlink_to(target)
    to_nothing.symlink_to(missing)
    before = os.umask(0o027)
    try:
        run_on(workload, *(word for path in (new, old, link, to_nothing) for word in ("-o", path)))[1].ok()
    finally:
        os.umask(before)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640
    now = old.stat()
    assert (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid) == (0o604, NOBODY, NOBODY) and old.read_text() != "before\n"
    assert not link.is_symlink() and not to_nothing.is_symlink() and link.stat().st_size and to_nothing.stat().st_size
    assert target.read_text() == "before\n" and not missing.exists()


def test_another_user_s_directory(workload, tmp_path):
    """As with sudo: the main process has given up what root may do there, but for this."""
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    os.chown(place, NOBODY, NOBODY)
    run_on(workload, "-o", place / "a.txt", "-i", "0.2", "-o", place / "%s.folded")[1].ok()
    assert (place / "a.txt").stat().st_size and len(list(place.iterdir())) >= 2


# -- Intervals. --


def test_intervals(workload, tmp_path):
    """A file for each, files with all of their reports, one whose slices they are, and the text of each in its turn."""
    each, folded, text, kept = (tmp_path / name for name in ("run-%Y%m%dT%H%M%S.folded", "a.folded", "a.txt", "a.pb.gz"))
    one = workload("syscalls", "getppid", 100, 4)
    outputs = [word for path in (each, folded, text, kept) for word in ("-o", path)]
    with Live(["-p", one.pid, "-U", "-T", "-i", "0.2", *outputs, "--format", "text", GETPPID]) as tool:
        expected = one.run()
        wait_until(lambda: len(list(tmp_path.glob("run-*"))) >= 3, "no file for each interval")
        wait_until(lambda: text.exists() and len(re.findall(r"^\d\d:\d\d:\d\d$", text.read_text(), re.M)) >= 2, "no reports in a file")
        tool.wait_for("stdout", rb"(?s)(\n\d\d:\d\d:\d\d\n.*?){4}")
        result = tool.end().ok()
    total = sum(expected.values())
    files = sorted(tmp_path.glob("run-*"))
    assert all(re.fullmatch(r"run-\d{8}T\d{6}(-\d+)?\.folded", path.name) for path in files), files
    in_files = sum(map(lines, files), Counter()).total()
    check_account(result, total, in_files)
    assert in_files == total, result
    assert sum(map(int, re.findall(r"^    (\d+)$", text.read_text(), re.M))) == total
    assert sum(count for _, count in read_folded(folded.read_text())) == total
    assert sum(count_lines(read_well(kept, "-f")).values()) == total
    reports, found = parse_text(result.out).reports, slices(kept)
    assert len(reports) == len(found) >= 4 and sum(report.total for report in reports) == total
    assert found[0][0] == 0 and all(before[1] == after[0] for before, after in zip(found, found[1:])), "slices have gaps"


def test_a_report_in_between(workload):
    """SIGUSR1 ends no run. Each report has all hits; of intervals, those since the last one. Folded lines have none."""
    one = workload("syscalls", "getppid", 50, 0)
    args = ["-p", one.pid, "-U", GETPPID]
    with Live(args) as whole, Live(["-i", "1000", *args]) as since, Live(["-f", *args]) as folded:
        one.run()
        for tool in (whole, since, folded):
            tool.drain()
            tool.send(signal.SIGUSR1)
        for tool in (whole, since):
            tool.wait_for("stdout", rb"\n    50\n")
        folded.wait_for("stderr", b"SIGUSR1: only text and trees on standard output")
        whole, since, folded = whole.end().ok(), since.end().ok(), folded.end().ok()
    assert re.findall(r"^    (\d+)$", whole.out, re.M) == ["50", "50"], whole
    assert re.findall(r"^    (\d+)$", since.out, re.M) == ["50"], since
    check_account(folded, 50)


# -- pprof, and what it keeps. --


def read(*args, **popen):
    """--read, which traces nothing."""
    done = subprocess.run([STACKCOUNT, "--read", *map(str, args)], capture_output=True, timeout=PATIENCE_S, **popen)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def read_well(*args, **popen):
    status, out, err = read(*args, **popen)
    assert status == 0 and err == "", err
    return out


NAMES = ["a.pb.gz", "a.html"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with all forms of one run."""
    folder = tmp_path_factory.mktemp("saved")
    with Workload("syscalls", "getppid", 200, 2) as work:
        outputs = [word for name in (*NAMES, "a.folded", "a.txt") for word in ("-o", folder / name)]
        with Live(["-p", work.pid, "--unwind", "fp", *outputs, "--format", "text", GETPPID]) as tool:
            expected = work.run()
            result = tool.end().ok()
    assert (folder / "a.txt").read_text() in result.out
    assert sum(lines(folder / "a.folded").values()) == sum(expected.values()) == parse_text(result.out).reports[0].total
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_file_reads_back_as_the_run_was(saved, name):
    """By its name, and as standard input."""
    folded = (saved / "a.folded").read_text()
    assert read_well(saved / name, "-f") == read_well("-", "-f", input=(saved / name).read_bytes()) == folded != ""
    assert read_well(saved / name) == (saved / "a.txt").read_text()
    difference = read_well(saved / name, "--minus", "-", input=(saved / name).read_bytes())
    assert difference.count("(+0, +0.0%)") == difference.count(" -> ") > 0


@pytest.mark.thorough
def test_standard_input_is_bounded_and_read_once(saved):
    status, out, err = read("-", "-", input=(saved / "a.pb.gz").read_bytes())
    assert status == 1 and out == "" and "standard input: empty" in err, err
    status, out, err = read("-", input=b"")
    assert status == 1 and out == "" and "standard input: empty" in err, err
    with open("/dev/zero", "rb") as endless:
        status, out, err = read("-", stdin=endless)
    assert status == 1 and out == "" and "standard input: larger than 256 MiB" in err, err


def test_a_file_without_names(workload, tmp_path):
    """--no-names asks no file for a symbol. The kernel's names are there."""
    path = tmp_path / "a.pb.gz"
    run_on(workload, "--no-names", "-o", path)[1].ok()
    status, out, err = read(path, "-f")
    assert status == 0 and err == "" and "[syscalls];" in out and "do_syscall_64" in out, out
    assert not re.search(r"\bhit\b|\bmain\b", out), out


def slices(path):
    times = [int(time) for value in pprof.read(path).own("slice") for time in value.split()]
    return list(zip(times[::2], times[1::2]))


def test_a_file_says_how_it_was_made(workload, tmp_path):
    path = tmp_path / "it's a.pb.gz"
    run_on(workload, "-o", path)[1].ok()
    own = pprof.read(path).own
    assert own("program")[0].startswith("stackcount 0.")
    assert "-o '" in own("command")[0] and "it'\\''s a.pb.gz'" in own("command")[0]
    assert own("host") == [os.uname().nodename] and own("kernel") == [os.uname().release]


# -- Privileges. --


@pytest.fixture
def anybodys():
    """A directory of user nobody that it can reach, with the program."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        place = Path(name)
        shutil.copy(STACKCOUNT, place / "stackcount")
        os.chown(place, NOBODY, NOBODY)
        place.chmod(0o755)
        yield place


AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def test_files_are_read_without_root(saved, anybodys):
    path = shutil.copy(saved / "a.pb.gz", anybodys)
    expected = read_well(path, "-f")
    done = subprocess.run(
        [anybodys / "stackcount", "--read", path, "-f", "-o", anybodys / "b.folded"],
        capture_output=True, text=True, timeout=PATIENCE_S, **AS_NOBODY,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == expected == (anybodys / "b.folded").read_text()


def test_a_program_that_belongs_to_root_reads_as_its_user(saved, anybodys):
    """Set-user-ID: the file is opened as the user who may not read it."""
    path, program = shutil.copy(saved / "a.pb.gz", anybodys), anybodys / "stackcount"
    os.chmod(path, 0o600)
    program.chmod(0o4755)
    done = subprocess.run([program, "--read", path, "-f"], capture_output=True, text=True, timeout=PATIENCE_S, **AS_NOBODY)
    assert done.returncode == 1 and "Permission denied" in done.stderr and done.stdout == "", done


def test_root_has_no_capability_while_a_file_is_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with subprocess.Popen([STACKCOUNT, "--read", path], stderr=subprocess.PIPE, text=True) as tool:
        writer = os.open(path, os.O_WRONLY)  # it has opened the pipe
        status = dict(re.findall(r"^(\w+):\s*(.*)$", Path(f"/proc/{tool.pid}/status").read_text(), re.M))
        os.close(writer)
        _, err = tool.communicate(timeout=PATIENCE_S)
    assert [int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")] == [0] * 5
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert "pipe: " in err


def test_a_run_with_files_can_use_no_more_than_one_without(tmp_path):
    """What it needs to write them is permitted, and has no effect while it counts."""
    kept = sum(1 << number for number in (39, 38, 14, 21, 34, 19))
    with Live(["-o", tmp_path / "a.txt", GETPPID]) as tool:
        status = dict(re.findall(r"^(\w+):\s*(.*)$", Path(f"/proc/{tool.pid}/status").read_text(), re.M))
        tool.end().ok()
    assert int(status["CapEff"], 16) & ~kept == 0 and status["CapBnd"] == "0" * 16


# -- Progress. --


@pytest.mark.thorough
def test_progress_on_a_terminal(tmp_path):
    """Of a run of 2.5 s, on a terminal that is its standard error. It follows no processes, and so loses no records."""
    ours, its = os.openpty()
    termios.tcsetwinsize(its, (24, 80))
    command = [STACKCOUNT, "-K", "-D", "2.5", "-o", tmp_path / "a.txt", "-p", str(os.getpid()), GETPPID]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=its, env={**os.environ, "TERM": "xterm"}) as tool:
        os.close(its)
        text = ""
        with suppress(OSError):  # the last one has closed it
            while True:
                text += os.read(ours, 4096).decode()
        assert tool.wait(PATIENCE_S) == 0
    os.close(ours)
    found = re.findall(r"\r\x1b\[K(\d+) s, (\d+) hits?, (\d+)/s, (\d+) rows?, (\d+) lost", text)
    seconds = [int(line[0]) for line in found]
    assert seconds and seconds == sorted(set(seconds)), text  # a busy machine may leave out one
    assert "\r\x1b[K" in text.rpartition(" lost")[2], "the line is gone at the end"
