# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Stacks by unwind tables, which are whole."""

import pytest
from tool import chains, read_folded


needs_unwinding = pytest.mark.needs("unwinding")

DWARF = ("--unwind", "dwarf")

# Frames of libc's below a workload's own: of the process's start and of a thread's.
BELOW = {"main": 3, "work_thread": 2}


def users(parts):
    return parts[: parts.index("-")] if "-" in parts else parts


def check_whole(result):
    """Every stack goes down to its root. Returns {chain of the workload's own functions: hits}."""
    assert result.lost == 0, result
    for parts, _ in read_folded(result.ok().out):
        (root,) = [name for name in BELOW if name in parts]
        assert users(parts).index(root) == BELOW[root], (parts, result)
        assert not any(part.startswith("[cut") for part in parts), (parts, result)
    return chains(result)
