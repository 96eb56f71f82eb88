# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each name of the program has its own help, and lists. Options are in tests/unit/test_options.c."""

import re

import pytest
from names import NAMES, help_of, help_rows, run
from tool import workload_path


@pytest.mark.parametrize("name", NAMES)
def test_help_is_of_the_tool_itself(name):
    """Which options there are is held by the manual page (test_man.py)."""
    said = help_of(name)
    usage = said.partition("\n\n")[0]
    assert usage.startswith(f"usage: {name} ")
    rows = help_rows(name)
    bundle, *others = re.findall(r"\[-(-?\w[\w-]*)", usage)
    assert sorted(bundle) == sorted(letter[1] for letter, _, value in rows if letter and not value)
    assert {f"-{other}" for other in others} <= {option for row in rows for option in row[:2]}
    examples = said.partition("\nexamples:\n")[2].splitlines()
    assert len(examples) >= 8
    assert all(re.match(rf"  {name} ", line) for line in examples), examples


@pytest.mark.parametrize("name", [name for name in NAMES if name != "profile"])
def test_every_name_lists(name):
    result = run(name, "-l", "--no-demangle", "t:sched:sched_swit*", f"{workload_path('cxx')}:shop::price").ok()
    names = [line.rpartition(":")[2] for line in result.out.splitlines()]
    assert sorted(names) == ["_ZN4shop5priceEd", "_ZN4shop5priceEi", "sched_switch"], result
