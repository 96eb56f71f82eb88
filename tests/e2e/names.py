# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One program under four names: what runs each of them, and its --help."""

import functools
import re

from tool import BUILD, Tool

NAMES = ("stackcount", "stacksnoop", "funccount", "profile")


def run(name, *args, program=None):
    with Tool(args, program=program or str(BUILD / name)) as tool:
        return tool.wait()


@functools.cache
def help_of(name):
    result = run(name, "--help").ok()
    assert result.stderr == b"", result
    return result.out


def help_rows(name):
    """[(letter or None, name, takes a value)] of --help."""
    rows = re.findall(r"^  (?:(-\w), )?(--[\w-]+)( \S+)? ", help_of(name), re.M)
    return [(letter or None, long, bool(value)) for letter, long, value in rows]
