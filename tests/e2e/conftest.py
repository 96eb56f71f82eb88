# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The same files run on the machine and in the guests: a test says what it needs of the kernel,
and is left out at collection where that is absent. What was left out, and why, is said."""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite(*(path.stem for path in Path(__file__).parent.glob("*.py")))  # asserts of ours show their values

import kernel as kernel_module  # noqa: E402
import reporting  # noqa: E402
from tool import PATIENCE_S, STACKCOUNT, Tool, Workload  # noqa: E402

left_out, MAPS = Counter(), set(Path("/tmp").glob("perf-*.map"))


def pytest_sessionfinish(session):
    """Programs that were killed leave their perf maps. Another user's process of that number could not write its own."""
    if session.config.option.collectonly:
        return
    for path in set(Path("/tmp").glob("perf-*.map")) - MAPS:
        if not Path(f"/proc/{path.name[5:-4]}").exists():
            path.unlink(missing_ok=True)


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(*what): names in kernel.NEEDS; left out where absent")
    config.addinivalue_line("markers", "walk(how): --unwind where it is not given")
    config.addinivalue_line("markers", "thorough: takes long, or needs much: 'make check-all' alone runs it")
    config.addinivalue_line("markers", "core: a kernel can break it: the two guests of 'make check' run it")
    config.pluginmanager.register(reporting)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # tests put back what they have changed
    # What a shell's background job or nohup(1) ignores, each program that is started here would ignore.
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    if os.geteuid() != 0:
        pytest.exit("end-to-end tests need root", returncode=1)
    if not os.access(STACKCOUNT, os.X_OK):
        pytest.exit(f"no {STACKCOUNT}: 'make' builds it", returncode=1)


OF_KERNELS = re.compile(r"\bmark\.core\b|" + "|".join(f'"{what}"' for what in sorted(kernel_module.DIFFERENCES)))


def pytest_ignore_collect(collection_path):
    """A file that is not for a guest at all is not even read: emulated, all of them take 5 s."""
    if kernel_module.is_first_of_its_processor() or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text()
    if OF_KERNELS.search(text):
        return None
    left_out["machine"] += len(re.findall(r"^def test_", text, re.M))
    return True


def _are_of_kernels(marks, is_core_alone=False):
    """Does a kernel make a difference to what has these marks, or to any of a function's parameters?"""
    for mark in marks:
        if mark.name == "core" or (not is_core_alone and mark.name == "needs" and kernel_module.DIFFERENCES & set(mark.args)):
            return True
        values = mark.args[1] if mark.name == "parametrize" else ()
        if any(_are_of_kernels(value.marks, is_core_alone) for value in values if hasattr(value, "marks")):
            return True
    return False


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, name, obj):
    """What is not for a guest at all is passed over before its cases are made: emulated, that takes 15 s."""
    if not name.startswith("test_") or kernel_module.is_first_of_its_processor():
        return None
    is_core_alone = collector.config.option.markexpr == "core"
    if not _are_of_kernels([*getattr(obj, "pytestmark", ()), *collector.iter_markers()], is_core_alone):
        left_out["machine"] += 1
        return []
    return None


def _missing(item):
    if not kernel_module.is_first_of_its_processor() and not _are_of_kernels(mark for mark in item.iter_markers() if mark.name != "parametrize"):
        return "machine"
    for mark in item.iter_markers("needs"):
        for what in mark.args:
            if not kernel_module.NEEDS[what]():
                return what
    return None


def pytest_collection_modifyitems(config, items):
    kept, out = [], []
    for item in items:
        what = _missing(item)
        (out if what else kept).append(item)
        if what:
            left_out[what] += 1
    # What cannot be undone comes last.
    items[:] = sorted(kept, key=lambda item: "confidentiality" in item.fixturenames)
    config.hook.pytest_deselected(items=out)


def pytest_report_header():
    return kernel_module.describe()


def pytest_terminal_summary(terminalreporter):
    for line in reporting.says_what_is_left_out(left_out):
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def walk(request, monkeypatch):
    """
    Frame pointers reach what they reach at once; of tables a program's first hits may be ahead.
    In a guest, where the tables of all that runs take ten times as long, those have them that are
    about unwinding.
    """
    mark = request.node.get_closest_marker("walk")
    needs = [what for marker in request.node.iter_markers("needs") for what in marker.args]
    has_tables = kernel_module.has_unwinding() and (not kernel_module.is_guest() or "unwinding" in needs)
    if mark or not has_tables:
        monkeypatch.setattr(Tool, "walk", ("--unwind", *(mark.args if mark else ["fp"])))


@pytest.fixture
def workload():
    """workload(NAME, ARGUMENTS...) starts one; all are ended with the test."""
    started = []

    def start(*args, **options):
        started.append(Workload(*args, **options))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def kernel():
    return kernel_module


@pytest.fixture
def small_disk(tmp_path):
    """small_disk(SIZE) makes a file system of that size: its folder."""
    places = []

    def make(size):
        places.append(tmp_path / f"disk{len(places)}")
        places[-1].mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", places[-1]], check=True)
        return places[-1]

    yield make
    for place in places:
        subprocess.run(["umount", "-l", place], check=True)


def _write(path, value):
    """Tried again while the kernel still frees what a tracer had (EBUSY)."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            path.write_text(str(value))
            return
        except OSError:
            assert time.monotonic() < deadline, f"{path} stays as it is"
            time.sleep(0.1)


class Machine(contextlib.ExitStack):
    """What a test changes of the machine is put back when it ends, however that is."""

    def keep(self, path):
        self.callback(_write, path, path.read_text())

    def write(self, path, value):
        self.keep(path)
        _write(path, value)


LOCK = "/tmp/stackcount-tests.lock"


@pytest.fixture
def machine():
    """For tests that change what others see: one at a time, of all runs of these tests on the machine."""
    with open(LOCK, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Machine() as changes:
            yield changes


@pytest.fixture
def sysctl(machine):
    """sysctl(NAME, VALUE) for the length of a test."""
    return lambda name, value: machine.write(Path("/proc/sys") / name.replace(".", "/"), value)
