# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""JSON and Prometheus's text: what the unit tests' golden files have, and what runs write."""

import copy
import json
from pathlib import Path

import document
import prometheus
import pytest
import schema
from tool import GETPPID, Live

GOLDEN = Path(__file__).parent.parent / "golden"
FULL = GOLDEN / "document.json"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("document*.json")), ids=lambda path: path.name)
def test_documents_follow_the_schema(path):
    document.parse(path.read_bytes())


def test_names_are_complete():
    full = document.parse(FULL.read_bytes())
    assert full["about"]["command_line"] == "stackcount -p 7 'a\"b\\c\nd'"
    assert full["about"]["host"] == "h\ufffd"
    assert full["frames"][1]["file"] == 'p"a\\r\x1bse.c'
    assert full["frames"][2]["name"] == "</script>\ufffd\u200b"
    assert full["frames"][0]["addr"] == 2**64 - 1
    assert full["losses"][1] == {"reason": 'o"d\\d\n', "count": 2**64 - 1}


def _without(*path):
    def change(full):
        for step in path[:-1]:
            full = full[step]
        del full[path[-1]]
    return change


def _with(value, *path):
    def change(full):
        for step in path[:-1]:
            full = full[step]
        full[path[-1]] = value
    return change


# One thing is wrong with each: the reader refuses what it is there to refuse.
BROKEN = {
    "no version": _without("version"),
    "other version": _with(2, "version"),
    "true is no 1": _with(True, "version"),
    "unknown member": _with(1, "more"),
    "unknown kind": _with("other", "frames", 0, "kind"),
    "no such frame": _with([999], "stacks", 0, "user"),
    "negative frame": _with([-1], "stacks", 0, "user"),
    "kernel frame in user": _with([0], "stacks", 0, "user"),
    "no such image": _with(9, "frames", 0, "image"),
    "text count": _with("1", "stacks", 0, "values", 0),
    "missing value": _without("stacks", 0, "values", 2),
    "wrong total": _with(29, "total"),
    "before without difference": _with([1, 2, 3], "stacks", 0, "before"),
    "wrong part": _with([[0, 2]], "stacks", 0, "slices"),
    "no such slice": _with([[7, 1]], "stacks", 0, "slices"),
    "mark with an address": _with(1, "frames", 4, "addr"),
    "label of both kinds": _with("x", "stacks", 2, "labels", 1, "text"),
    "no cost": _with(0, "about", "cost_ns"),
}


@pytest.mark.parametrize("words", BROKEN)
def test_broken_documents_are_refused(words):
    full = copy.deepcopy(json.loads(FULL.read_bytes()))
    BROKEN[words](full)
    with pytest.raises((document.Malformed, schema.Invalid)):
        document.check(full)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("metrics*.prom")), ids=lambda path: path.name)
def test_metrics_are_prometheus_s_text(path):
    families = prometheus.parse(path.read_bytes())
    assert {"stackcount_hits_total", "stackcount_stacks", "stackcount_lost_hits_total"} <= families.keys()


def test_metrics_say_what_the_document_says():
    full = document.parse(FULL.read_bytes())
    families = prometheus.parse((GOLDEN / "metrics.prom").read_bytes())
    (labels, hits), = families["stackcount_hits_total"][1]
    assert hits == full["total"]
    assert labels == {"command": "stackcount -p 7 'a\"b\\c\\x0ad'"}
    lost = {labels["reason"]: n for labels, n in families["stackcount_lost_hits_total"][1]}
    assert lost["no room for a new stack"] == 12
    assert families["stackcount_duration_seconds"][1][0][1] == 1.5


BROKEN_METRICS = [
    b"x 1",  # no end of line
    b"x 1\n",  # no TYPE
    b"# TYPE x gauge\nx 1\n",  # no HELP
    b"# HELP x y\n# TYPE x gauge\nx{a=\"b} 1\n",
    b"# HELP x y\n# TYPE x gauge\nx{a=\"\\x\"} 1\n",
    b"# HELP x y\n# TYPE x gauge\nx 1\nx 1\n",  # twice
    b"# HELP x y\n# TYPE x gauge\nx 1 1771000000000\n",  # a time
    b"# HELP x y\n# TYPE x gauge\nx nan\n",
    b"# HELP x y\n# TYPE x counter\nx_total 1\n",
    b"# HELP x_total y\n# TYPE x_total counter\nx_total -1\n",
    b"# HELP x y\n# TYPE x gauge\nx{a=\"\xff\"} 1\n",
]


@pytest.mark.parametrize("text", BROKEN_METRICS)
def test_broken_metrics_are_refused(text):
    with pytest.raises((prometheus.Malformed, UnicodeDecodeError)):
        prometheus.parse(text)


def test_a_run_writes_both(workload, tmp_path):
    one = workload("syscalls", "getppid", 300, 1)
    json_file, prom = tmp_path / "a.json", tmp_path / "a.prom"
    with Live(["-p", one.pid, "-o", json_file, "-o", prom, GETPPID]) as tool:
        expected = sum(one.run().values())
        tool.end().ok()
    full = document.parse(json_file.read_bytes())
    families = prometheus.parse(prom.read_bytes())
    assert full["total"] == expected
    assert families["stackcount_hits_total"][1][0][1] == expected
    assert "main" in {frame.get("name") for frame in full["frames"]}
