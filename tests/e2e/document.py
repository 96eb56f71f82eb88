# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A strict reader of stackcount's JSON: the schema, and what a schema cannot say."""
import json
import os

import schema

SCHEMA = os.path.join(os.path.dirname(__file__), "../../doc/stackcount.schema.json")


class Malformed(Exception):
    pass


def _once(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise Malformed(f"a member comes twice: {keys}")
    return dict(pairs)


def _no_constant(name):
    raise Malformed(f"{name} is no JSON")


def _expect(holds, words):
    if not holds:
        raise Malformed(words)


def _check_stack(document, stack):
    n_values = len(document["values"])
    _expect(len(stack["values"]) == n_values, "a stack without a value")
    _expect(("before" in stack) == ("is_difference" in document), "before, but no difference")
    _expect(len(stack.get("before", stack["values"])) == n_values, "a stack without a value before")
    for number in stack["kernel"] + stack["user"]:
        _expect(number < len(document["frames"]), f"there is no frame {number}")
    for kind, other in (("kernel", "user"), ("user", "kernel")):
        _expect(all(document["frames"][f]["kind"] != other for f in stack[kind]), f"a frame of the {other} in {kind}")
    parts = stack.get("slices", [])
    _expect(all(part[0] < len(document["slices"]) for part in parts), "there is no such slice")
    _expect(not parts or sum(part[1] for part in parts) == stack["values"][0], "parts are not the whole")


def check(document):
    """Raise Malformed or schema.Invalid unless @document is a report."""
    with open(SCHEMA, encoding="utf-8") as f:
        schema.check(document, json.load(f))
    is_difference = "is_difference" in document
    for member in ("total_before", "about_before", "changes"):
        _expect((member in document) == is_difference, f"{member} belongs to differences")
    for frame in document["frames"]:
        _expect(frame.get("image", 0) < max(len(document["images"]), 1), "there is no such image")
        _expect(("file" in frame) == ("line" in frame), "a file without a line")
        if frame["kind"] in ("cut", "unverified"):
            _expect(set(frame) <= {"kind", "name", "module"}, "a mark has an address")
    for stack in document["stacks"]:
        _check_stack(document, stack)
    counts = sum(stack["values"][0] for stack in document["stacks"])
    _expect(document["total"] == counts + document["hidden"]["count"], "the total is not the sum")


def parse(line):
    """The report in one line of bytes, which must be all there is."""
    _expect(line.endswith(b"\n") and line.count(b"\n") == 1, "a report is one line")
    document = json.loads(line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    check(document)
    return document
