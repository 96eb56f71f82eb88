# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The price of a hit that a run tells: a part of the time that the calls took, and the same in each form."""

import gzip
import json
import os
import re
import time

from tool import GETPPID, Live

CALLS = 100_000
EVERY = 1024  # of a CPU's hits, one is measured
LEAST_NS = 10


def trace(folder, n):
    """(the result, how long the calls took, the cost in JSON)"""
    outputs = [folder / name for name in ("cost.json", "cost.pb.gz")]
    options = [word for path in outputs for word in ("-o", path)]
    with Live(["--debug", "-p", os.getpid(), *options, GETPPID]) as tool:
        begin = time.monotonic_ns()
        for _ in range(n):
            os.getppid()
        took_ns = time.monotonic_ns() - begin
        result = tool.end().ok()
    return result, took_ns, json.loads(outputs[0].read_text())["about"]["cost_ns"]


def test_the_price_of_a_hit_is_told(tmp_path):
    """What the measured hits took is part of what all calls took, however often their CPU was taken away."""
    result, took_ns, cost = trace(tmp_path, CALLS)
    (told, n, hits) = map(int, re.search(r"a hit took the traced program (\d+) ns, the mean of (\d+) of (\d+) hits", result.err).groups())
    assert abs(told - cost) <= 1 and hits >= CALLS, result
    assert abs(n - hits / EVERY) <= os.cpu_count(), result
    assert LEAST_NS < cost < took_ns / n, (took_ns, result)
    assert b"cost_ns" in gzip.decompress((tmp_path / "cost.pb.gz").read_bytes())


def test_a_run_of_few_hits_tells_none(tmp_path):
    result, _, cost = trace(tmp_path, 10)
    assert cost is None and "a hit took" not in result.err, result
