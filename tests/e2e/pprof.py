# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A strict reader of pprof files (profile.proto): it takes no field that is not in the format.

read() refuses what a standard reader may let pass: strings that are not UTF-8, ids that come twice or
are named and not there, messages that are cut off, samples with another number of values, labels with
two kinds of values, locations outside their mapping, strings that nothing names.
"""

import gzip
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


class Bad(Exception):
    """The file is no pprof file as it should be."""


def need(holds, words):
    if not holds:
        raise Bad(words)


def _varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a number is cut off")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            need(value < 1 << 64, "a number is too large")
            return value, at


def fields(data):
    """[(number, int or bytes)] of a message."""
    at, found = 0, []
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        need(number > 0, "a field has the number 0")
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            n, at = _varint(data, at)
            need(at + n <= len(data), "a field is cut off")
            value, at = data[at : at + n], at + n
        else:
            raise Bad(f"wire type {kind}, which profile.proto has no use for")
        found.append((number, value))
    return found


def numbers(value):
    """Of a repeated field: packed, or alone."""
    if isinstance(value, int):
        return [value]
    at, found = 0, []
    while at < len(value):
        one, at = _varint(value, at)
        found.append(one)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def message(data, names, most):
    """Members of a message by name. @names: {number: name}; a name with "*" may come several times."""
    members = {name.strip("*"): [] if name.endswith("*") else 0 for name in names.values()}
    seen = set()
    for number, value in fields(data):
        need(number in names, f"a field {number}, of {most}")
        name = names[number]
        if name.endswith("*"):
            members[name[:-1]].append(value)
        else:
            need(number not in seen, f"{most}: {name} comes twice")
            members[name] = value
        seen.add(number)
    return members


@dataclass
class Profile:
    types: list  # [(name, unit)]
    samples: list = field(default_factory=list)  # [(locations, values, labels)]
    mappings: dict = field(default_factory=dict)
    locations: dict = field(default_factory=dict)
    functions: dict = field(default_factory=dict)
    comments: list = field(default_factory=list)
    time_ns: int = 0
    duration_ns: int = 0
    default_type: str = ""
    period_type: tuple = ("", "")
    period: int = 0

    def names(self, location):
        """Names at a location, innermost first."""
        lines = self.locations[location]["lines"]
        return [self.functions[line["function"]]["name"] for line in lines] or [None]

    def stack(self, locations):
        return tuple(name for location in locations for name in self.names(location))

    def sums(self, number=0):
        """{names of the stack, innermost first: sum}. Samples of slices add up."""
        found = Counter()
        for locations, values, _ in self.samples:
            found[self.stack(locations)] += values[number]
        return found

    def own(self, key):
        """Values of comments stackcount:KEY=VALUE."""
        begin = f"stackcount:{key}="
        return [text[len(begin) :] for text in self.comments if text.startswith(begin)]


PROFILE = {1: "types*", 2: "samples*", 3: "mappings*", 4: "locations*", 5: "functions*", 6: "strings*", 7: "drop",
           8: "keep", 9: "time", 10: "duration", 11: "period_type", 12: "period", 13: "comments*", 14: "default"}
MAPPING = {1: "id", 2: "start", 3: "limit", 4: "offset", 5: "file", 6: "build_id", 7: "has_functions",
           8: "has_filenames", 9: "has_line_numbers", 10: "has_inline_frames"}


class _Strings:
    def __init__(self, raw):
        need(raw and raw[0] == b"", "the first string is not empty")
        need(len(set(raw)) == len(raw), "a string is there twice")
        self.texts = [text.decode("utf-8", "strict") for text in raw]
        self.used = {0}

    def __call__(self, number):
        need(number < len(self.texts), f"string {number} is not there")
        self.used.add(number)
        return self.texts[number]


def _table(rows, names, what):
    found = {}
    for row in rows:
        members = message(row, names, what)
        need(members["id"] > 0, f"a {what} has the id 0")
        need(members["id"] not in found, f"two {what}s have the id {members['id']}")
        found[members["id"]] = members
    return found


def _labels(rows, strings):
    labels = []
    for row in rows:
        label = message(row, {1: "key", 2: "text", 3: "number", 4: "unit"}, "label")
        need(label["key"], "a label has no key")
        need(not (label["text"] and (label["number"] or label["unit"])), "a label is text and number")
        value = strings(label["text"]) if label["text"] else signed(label["number"])
        labels.append((strings(label["key"]), value, strings(label["unit"])))
    return labels


def _read_mapping(mapping, strings):
    mapping["file"], mapping["build_id"] = strings(mapping["file"]), strings(mapping["build_id"])
    need(mapping["start"] <= mapping["limit"], f"mapping {mapping['id']} ends before it begins")
    need(all(c in "0123456789abcdef" for c in mapping["build_id"]), "a build ID is not in hex digits")


def _read_location(location, p, strings):
    location["lines"] = [message(line, {1: "function", 2: "line"}, "line") for line in location["lines"]]
    for line in location["lines"]:
        need(line["function"] in p.functions, f"function {line['function']} is not there")
    if location["mapping"]:
        need(location["mapping"] in p.mappings, f"mapping {location['mapping']} is not there")
        mapping = p.mappings[location["mapping"]]
        if mapping["has_functions"]:
            need(all(p.functions[line["function"]]["name"] for line in location["lines"]) and location["lines"],
                 f"mapping {mapping['id']} has a location without a name")


def _read_tables(p, members, strings):
    p.mappings = _table(members["mappings"], MAPPING, "mapping")
    for mapping in p.mappings.values():
        _read_mapping(mapping, strings)
    p.functions = _table(members["functions"], {1: "id", 2: "name", 3: "system_name", 4: "file", 5: "line"}, "function")
    for function in p.functions.values():
        for name in ("name", "system_name", "file"):
            function[name] = strings(function[name])
    p.locations = _table(members["locations"], {1: "id", 2: "mapping", 3: "address", 4: "lines*", 5: "folded"}, "location")
    for location in p.locations.values():
        _read_location(location, p, strings)


def _read_samples(p, members, strings):
    used = set()
    for row in members["samples"]:
        sample = message(row, {1: "locations*", 2: "values*", 3: "labels*"}, "sample")
        locations = [one for value in sample["locations"] for one in numbers(value)]
        values = [signed(one) for value in sample["values"] for one in numbers(value)]
        need(len(values) == len(p.types), f"a sample has {len(values)} values of {len(p.types)}")
        need(all(one in p.locations for one in locations), "a location is not there")
        used |= set(locations)
        p.samples.append((locations, values, _labels(sample["labels"], strings)))
    need(used == set(p.locations), "a location is in no sample")
    functions = {line["function"] for location in p.locations.values() for line in location["lines"]}
    need(functions == set(p.functions), "a function is in no location")
    mappings = {location["mapping"] for location in p.locations.values()} - {0}
    need(mappings == set(p.mappings), "a mapping is in no location")


def parse(data):
    members = message(data, PROFILE, "profile")
    strings = _Strings(members["strings"])

    def value_type(row):
        found = message(row, {1: "name", 2: "unit"}, "type")
        return strings(found["name"]), strings(found["unit"])

    p = Profile([value_type(row) for row in members["types"]])
    need(p.types and len(set(p.types)) == len(p.types), "no types of values, or one twice")
    _read_tables(p, members, strings)
    _read_samples(p, members, strings)
    p.comments = [strings(one) for value in members["comments"] for one in numbers(value)]
    p.time_ns, p.duration_ns, p.period = signed(members["time"]), signed(members["duration"]), members["period"]
    need(p.time_ns >= 0 and p.duration_ns >= 0, "a time below zero")
    p.default_type = strings(members["default"])
    need(p.default_type in [name for name, _ in p.types], "the default type is none of the types")
    if members["period_type"]:
        p.period_type = value_type(members["period_type"])
    need(strings.used == set(range(len(strings.texts))), "a string that nothing names")
    return p


def read(path):
    """The profile in the file, which must be packed by gzip."""
    data = Path(path).read_bytes()
    need(data[:2] == b"\x1f\x8b", "not packed by gzip")
    need(data[4:8] == b"\0\0\0\0", "its header has a time, so equal profiles would differ")
    return parse(gzip.decompress(data))


def go_pprof():
    """Go's pprof, which scripts/deps unpacks."""
    build = Path(os.environ.get("BUILD") or Path(__file__).resolve().parents[2] / "build").resolve()
    (path,) = build.glob("programs/usr/lib/go-*/pkg/tool/*/pprof")
    return str(path)
