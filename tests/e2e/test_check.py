# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the check says of tests that failed, and what it takes for green: tests/results.py, reporting.py."""

import os
import subprocess
import sys

import pytest
from tool import PATIENCE_S, TOP

sys.path.append(str(TOP / "tests"))
import results  # noqa: E402

SAMPLE = """
import signal
import time
from pathlib import Path
import reporting
from tool import Result, ended

class Unaccounted(AssertionError):
    pass

def test_that_holds():
    pass

def test_that_fails():
    ended.append(Result(["stackcount"], b"a 1", b"first line\\nLost 3 hits: the ring was full\\n", 0))
    assert 1 + 1 == 3, "many words " * 1000

def test_without_an_account():
    raise Unaccounted("1 printed, 2 lost, 4 made")

def test_whose_sum_differs():
    assert {"main;one": 2} == {"main;one": 3}

def test_whose_program_crashed():
    assert Result(["stackcount"], b"", b"", -11).returncode == 0, "returncode=-11"

def test_that_is_known():
    assert False

def test_that_hangs():
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= reporting.LIMIT_S
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(100)
"""
CONFTEST = """
from pathlib import Path
import reporting
reporting.KNOWN = Path(__file__).parent / "known.txt"
"""


def run_sample(folder):
    """What the plugin says of the tests above, by name."""
    (folder / "test_sample.py").write_text(SAMPLE)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "known.txt").write_text("# test, date, reason\ntests/e2e/test_sample.py::test_that_is_known 2026-11-29 a reason\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "reporting", "test_sample.py"]
    environment = {**os.environ, "PYTHONPATH": str(TOP / "tests/e2e"), "STACKCOUNT_RESULTS": str(folder / "results.jsonl")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1, done
    return {result["test"].split("::test_")[1]: result for result in results.read(folder / "results.jsonl")}


def test_each_test_leaves_a_line(tmp_path):
    found = run_sample(tmp_path)
    assert {name: result["outcome"] for name, result in found.items()} == {
        "that_holds": "passed", "that_fails": "failed", "without_an_account": "failed", "whose_sum_differs": "failed",
        "whose_program_crashed": "failed", "that_is_known": "known", "that_hangs": "failed",
    }
    fails = found["that_fails"]
    assert (fails["words"], fails["place"], fails["kind"]) == ("assert (1 + 1) == 3", "test_sample.py:16", ""), fails
    assert fails["stderr"] == "Lost 3 hits: the ring was full"
    assert found["without_an_account"]["kind"] == found["whose_sum_differs"]["kind"] == "account"
    assert (found["that_hangs"]["kind"], found["whose_program_crashed"]["kind"]) == ("limit", "crash"), found


def failure(i, **more):
    return {"suite": "e2e", "test": f"tests/e2e/test_a.py::test_{i}", "outcome": "failed", "s": 1.0, "place": "test_a.py:7",
            "words": "assert 3 == 0", "stderr": "Lost 3 hits", "kind": "", **more}


PASSED = {"suite": "unit", "test": "test_b::holds", "outcome": "passed", "s": 0.1}


def judge(found, n_passed_alone):
    again = {(result["suite"], result["test"]): {"outcome": "passed", "s": 0.6} for result in found[:n_passed_alone]}
    text = results.end_of_log("machine: here", "phases: e2e 3 s", [*found, PASSED], again)
    return results.is_green([*found, PASSED], *results.judge(found, again)), text


@pytest.mark.parametrize("n, n_passed_alone, more, is_green, end", [
    (0, 0, {}, True, "1 passed, 0 failed"),
    (1, 0, {}, False, "1 passed, 1 failed"),
    (3, 3, {}, True, "4 passed, 0 failed"),
    (4, 4, {}, False, "5 passed, 1 failed"),
    (1, 1, {"kind": "crash"}, False, "1 passed, 1 failed"),
    (1, 1, {"kind": "account"}, False, "1 passed, 1 failed"),
    (1, 1, {"kind": "limit"}, True, "2 passed, 0 failed"),
    (1, 0, {"outcome": "known"}, True, "1 passed, 0 failed"),
])
def test_what_is_green(n, n_passed_alone, more, is_green, end):
    verdict, text = judge([failure(i, **more) for i in range(n)], n_passed_alone)
    assert (verdict, text.splitlines()[-1]) == (is_green, end), text


def test_the_end_of_the_log_is_short_and_names_each_failure():
    """Few as a whole, 80 of 40 files by their names, and more by their files."""
    _, text = judge([failure(i) for i in range(9)], 1)
    said = "e2e tests/e2e/test_a.py::test_{} at test_a.py:7 (1.0 s): assert 3 == 0; stderr: Lost 3 hits"
    assert all(f"\nFAILED {said.format(i)}\n" in text for i in range(1, 9))
    assert f"\nFLAKY {said.format(0)} - then passed alone in 0.6 s\n" in text
    for n in (80, 900):
        found = [failure(i, test=f"tests/e2e/test_of_file_{i % 40}.py::test_case_{i}_holds_what_was_said_of_it[{i}]", words="x" * 900) for i in range(n)]
        _, text = judge(found, 1)
        assert len(text.encode()) <= results.MOST_BYTES and text.endswith(f"\n2 passed, {n - 1} failed"), text
        assert not [i for i in range(40) if f"of_file_{i}" not in text], text
        assert n > 80 or not [i for i in range(1, n) if f"case_{i}_" not in text], text
