# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Several files in one report: what --read adds up, what --minus subtracts, and what neither does."""

import os
import re
import stat
import subprocess

import pytest
from pprof_file import PprofFile
from tool import PATIENCE_S, STACKCOUNT


def read(*args):
    return subprocess.run(
        [STACKCOUNT, "--read", *map(str, args)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def write(path, *values, of=3):
    file = PprofFile(values)
    file.add([("main", None), ("f", None)], [of] * len(values))
    path.write_bytes(file.bytes())
    return path


SAMPLES = ("samples", "count")


def test_values_that_differ_are_neither_added_nor_subtracted(tmp_path):
    """tests/unit/test_merge.c has how they are paired."""
    a, b = write(tmp_path / "a.pb.gz", ("wall", "microseconds")), write(tmp_path / "b.pb.gz", ("wall", "nanoseconds"))
    done = read("-f", a, b, "-o", tmp_path / "c.html")
    assert (done.returncode, done.stdout) == (1, "") and not (tmp_path / "c.html").exists(), done
    assert f"the values of {a} and {b} differ in name or unit" in done.stderr, done


def test_text_says_what_it_leaves_out(tmp_path):
    """Folded lines are for other programs, and all stacks are bcc's layout: neither says anything."""
    path, file = tmp_path / "a.pb.gz", PprofFile([("hits", "count")], comments=["stackcount:loss=3 no room"])
    for n in (1, 4, 9):
        file.add([(f"f{n}", None)], n)
    path.write_bytes(file.bytes())
    lost = "Lost 3 hits (17.6%): 3 no room"
    for args, said in (([], [lost]), (["--top", 1], ["Left out 2 stacks, 5 hits", lost]), (["--min", 2], ["Left out 1 stack, 1 hit", lost]),
                       (["--top", 1, "-f"], [])):
        assert re.findall(r"^(?:Left out|Lost) .*", read(*args, path).stdout, re.M) == said, args


# -- Which file is on which side. --


@pytest.mark.parametrize(
    "args,expected",
    [
        ("1 --minus 2", "main;f 2 1"),
        ("1 4 --minus 2 8", "main;f 10 5"),
        ("1 --minus 2 --minus 4 8", "main;f 14 1"),
        ("--minus 2 4 -q 1 8", "main;f 6 9"),
        ("--minus=2 4 -q 1", "main;f 6 1"),
    ],
)
def test_files_behind_minus_are_subtracted_up_to_the_next_option(tmp_path, args, expected):
    """A shell makes several words of "--minus old-*.pb.gz"."""
    for n in (1, 2, 4, 8):
        write(tmp_path / str(n), SAMPLES, of=n)
    for order in (["--read", "-f", *args.split()], [*args.split(), "--read", "-f"]):
        done = subprocess.run([STACKCOUNT, *order], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{expected}\n", ""), (order, done)


NAMED = ("cpu", "nanoseconds"), ("alloc_objects", "count"), ("alloc_space", "bytes")


def write_three(path, default):
    file = PprofFile(NAMED, default=default)
    file.add([("main", None), ("f", None)], [100, 1, 4096])
    path.write_bytes(file.bytes())
    return path


@pytest.mark.parametrize("default,count", [("", 4096), ("alloc_objects", 1), ("cpu", 100)])
def test_a_file_s_own_default_is_shown_or_its_last_value(tmp_path, default, count):
    """As profile.proto says, and as go tool pprof does."""
    path = write_three(tmp_path / "a.pb.gz", default)
    assert read("-f", path).stdout == f"main;f {count}\n"
    assert read("--tree", path).stdout.split()[0] == (default or "alloc_space").upper()
    assert read("-o", tmp_path / "b.pb.gz", path).returncode == 0
    assert read("-f", tmp_path / "b.pb.gz").stdout == f"main;f {count}\n"


# -- -o of --read, which has no privilege left. --


def test_a_file_that_cannot_keep_its_owner_gives_nobody_new_rights(tmp_path):
    data, path = write(tmp_path / "a.pb.gz", SAMPLES), tmp_path / "b.folded"
    path.write_text("before\n")
    os.chown(path, 65534, 65534)
    path.chmod(0o644)
    done = read(data, "-o", path)
    assert (done.returncode, path.read_text()) == (1, "before\n"), done
    assert done.stderr == f"stackcount: open {path}: Permission denied\n"
    path.chmod(0o666)
    done = read(data, "-o", path)
    now = path.stat()
    assert done.returncode == 0 and path.read_text() == "main;f 3\n", done
    assert (oct(stat.S_IMODE(now.st_mode)), now.st_uid) == ("0o600", os.getuid())
    assert done.stderr == f"stackcount: {path} had another owner or group, and is yours alone now\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pb.gz", "b.folded"]
