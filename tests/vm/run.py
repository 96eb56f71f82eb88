#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/vm/run.py [KERNEL...] [--command TEXT] [-- PYTEST-ARGUMENT...]

Boot each kernel (6.1 6.12 newest rt arm64; default all) and run tests/e2e in it, the same files
as on this machine (of PREEMPT_RT those alone that depend on what may preempt a program, of arm64 SELECTIONS).
arm64 is another processor: what it runs is built by 'make CROSS=aarch64'. The last line per kernel is its sum:

    vm 6.12 (6.12.95+deb12-cloud-amd64): 93 passed, 0 failed, 4 not for this kernel, in 140 s

What the tests that failed printed stands above it. What each printed (with the second in which it
did, and the emulator's CPU time until then), its JUnit file and its console are left in
build/vm/KERNEL/. --command runs that in place of the tests (bash, as root, in /tests: a copy of build/
and tests/). --jobs guests run at once.
"""

import argparse
import concurrent.futures
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import failures
from cache import Problem
from fetch import KERNELS, architecture, fetch, kernel_dir, root_name
from guest import Guest, check_host, end_all, work_dir

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests" / "e2e"))

import kernel as machine  # noqa: E402
BUILD = Path(os.environ.get("BUILD") or TOP / "build").resolve()

# Emulation is slow: counts that take a second here are divided for the guests.
SCALE = "0.02"

# The last one, alone on its CPU, is to be a short one.
LONGEST_FIRST = ["newest", "6.1", "arm64", "6.12", "rt"]

# What is run of tests/e2e, where that is not all of it.
SELECTIONS = {"rt": ["test_matrix.py", "test_interrupts.py", "test_self.py"], "arm64": ["test_stacks.py", "test_aarch64.py"]}

# By Debian's word: the folder below BUILD, how it is built, and what guests get of it.
PROGRAMS = ["stackcount", "stacksnoop", "funccount", "profile", "workload"]
BUILDS = {
    "amd64": (".", "make", PROGRAMS),
    "arm64": ("aarch64", "make CROSS=aarch64 all static workload", [*PROGRAMS, "static/stackcount"]),
}


def stage_tests(kernel, to):
    """Copy what a guest needs below @to."""
    where, how, names = BUILDS[architecture(kernel)]
    for name in names:
        source = BUILD / where / name
        if not source.exists():
            raise Problem(f"no {source} ('{how}' builds it)")
        target = to / "build" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target, follow_symlinks=False)
    programs = Path("roots", "programs")
    if (BUILD / where / programs).is_dir():
        shutil.copytree(BUILD / where / programs, to / "build" / programs)
    for name in ("e2e", "workload"):
        shutil.copytree(TOP / "tests" / name, to / "tests" / name)


def compile_tests():
    """pytest keeps what it compiles beside the sources: emulated, that takes it ten seconds."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    collect = ["/usr/bin/python3", "-m", "pytest", "-qq", "-p", "no:cacheprovider", "--collect-only", "tests/e2e"]
    subprocess.run(collect, cwd=TOP, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_command(kernel, arguments):
    files = SELECTIONS.get(kernel, [""])
    return (
        f"export STACKCOUNT_SCALE=${{STACKCOUNT_SCALE:-{SCALE}}} BUILD=/tests/build STACKCOUNT_GUEST={kernel}\n"
        f"export STACKCOUNT_MACHINE_PATH={shlex.quote(machine.path())}\n"
        "exec python3 -m pytest -p no:cacheprovider -v --tb=short -o junit_logging=all --junitxml=/out/junit.xml "
        + shlex.join([*(f"tests/e2e/{file}" for file in files), *arguments])
    )


def tell_failures(name, out, status):
    """What the tests that failed printed in the guest, or the guest itself where it hung."""
    outputs = [out / "output.txt", out / "console.txt"]
    text = failures.describe(out / "junit.xml", outputs)
    if not text and status != 0:
        text = "\n".join(map(failures.last_lines, outputs))
    if text:
        print(f"{name}: what failed:\n{text}\n{name}: end of what failed", flush=True)


def run_kernel(name, args):
    """Returns (summary, passed, failed)."""
    begin = time.monotonic()
    out = BUILD / "vm" / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    release = (kernel_dir(name) / "release").read_text().strip()
    with contextlib.ExitStack() as at_end:
        stage = work_dir("stage")
        at_end.callback(shutil.rmtree, stage, ignore_errors=True)
        with Guest(name, stage) as guest, open(out / "output.txt", "w") as output:

            def sink(line):
                output.write(f"{time.monotonic() - begin:6.1f} {guest.cpu_seconds():6.1f} {line}")
                output.flush()
                if args.command or args.verbose or re.search(r"FAILED|ERROR", line):
                    print(f"{name}: {line.rstrip()}", flush=True)

            stage_tests(name, stage)
            command = args.command or test_command(name, args.pytest)
            status = guest.run(command, args.timeout, sink)
            guest.take_results(out)
            (out / "console.txt").write_text(guest.console())
    took = f"in {time.monotonic() - begin:.0f} s"
    if not args.command:
        tell_failures(name, out, status)
    if status is None:
        return f"vm {name} ({release}): 0 passed, 1 failed (no exit status: see {out}/console.txt) {took}", 0, 1
    if args.command:
        return f"vm {name} ({release}): exit status {status} {took}", int(status == 0), int(status != 0)
    passed, failed = failures.counts(out / "junit.xml")
    if status not in (0, 1) and failed == 0:
        failed = 1
    deselected = re.search(r"(\d+) deselected", (out / "output.txt").read_text())
    others = f", {deselected[1]} not for this kernel" if deselected else ""
    return f"vm {name} ({release}): {passed} passed, {failed} failed{others}, {took}", passed, failed


def parse_arguments(argv):
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", 1)[0])
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--command")
    parser.add_argument("--timeout", type=float, default=1500, help="seconds per kernel")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true")
    pytest = []
    if "--" in argv:
        split = argv.index("--")
        argv, pytest = argv[:split], argv[split + 1 :]
    args = parser.parse_args(argv)
    args.pytest = pytest
    return args


def stop(*_):
    end_all()
    os._exit(1)


def main(argv):
    args = parse_arguments(argv)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    kernels = args.kernels or sorted(KERNELS, key=LONGEST_FIRST.index)
    try:
        check_host(kernels)
        compile_tests()
        for name in dict.fromkeys([*kernels, *map(root_name, kernels)]):
            fetch(name)
    except (Problem, KeyError) as problem:
        print(f"vm: {problem}", file=sys.stderr)
        return 1
    total_failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(run_kernel, name, args) for name in kernels]
        for job in jobs:
            try:
                line, _, failed = job.result()
            except Problem as problem:
                line, failed = f"vm: 0 passed, 1 failed ({problem})", 1
            total_failed += failed
            print(line, flush=True)
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
