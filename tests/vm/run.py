#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/vm/run.py [--core] [KERNEL...] [--command TEXT] [-- PYTEST-ARGUMENT...]

Boot each kernel (6.1 6.12 newest rt arm64; default all) and run tests/e2e in it, the same files
as on this machine (of PREEMPT_RT those alone that depend on what may preempt a program, of arm64 SELECTIONS).
--core runs the tests alone that are marked so, and names of tests behind -- run these.
arm64 is another processor: what it runs is built by 'make CROSS=aarch64'. The last line per kernel is its sum:

    vm 6.12 (6.12.95+deb12-cloud-amd64): 93 passed, 0 failed, in 140 s

Each test leaves a line in $STACKCOUNT_RESULTS as it ends (tests/results.py), and so does the guest, as the test
"guest". One that ends early, or prints nothing for minutes, fails the test that ran. It boots once more for the others.
What was printed (with the second in which it was) and the console are left in build/vm/KERNEL/. --command runs that in place of the tests (bash, as root, in /tests: a copy of
build/ and tests/). --jobs guests run at once.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from cache import Problem
from fetch import KERNELS, architecture, fetch, root_name
from guest import Guest, check_host, end_all, work_dir

TOP = Path(__file__).resolve().parents[2]
sys.path += [str(TOP / "tests"), str(TOP / "tests" / "e2e")]

import kernel as machine  # noqa: E402
import results  # noqa: E402

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

COMMAND_S = 3000
MOST_BOOTS = 2
MOST_FAILURES = 8  # of tests marked "core": the rest is not run then
NOTHING_RUN = 5  # pytest's exit status

# In the guest: tests that have run before it booted again do not run a second time.
PLUGIN = """
from pathlib import Path

def pytest_collection_modifyitems(items):
    done = set(Path("/tests/done").read_text().splitlines())
    items[:] = [item for item in items if "tests/e2e/" + item.nodeid.split("tests/e2e/")[-1] not in done]
"""

BROKEN_KERNEL = re.compile(r"Kernel panic|BUG: |Oops: |general protection fault")


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
    (to / "resume.py").write_text(PLUGIN)
    # Emulated, reading their sources takes seconds.
    compile_all = ["/usr/bin/python3", "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash", "-s", to, to / "tests"]
    subprocess.run(compile_all, timeout=300)


def files_of(kernel, args):
    """Files and tests to run, as pytest takes them."""
    named = [word.split("::")[0] for word in args.pytest if (TOP / word.split("::")[0]).exists()]
    if named:
        return []
    if args.core:
        files = [path.name for path in sorted((TOP / "tests/e2e").glob("test_*.py")) if "pytest.mark.core" in path.read_text()]
    else:
        files = SELECTIONS.get(kernel, [""])
    return [f"tests/e2e/{file}" for file in files]


def test_command(kernel, args):
    core = ["-m", "core", f"--maxfail={MOST_FAILURES}"] if args.core else []
    return (
        f"export STACKCOUNT_SCALE=${{STACKCOUNT_SCALE:-{SCALE}}} BUILD=/tests/build STACKCOUNT_GUEST={kernel}\n"
        f"export STACKCOUNT_MACHINE_PATH={shlex.quote(machine.path())} STACKCOUNT_RESULTS=$GUEST_PORT PYTHONPATH=/tests\n"
        "exec python3 -m pytest -p no:cacheprovider -p resume -v --tb=short "
        + shlex.join([*core, *files_of(kernel, args), *args.pytest])
    )


class Run:
    """One kernel's tests, and what they said."""

    def __init__(self, kernel, args):
        self.kernel, self.args = kernel, args
        self.suite = f"vm {kernel}"
        self.begin = time.monotonic()
        self.found = Counter()
        self.done = []
        self.running = None
        self.out = BUILD / "vm" / kernel
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)

    def tell(self, **result):
        """The result of a test, to whom it may concern, at once."""
        result["suite"] = self.suite
        self.found[result["outcome"]] += 1
        if result["outcome"] == "failed":
            print(f"{self.suite}: FAILED {result['test']}: {result.get('words', '')}", flush=True)
        if os.environ.get("STACKCOUNT_RESULTS"):
            results.append(os.environ["STACKCOUNT_RESULTS"], **result)

    def take(self, line):
        """Returns what pytest printed itself."""
        at = line.find('{"suite"')
        try:
            result = json.loads(line[at:]) if at >= 0 else None
        except ValueError:
            result = None
        if result is None:
            return line
        if result["outcome"] == "begun":
            if self.running:  # what it told was lost on the way
                self.tell(test=self.running, outcome="failed", s=0, words="it told no outcome")
            self.running = result["test"]
            return line[:at]
        self.tell(**result)
        if "n" in result:  # not a test, but of how many something is missing
            return line[:at]
        self.done.append(result["test"])
        self.running = None
        return f"{line[:at]}{result['outcome']}, {result.get('s', 0)} s\n"

    def boot(self, guest):
        """Returns the status of what ran, None if there is none."""
        (guest.stage / "done").write_text("".join(f"{test}\n" for test in self.done))
        with open(self.out / "output.txt", "a") as output:

            def sink(line):
                text = self.take(line)
                output.write(f"{time.monotonic() - self.begin:6.1f} {text}")
                output.flush()
                if self.args.command:
                    print(f"{self.kernel}: {text.rstrip()}", flush=True)

            command = self.args.command or test_command(self.kernel, self.args)
            status = guest.run(command, COMMAND_S if self.args.command else None, sink)
            if guest.rest:
                sink(guest.rest + "\n")
        with open(self.out / "console.txt", "a") as console:
            console.write(guest.console())
        return status

    def end(self, status, **more):
        """The guest itself is a test, too."""
        self.tell(test="guest", outcome="failed" if more else "passed", s=round(time.monotonic() - self.begin, 1), **more)
        return status

    def of_tests(self, guest):
        """Boots again where a guest ended early, which fails the test that ran."""
        for boots_left in reversed(range(MOST_BOOTS)):
            before = Counter(self.found)
            status = self.boot(guest)
            if status in (0, 1):
                outcome = ("passed", "failed")[status]
                is_told = not self.running and self.found[outcome] > before[outcome]
                return self.end(status, **{} if is_told else {"words": f"status {status}, and no test told that it {outcome}"})
            if status is not None:
                return self.end(status, words="no test ran" if status == NOTHING_RUN else f"pytest's exit status is {status}")
            lines = guest.console().strip().splitlines()
            broken = [line for line in lines if BROKEN_KERNEL.search(line)]
            test, self.running = self.running, None
            how = {"words": guest.why, "stderr": (broken or lines or [""])[-1][:200], "kind": "crash" if broken else ""}
            if test:
                self.tell(test=test, outcome="failed", s=0, **how)
                self.done.append(test)
            if not boots_left or (broken and not test):
                return self.end(status, **how)
            print(f"{self.suite}: {guest.why}; it boots again", flush=True)

    def all(self):
        """Fetch, boot and run. Returns the line that sums it up."""
        release, stage, status = "?", None, None
        try:
            check_host(self.kernel)
            release = fetch(self.kernel)
            fetch(root_name(self.kernel))
            stage = work_dir("stage")
            stage_tests(self.kernel, stage)
            with Guest(self.kernel, stage) as guest:
                status = self.boot(guest) if self.args.command else self.of_tests(guest)
        except Exception as problem:  # one kernel's failure, whatever it is, is not the others'
            self.end(None, words=str(problem) or repr(problem))
        finally:
            if stage:
                shutil.rmtree(stage, ignore_errors=True)
        took = f"in {time.monotonic() - self.begin:.0f} s"
        if self.args.command:
            self.found["failed"] = int(status != 0)
            return f"{self.suite} ({release}): {'no exit status' if status is None else f'exit status {status}'} {took}"
        return f"{self.suite} ({release}): {self.found['passed']} passed, {self.found['failed']} failed, {took}"


def tell_failures(run):
    """What pytest printed of them, or the end of what there is, where it came to no end."""
    output = run.out / "output.txt"
    if run.args.command or not run.found["failed"] or not output.exists():
        return
    lines = [line[7:] for line in output.read_text(errors="replace").splitlines()]
    begins = [i for i, line in enumerate(lines) if re.match(r"=+ (FAILURES|ERRORS) =+", line)]
    text = "\n".join(lines[begins[0]:] if begins else lines[-40:])
    print(f"--- {run.suite}: what failed, of {output}\n{text[-6000:]}", flush=True)


def run_kernel(kernel, args):
    run = Run(kernel, args)
    line = run.all()
    tell_failures(run)
    print(line, flush=True)
    return run.found["failed"]


def parse_arguments(argv):
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", 1)[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--command")
    parser.add_argument("--jobs", type=int, default=2)
    pytest = []
    if "--" in argv:
        split = argv.index("--")
        argv, pytest = argv[:split], argv[split + 1 :]
    args = parser.parse_args(argv)
    unknown = [name for name in args.kernels if name not in KERNELS]
    if unknown:
        parser.error(f"no '{unknown[0]}' (there are: {' '.join(KERNELS)})")
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
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        failed = list(pool.map(lambda kernel: run_kernel(kernel, args), kernels))
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
