# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""JSON: what the unit tests' golden files have, and what runs write."""

from pathlib import Path

import document
import pytest
from tool import GETPPID, trace

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("document*.json")), ids=lambda path: path.name)
def test_documents_follow_the_schema(path):
    document.parse(path.read_bytes())


def test_a_run_writes_a_document(workload, tmp_path):
    one = workload("syscalls", "getppid", 300, 1)
    json_file = tmp_path / "a.json"
    result, expected = trace(one, "-p", one.pid, "-o", json_file, GETPPID)
    full = document.parse(json_file.read_bytes())
    assert full["total"] == sum(expected.values()), result.ok()
    assert "main" in {frame.get("name") for frame in full["frames"]}
