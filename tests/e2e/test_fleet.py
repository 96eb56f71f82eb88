# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""doc/fleet.md and contrib/: the unit's capabilities, and the upload."""

import http.server
import os
import re
import shlex
import subprocess
import tempfile
import threading
import urllib.parse
from contextlib import contextmanager
from pathlib import Path

import pytest
from tool import GETPPID, PATIENCE_S, TOP, Live, wait_until, workload_path

CONTRIB = TOP / "contrib"
UNIT = CONTRIB / "stackcount.service"


def unit_value(key):
    """The first value of @key in the unit's file. A backslash at the end of a line continues it."""
    return re.search(rf"^{key}=(.*)$", UNIT.read_text().replace("\\\n", " "), re.M)[1]


@pytest.fixture
def folder():
    """The unit's folder of state, with its mode, where every user may come."""
    with tempfile.TemporaryDirectory(prefix="stackcount-test-") as place:
        os.chmod(place, 0o755)
        state = Path(place, "state")
        state.mkdir()
        state.chmod(int(unit_value("StateDirectoryMode"), 8))
        yield state


def unit_command(state):
    """The unit's command, with its folder and its event replaced, as systemd would run it."""
    words = shlex.split(unit_value("ExecStart"))
    assert words[0].endswith("/stackcount") and words[-1] == "$EVENT"
    words = [word.replace("%%", "%").replace("/var/lib/stackcount", str(state)) for word in words[1:-1]]
    words[words.index("-i") + 1] = "0.5"
    return words


def as_the_unit():
    """What the unit leaves of root's capabilities."""
    names = [name.removeprefix("CAP_").lower() for name in unit_value("CapabilityBoundingSet").split()]
    few = ",".join(["-all", *(f"+{name}" for name in names)])
    return ["sh", "-c", f'umask {unit_value("UMask")} && exec "$@"', "sh",
            "setpriv", f"--bounding-set={few}", f"--inh-caps={few}", "--no-new-privs"]


def may_nobody_read(path):
    return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", path], timeout=PATIENCE_S,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.thorough
def test_the_units_command_runs_with_the_units_capabilities(folder):
    """And each of its files is whole: go's reader of profiles would refuse anything else."""
    def has_two_files():
        subprocess.run([workload_path("syscalls"), "getppid", "1000", "0"], check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
        return len(list(folder.glob("run-*.pb.gz"))) >= 2

    with Live([*unit_command(folder), GETPPID], wrap=as_the_unit()) as tool:
        wait_until(has_two_files)
        result = tool.end().ok()
    assert result.out == "" or "Tracing" in result.out, result
    for file in folder.glob("run-*.pb.gz"):
        subprocess.run(["gzip", "-t", file], check=True, timeout=PATIENCE_S)
        assert not may_nobody_read(file)
    names = sorted(path.name for path in folder.iterdir())
    assert all(re.fullmatch(r"run-\d{8}T\d{6}(-\d+)?\.pb\.gz", name) for name in names), names


@pytest.mark.thorough
def test_systemd_reads_the_units():
    """It knows every key and value. The programs need not be installed for that."""
    units = [str(path) for path in sorted(CONTRIB.glob("stackcount*.*"))]
    told = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False).stderr
    ours = [line for line in told.splitlines()
            if "stackcount" in line and "is not executable" not in line]
    assert not ours, told


# --- upload ---


class Store(http.server.BaseHTTPRequestHandler):
    """Takes what is sent to it, as Pyroscope's /ingest does."""

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        self.server.taken.append((self.path, self.rfile.read(length)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def store(status=200):
    with http.server.HTTPServer(("127.0.0.1", 0), Store) as server:
        server.taken, server.status = [], status
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def upload(folder, server, **environment):
    address = f"http://127.0.0.1:{server.server_address[1]}"
    return subprocess.run([CONTRIB / "upload", folder], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          env={**os.environ, "STORE": address, "TZ": "UTC", "no_proxy": "*", **environment})


def test_upload_sends_finished_files_and_deletes_those_that_were_taken(tmp_path):
    """What the store refuses is kept, and is a failure."""
    (tmp_path / "run-20261124T183500.pb.gz").write_bytes(b"first")
    (tmp_path / ".run-20261124T183700.pb.gz.tmp").write_bytes(b"not finished")
    (tmp_path / "run.json").write_text("{}\n")
    with store(503) as server:
        told = upload(tmp_path, server)
    assert told.returncode == 1 and "did not take it" in told.stderr
    assert len(list(tmp_path.iterdir())) == 3
    with store() as server:
        upload(tmp_path, server, APPLICATION="web-1").check_returncode()
        ((path, body),) = server.taken
    url = urllib.parse.urlparse(path)
    assert body == b"first" and url.path == "/ingest"
    assert urllib.parse.parse_qs(url.query) == {
        "name": ["web-1"], "from": ["1795545240"], "until": ["1795545300"], "format": ["pprof"]}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".run-20261124T183700.pb.gz.tmp", "run.json"]
