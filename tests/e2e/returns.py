# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests/workload/returns.cc does."""

from tool import workload_path

RETURNS = workload_path("returns")


def expected_counts(n):
    """Calls and returns of each function in both threads."""
    calls = {
        "exits": n, "tail": n, "by_pointer": n, "chosen": n, "catcher": n, "jumped": n, "jumper": n,
        "passed": n, "thrower": n, "nested": n * 5 // 2 + 201, "target": 2 * n + n // 4 + n // 8 + n * 3 // 4,
    }
    returns = {**calls, "passed": n * 3 // 4, "thrower": n * 3 // 4, "jumper": n * 4 // 5}
    return [{name: 2 * count for name, count in counts.items()} for counts in (calls, returns)]
