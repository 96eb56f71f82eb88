"""Names of stripped programs: from debug files and from what is packed into them."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tool import GETPPID, PATIENCE_S, Tool, chains, workload_path

# The guests have no binutils.
pytestmark = pytest.mark.needs("machine")


def sh(command, **paths):
    subprocess.run(["sh", "-ec", command.format(**paths)], check=True)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    return re.search(r"Build ID: (\w+)", notes.stdout)[1]


@pytest.fixture
def stripped(tmp_path):
    """(program without symbols, what was taken from it)"""
    program, debug = tmp_path / "bin" / "prog", tmp_path / "prog.debug"
    program.parent.mkdir()
    sh("objcopy --only-keep-debug {f} {d}; strip -o {p} {f}", f=workload_path("syscalls"), p=program, d=debug)
    return program, debug


def wait_until_open(tool, name):
    """Until the tool holds a file of that name: it has seen the process."""
    deadline = time.monotonic() + PATIENCE_S
    folder = Path(f"/proc/{tool.pid}/fd")
    while not any(os.path.realpath(link).endswith(f"/{name}") for link in folder.iterdir()):
        assert time.monotonic() < deadline, f"{name} is not opened"


def trace(work, end_first=None):
    """Names are asked for when the report is made; @end_first: the program that has ended then."""
    with Tool(["-U", "-f", "-p", work.pid, GETPPID]) as tool:
        tool.wait_live()
        expected = work.run()
        if end_first:
            wait_until_open(tool, end_first)
            work.close()
        result = tool.end()
    return chains(result.ok()), expected, result


def test_without_a_debug_file_nothing_is_made_up(workload, stripped):
    program, _ = stripped
    found, expected, result = trace(workload(str(program), "getppid", 200, 100))
    assert expected and set(found).isdisjoint(expected)
    assert "[unknown]" in result.out


def test_debug_file_by_link(workload, stripped):
    program, debug = stripped
    folder = program.parent / ".debug"
    folder.mkdir()
    shutil.move(debug, folder / "prog.debug")
    sh("objcopy --add-gnu-debuglink={d} {p}", d=folder / "prog.debug", p=program)
    found, expected, _ = trace(workload(str(program), "getppid", 200, 100))
    assert expected and found == expected


def test_debug_file_of_another_build_is_not_taken(workload, stripped):
    program, debug = stripped
    sh("objcopy --add-gnu-debuglink={d} {p}", d=debug, p=program)
    sh("objcopy --only-keep-debug {f} {d}", f=workload_path("deep"), d=program.parent / debug.name)
    found, expected, _ = trace(workload(str(program), "getppid", 200, 100))
    assert expected and set(found).isdisjoint(expected)


def test_symbols_packed_into_the_program(workload, stripped):
    program, debug = stripped
    sh("xz -k {d}; objcopy --add-section .gnu_debugdata={d}.xz {p}", d=debug, p=program)
    found, expected, _ = trace(workload(str(program), "getppid", 200, 100))
    assert expected and found == expected


@pytest.fixture
def container(tmp_path, stripped):
    """A root directory with the program, its libraries, and its debug file by build ID."""
    program, debug = stripped
    root = tmp_path / "root"
    name = build_id(program)
    folder = root / "usr/lib/debug/.build-id" / name[:2]
    folder.mkdir(parents=True)
    shutil.copy(debug, folder / f"{name[2:]}.debug")
    shutil.copy(program, root / "prog")
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+) \(", listed):
        copy = root / library[1:]
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, copy)
    script = tmp_path / "run"
    script.write_text(f'#!/bin/sh\nexec chroot {root} /prog "$@"\n')
    script.chmod(0o755)
    return script


@pytest.mark.parametrize("end_first", [None, "prog"], ids=["alive", "ended"])
def test_debug_file_in_the_root_of_the_process(workload, container, end_first):
    found, expected, _ = trace(workload(str(container), "getppid", 200, 100), end_first)
    assert expected and found == expected
