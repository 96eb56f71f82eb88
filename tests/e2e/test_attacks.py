# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An unprivileged user against root's run: the run goes on, its counts are exact, it ends when it is told to, and a
message says once what was lost."""

import contextlib
import json
import lzma
import os
import re
import sys
import tempfile
import unicodedata
from pathlib import Path

import hostile_elf
import kernel
import pytest
from attacks import AS_USER, Grounds, Run, Stranger, USER, frames_of, lines_about
from hostile_elf import Elf, named, with_link
from tool import GETPPID, STACKSNOOP, Live

pytestmark = pytest.mark.needs("unwinding")

TIB = 1 << 40


@pytest.fixture
def grounds():
    grounds = Grounds()
    yield grounds
    grounds.close()


def call_files(grounds, paths, times, *options, deed=(), is_seen=False):
    """Root's run while a stranger calls the code of each of these files so often, and another one does its deed."""
    with Run(*options) as run:
        work = grounds.stranger("map", times, *paths).place()
        if deed:
            grounds.deed(*deed)
        work.run()
        run.witness()
        if is_seen:
            run.wait_for_strangers(times * len(paths))
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


# --- what is said of files ---


def test_forty_files_that_are_not_read_to_their_ends(grounds):
    """Each has a message about it in another text. The first eight are shown."""
    paths = []
    for i in range(40):
        elf = Elf()
        elf.add(".symtab", hostile_elf.SYMTAB, bytes(24) + hostile_elf.symbol(1), size=24 * 5_000_000, link=3, entry=24)
        elf.add(".strtab", hostile_elf.STRTAB, b"\0many\0")
        paths.append(elf.write(grounds / f"many{i}.so"))
    grounds.give(*paths)
    result = call_files(grounds, paths, 5, "-i", "0.5", is_seen=True)  # after a signal, all files together have a second
    assert len(lines_about(result, r"many\d+\.so: skipping \.symtab: more than \d+ symbols")) == 8, result
    assert re.search("32 more messages about files that are not read as a whole are left out", result.err), result


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


# --- memory ---


def largest_file(folder):
    """Bytes. ext4 has 16 TiB at most, or 4 with small blocks."""
    for size in (15 * TIB, 3 * TIB, TIB):
        with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(size)
            return 0 if os.statvfs(folder).f_flag & os.ST_NOEXEC else size
    return 0


def sparse_files(folder, most):
    """Batches of them, by falling size: what one leaves free, the next one takes."""
    batches = [[most] * (128 * TIB // most)]
    batches += [[most >> i for i in range(first, first + 6) for _ in range(3)] for first in (1, 7, 13, 19)]
    # Where the kernel looks only when there is nothing else: above all mappings. And between those that it has aligned.
    batches += [[most >> i for i in range(first, first + 6) for _ in range(3)] for first in (2, 8, 14, 20)]
    batches += [[1 << 20] * 40, [1 << 19] * 40]
    return [[named(folder / f"sparse{k}_{i}", f"sparse_name{k}_{i}", size=max(size, 1 << 17)) for i, size in enumerate(sizes)]
            for k, sizes in enumerate(batches)]


def dear_file(path):
    """A small one whose symbols take memory."""
    packed = Elf()
    table = bytes(24) + 400_000 * hostile_elf.symbol(1)
    packed.add(".symtab", hostile_elf.SYMTAB, table, link=3, entry=24)
    packed.add(".strtab", hostile_elf.STRTAB, b"\0dear\0")
    elf = Elf()
    elf.add(".gnu_debugdata", hostile_elf.PROGBITS, lzma.compress(packed.write(path).read_bytes(), preset=0))
    path.unlink()
    return elf.write(path)


@pytest.mark.thorough
def test_sparse_executables_that_use_up_the_addresses(grounds):
    """128 TiB of addresses, before a file that needs memory: "out of memory", and all counts were gone."""
    folder = max(grounds.folder, Path("/dev/shm"), key=largest_file)
    with tempfile.TemporaryDirectory(prefix="stackcount-attack-", dir=folder) as own:
        os.chmod(own, 0o755)
        batches = [*sparse_files(Path(own), largest_file(folder)), *([dear_file(grounds / f"dear{i}")] for i in range(3))]
        with Run("-i", "0.2") as run:
            n = 0
            for paths in batches:
                grounds.give(*paths)
                grounds.stranger("map", 2, *paths).place().run()
                n += 2 * len(paths)
                run.wait_for_strangers(n)
            run.witness()
            result = run.end(strangers=n)
    assert "out of memory" not in result.err, result
    assert len(lines_about(result, r"sparse\d")) <= 8, result


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


def test_links_of_debug_files_lead_to_no_secret(grounds, shadow):
    crc = hostile_elf.crc_of(shadow)
    os.utime(shadow, (1, 2))
    folder = grounds / "own"
    (folder / ".debug").mkdir(parents=True)
    path = with_link(folder / "prog", "link.debug", crc)
    (folder / "link.debug").symlink_to(shadow)
    (folder / ".debug/link.debug").symlink_to("../../shadow")
    grounds.give(folder, folder / ".debug", path)
    result = call_files(grounds, [path], 20, "--debug")
    assert SECRET not in result.out and SECRET not in result.err, result


CONTAINERS = {
    "up": "->/../../../../..{shadow}",
    "proc": "->/proc/1/root{shadow}",
    "fifo": "fifo",
    "the host's path": None,
}


def test_links_in_the_root_of_a_container_lead_to_no_secret(grounds, shadow):
    """Its paths are not the host's: neither those of links, nor those that it has in common with the host."""
    source = with_link(grounds / "source", "shadow", hostile_elf.crc_of(shadow))
    os.utime(shadow, (1, 2))
    grounds.give(source)
    with Run("--debug") as run, contextlib.ExitStack() as works:
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
        result = run.end(strangers=20 * len(CONTAINERS))
    assert SECRET not in result.out and SECRET not in result.err, result


def test_a_perf_map_that_is_no_file(grounds, shadow):
    makes = (lambda path: path.symlink_to(shadow)), os.mkfifo, Path.mkdir
    code = named(grounds / "code.so")
    with Run() as run, contextlib.ExitStack() as at_end:
        for make in makes:
            work = grounds.stranger("map", 20, code).place()
            path = Path(f"/tmp/perf-{work.pid}.map")
            path.unlink(missing_ok=True)  # of a former process with this number
            make(path)
            at_end.callback(path.rmdir if make == Path.mkdir else path.unlink)
            os.chown(path, USER, USER, follow_symlinks=False)
            work.run()
        run.witness()
        result = run.end(strangers=20 * len(makes))
    assert SECRET not in result.out and SECRET not in result.err, result


# --- names ---

# Quotes, the end of a line and of an object, control characters, bytes that are no text, and marks that turn it round.
NAMES = [
    b'"', b"\\", b'a"},{"time":1', b"a\nb", b"a\rb", b"\x1b[2J\x1b[31m", b"\x01\x07\x08\x0b\x7f", b"\xff\xfe", b"\xc0\xaf",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", "a\u202eb\u2066c".encode(), "\u2028\u2029\ufeff".encode(), "\u0085\u009b".encode(),
    b"a;b c 7", b"-", b"[unknown]", b"\\u0041\\n", b"\x9b31m", b"a" * 60_000, "\U000e0041".encode(), b"\t",
]
ACTIVE = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # categories of characters that do something, or are none


def odd_files(grounds):
    paths = []
    for i, name in enumerate(NAMES):
        elf = Elf()
        elf.add_symbols([name])
        paths.append(elf.write(grounds / f"odd{i}"))
    # Names of files are theirs, too.
    for i, name in enumerate(NAMES):
        if b"\0" not in name and b"/" not in name and len(name) < 200:
            paths.append(Elf().write(Path(os.fsdecode(bytes(grounds / f"{i}") + name))))
    grounds.give(*paths)
    return paths


def check_passive(text):
    """A terminal shows it as it is, and line by line."""
    raw = {character for character in text.decode("utf-8") if character != "\n"}
    assert not [c for c in raw if unicodedata.category(c) in ACTIVE], text[-3000:]


def run_odd(grounds, *args, **options):
    paths = odd_files(grounds)
    with Live(["--unwind", "fp", "-U", *args, GETPPID], **options) as tool:
        work = grounds.stranger("map", 3, *paths).place()
        work.run()
        result = tool.end().ok()
    return result, len(paths)


def test_odd_names_in_json(grounds):
    result, n = run_odd(grounds, "--json", program=STACKSNOOP)
    lines = result.stdout.split(b"\n")
    assert lines.pop() == b""
    check_passive(result.stdout)
    events = [json.loads(line.decode("utf-8")) for line in lines]
    events = [event for event in events if event["comm"] == "stranger"]
    assert len(events) + result.lost >= 3 * n and result.lost == 0, result
    modules = {frame.get("module") for event in events for frame in event["user"]}
    assert {f"odd{i}" for i in range(len(NAMES))} <= modules, modules


def test_odd_names_on_a_terminal(grounds, tmp_path):
    folded = tmp_path / "a.folded"
    result, n = run_odd(grounds, "--format", "text", "-o", folded)
    for text in (result.stdout, result.stderr, folded.read_bytes()):
        check_passive(text)
    lines = [line.rsplit(" ", 1) for line in folded.read_text().splitlines()]
    assert sum(int(count) for text, count in lines if "work_run;map;visit" in text) == 3 * n, result


# --- too many of anything ---


def sum_of(result, chain):
    return sum(int(line.rsplit(" ", 1)[1]) for line in result.out.splitlines() if f";{chain} " in line)


@pytest.mark.thorough
def test_60000_mappings(grounds):
    n, times = 60_000, 600
    path = named(grounds / "pieces.so", "piece")
    grounds.give(path)
    work = grounds.stranger("pieces", n, times, path).place()
    with Run() as run:
        work.run()
        run.witness()
        result = run.end(strangers=times)
    assert result.lost or sum_of(result, "visit;piece") == times, result
