#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/roots/run.py [--gate | --only TEST | -k TEXT] - build, package and run in root directories of Debian's releases.

Debian 12, 13 and sid build the project with their own tools. What they built traces there, in each
other's roots, and without any library in an empty root and beside musl. Needs root and mmdebstrap. --gate needs root alone:
the static program that was built here traces in an empty root. --only runs that test with what is built. Prints what
failed, and leaves a line for each test in $STACKCOUNT_RESULTS (tests/results.py). The last line is "N passed, N failed".

build/roots/programs/SUITE is the static program of that release, for tests/e2e/test_verifier.py.
"""

import argparse
import concurrent.futures
import contextlib
import faulthandler
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from roots import BUILD, BUILDING, TOP, Problem, Root, root

sys.path.append(str(TOP / "tests"))
import results  # noqa: E402

HERE = BUILD / "roots"
PATIENCE_S = 60
MOST_BYTES = 5 << 20
GOALS = ["all", "static", "build/workload/calls", "build/workload/syscalls"]
GETPPID = "t:syscalls:sys_enter_getppid"
CALLS = ["1000", "300", "0"]
CALLS_ANSWER = {"main;work_run;run;branch_a;leaf": 1000, "main;work_run;run;branch_b;middle;leaf": 300}
HERE_ALONE = "here"  # what was built outside of any root
# Without -Werror, in whose place what is said is read.
NO_ERRORS = ["WARN=-Wall -Wextra -Wshadow -Wvla", "CLANG=sh -c 'exec clang \"$$@\" -Wno-error' sh"]
MOVING = "sid"  # its compilers are those of the day: a new warning is told, and is no failure


LIMIT_S, TRACE_LIMIT_S = 1500, 150
KINDS = {"account": "^wrong |^lost hits", "crash": r"status -|returned.*-(4|6|7|8|11)\b", "limit": "^did not end"}


def on_alarm(*_):
    faulthandler.dump_traceback()
    raise Problem("did not end in time")


def check(is_so, words, *shown):
    if not is_so:
        raise AssertionError(words + "".join(f"\n--- {text}" for text in shown))


# --- what is built ---


def sources():
    command = ["git", "-c", "safe.directory=*", "-C", TOP, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        names = [str(file.relative_to(TOP)) for file in TOP.rglob("*") if BUILD not in file.parents]
    return {name for name in names if (TOP / name).is_file()}


def stage(suite):
    """A copy of the sources, for one release; what has not changed stays as it is, for make."""
    to = HERE / suite
    wanted = sources()
    for old in (file for file in to.rglob("*") if file.is_file()):
        name = str(old.relative_to(to))
        if name not in wanted and not name.startswith("build/"):
            old.unlink()
    for name in wanted:
        source, copy = TOP / name, to / name
        if copy.exists() and copy.stat().st_mtime_ns == source.stat().st_mtime_ns:
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy)
    shutil.copytree(BUILD / "zydis", to / "build" / "zydis", dirs_exist_ok=True)
    return to


def inside(suite, lower=None):
    """The root of @lower (else of @suite), with the sources and the build of @suite at /src."""
    return Root(root(lower or suite), **{"src": HERE / suite})


def builds_without_a_warning(suite):
    with inside(suite) as here:
        done = here.run("make", "-s", "-C", "/src", "-j2", *(NO_ERRORS if suite == MOVING else []), *GOALS, timeout=LIMIT_S)
    said = done.stdout + done.stderr
    check(done.returncode == 0 and (said == "" or suite == MOVING), f"make ends with status {done.returncode}", said[-6000:])
    if said:
        print(f"warnings of {suite}, which are no failure:\n{said[-3000:]}", flush=True)
    static = HERE / suite / "build" / "static" / "stackcount"
    check(static.stat().st_size <= MOST_BYTES, f"the static program has {static.stat().st_size} bytes")
    (HERE / "programs").mkdir(exist_ok=True)
    shutil.copy(static, HERE / "programs" / suite)


# --- what traces ---


def chains(text):
    """Folded lines, from main on."""
    found = {}
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        if count.isdigit():
            stack = ";".join(frames[frames.index("main") :] if "main" in frames else frames)
            found[stack] = found.get(stack, 0) + int(count)
    return found


def traces(here, program, folder="/src/build/workload"):
    """A command's hits of a user function and a tracepoint are counted exactly, stacks and all."""
    work = f"{folder}/calls"
    done = here.trace(program, "-f", "-U", f"{work}:leaf", "--", work, "--quiet", *CALLS)
    check(done.returncode == 0 and chains(done.stdout) == CALLS_ANSWER, "wrong stacks of leaf", done.stdout, done.stderr)
    work = [f"{folder}/syscalls", "getppid", "200", "100"]
    expected = {stack: n for stack, n in chains(here.run(*work).stdout).items() if n}
    done = here.trace(program, "-f", "-U", GETPPID, "--", work[0], "--quiet", *work[1:])
    check(done.returncode == 0 and chains(done.stdout) == expected, "wrong stacks of getppid", done.stdout, done.stderr)
    check("Lost" not in done.stdout + done.stderr, "lost hits", done.stderr)


class Outside:
    """A workload of this machine, which waits until it is let go."""

    def __enter__(self):
        # A copy, so that its hits and those of other suites' workloads are no one's but their own.
        self.folder = tempfile.TemporaryDirectory(dir=BUILD, prefix="outside.")
        self.path = shutil.copy(BUILD / "workload" / "calls", self.folder.name)
        command = [self.path, "--wait", "--quiet", *CALLS]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline().split()[1])
        return self

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        while self.process.stdout.readline() not in ("done\n", ""):
            pass

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.folder.cleanup()


def traces_another(here, program):
    """The same of a process outside this root."""
    with Outside() as work:
        command = here.tool_command(program, "-f", "-U", "-p", str(work.pid), f"{work.path}:leaf")
        tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            text = ""
            while "Hit Ctrl-C" not in text:  # main() bounds a test's time
                text += (line := tool.stderr.readline())
                check(line, "does not begin", text)
            work.run()
            tool.send_signal(signal.SIGINT)
            out, err = tool.communicate(timeout=PATIENCE_S)
        finally:
            tool.kill()
            tool.wait()
        check(tool.returncode == 0 and chains(out) == CALLS_ANSWER, "wrong stacks", out, text + err)


def traces_where_it_was_built(suite):
    with inside(suite) as here:
        traces(here, "/src/build/stackcount")


def static_traces_in_an_empty_root(suite):
    program = BUILD / "static" / "stackcount" if suite == HERE_ALONE else HERE / "programs" / suite
    with Root(None, tool=program.parent) as here:
        traces_another(here, f"/tool/{program.name}")


def static_traces_beside_musl(suite):
    """Programs of that root, too: its shell."""
    with Root(root("musl"), tool=HERE / "programs") as here:
        done = here.trace(f"/tool/{suite}", "-f", "t:syscalls:sys_enter_exit_group", "--", "/bin/sh", "-c", "exit 0")
        check(done.returncode == 0 and sum(chains(done.stdout).values()) == 1, "wrong count", done.stdout, done.stderr)
        traces_another(here, f"/tool/{suite}")


def built_on_12_traces_in(suite):
    with inside("bookworm", suite) as here:
        traces(here, "/src/build/stackcount")


# --- packages ---

PACKAGED = BUILDING[:2]
INSTALLED = [
    *(f"/usr/sbin/{name}" for name in ("stackcount", "stacksnoop", "funccount", "profile")),
    *(f"/usr/share/man/man8/{name}.8.gz" for name in ("stackcount", "stacksnoop", "funccount", "profile")),
    "/usr/share/bash-completion/completions/stackcount",
    "/usr/share/zsh/vendor-completions/_stackcount",
    "/usr/share/fish/vendor_completions.d/stackcount.fish",
    *(f"/usr/share/doc/stackcount/examples/{name}" for name in ("stackcount.service", "stackcount-upload.path",
                                                               "stackcount-upload.service", "upload")),
]


def packages(suite):
    found = sorted((HERE / suite / "build" / "deb").glob("*.deb"))
    check(len(found) == 2, "not two packages", found)
    return found


def makes_packages(suite):
    with inside(suite) as here:
        done = here.run("make", "-s", "-C", "/src", "deb", timeout=LIMIT_S)
    check(done.returncode == 0, f"make deb ends with status {done.returncode}", (done.stdout + done.stderr)[-6000:])
    said = subprocess.run(["lintian", "--allow-root", *packages(suite)], capture_output=True, text=True, timeout=PATIENCE_S * 5)
    check(said.returncode == 0 and not re.search("^[EW]:", said.stdout, re.M), "lintian complains", said.stdout, said.stderr)


def package_is_installed_and_purged(suite):
    files = [f"/src/build/deb/{deb.name}" for deb in packages(suite)]
    every_file = ["find", "/", "-xdev", "-name", "*stackcount*", "-not", "-path", "/src*"]
    with inside(suite) as here:
        before = here.run(*every_file).stdout
        done = here.run("dpkg", "-i", *files)
        check(done.returncode == 0, "is not installed", done.stdout, done.stderr)
        done = here.run("ls", *INSTALLED)
        check(done.returncode == 0, "lacks files", done.stderr)
        traces(here, "stackcount")
        done = here.trace("funccount", "-d", "0.1", "t:sched:sched_switch")
        check(done.returncode == 0, "funccount fails", done.stderr)
        symbols = here.run("sh", "-c", "dpkg -L stackcount-dbgsym | grep debug$").stdout
        check(symbols.count(".debug") == 1, "no debug symbols", symbols)
        done = here.run("dpkg", "--purge", "stackcount-dbgsym", "stackcount")
        check(done.returncode == 0, "is not purged", done.stdout, done.stderr)
        left = here.run(*every_file).stdout
        check(left == before, "leaves files", left)


WHERE_THEY_ARE_BUILT = [traces_where_it_was_built, static_traces_in_an_empty_root, static_traces_beside_musl]
GATE = f"static_traces_in_an_empty_root[{HERE_ALONE}]"
BUILDS = {f"builds_without_a_warning[{suite}]": (builds_without_a_warning, suite) for suite in BUILDING}
# By name, in the order in which they run: each needs the builds.
TESTS = {
    GATE: (static_traces_in_an_empty_root, HERE_ALONE),
    **{f"{function.__name__}[{suite}]": (function, suite) for function in WHERE_THEY_ARE_BUILT for suite in BUILDING},
    **{f"makes_packages[{suite}]": (makes_packages, suite) for suite in PACKAGED},
    **{f"package_is_installed_and_purged[{suite}]": (package_is_installed_and_purged, suite) for suite in PACKAGED},
    **{f"built_on_12_traces_in[{suite}]": (built_on_12_traces_in, suite) for suite in BUILDING[1:]},
}


# --- the run ---


class Runner:
    def __init__(self):
        self.passed = self.failed = 0
        self.lock = threading.Lock()

    def run(self, name, function, *arguments):
        """Whether it passed."""
        begin, problem = time.monotonic(), None
        if threading.current_thread() is threading.main_thread():  # others make roots
            signal.alarm(LIMIT_S if name.startswith(("builds_", "makes_")) else TRACE_LIMIT_S)
        try:
            function(*arguments)
        except (AssertionError, Problem, subprocess.TimeoutExpired) as failure:
            problem = str(failure)
        except Exception:  # one test's failure, whatever it is, is not the others'
            problem = traceback.format_exc()
        took = time.monotonic() - begin
        kind = next((kind for kind, words in KINDS.items() if re.search(words, problem or "")), "")
        with self.lock:
            self.passed += not problem
            self.failed += bool(problem)
            print(f"FAILED {name}: {problem}" if problem else f"passed {name} ({took:.1f} s)", flush=True)
            if os.environ.get("STACKCOUNT_RESULTS"):
                lines = (problem or "").strip().splitlines() or [""]
                results.append(
                    os.environ["STACKCOUNT_RESULTS"], suite="roots", test=name, outcome="failed" if problem else "passed",
                    s=round(took, 1), words=lines[0][:300], stderr=lines[-1][:200] if len(lines) > 1 else "", kind=kind,
                )
        return not problem


def make_roots(runner):
    names = [*BUILDING, "musl"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        made = dict(zip(names, pool.map(lambda name: runner.run(f"makes_root[{name}]", root, name), names)))
    return made


def run_all(runner, text):
    shutil.rmtree(HERE / "programs", ignore_errors=True)
    made = make_roots(runner)
    for name, (function, suite) in BUILDS.items():
        if made[suite]:
            stage(suite)
            runner.run(name, function, suite)
    for name, (function, suite) in TESTS.items():
        if text in name:
            runner.run(name, function, suite)


def run_one(runner, name):
    if name in BUILDS:
        stage(BUILDS[name][1])
    if name.startswith("makes_root["):
        runner.run(name, root, name.split("[")[1].rstrip("]"))
    else:
        runner.run(name, *{**BUILDS, **TESTS}[name])


def main(argv):
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", 1)[0])
    parser.add_argument("--gate", dest="only", action="store_const", const=GATE, help="what 'make check' runs")
    parser.add_argument("--only", metavar="TEST", help="that test alone, with what is built")
    parser.add_argument("-k", default="", metavar="TEXT", help="only tests whose name contains this, and all builds")
    args = parser.parse_args(argv)
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was begun is ended
    HERE.mkdir(parents=True, exist_ok=True)
    runner = Runner()
    if args.only:
        run_one(runner, args.only)
    else:
        run_all(runner, args.k)
    print(f"{runner.passed} passed, {runner.failed} failed")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
    sys.exit(130)
