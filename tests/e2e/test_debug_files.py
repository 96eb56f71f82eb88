# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names of stripped programs: from debug files and from what is packed into them."""

import gzip
import http.server
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from kernel import with_mounts
from processes import children, zygote_of
from silent import dead_fuse
from tool import GETPPID, PATIENCE_S, STACKCOUNT, Live, Tool, chains, read_folded, wait_until, workload_path


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


@pytest.fixture
def work(workload, stripped):
    """The program, at its start."""
    return workload(str(stripped[0]), "getppid", 200, 100)


def wait_until_open(tool, name):
    """Until the tool's helpers hold a file of that name: it has seen the process."""
    folder = Path(f"/proc/{zygote_of(tool)}/fd")
    wait_until(lambda: any(os.path.realpath(link).endswith(f"/{name}") for link in folder.iterdir()), f"{name} is not opened")


def trace(work, *options, end_first=None, **popen):
    """Names are asked for when the report is made; @end_first: the program that has ended then."""
    with Live(["-U", "-f", *options, "-p", work.pid, GETPPID], **popen) as tool:
        expected = work.run()
        if end_first:
            wait_until_open(tool, end_first)
            work.close()
        result = tool.wait() if end_first else tool.end()
    return chains(result.ok()), expected, result


def test_each_function_without_a_name_is_one_frame_that_can_be_looked_up(work, stripped):
    """By its address, in a file that has the symbols."""
    program, debug = stripped
    found, expected, result = trace(work)
    places = sorted(set(re.findall(r"\[prog\+(0x[0-9a-f]+)\]", result.out)))
    named = subprocess.run(["addr2line", "-f", "-e", debug, *places], capture_output=True, text=True, check=True)
    names = dict(zip(places, named.stdout.splitlines()[::2]))
    known = {re.sub(r"\[prog\+(0x[0-9a-f]+)\]", lambda m: names[m[1]], chain): n for chain, n in found.items()}
    assert expected and known == expected, result


def test_debug_file_in_the_root_of_a_process_that_has_ended(workload, stripped, tmp_path):
    """There are the program, its libraries, and its debug file by build ID."""
    (program, debug), root, script = stripped, tmp_path / "root", tmp_path / "run"
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
    script.write_text(f'#!/bin/sh\nexec chroot {root} /prog "$@"\n')
    script.chmod(0o755)
    found, expected, _ = trace(workload(str(script), "getppid", 200, 100), end_first="prog")
    assert expected and found == expected


# --- servers ---


class Server(http.server.ThreadingHTTPServer):
    """debuginfod's answers: {build ID: file}. What is asked for waits until @may_answer is set."""

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked = files, []
        self.encoding = None
        self.may_answer = threading.Event()
        self.may_answer.set()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def environment(self, tmp_path):
        port = self.server_address[1]
        cache = {"DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
        return {**os.environ, **cache, "DEBUGINFOD_URLS": f"http://127.0.0.1:{port}"}

    def close(self):
        self.may_answer.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.split("/")[2]
        self.server.asked.append(name)
        self.server.may_answer.wait(PATIENCE_S)
        file = self.server.files.get(name)
        self.send_response(200 if file else 404)
        data = file.read_bytes() if file else b""
        self.send_header("Content-Length", str(len(data)))
        if self.server.encoding:
            self.send_header("Content-Encoding", self.server.encoding)
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            pass  # the client has gone

    def log_message(self, *_):
        pass


@pytest.fixture
def server(stripped):
    program, debug = stripped
    one = Server({build_id(program): debug})
    yield one
    one.close()


def test_debug_file_from_a_server(work, stripped, server, tmp_path):
    found, expected, result = trace(work, env=server.environment(tmp_path))
    assert expected and found == expected
    assert build_id(stripped[0]) in server.asked
    assert "debuginfod" not in result.err, "nothing is said of what is quick"


def test_a_server_that_is_not_there_is_told_once(work, server, tmp_path):
    environment = server.environment(tmp_path)
    server.close()
    found, expected, result = trace(work, env=environment)
    assert expected and set(found).isdisjoint(expected)
    assert len(re.findall("^stackcount: debuginfod: no answer about symbols: Connection refused$", result.err, re.M)) == 1, result


def test_servers_are_not_asked_for_what_is_here(workload, stripped, server, tmp_path):
    """All symbols, packed into the program."""
    program, debug = stripped
    sh("xz -k {d}; objcopy --add-section .gnu_debugdata={d}.xz {p}", d=debug, p=program)
    found, expected, _ = trace(workload(str(program), "getppid", 200, 100), env=server.environment(tmp_path))
    assert expected and found == expected
    assert build_id(program) not in server.asked


def test_no_debuginfod_asks_nobody(work, server, tmp_path):
    found, expected, _ = trace(work, "--no-debuginfod", env=server.environment(tmp_path))
    assert expected and set(found).isdisjoint(expected) and not server.asked


def test_what_a_server_sends_wrongly_is_not_taken(work, stripped, server, tmp_path):
    name = build_id(stripped[0])
    server.files[name] = Path(workload_path("calls"))
    found, expected, result = trace(work, env=server.environment(tmp_path))
    assert expected and set(found).isdisjoint(expected) and name in server.asked
    assert result.err.count(f"stackcount: debuginfod: {tmp_path}/cache/{name}/debuginfo is not taken: it is no debug file of this build") == 1


def test_what_unpacks_to_too_much_is_not_taken(work, stripped, server, tmp_path):
    stripped[1].write_bytes(gzip.compress(bytes(100 << 20)))
    server.encoding = "gzip"
    environment = server.environment(tmp_path)
    found, expected, result = trace(work, env=environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (90 << 20, 90 << 20)))
    assert expected and set(found).isdisjoint(expected)
    assert len(re.findall("^stackcount: debuginfod: no answer about symbols: (?:File too large|Input/output error)$", result.err, re.M)) == 1, result
    assert not [file for file in tmp_path.rglob("debuginfo.*")], "no half a file is left"


def ask_slow_server(tool, work):
    """Until the user is told of the waiting."""
    tool.wait_live()
    expected = work.run()
    tool.process.send_signal(signal.SIGINT)
    tool.wait_for("stderr", rb"debuginfod: waiting for the symbols of ")
    return expected


@pytest.mark.thorough
def test_a_silent_server_does_not_hold_up_the_report(workload, stripped, server, tmp_path):
    """Nor for each file anew. The first Ctrl-C came before the first fetch, and no second one comes."""
    server.may_answer.clear()
    programs = [shutil.copy(stripped[0], tmp_path / name) for name in ("first", "second")]
    works = [workload(str(one), "getppid", 200, 100) for one in programs]
    with Live(["-U", "-f", "-p", ",".join(str(work.pid) for work in works), GETPPID], env=server.environment(tmp_path)) as tool:
        n = sum(sum(work.run().values()) for work in works)
        result = tool.end().ok()
    assert sum(count for _, count in read_folded(result.out)) == n and result.lost == 0, result
    told = re.findall(r"^stackcount: debuginfod: the symbols of (?:first|second) did not come in time; no more are fetched$", result.err, re.M)
    assert len(told) == 1 and len(server.asked) == 1, result


@pytest.mark.thorough
def test_a_signal_ends_the_waiting_and_the_report_comes(work, server, tmp_path):
    server.may_answer.clear()
    with Tool(["-U", "-f", "-p", work.pid, GETPPID], env=server.environment(tmp_path)) as tool:
        expected = ask_slow_server(tool, work)
        tool.process.send_signal(signal.SIGINT)
        result = tool.wait()
    assert result.status == -signal.SIGINT, "the report has been written: then a signal ends it"
    assert set(chains(result)).isdisjoint(expected)
    assert sum(n for _, n in read_folded(result.out)) == sum(expected.values())
    assert "did not come in time" in result.err


@pytest.mark.thorough
def test_a_cache_that_does_not_answer_does_not_hold_up_the_report(work, server, tmp_path):
    """No signal ends the process that fetches."""
    folder = tmp_path / "dead"
    folder.mkdir()
    environment = {**server.environment(tmp_path), "DEBUGINFOD_CACHE_PATH": str(folder / "cache")}
    variables = [f"{name}={environment[name]}" for name in ("DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH")]
    command = ["env", *variables, STACKCOUNT, "-U", "-f", "-p", work.pid, GETPPID]
    with dead_fuse(folder, *command, how="lookup") as fuse:
        said = iter(fuse.stderr)
        assert any("Tracing" in line for line in said)
        tool = children(fuse.pid)["stackcount"]
        expected = work.run()
        os.kill(tool, signal.SIGINT)
        assert any("debuginfod: waiting for the symbols of " in line for line in said)
        os.kill(tool, signal.SIGINT)
        printed = [line for line in iter(fuse.stdout.readline, "") if not line.startswith("exited") or fuse.stdin.close()]
        assert sum(n for _, n in read_folded("".join(printed))) == sum(expected.values())
        assert sum("did not come in time; no more are fetched" in line for line in said) == 1


def with_finder(tmp_path, script):
    """A wrapper: debuginfod-find is that shell script; None: there is none that can be run."""
    finder = tmp_path / "debuginfod-find"
    finder.write_text(f"#!/bin/sh\n{script}\n")
    if script:
        return with_mounts(f"mount -t tmpfs own /usr/local/bin && install {finder} /usr/local/bin || exit 99\n")
    return with_mounts("mount -t tmpfs own /usr/local/bin && mount --bind /dev/null /usr/bin/debuginfod-find || exit 99\n")


@pytest.mark.parametrize("script, words", [
    (None, "the program debuginfod-find cannot be run: symbols are not fetched (its package is debuginfod, or elfutils-debuginfod-client)"),
    pytest.param("echo /", "debuginfod: / is not taken: it is no debug file of this build", marks=pytest.mark.thorough),
    pytest.param("head -c 9000000 /dev/zero; exit 1", "no answer about symbols: the program says nothing", marks=pytest.mark.thorough),
], ids=["none", "folder", "much"])
def test_what_the_program_says_may_be_anything(work, server, tmp_path, script, words):
    found, expected, result = trace(work, env=server.environment(tmp_path), wrap=with_finder(tmp_path, script))
    assert expected and set(found).isdisjoint(expected)
    assert sum(found.values()) == sum(expected.values())
    assert result.err.count(words) >= 1, result


@pytest.mark.thorough
def test_a_program_that_never_ends_is_ended(work, server, tmp_path):
    wrap = with_finder(tmp_path, "exec >&- 2>&-; trap '' INT TERM; while :; do sleep 1; done")
    with Tool(["-U", "-f", "-p", work.pid, GETPPID], env=server.environment(tmp_path), wrap=wrap) as tool:
        expected = ask_slow_server(tool, work)
        tool.process.send_signal(signal.SIGINT)
        result = tool.wait()
    assert sum(n for _, n in read_folded(result.out)) == sum(expected.values())
