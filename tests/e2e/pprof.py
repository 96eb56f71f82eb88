# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A strict reader of pprof files (profile.proto): it takes no field that is not in the format.

read() refuses what a standard reader may let pass: strings that are not UTF-8, ids that come twice or
are named and not there, messages that are cut off, samples with another number of values, labels with
two kinds of values, locations outside their mapping, strings that nothing names.
"""

import gzip
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

    def own(self, key):
        """Values of comments stackcount:KEY=VALUE."""
        begin = f"stackcount:{key}="
        return [text[len(begin) :] for text in self.comments if text.startswith(begin)]


PROFILE = {1: "types*", 2: "samples*", 3: "mappings*", 4: "locations*", 5: "functions*", 6: "strings*", 7: "drop",
           8: "keep", 9: "time", 10: "duration", 11: "period_type", 12: "period", 13: "comments*", 14: "default"}
MAPPING = {1: "id", 2: "start", 3: "limit", 4: "offset", 5: "file", 6: "build_id", 7: "has_functions",
           8: "has_filenames", 9: "has_line_numbers", 10: "has_inline_frames"}
LOCATION = {1: "id", 2: "mapping", 3: "address", 4: "lines*", 5: "folded"}
FUNCTION = {1: "id", 2: "name", 3: "system_name", 4: "file", 5: "line"}


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

    def type(self, row):
        found = message(row, {1: "name", 2: "unit"}, "type")
        return self(found["name"]), self(found["unit"])

    def table(self, rows, names, what, *of_text):
        """{id: members}, with the strings of the members @of_text."""
        found = {}
        for row in rows:
            members = message(row, names, what)
            need(members["id"] > 0 and members["id"] not in found, f"no {what} can have the id {members['id']}")
            found[members["id"]] = {**members, **{name: self(members[name]) for name in of_text}}
        return found

    def labels(self, rows):
        for row in rows:
            label = message(row, {1: "key", 2: "text", 3: "number", 4: "unit"}, "label")
            need(label["key"], "a label has no key")
            need(not (label["text"] and (label["number"] or label["unit"])), "a label is text and number")
            yield self(label["key"]), self(label["text"]) if label["text"] else signed(label["number"]), self(label["unit"])


def _check_tables(p):
    for mapping in p.mappings.values():
        need(mapping["start"] <= mapping["limit"], f"mapping {mapping['id']} ends before it begins")
        need(all(c in "0123456789abcdef" for c in mapping["build_id"]), "a build ID is not in hex digits")
    for location in p.locations.values():
        location["lines"] = [message(line, {1: "function", 2: "line"}, "line") for line in location["lines"]]
        need(all(line["function"] in p.functions for line in location["lines"]), "a function is not there")
        if mapping := p.mappings.get(location["mapping"]):
            is_named = location["lines"] and all(p.functions[line["function"]]["name"] for line in location["lines"])
            need(is_named or not mapping["has_functions"], f"mapping {mapping['id']} has a location without a name")
    functions = {line["function"] for location in p.locations.values() for line in location["lines"]}
    need(functions == set(p.functions), "a function is in no location")
    mappings = {location["mapping"] for location in p.locations.values()} - {0}
    need(mappings == set(p.mappings), "a mapping is in no location, or not there")


def _read_samples(p, rows, strings):
    used = set()
    for row in rows:
        sample = message(row, {1: "locations*", 2: "values*", 3: "labels*"}, "sample")
        locations = [one for value in sample["locations"] for one in numbers(value)]
        values = [signed(one) for value in sample["values"] for one in numbers(value)]
        need(len(values) == len(p.types), f"a sample has {len(values)} values of {len(p.types)}")
        used |= set(locations)
        p.samples.append((locations, values, list(strings.labels(sample["labels"]))))
    need(used == set(p.locations), "a location is in no sample, or not there")


def parse(data):
    members = message(data, PROFILE, "profile")
    strings = _Strings(members["strings"])
    p = Profile([strings.type(row) for row in members["types"]])
    need(p.types and len(set(p.types)) == len(p.types), "no types of values, or one twice")
    p.mappings = strings.table(members["mappings"], MAPPING, "mapping", "file", "build_id")
    p.functions = strings.table(members["functions"], FUNCTION, "function", "name", "system_name", "file")
    p.locations = strings.table(members["locations"], LOCATION, "location")
    _check_tables(p)
    _read_samples(p, members["samples"], strings)
    p.comments = [strings(one) for value in members["comments"] for one in numbers(value)]
    p.time_ns, p.duration_ns, p.period = signed(members["time"]), signed(members["duration"]), members["period"]
    need(p.time_ns >= 0 and p.duration_ns >= 0, "a time below zero")
    p.default_type = strings(members["default"])
    need(p.default_type in [name for name, _ in p.types], "the default type is none of the types")
    if members["period_type"]:
        p.period_type = strings.type(members["period_type"])
    need(strings.used == set(range(len(strings.texts))), "a string that nothing names")
    return p


def read(path):
    """The profile in the file, which must be packed by gzip."""
    data = Path(path).read_bytes()
    need(data[:2] == b"\x1f\x8b", "not packed by gzip")
    need(data[4:8] == b"\0\0\0\0", "its header has a time, so equal profiles would differ")
    return parse(gzip.decompress(data))
