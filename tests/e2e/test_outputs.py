# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files of -o: their forms, that they are whole or not there, whom they belong to, and --read."""

import os
import re
import signal
import stat
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from text import parse_text
from tool import BUILD, GETPPID, PATIENCE_S, STACKCOUNT, Tool, chains, read_folded, stackcount, workload_path

NOBODY = 65534
NO_FILE = re.compile(r"\.stackcount-")


def count_lines(text):
    return Counter({";".join(frames): count for frames, count in read_folded(text)})


def lines(path):
    return count_lines(Path(path).read_text())


def run_on(workload, *args, n=200, times=2, during=None):
    """A run on a workload that knows the answer: its chains, and the run's result."""
    one = workload("syscalls", "getppid", n, times)
    with Tool(["-p", one.pid, *args, GETPPID]) as tool:
        tool.wait_live()
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


def test_all_forms_of_one_run_have_the_same_sum(workload, tmp_path):
    folded, text = tmp_path / "a.folded", tmp_path / "a.txt"
    expected, result = run_on(workload, "-U", "-o", folded, "-o", text, "--format", "folded")
    result.ok()
    total = sum(expected.values())
    assert sum(lines(folded).values()) == total
    assert count_lines(result.out) == lines(folded)
    counts = [int(n) for n in re.findall(r"^    (\d+)$", text.read_text(), re.M)]
    assert sum(counts) == total


def test_outputs_may_differ_in_what_they_tell_apart(workload, tmp_path):
    """-s and -v: folded output has no addresses, so its lines are fewer."""
    folded, text = tmp_path / "a.folded", tmp_path / "a.txt"
    expected, result = run_on(workload, "-U", "-v", "-o", folded, "-o", text)
    result.ok()
    assert all("+0x" not in line for line in lines(folded))
    assert sum(lines(folded).values()) == sum(expected.values())
    assert re.search(r"^  [0-9a-f]{16} ", text.read_text(), re.M)


def test_minus_is_standard_output(workload):
    expected, result = run_on(workload, "-U", "-o", "-", "--format", "folded")
    result.ok()
    assert chains(result) == expected


@pytest.mark.parametrize(
    "args,status,words",
    [
        (("-o", "a.xyz"), 1, "its ending names no form; there are .txt, .folded"),
        (("-o", "/nonexistent/a.txt"), 1, "open the directory of /nonexistent/a.txt: No such file"),
        (("-o", "/proc/a.txt"), 1, "write /proc/a.txt: "),
        (("-o", "a.txt/b.folded"), 1, "Not a directory"),
        (("-o", ""), 2, "a file needs a name"),
        (("--format", "pdf"), 2, "no form 'pdf'"),
        (("-f", "--format", "text"), 2, "exclude each other"),
        (("--normalize",), 2, "--normalize needs --minus"),
        (("--read", "-p", "1"), 2, "--read and -p exclude each other"),
        (("--read", "-K"), 2, "--read and -K exclude each other"),
        (("--minus", "a.pb.gz", "-i", "1"), 2, "--minus and -i exclude each other"),
        (("--min-percent", "x"), 2, "not a number from 0 to 100"),
    ],
)
def test_errors_come_before_anything_is_traced(tmp_path, args, status, words):
    (tmp_path / "a.txt").write_text("")
    result = stackcount(*args, GETPPID, cwd=tmp_path)
    assert result.status == status and words in result.err, result
    assert result.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


# -- Whole or not at all. --


def test_a_run_that_is_killed_leaves_nothing(workload, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before\n")
    _, result = run_on(workload, "-o", path, "-o", tmp_path / "b.folded", during=lambda tool: tool.send(signal.SIGKILL))
    assert result.status == -signal.SIGKILL
    assert path.read_text() == "before\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_ends_the_run_with_an_error(workload, small_disk, tmp_path):
    path, other = small_disk / "a.folded", tmp_path / "b.folded"
    path.write_text("before\n")
    (small_disk / "full").write_bytes(b"x" * 15 * 4096)
    expected, result = run_on(workload, "-U", "-o", path, "-o", other)
    assert result.status == 1, result
    assert f"write to {path}: No space left on device" in result.err
    assert path.read_text() == "before\n"
    assert sorted(p.name for p in small_disk.iterdir()) == ["a.folded", "full"]
    assert sum(lines(other).values()) == sum(expected.values()), "the other file is whole"


def test_a_device_is_written_through(workload):
    _, result = run_on(workload, "-o", "/dev/null")
    result.ok()
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    _, result = run_on(workload, "-o", "/dev/full")
    assert result.status == 1 and "write to /dev/full: No space left on device" in result.err


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


def test_nobody_reads_the_fifo_any_more(workload, tmp_path):
    path = tmp_path / "pipe.folded"
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: os.close(os.open(path, os.O_RDONLY)))
    reader.start()
    _, result = run_on(workload, "-U", "-o", path)
    reader.join(PATIENCE_S)
    assert result.status == 1 and "nobody reads it any more" in result.err, result


# -- Whose file. --


def test_permissions_of_a_new_file(workload, tmp_path):
    path = tmp_path / "a.txt"
    before = os.umask(0o027)
    try:
        run_on(workload, "-o", path)[1].ok()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_keeps_its_owner_and_permissions(workload, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before\n")
    os.chmod(path, 0o604)
    os.chown(path, NOBODY, NOBODY)
    run_on(workload, "-o", path)[1].ok()
    now = path.stat()
    assert (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid) == (0o604, NOBODY, NOBODY)
    assert path.read_text() != "before\n"


def test_another_user_s_directory(workload, tmp_path):
    """As with sudo: the main process has given up what root may do there, but for this."""
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    os.chown(place, NOBODY, NOBODY)
    run_on(workload, "-o", place / "a.txt", "-i", "0.2", "-o", place / "%s.folded")[1].ok()
    assert (place / "a.txt").stat().st_size and len(list(place.iterdir())) >= 2


def test_a_link_stays_and_its_target_becomes_the_file(workload, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name, target in (("there.txt", other / "a.txt"), ("missing.txt", "other/b.txt")):
        (tmp_path / name).symlink_to(target)
    (other / "a.txt").write_text("before\n")
    run_on(workload, "-o", tmp_path / "there.txt", "-o", tmp_path / "missing.txt")[1].ok()
    for name in ("there.txt", "missing.txt"):
        assert (tmp_path / name).is_symlink()
    for name in ("a.txt", "b.txt"):
        assert "\n" in (other / name).read_text() and (other / name).read_text() != "before\n"
    assert sorted(p.name for p in other.iterdir()) == ["a.txt", "b.txt"]


# -- Intervals. --


def test_a_file_for_each_interval(workload, tmp_path):
    one = workload("syscalls", "getppid", 100, 4)
    with Tool(["-p", one.pid, "-U", "-i", "0.1", "-o", tmp_path / "run-%Y%m%dT%H%M%S.folded", GETPPID]) as tool:
        tool.wait_live()
        expected = one.run()
        time.sleep(0.5)
        tool.end().ok()
    found = sorted(tmp_path.iterdir())
    assert len(found) >= 3
    assert all(re.fullmatch(r"run-\d{8}T\d{6}(-\d+)?\.folded", path.name) for path in found)
    assert sum((lines(path) for path in found), Counter()).total() == sum(expected.values())


def test_one_file_has_the_reports_of_all_intervals(workload, tmp_path):
    path = tmp_path / "a.txt"
    one = workload("syscalls", "getppid", 100, 4)
    with Tool(["-p", one.pid, "-U", "-T", "-i", "0.1", "-o", path, GETPPID]) as tool:
        tool.wait_live()
        expected = one.run()
        time.sleep(0.5)
        assert len(re.findall(r"^\d\d:\d\d:\d\d$", path.read_text(), re.M)) >= 2, "it is not there yet"
        result = tool.end().ok()
    counts = [int(n) for n in re.findall(r"^    (\d+)$", path.read_text(), re.M)]
    assert sum(counts) == sum(expected.values())
    assert result.out.count("\n") == 1
