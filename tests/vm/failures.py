#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/vm/failures.py JUNIT [OUTPUT...] - output of the tests that failed, bounded.

Each failed test of the JUnit file with its traceback and what it wrote. Where the file is not there
(pytest, or the whole guest, did not come to its end), the last lines of each OUTPUT.
"""

import sys
import xml.etree.ElementTree
from pathlib import Path

MOST_TESTS = 12
MOST_CHARACTERS = 6000  # of one test
LAST_LINES = 60  # of one OUTPUT


def bounded(text, most=MOST_CHARACTERS):
    """Its beginning, and twice as much of its end."""
    if len(text) <= most:
        return text
    left_out = len(text) - most
    return f"{text[: most // 3]}\n[... {left_out} characters ...]\n{text[-(most - most // 3):]}"


def of_case(case):
    """What test @case says of its failure; None: it did not fail."""
    bad = [*case.findall("failure"), *case.findall("error")]
    if not bad:
        return None
    said = [part.text or part.get("message") or "" for part in bad]
    said += [f"--- {part.tag}\n{part.text}" for part in case.iter() if part.tag in ("system-out", "system-err")]
    name = f"{case.get('classname')}::{case.get('name')}"
    return f"=== FAILED {name}, after {float(case.get('time') or 0):.1f} s\n{bounded(chr(10).join(said).strip())}"


def last_lines(path):
    path = Path(path)
    if not path.exists():
        return f"=== no {path}"
    lines = path.read_text(errors="replace").splitlines()[-LAST_LINES:]
    return "\n".join([f"=== the end of {path}", *(bounded(line, 600) for line in lines)])


def describe(junit, outputs=()):
    """Text about the failures, '' if there are none."""
    try:
        cases = xml.etree.ElementTree.parse(junit).getroot().iter("testcase")
    except (OSError, xml.etree.ElementTree.ParseError):
        return "\n".join(map(last_lines, outputs))
    failed = [text for text in map(of_case, cases) if text]
    if len(failed) > MOST_TESTS:
        failed[MOST_TESTS:] = [f"=== and {len(failed) - MOST_TESTS} more, in {junit}"]
    return "\n".join(failed)


def counts(junit):
    """(passed, failed) of a JUnit file; one that is not there has failed."""
    try:
        suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
    except (OSError, xml.etree.ElementTree.ParseError):
        return 0, 1
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    return int(suite.get("tests")) - failed - int(suite.get("skipped")), failed


if __name__ == "__main__":
    text = describe(sys.argv[1], sys.argv[2:])
    if text:
        print(text)
    print("{} passed, {} failed".format(*counts(sys.argv[1])))
