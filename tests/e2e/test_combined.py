# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Several files in one report: what --read adds up, what --minus subtracts, and what neither does."""

import os
import re
import stat
import subprocess

import pytest
from pprof_file import PprofFile
from tool import GETPPID, PATIENCE_S, STACKCOUNT, Tool, stackcount

pytestmark = pytest.mark.needs("machine")


def read(*args):
    return subprocess.run(
        [STACKCOUNT, "--read", *map(str, args)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def write(path, *values, of=3):
    file = PprofFile(values)
    file.add([("main", None), ("f", None)], [of] * len(values))
    path.write_bytes(file.bytes())
    return path


WALL_NS, WALL_US, SAMPLES, CPU = ("wall", "nanoseconds"), ("wall", "microseconds"), ("samples", "count"), ("cpu", "ns")


@pytest.mark.parametrize(
    "one,other",
    [
        ([WALL_US], [WALL_NS]),
        ([WALL_NS], [SAMPLES]),
        ([SAMPLES, CPU], [SAMPLES]),
        ([SAMPLES], [SAMPLES, CPU]),
    ],
)
@pytest.mark.parametrize("between", [[], ["--minus"]])
def test_values_that_differ_are_neither_added_nor_subtracted(tmp_path, one, other, between):
    a, b = write(tmp_path / "a.pb.gz", *one), write(tmp_path / "b.pb.gz", *other)
    done = read("-f", a, *between, b, "-o", tmp_path / "c.html")
    assert (done.returncode, done.stdout) == (1, ""), done
    for path, values in ((a, one), (b, other)):
        assert f"{path} ({', '.join('/'.join(value) for value in values)})" in done.stderr, done.stderr
    assert not (tmp_path / "c.html").exists()


def test_values_that_agree_are_added_and_subtracted(tmp_path):
    a, b = write(tmp_path / "a.pb.gz", SAMPLES, CPU, of=5), write(tmp_path / "b.pb.gz", CPU, SAMPLES, of=3)
    assert read("-f", a, b).stdout == "main;f 8\n"
    done = read("-f", a, "--minus", b)
    assert (done.returncode, done.stderr) == (0, "") and "main;f" in done.stdout


def test_values_with_hostile_names_are_harmless_in_messages(tmp_path):
    a, b = write(tmp_path / "a.pb.gz", ("\x1b[31m\n" * 100, "x")), write(tmp_path / "b.pb.gz", SAMPLES)
    done = read(a, b)
    assert done.returncode == 1 and "\x1b" not in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert f"{b} (samples/count)" in done.stderr


# -- --minus of a run: its files are tried before it traces. --


@pytest.mark.parametrize(
    "make,words",
    [
        (lambda path: None, "No such file"),
        (lambda path: path.write_bytes(b"no profile"), "no pprof file"),
        (lambda path: path.write_bytes(PprofFile().bytes()[:-9]), "old.pb.gz: "),
        (lambda path: path.mkdir(), "is a directory"),
    ],
)
def test_a_file_that_cannot_be_subtracted_ends_a_run_before_it_traces(tmp_path, make, words):
    """Nothing ends this run but its error."""
    path = tmp_path / "old.pb.gz"
    make(path)
    result = stackcount("--minus", path, "-o", tmp_path / "a.folded", GETPPID)
    assert result.status == 1 and result.out == "" and words in result.err, result
    assert str(path) in result.err and not (tmp_path / "a.folded").exists()


def hit(n):
    for _ in range(n):
        os.getppid()


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), lambda path: write(path, SAMPLES)])
def test_a_run_whose_difference_fails_is_reported_alone(tmp_path, spoil):
    path, out = write(tmp_path / "old.pb.gz", ("hits", "count")), tmp_path / "a.folded"
    with Tool(["-p", os.getpid(), "-U", "--minus", path, "-o", out, "--format", "folded", GETPPID]) as tool:
        tool.wait_live()
        hit(100)
        spoil(path)
        result = tool.end()
    assert result.status == 1 and "the reports have this run alone" in result.err, result
    assert "old.pb.gz" in result.err.splitlines()[-1]
    counts = [int(n) for n in re.findall(r" (\d+)$", out.read_text(), re.M)]
    assert sum(counts) >= 100 and out.read_text() in result.out


def test_a_run_subtracts_what_a_pipe_says(tmp_path):
    """A pipe is not tried, because that would empty it."""
    data = PprofFile()
    data.add([("gone", None)], [7])
    ours, its = os.pipe()
    os.write(its, data.bytes())
    os.close(its)
    done = subprocess.run(
        [STACKCOUNT, "-D", "0.2", "-f", "--minus", f"/dev/fd/{ours}", GETPPID], pass_fds=[ours],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )
    os.close(ours)
    assert done.returncode == 0 and "gone" in done.stdout, done


# -- -o of --read, which has no privilege left. --


@pytest.mark.parametrize("before,after", [(0o644, 0o644), (0o640, 0o600), (0o604, 0o600), (0o664, 0o644)])
def test_a_file_that_cannot_keep_its_owner_gives_nobody_new_rights(tmp_path, before, after):
    data, path = write(tmp_path / "a.pb.gz", SAMPLES), tmp_path / "b.folded"
    path.write_text("before\n")
    path.chmod(before)
    os.chown(path, 65534, 65534)
    done = read(data, "-o", path)
    now = path.stat()
    assert done.returncode == 0 and path.read_text() == "main;f 3\n", done
    assert (oct(stat.S_IMODE(now.st_mode)), now.st_uid) == (oct(after), os.getuid())
    assert done.stderr == f"stackcount: {path} had another owner or group, and is yours now\n"
