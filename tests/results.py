#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
tests/results.py FILE - print the failures in FILE, and their sum. What the suites of a check left, and the end of its log.

Each suite appends a line of JSON for each test as it ends to the file that $STACKCOUNT_RESULTS names:

    {"suite": "e2e", "test": "tests/e2e/test_matrix.py::test_counts[fp]", "outcome": "failed", "s": 0.6,
     "place": "test_matrix.py:84", "words": "assert 3 == 0", "stderr": "Lost 3 hits: ...", "kind": ""}

outcome: "passed", "failed", "known" (it failed, and tests/known.txt says why), or "left out" ("n" tests need what "test" names).
"begun" is the line of a test that has no other yet: it fails if none follows.
kind: "crash", "account" (hits that are neither printed nor told as lost) and "limit" (it did not end); else "".
"""

import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

MOST_BYTES = 2900  # a CI may keep only the end of a log
MOST_FLAKY = 3
NEVER_AGAIN = ("crash", "account")


def append(path, **result):
    with open(path, "a") as file:
        file.write(json.dumps(result) + "\n")
    return result


def read(path):
    """Lines that are cut, as by a guest that died, are passed over. A test that has begun alone died with its suite."""
    found, begun = [], {}
    for line in Path(path).read_text(errors="replace").splitlines() if Path(path).exists() else []:
        try:
            result = json.loads(line)
        except ValueError:
            continue
        if result["outcome"] == "begun":
            begun[result["suite"], result["test"]] = {**result, "outcome": "failed", "kind": "crash", "words": "its suite ended before it"}
        else:
            begun.pop((result["suite"], result["test"]), None)
            found.append(result)
    return found + list(begun.values())


def describe_machine():
    """One line, so that two logs can be compared."""
    def first(pattern, path, otherwise="?"):
        try:
            found = re.search(pattern, Path(path).read_text(errors="replace"), re.M)
        except OSError:
            return otherwise
        return found[1] if found else otherwise

    begin, begin_cpu = time.monotonic(), time.process_time()
    sum(range(1_000_000))
    loop = f"loop {1000 * (time.process_time() - begin_cpu):.0f} ms of CPU in {1000 * (time.monotonic() - begin):.0f} ms"
    kind = "a guest" if first(r"^flags.*\b(hypervisor)\b", "/proc/cpuinfo", "") else "no guest"
    release = first(r'^PRETTY_NAME="?([^"\n]*)', "/etc/os-release")
    memory = int(first(r"^MemTotal: *(\d+)", "/proc/meminfo", "0")) >> 20
    steal = first(r"^cpu .* (\d+) \d+ \d+$", "/proc/stat")
    return (f"machine: {release}, Linux {os.uname().release}, {kind}, {os.cpu_count()} CPUs, {memory} GiB, {loop}, "
            f"steal {steal}, load {os.getloadavg()[0]:.1f}")


def count_words(results):
    n = Counter(result["outcome"] for result in results)
    return f"{n['passed']} passed, {n['failed']} failed" + (f", {n['known']} known" if n["known"] else "")


def _line(word, result, end=""):
    words = " ".join(str(result.get("words", "")).split())[:200]
    stderr = " ".join(str(result.get("stderr", "")).split())[:160]
    where = f" at {result['place']}" if result.get("place") else ""
    kind = f" [{result['kind']}]" if result.get("kind") else ""
    said = f"; stderr: {stderr}" if stderr else ""
    return f"{word} {result['suite']} {result['test']}{where} ({result.get('s', 0):.1f} s){kind}: {words}{said}{end}"


def _names(failed, width):
    """Lines of a file's tests each: without parameters, cut at @width; at 0 a line of a suite's files, with their numbers."""
    groups = {}
    for word, result, *_ in failed:
        file, _, name = result["test"].split("/")[-1].partition("::")
        of_file, group = file.removesuffix(".py").removeprefix("test_"), f"{word} {result['suite']}"
        group += f" {of_file}" if name and width else ""
        names = groups.setdefault(group, Counter())
        names[(name or file).split("[")[0].removeprefix("test_")[:width] if width else of_file] += 1
    return [f"{group}: " + " ".join(name + f"({n})" * (n > 1) for name, n in names.items()) for group, names in groups.items()]


def _named(failed, room):
    """A line for as many as have room, and behind them the names of the others."""
    for width in (80, 24, 12, 0):
        for n in range(min(len(failed), 40), -1, -1):
            rest = ["also, in short (see build/check/results.jsonl):", *_names(failed[n:], width)] if failed[n:] else []
            lines = [*(_line(*one) for one in failed[:n]), *rest]
            if sum(len(line.encode()) + 1 for line in lines) <= room:
                return lines
    return [f"{len(failed)} failures: see build/check/results.jsonl"]


def judge(results, again):
    """(failed, flaky): what failed for good, and pairs of a failure and of its passing when tried alone."""
    failed, flaky = [], []
    for result in results:
        if result["outcome"] != "failed":
            continue
        second = again.get((result["suite"], result["test"]))
        if second and second["outcome"] == "passed" and result.get("kind") not in NEVER_AGAIN:
            flaky.append((result, second))
        else:
            failed.append(result)
    return failed, flaky


def is_green(results, failed, flaky):
    return not failed and len(flaky) <= MOST_FLAKY and any(result["outcome"] == "passed" for result in results)


def end_of_log(machine, phases, results, again):
    """At most MOST_BYTES that name every failure; the last line is the sum."""
    failed, flaky = judge(results, again)
    n_known = sum(result["outcome"] == "known" for result in results)
    n_passed = sum(result["outcome"] == "passed" for result in results) + len(flaky)
    too_many = len(flaky) > MOST_FLAKY
    end = [f"{n_known} known failures: see tests/known.txt"] if n_known else []
    end += [f"{len(flaky)} flaky" + (f": more than {MOST_FLAKY} are a failure" if too_many else "")] if flaky else []
    end.append(f"{n_passed} passed, {len(failed) + too_many} failed")
    tests = [result for result in results if result["suite"] not in ("build", "lint") and "s" in result]
    slowest = sorted(tests, key=lambda result: -result["s"])[:5]
    head = [machine[:300], phases[:300]]
    left_out = [f"{result['n']} need {result['test']}" for result in results if result["outcome"] == "left out" and not result["suite"].startswith("vm")]
    if left_out:
        head.append(("not for this machine: " + ", ".join(left_out))[:300])
    if slowest:
        head.append("slowest: " + ", ".join(f"{r['test'].split('/')[-1][:60]} {r['s']:.0f} s" for r in slowest))
    body = [("FAILED", result) for result in failed]
    body += [("FLAKY", first, f" - then passed alone in {second.get('s', 0):.1f} s") for first, second in flaky]
    room = MOST_BYTES - sum(len(line.encode()) + 1 for line in [*head, *end])
    return "\n".join([*head, *_named(body, room), *end])


def main(path):
    found = read(path)
    for line in (_line("FAILED", result) for result in found if result["outcome"] == "failed"):
        print(line)
    print(count_words(found))
    return 0 if is_green(found, *judge(found, {})) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
