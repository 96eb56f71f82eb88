# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests/workload/values.c makes: sums and counts by chain; and returns.cc: calls and returns of functions."""

import json
from collections import Counter

from tool import ROOTS, workload_path

A, B = "branch_a;hit", "branch_b;middle;hit"


def rows_of(document, value=0):
    """{chain below the workload's root: value} of a report as JSON."""
    rows = Counter()
    for stack in document["stacks"]:
        names = [document["frames"][i].get("name", "?") for i in reversed(stack["user"])]
        roots = [i for i, name in enumerate(names) if name in ROOTS]
        if roots and "run" in names:
            rows[";".join(names[names.index("run") + 1 :])] += stack["values"][value]
    return dict(rows)


def read_sums(result):
    """(sums, counts, their names) of the only report in @result."""
    document = json.loads(result.ok().out.splitlines()[-1])
    names = [(value["name"], value["unit"]) for value in document["values"]]
    assert names[1:] == [("hits", "count")], names
    sums, counts = rows_of(document), rows_of(document, 1)
    assert document["total"] == sum(stack["values"][0] for stack in document["stacks"])
    return sums, counts, names[0]


def below_run(expected):
    """What a workload says, by the chain below its root."""
    rows = Counter()
    for chain, count in expected.items():
        rows[chain.split("run;", 2)[-1]] += count
    return dict(rows)


def sizes(n):
    """Bytes of n calls by path a of KIND write."""
    return sum(i % 1000 + 1 for i in range(n))


def below(function, pair):
    """The chains of @pair (a, b) that end in @function; without zeros."""
    return {f"{A}{function}": pair[0], f"{B}{function}": pair[1]}


RETURNS = workload_path("returns")


def expected_counts(n):
    """Calls and returns of each function in both threads."""
    calls = {
        "exits": n, "tail": n, "by_pointer": n, "chosen": n, "catcher": n, "jumped": n, "jumper": n,
        "passed": n, "thrower": n, "nested": n * 5 // 2 + 201, "target": 2 * n + n // 4 + n // 8 + n * 3 // 4,
    }
    returns = {**calls, "passed": n * 3 // 4, "thrower": n * 3 // 4, "jumper": n * 4 // 5}
    return [{name: 2 * count for name, count in counts.items()} for counts in (calls, returns)]
