# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""JSON and Prometheus's text: what the unit tests' golden files have, and what runs write."""

from pathlib import Path

import document
import prometheus
import pytest
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
