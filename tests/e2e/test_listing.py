# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""-lv: what an expression may name at an event, with its type. Whatever is listed as a number, --sum takes."""

import re

import pytest
from names import run
from tool import stackcount, workload_path

pytestmark = pytest.mark.needs("uprobes")
WRITE = "t:syscalls:sys_enter_write"
ROW = re.compile(r"    (\S+|arg1, arg2 \.\.\.)(?:  +(\S.*?))??  +([su](?:8|16|32|64)|-)(?: +(\S.*))?$")


def listed(*events):
    """{event: [(name, type, as a number, remark)]}"""
    found = {}
    for line in stackcount("-lv", *events).ok().out.splitlines():
        if line.startswith(" "):
            match = ROW.fullmatch(line)
            assert match, line
            rows.append(match.groups(default=""))
        else:
            rows = found.setdefault(line, [])
    return found


def test_fields_of_a_tracepoint():
    assert stackcount("-l", WRITE).ok().out == f"{WRITE}\n", "without -v"
    lines = run("funccount", "-lv", WRITE).ok().out.splitlines()
    # Linux 7.0 has another type for the buffer.
    assert [re.sub(" +", " ", line) for line in lines if " buf " not in line] == [
        WRITE, " __syscall_nr int s32", " fd unsigned int u32", " count size_t u64 bytes",
    ]


def test_a_value_that_is_no_number_has_the_reason():
    rows = listed("t:sched:sched_process_exec", "t:sched:sched_switch")
    assert ("filename", "__data_loc char[]", "-", "its length varies (__data_loc)") in rows["t:sched:sched_process_exec"]
    assert ("prev_comm", "char[16]", "-", "it is an array") in rows["t:sched:sched_switch"]


def test_user_functions_and_returns():
    path = workload_path("values")
    rows = listed(f"{path}:many", f"r:{path}:many")
    assert rows.pop(f"{path}:many") == [("arg1, arg2 ...", "", "s64", "cast them, as (int)arg1")]
    assert all(re.fullmatch(rf"r:{re.escape(path)}:many at 0x[0-9a-f]+", event) for event in rows), rows
    assert list(rows.values())[-1] == [("retval", "", "s64", "cast it, as (int)retval")]
    jumps = list(listed(f"r:{workload_path('returns')}:tail"))
    assert jumps[-1].endswith(", a jump to another function: no retval"), jumps
    assert listed(f"{workload_path('bits32')}:hit").popitem()[1][0][2:] == ("-", "arguments of 32-bit functions are not read")


def test_places_of_a_usdt_probe():
    rows = list(listed(f"u:{workload_path('places')}:places:hit").values())
    assert [len(row) for row in rows] == [8, 1]
    first = {row[0]: row[2:] for row in rows[0]}
    assert first == {
        "arg1": ("s32", ""), "arg2": ("s64", ""), "arg3": ("s16", ""), "arg4": ("u64", ""), "arg5": ("u8", ""), "arg6": ("s8", ""),
        "arg7": ("-", "it is a floating-point number"), "arg8": ("-", "its place has another form"),
    }
    assert rows[1][0][0] == "arg1" and rows[1][0][2] == "u64"
