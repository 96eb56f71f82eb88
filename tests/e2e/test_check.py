# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the check says of tests that failed, and what it takes for green: tests/results.py."""

import sys

import pytest
from tool import TOP

sys.path.append(str(TOP / "tests"))
import results  # noqa: E402


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
