# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A pytest plugin, which conftest.py registers. Each test has a limit of time, and leaves a line of JSON as it ends
(tests/results.py) in the file that $STACKCOUNT_RESULTS names, which may be a guest's serial port. Failures that
tests/known.txt lists are told apart, and do not fail the run.
"""

import faulthandler
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tool

LIMIT_S = 150
AGAIN_S = 30  # after the limit, for a test that hangs while it ends, too
KNOWN = Path(__file__).resolve().parents[1] / "known.txt"

# A crash of the tool, and hits that are neither printed nor told as lost, are never tried again.
KINDS = {"Crashed": "crash", "Unaccounted": "account", "LimitExceeded": "limit"}
# The same, where a test compares what a program left or a sum of counts.
CRASHED = re.compile(r"returncode=-(4|6|7|8|11)\b|<Signals\.SIG(ILL|ABRT|BUS|FPE|SEGV)|reader was ended by signal (4|6|7|8|11)\b")
SUMMED = re.compile(r"where -?\d+ = ([\w.]+\.)?(sum|total|count|sum_of)\b")


class LimitExceeded(Exception):
    pass


def _on_alarm(*_):
    faulthandler.dump_traceback(file=sys.__stderr__)
    # What each thread of the machine waits for.
    subprocess.run(["ps", "-eLo", "pid,ppid,lwp,stat,wchan:30,args"], stdout=2, timeout=AGAIN_S, check=False)
    raise LimitExceeded(f"the test did not end in {LIMIT_S} s")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    tool.ended.clear()
    _append({"suite": "e2e", "test": name_of(item.nodeid), "outcome": "begun"})
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S, AGAIN_S)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


def read_known():
    """{test: reason}. Each line of the file: a test, a date and the reason."""
    lines = [line.split(None, 2) for line in KNOWN.read_text().splitlines() if line.strip() and line[0] != "#"]
    return {test: f"{reason} ({date})" for test, date, reason in lines} if lines else {}


def name_of(nodeid):
    """From the top of the sources, wherever pytest was started: tests/e2e/test_matrix.py::test_counts[a]."""
    return "tests/e2e/" + nodeid.split("tests/e2e/")[-1]


def pytest_configure(config):
    config.known = read_known() if KNOWN.exists() else {}
    config.results = {}
    config.differs = False


def _last_line_of_stderr():
    """Of the tools that the test ran, the last one that said anything."""
    lines = [line for result in tool.ended for line in result.err.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _assertion(message):
    """pytest shows what an assertion is about first, which may be long; the expression is behind it."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    found = [line for line in lines if line.startswith("assert ")]
    return (found or lines or [""])[-1 if found else 0]


def _place(frames, crash):
    """The last line of a test, not of what it calls."""
    places = [(os.path.basename(frame.path), frame.lineno + 1) for frame in frames]  # a path or "<frozen os>"
    lines = [f"{name}:{line}" for name, line in places if name.startswith("test_")]
    return lines[-1] if lines else f"{os.path.basename(crash.path)}:{crash.lineno}" if crash else ""


def pytest_assertrepr_compare(config, op, left, right):
    """Counts of stacks or functions whose sums differ: hits have no account."""
    if op == "==" and all(isinstance(side, dict) and all(isinstance(n, int) for n in side.values()) for side in (left, right)):
        config.differs = sum(left.values()) != sum(right.values())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    test = name_of(item.nodeid)
    result = item.config.results.setdefault(test, {"suite": "e2e", "test": test, "outcome": "passed", "s": 0.0})
    result["s"] = round(result["s"] + call.duration, 2)
    if report.failed and result["outcome"] == "passed":
        crash = getattr(report.longrepr, "reprcrash", None)
        kind = KINDS.get(call.excinfo.typename, "account" if item.config.differs or SUMMED.search(report.longreprtext) else "")
        if CRASHED.search(report.longreprtext + "".join(result.err for result in tool.ended)):
            kind = "crash"
        result.update(
            outcome="failed",
            place=_place(call.excinfo.traceback, crash),
            words=_assertion(crash.message if crash else report.longreprtext)[:300],
            stderr=_last_line_of_stderr()[:200],
            kind=kind,
        )
        if test in item.config.known and kind not in ("crash", "account"):
            result["outcome"] = "known"
            report.outcome = "skipped"
            report.wasxfail = item.config.known[test]
    item.config.differs = False
    if call.when == "teardown":
        _append(result)


def _append(result):
    path = os.environ.get("STACKCOUNT_RESULTS")
    if path:
        with open(path, "a") as file:
            file.write(json.dumps(result) + "\n")


def says_what_is_left_out(left_out):
    path = os.environ.get("STACKCOUNT_RESULTS")
    for what, n in sorted(left_out.items()):
        if path:
            _append({"suite": "e2e", "test": what, "outcome": "left out", "n": n})
        yield f"not for this machine: {n} tests need {what}"
