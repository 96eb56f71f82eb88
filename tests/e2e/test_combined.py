# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Several files in one report: what --read adds up, what --minus subtracts, and what neither does."""

import os
import signal
import subprocess
import time

import pytest
from pprof_file import PprofFile
from tool import GETPPID, PATIENCE_S, STACKCOUNT

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
