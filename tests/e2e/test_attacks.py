# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An unprivileged user against root's run: the run goes on, its counts are exact, it ends when it is told to, and a
message says once what was lost."""

import contextlib
import os
import re
import sys

import hostile_elf
import kernel
import pytest
from attacks import AS_USER, Grounds, Run, Stranger, frames_of, lines_about
from hostile_elf import Elf, named, with_link

pytestmark = pytest.mark.needs("unwinding")


@pytest.fixture
def grounds():
    grounds = Grounds()
    yield grounds
    grounds.close()


def call_files(grounds, paths, times, *options, deed=()):
    """Root's run while a stranger calls the code of each of these files so often, and another one does its deed."""
    with Run(*options) as run:
        work = grounds.stranger("map", times, *paths).place()
        if deed:
            grounds.deed(*deed)
        work.run()
        run.witness()
        return run.end(strangers=times * len(paths))


# --- files that change while they are read ---

N_NAMES = 200_000
STRIDE = 8192  # two pages, so that no page that is missing is another's neighbour
MOST_STRINGS = 512 << 20


def wide_names(path):
    """N_NAMES, as far apart as a string table may be large. Returns the size up to which the file is needed by all."""
    elf = Elf()
    places = [1 + i % (MOST_STRINGS // STRIDE) * STRIDE for i in range(N_NAMES)]
    elf.add(".symtab", hostile_elf.SYMTAB, b"".join(map(hostile_elf.symbol, places)), link=3, entry=24)
    elf.add(".strtab", hostile_elf.STRTAB, b"\0first\0", size=MOST_STRINGS)
    elf.write(path)
    return (elf.places()[1][0] // hostile_elf.PAGE + 2) * hostile_elf.PAGE


@pytest.mark.thorough
def test_a_library_that_is_cut_short_again_and_again(grounds):
    """Each missing page that is replaced is a mapping, until there are no more: SIGBUS ended the run."""
    paths = [grounds / f"cut{i}.so" for i in range(5)]
    for path in paths:
        short = wide_names(path)
    grounds.give(*paths)
    full = paths[0].stat().st_size
    result = call_files(grounds, paths, 50, "-i", "0.5", deed=("cut", short, full, *paths))
    assert 1 <= len(lines_about(result, r"cut\d\.so")) <= 2 * len(paths), result


def open_ended(path):
    """Its string table ends with the file, at the end of a page. Many symbols have its last name, so it is read for long."""
    elf = Elf()
    name = b"z" * 200
    table = bytes(24) + 20_000 * hostile_elf.symbol(hostile_elf.PAGE - len(name) - 1)
    elf.add(".symtab", hostile_elf.SYMTAB, table.ljust(-len(table) % hostile_elf.PAGE + len(table), b"\0"), link=3, entry=24)
    elf.add(".strtab", hostile_elf.STRTAB, name.rjust(hostile_elf.PAGE - 1, b"\0") + b"\0")
    elf.write(path)
    assert path.stat().st_size % hostile_elf.PAGE == 0


def test_a_string_table_whose_end_is_written_over(grounds):
    """What follows is another file, which was mapped before, or nothing: SIGSEGV ended the run."""
    paths = [grounds / f"open{i}.so" for i in range(30)]
    for path in paths:
        open_ended(path)
    grounds.give(*paths)
    result = call_files(grounds, paths, 5, "-i", "0.2", deed=("flip", paths[0].stat().st_size - 1, *paths))
    names = {frame for frame in frames_of(result) if "zzz" in frame}
    assert all(re.fullmatch("z+Z?", name) for name in names), names
    assert not re.search("zzzZ?[^zZ; \n]", result.out), "bytes of another file"


# --- file systems that do not answer ---


SILENCE = "does not answer|waits for a file system|takes too long"


def mortal(grounds, how):
    """A stranger that maps a file of a server that stops answering (mortal_fuse.py)."""
    named(grounds / "source", "mortal_code")
    os.mknod(grounds / "device", 0o20666, os.makedev(10, 229))
    (grounds / "device").chmod(0o666)
    wrap = AS_USER if how == "overlay" else []
    if how == "overlay":
        kernel.load_overlay()
    server = [*wrap, sys.executable, "-B", grounds / "mortal_fuse.py", how, grounds / "device", grounds.folder]
    return Stranger([*server, grounds / "source", grounds / "stranger", "--wait", "map", "50", "{}"])


@pytest.mark.thorough
@pytest.mark.parametrize("how", [pytest.param("root", marks=pytest.mark.needs("fuse")),
                                 pytest.param("overlay", marks=pytest.mark.needs("overlay"))])
def test_a_file_system_that_stops_answering(grounds, how):
    with Run("-i", "0.5") as run, contextlib.closing(mortal(grounds, how)) as work:
        work.place()
        work.die()
        work.run()
        run.witness()
        run.tool.wait_for("stderr", SILENCE.encode())
        result = run.end(strangers=50)
    # Whoever was asked for its file waits. What that costs is said: once for tables, once for names.
    assert 1 <= len(lines_about(result, SILENCE)) <= 2, result


def test_a_file_that_takes_long_takes_no_names_with_it(grounds):
    """There is one time for all files of users, and once it is over, that is said once."""
    paths = [named(grounds / f"other{i}.so", f"other_code{i}") for i in range(400)]
    debug = [named(grounds / f"long{i}.debug", f"long_name{i}", size=1 << 30) for i in range(2)]
    paths[1:1] = [with_link(grounds / f"linked{i}", f"long{i}.debug") for i in range(2)]
    grounds.give(*paths, *debug)
    result = call_files(grounds, paths, 2, "-i", "0.2")
    assert len([frame for frame in frames_of(result) if "other_code" in frame]) > 1, result
    assert len(lines_about(result, "no symbols for some files")) == 1, result


# --- debug files ---


@pytest.mark.thorough
def test_names_have_a_bound_after_the_run_s_time_too(grounds):
    """A gigabyte each to be read: 40 s of checksums, in which nobody has asked for the end."""
    paths = [with_link(grounds / f"linked{i}", f"sparse{i}.debug") for i in range(40)]
    debug = [named(grounds / f"sparse{i}.debug", f"of_debug_file{i}", size=1 << 30) for i in range(40)]
    grounds.give(*debug, *paths)
    with Run("-D", "5") as run:
        grounds.stranger("map", 5, *paths).place().run()
        result = run.tool.wait().ok()
    assert lines_about(result, "reading them takes too long at the end of a run"), result


def test_debug_files_under_a_lease(grounds):
    """Whoever opens one waits for lease-break-time, 45 s: each took that long."""
    paths = []
    for i in range(3):
        debug = named(grounds / f"leased{i}.debug", f"leased_name{i}")
        paths.append(with_link(grounds / f"leased{i}", debug.name, hostile_elf.crc_of(debug)))
        grounds.give(debug, paths[-1])
    with Run() as run:
        grounds.deed("lease", *(grounds / f"leased{i}.debug" for i in range(3)))
        work = grounds.stranger("map", 20, *paths).place()
        work.run()
        run.witness()
        result = run.end(strangers=20 * len(paths))
    assert len(lines_about(result, "leased")) <= 2 * len(paths), result


# --- what only root can read, and what blocks ---

SECRET = "root_only_5ecret"


@pytest.fixture
def shadow(grounds):
    """A file that plays /etc/shadow: mode 0600, root's. It is an ELF file, so that its contents would be seen."""
    path = named(grounds / "shadow", SECRET)
    path.chmod(0o600)
    os.utime(path, (1, 2))
    yield path
    # Whoever reads a file that was not read since it was changed sets its time of access.
    assert path.stat().st_atime == 1, "the secret file was read"
    path.read_bytes()
    assert path.stat().st_atime != 1, "no time of access is kept here"


CONTAINERS = {
    "up": "->/../../../../..{shadow}",
    "proc": "->/proc/1/root{shadow}",
    "fifo": "fifo",
    "the host's path": None,
}


def test_links_of_debug_files_lead_to_no_secret(grounds, shadow):
    """A container's paths are not the host's: neither those of links, nor those that it has in common with the host."""
    folder = grounds / "own"
    (folder / ".debug").mkdir(parents=True)
    source, path = (with_link(path, "shadow", hostile_elf.crc_of(shadow)) for path in (grounds / "source", folder / "prog"))
    os.utime(shadow, (1, 2))
    (folder / "shadow").symlink_to(shadow)
    (folder / ".debug/shadow").symlink_to("../../shadow")
    grounds.give(source, folder, folder / ".debug", path)
    with Run("--debug") as run, contextlib.ExitStack() as works:
        grounds.stranger("map", 20, path).place().run()
        for name, target in CONTAINERS.items():
            root = grounds / f"root of {name}"
            root.mkdir()
            grounds.give(root)
            own = "/application" if target else grounds.folder
            inside = [source, f"{own}/prog", grounds / "stranger", "/stranger"]
            if target:
                for place in (f"{own}/shadow", f"{own}/.debug/shadow", f"/usr/lib/debug{own}/shadow"):
                    inside += [target.format(shadow=shadow), place]
            enter = [*AS_USER, sys.executable, "-B", grounds / "stranger.py", "enter", root, *inside, "--"]
            work = Stranger([*enter, "/stranger", "--wait", "map", "20", f"{own}/prog"])
            works.enter_context(contextlib.closing(work))
            work.place().run()
        run.witness()
        result = run.end(strangers=20 * (1 + len(CONTAINERS)))
    assert SECRET not in result.out and SECRET not in result.err, result
