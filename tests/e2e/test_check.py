# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the check says of tests that failed, in a guest too: tests/vm/failures.py."""

import subprocess
import sys

import pytest
from tool import PATIENCE_S, TOP

pytestmark = pytest.mark.needs("machine")

FAILURES = str(TOP / "tests/vm/failures.py")

FAILS = """
import sys

def test_that_holds():
    print("words of one that holds")

def test_that_fails():
    print("its words", "x" * 100_000, "its last words")
    print("words of an error", file=sys.stderr)
    assert 1 + 1 == 3
"""


def said(*args):
    done = subprocess.run([sys.executable, FAILURES, *map(str, args)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done
    return done.stdout


def test_a_failed_test_is_shown_with_what_it_wrote(tmp_path):
    (tmp_path / "test_sample.py").write_text(FAILS)
    junit = tmp_path / "junit.xml"
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_logging=all", f"--junitxml={junit}"]
    done = subprocess.run([sys.executable, *command, "test_sample.py"], cwd=tmp_path, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 1, done
    text = said(junit)
    for words in ("test_sample::test_that_fails", "assert (1 + 1) == 3", "its last words", "words of an error"):
        assert words in text, text
    assert "one that holds" not in text and len(text) < 10_000
    assert text.endswith("\n1 passed, 1 failed\n")


def test_a_guest_that_hung_is_shown_by_the_end_of_what_it_printed(tmp_path):
    output, console = tmp_path / "output.txt", tmp_path / "console.txt"
    output.write_text("".join(f"test_{i} PASSED\n" for i in range(500)))
    console.write_text("Kernel panic - not syncing\n")
    text = said(tmp_path / "none.xml", output, console)
    assert "test_499 PASSED" in text and "test_400 PASSED" not in text and "Kernel panic" in text, text
    assert text.endswith("\n0 passed, 1 failed\n")


def test_where_nothing_failed_nothing_is_said(tmp_path):
    junit = tmp_path / "junit.xml"
    junit.write_text('<testsuites><testsuite errors="0" failures="0" skipped="0" tests="3"/></testsuites>')
    assert said(junit) == "3 passed, 0 failed\n"


def test_a_guest_whose_clock_is_too_fast_boots_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(TOP / "tests" / "vm")
    import guest

    class Emulated(guest.Guest):
        uptimes = [500, 400, 0.5, 0.5]
        tmp = tmp_path

        def _make_disks(self, command):
            pass

        def _arguments(self, port):
            script = f"echo {guest.UPTIME} {self.uptimes.pop(0)}; echo $0; echo {guest.STATUS} 3"
            return ["/bin/sh", "-c", f"({script}) >/dev/fd/{port}"]

    emulated = Emulated("newest", tmp_path)
    lines = []
    assert emulated.run("true", PATIENCE_S, lines.append) == 3
    assert len(emulated.uptimes) == 1 and [line.split(":")[0] for line in lines].count("its clock is too fast") == 2, lines
