# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A strict reader of Prometheus's text format: it refuses what the node exporter's textfile collector does."""
import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
ESCAPES = {"\\": "\\", '"': '"', "n": "\n"}


class Malformed(Exception):
    pass


def _match(pattern, line, at):
    found = pattern.match(line, at)
    if not found:
        raise Malformed(f"no name at {at}: {line!r}")
    return found.group(), found.end()


def _value(line, at):
    """The label's value that begins after its quote."""
    text = ""
    while line[at:at + 1] != '"':
        if at >= len(line):
            raise Malformed(f"a value has no end: {line!r}")
        if line[at] == "\\":
            at += 1
            if line[at:at + 1] not in ESCAPES:
                raise Malformed(f"unknown escape at {at}: {line!r}")
            text += ESCAPES[line[at]]
        else:
            text += line[at]
        at += 1
    return text, at + 1


def _labels(line, at):
    labels = {}
    if line[at:at + 1] != "{":
        return labels, at
    while line[at] != "}":
        name, at = _match(LABEL, line, at + 1)
        if line[at:at + 2] != '="' or name in labels:
            raise Malformed(f"label {name}: {line!r}")
        labels[name], at = _value(line, at + 2)
        if line[at:at + 1] not in (",", "}"):
            raise Malformed(f"after label {name}: {line!r}")
    return labels, at + 1


def _sample(line):
    name, at = _match(NAME, line, 0)
    labels, at = _labels(line, at)
    found = re.fullmatch(r" (-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?)", line[at:])
    if not found or not math.isfinite(float(found.group(1))):
        raise Malformed(f"no number, or a time: {line!r}")
    return name, labels, float(found.group(1))


def parse(text):
    """{name: (type, [(labels, number)])} of bytes."""
    text = text.decode("utf-8")
    if text and not text.endswith("\n"):
        raise Malformed("the last line has no end")
    families, helped, last, seen = {}, set(), None, set()
    for line in text.split("\n")[:-1]:
        if any(ord(c) < 32 for c in line):
            raise Malformed(f"a control character: {line!r}")
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            if name in helped or not NAME.fullmatch(name):
                raise Malformed(f"HELP again: {name}")
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name in families or name not in helped or kind not in ("counter", "gauge", "untyped"):
                raise Malformed(f"TYPE: {line!r}")
            families[name], last = (kind, []), name
        else:
            name, labels, number = _sample(line)
            if name != last:
                raise Malformed(f"a sample apart from its TYPE: {line!r}")
            if (name, *sorted(labels.items())) in seen:
                raise Malformed(f"a series comes twice: {line!r}")
            if families[name][0] == "counter" and (number < 0 or not name.endswith("_total")):
                raise Malformed(f"no counter: {line!r}")
            seen.add((name, *sorted(labels.items())))
            families[name][1].append((labels, number))
    return families
