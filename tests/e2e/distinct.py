# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The stacks of tests/workload/distinct.c."""

LEVELS = 18


def stack_number(parts):
    """Which of them this is: its bits stand below run(), the lowest one outermost."""
    at = parts.index("run") + 1
    bits = parts[at : at + LEVELS]
    assert parts[at + LEVELS] == "hit" and set(bits) <= {"zero", "one"}, parts
    return sum((bit == "one") << i for i, bit in enumerate(bits))
