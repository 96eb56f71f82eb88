# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""JSON, read strictly: what the unit tests' golden files have, and what runs write, follows the schema and what a schema
cannot say."""

import functools
import json

import pytest
from tool import GETPPID, TOP, trace

SCHEMA = json.loads((TOP / "doc/stackcount.schema.json").read_text())
NOTES = {"$schema", "title", "description", "$defs"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}

# A keyword of JSON Schema that is not here is an error, so that no rule goes unchecked.
RULES = {
    "type": lambda x, names: any(
        isinstance(x, TYPES[name]) and isinstance(x, bool) == (name == "boolean") for name in ([names] if isinstance(names, str) else names)
    ),
    "required": lambda x, names: not isinstance(x, dict) or set(names) <= set(x),
    "enum": lambda x, values: x in values,
    "const": lambda x, value: x == value and isinstance(x, bool) == isinstance(value, bool),
    "minimum": lambda x, least: not isinstance(x, (int, float)) or x >= least,
    "maximum": lambda x, most: not isinstance(x, (int, float)) or x <= most,
    "exclusiveMinimum": lambda x, least: not isinstance(x, (int, float)) or x > least,
    "minItems": lambda x, least: not isinstance(x, list) or len(x) >= least,
    "maxItems": lambda x, most: not isinstance(x, list) or len(x) <= most,
}


def follow(x, schema, where="document"):
    """Fails unless @x follows @schema."""
    for keyword, rule in schema.items():
        if keyword == "$ref":
            follow(x, functools.reduce(dict.__getitem__, rule.removeprefix("#/").split("/"), SCHEMA), where)
        elif keyword == "items":
            for i, item in enumerate(x if isinstance(x, list) else ()):
                follow(item, rule, f"{where}[{i}]")
        elif keyword == "properties":
            for key in rule.keys() & x.keys() if isinstance(x, dict) else ():
                follow(x[key], rule[key], f"{where}.{key}")
        elif keyword == "additionalProperties":
            assert rule is False and not (isinstance(x, dict) and x.keys() - schema["properties"].keys()), f"{where}: {x!r}"
        elif keyword not in NOTES:
            assert RULES[keyword](x, rule), f"{where}: {x!r} breaks {keyword} {rule!r}"


def check_stack(document, stack):
    n_values, frames = len(document["values"]), document["frames"]
    assert len(stack["values"]) == len(stack.get("before", stack["values"])) == n_values
    assert ("before" in stack) == ("is_difference" in document)
    for kind, other in (("kernel", "user"), ("user", "kernel")):
        assert all(frames[number]["kind"] != other for number in stack[kind])
    parts = stack.get("slices", [])
    assert all(part[0] < len(document["slices"]) for part in parts)
    assert not parts or sum(part[1] for part in parts) == stack["values"][0], "parts are not the whole"


def once(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), f"a member comes twice: {pairs}"
    return dict(pairs)


def parse(line):
    """The report in one line of bytes, which must be all there is."""
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    document = json.loads(line.decode("utf-8"), object_pairs_hook=once, parse_constant=pytest.fail)
    follow(document, SCHEMA)
    assert all((member in document) == ("is_difference" in document) for member in ("total_before", "about_before", "changes"))
    for frame in document["frames"]:
        assert frame.get("image", 0) < max(len(document["images"]), 1)
        assert ("file" in frame) == ("line" in frame)
        assert frame["kind"] not in ("cut", "unverified") or set(frame) <= {"kind", "name", "module"}, "a mark has an address"
    for stack in document["stacks"]:
        check_stack(document, stack)
    assert document["total"] == sum(stack["values"][0] for stack in document["stacks"]) + document["hidden"]["count"]
    return document


@pytest.mark.parametrize("path", sorted((TOP / "tests/golden").glob("document*.json")), ids=lambda path: path.name)
def test_documents_follow_the_schema(path):
    parse(path.read_bytes())


def test_a_run_writes_a_document(workload, tmp_path):
    one = workload("syscalls", "getppid", 300, 1)
    json_file = tmp_path / "a.json"
    result, expected = trace(one, "-p", one.pid, "-o", json_file, GETPPID)
    full = parse(json_file.read_bytes())
    assert full["total"] == sum(expected.values()), result.ok()
    assert "main" in {frame.get("name") for frame in full["frames"]}
