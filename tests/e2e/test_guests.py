# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Guests that end early, or hang: what tests/vm/run.py makes of them. A shell stands in for each emulator."""

import json
import sys

import pytest
from tool import PATIENCE_S, TOP

sys.path += [str(TOP / "tests"), str(TOP / "tests/vm")]
guest = pytest.importorskip("guest")  # which guests do not have
import results  # noqa: E402
import run  # noqa: E402

pytestmark = pytest.mark.needs("machine")

UP = f"echo {guest.UPTIME} 0.1; "
END = f"echo {guest.STATUS} 0"


def begun(name, outcome="begun"):
    result = {"suite": "e2e", "test": f"tests/e2e/test_a.py::test_{name}", "outcome": outcome, "s": 0.5}
    return f"echo '{json.dumps(result)}'; "


def passed(name):
    return f"{begun(name)}{begun(name, 'passed')}echo PASSED; "


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """tried(SCRIPTS...) boots a guest for each script, as long as run.py wants one. (summary, results)"""

    def try_it(*scripts, reason=None, console=""):
        left, commands = list(scripts), []

        class Emulated(guest.Guest):
            def _make_disks(self, command):
                commands.append(command)

            def _arguments(self, port):
                return ["/bin/sh", "-c", f"exec >/dev/fd/{port}; {left.pop(0)}"]

            def console(self):
                return console

        def fetch(name):
            if reason:
                raise reason
            return "1.2.3"

        monkeypatch.setattr(run, "BUILD", tmp_path)
        monkeypatch.setattr(run, "Guest", Emulated)
        monkeypatch.setattr(run, "fetch", fetch)
        monkeypatch.setattr(run, "check_host", lambda kernel: None)
        monkeypatch.setattr(run, "stage_tests", lambda kernel, to: None)
        monkeypatch.setattr(guest, "SILENT_S", 2)
        monkeypatch.setattr(guest, "SILENT_BOOT_S", 2)
        monkeypatch.setenv("STACKCOUNT_RESULTS", str(tmp_path / "results.jsonl"))
        line = run.Run("6.1", run.parse_arguments(["6.1", "--timeout", str(PATIENCE_S)])).all()
        assert left == [], "it did not boot again"
        found = results.read(tmp_path / "results.jsonl")
        assert {result["suite"] for result in found} == {"vm 6.1"}
        return line, {result["test"].removeprefix("tests/e2e/test_a.py::test_"): result for result in found}

    return try_it


def outcomes(found):
    return {name: result["outcome"] for name, result in found.items()}


def test_results_are_passed_on(tried):
    line, found = tried(UP + passed("one") + passed("two") + END)
    assert outcomes(found) == {"one": "passed", "two": "passed", "guest": "passed"}
    assert line.startswith("vm 6.1 (1.2.3): 3 passed, 0 failed")


def test_a_clock_that_is_too_fast_is_not_believed(tried):
    line, found = tried(f"echo {guest.UPTIME} 500; exec sleep 60", UP + passed("one") + END)
    assert outcomes(found) == {"one": "passed", "guest": "passed"}, line


@pytest.mark.thorough
@pytest.mark.parametrize("how, words", [
    ("exit", "the guest ended without a status"),
    ("exec sleep 60", "the guest printed nothing for 2 s"),
])
def test_the_test_that_ran_has_failed_and_the_others_go_on(tried, how, words):
    _, found = tried(UP + passed("one") + begun("bad[a 1]") + how, UP + passed("two") + END)
    assert outcomes(found) == {"one": "passed", "bad[a 1]": "failed", "two": "passed", "guest": "passed"}
    assert (found["bad[a 1]"]["words"], found["bad[a 1]"]["kind"]) == (words, "")


def test_a_kernel_that_breaks_is_a_crash(tried):
    _, found = tried(UP + begun("bad") + "exit", UP + END, console="Kernel panic - not syncing: Fatal\nrebooting\n")
    assert (found["bad"]["kind"], found["bad"]["stderr"]) == ("crash", "Kernel panic - not syncing: Fatal")


@pytest.mark.thorough
@pytest.mark.parametrize("how, words", [("exit", "the guest ended without a status"), ("exec sleep 60", "the guest printed nothing for 2 s while it booted")])
def test_a_guest_that_does_not_boot_twice_is_one_failure(tried, how, words):
    line, found = tried(how, how, console="no such disk")
    assert outcomes(found) == {"guest": "failed"}
    assert (found["guest"]["words"], found["guest"]["stderr"]) == (words, "no such disk")
    assert line.startswith("vm 6.1 (1.2.3): 0 passed, 1 failed")


@pytest.mark.parametrize("reason", [run.Problem("no mirror"), OSError("no mirror"), run.subprocess.TimeoutExpired("apt-get", 600)])
def test_a_kernel_that_cannot_be_had_is_one_failure(tried, reason):
    _, found = tried(reason=reason)
    assert outcomes(found) == {"guest": "failed"} and found["guest"]["words"] == str(reason)


def test_a_guest_in_which_no_test_ran_has_failed(tried):
    _, found = tried(UP + f"echo {guest.STATUS} {run.NOTHING_RUN}")
    assert found["guest"]["words"] == "no test ran"
