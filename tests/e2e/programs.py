# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs as distributions build them, at work without an end: started, and asked nothing."""

import signal
import socket
import subprocess
import threading
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tool import BUILD, IN_GUEST, PATIENCE_S, wait_until
from processes import cpu_time_s

# Servers, whose installation would start them, are unpacked here: see scripts/deps.
UNPACKED = BUILD / "programs"
POSTGRES = max((UNPACKED / "usr/lib/postgresql").glob("*/bin"), default=UNPACKED)


def wait_at_work(pid, for_s):
    """Until it has worked for so long: it is behind its start then."""
    wait_until(lambda: cpu_time_s(pid) >= for_s * (10 if IN_GUEST else 1))


@contextmanager
def running(command, at_work_s=0.1, **popen):
    """A process of @command: it is ended in the end."""
    popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **popen}
    process = subprocess.Popen([*map(str, command)], **popen)
    try:
        if at_work_s:
            wait_at_work(process.pid, at_work_s)
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def alone(command, at_work_s=0.1, **popen):
    with running(command, at_work_s, **popen) as process:
        yield process.pid


@contextmanager
def fed(command, line, **popen):
    """With @line again and again for its standard input."""
    with running(["yes", line], 0, stdout=subprocess.PIPE) as source:
        with alone(command, stdin=source.stdout, **popen) as pid:
            source.stdout.close()
            yield pid


# --- programs: each is given a folder of its own, and is a PID ---


BASH = 'while :; do x=$((x + 1)); y="${x}abc"; echo "${y%c}"; read -t 0 </dev/null; done'


PYTHON = """
import json, os, re, threading
def work():
    while True:
        json.dumps([{"a": str(i)} for i in range(50)])
        re.sub("a", "b", "abc")
        open("/dev/null").close()
threading.Thread(target=work).start()
work()
"""

NODE = """
const fs = require("fs"), zlib = require("zlib");
function work(n) { let s = ""; for (let i = 0; i < n; i++) s += JSON.stringify({ a: i, b: [i] }); return s.length; }
function loop() {
	for (let i = 0; i < 100; i++) { work(50); fs.statSync("/"); }
	zlib.gzip("x".repeat(10000), () => {});
	fs.stat("/", () => setImmediate(loop));
}
loop();
"""

JAVA = """
import java.nio.file.*;
import java.util.*;
public class Work {
	static long work(int n) {
		Map<String, Integer> map = new HashMap<>();
		for (int i = 0; i < n; i++) map.put("k" + i, i);
		long sum = 0;
		for (String key : map.keySet()) sum += key.hashCode();
		return sum;
	}
	static void loop() { while (true) { work(200); Files.isReadable(Path.of("/none")); } }
	public static void main(String[] arguments) { new Thread(Work::loop).start(); loop(); }
}
"""


def bash(folder):
    return alone(["bash", "-c", BASH])


def python3(folder):
    return alone(["/usr/bin/python3", "-c", PYTHON])


def node(folder):
    return alone(["node", "-e", NODE], 1)


def java(folder):
    (folder / "Work.java").write_text(JAVA)
    subprocess.run(["javac", "Work.java"], cwd=folder, check=True)
    return alone(["java", "-XX:+UseSerialGC", "Work"], 1, cwd=folder)


def fd(folder):
    return alone(["fdfind", "-j", "2", ".", *["/usr"] * 100])


def fzf(folder):
    return fed(["fzf", "-f", "12", "--no-sort"], "123abc")


NGINX = """
daemon off; master_process off; pid nginx.pid; error_log stderr;
events {}
http {
	client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi; scgi_temp_path scgi;
	access_log access.log; gzip on; gzip_min_length 1; gzip_types *; keepalive_requests 100;
	server { listen unix:FOLDER/socket; root .; }
}
"""


def ask(address, is_over):
    """A client of a web server: eight files by each connection."""
    request = b"GET /nginx.conf HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n"
    while not is_over.is_set():
        with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_S)
            client.connect(address)
            client.sendall(7 * (request + b"\r\n") + request + b"Connection: close\r\n\r\n")
            while client.recv(1 << 16):
                pass


@contextmanager
def nginx(folder):
    (folder / "nginx.conf").write_text(NGINX.replace("FOLDER", str(folder)))
    command = [UNPACKED / "usr/sbin/nginx", "-p", f"{folder}/", "-c", "nginx.conf", "-e", "stderr"]
    is_over = threading.Event()
    client = threading.Thread(target=ask, args=(str(folder / "socket"), is_over))
    with ExitStack() as at_end:
        process = at_end.enter_context(running(command, 0))
        at_end.callback(client.join)
        at_end.callback(is_over.set)
        client.start()
        wait_at_work(process.pid, 0.1)
        yield process.pid


# It refuses to be root, and so is somebody else in a user name space: a user that each system has.
AS_SOMEBODY = ["unshare", "--user", "--map-user=65534", "--map-group=65534"]

SQL = """
create table if not exists t (a int, b text);
insert into t select 1, 'abc' || generate_series(1, 20);
select count(*) from t where b like '%9';
select md5(string_agg(b, ',' order by b)) from t;
truncate t;
"""


@contextmanager
def postgres(folder):
    """The process behind one connection."""
    data, script = folder / "data", folder / "script"
    script.write_text(SQL)
    subprocess.run([*AS_SOMEBODY, POSTGRES / "initdb", "-D", data, "-A", "trust", "-U", "root", "-N"], check=True, stdout=subprocess.DEVNULL)
    options = ["-c", "listen_addresses=", "-c", "fsync=off", "-k", folder]
    with running([*AS_SOMEBODY, POSTGRES / "postgres", "-D", data, *options], 0) as server:
        state, found = data / "postmaster.pid", []

        def is_at_work():
            for child in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split():
                with suppress(FileNotFoundError, ProcessLookupError):
                    if b"[local]" in Path(f"/proc/{child}/cmdline").read_bytes() and cpu_time_s(child) >= 0.1:
                        found.append(int(child))
            return found

        wait_until(lambda: state.exists() and "ready" in state.read_text())
        with running([POSTGRES / "pgbench", "-n", "-T", PATIENCE_S, "-f", script, "-h", folder, "postgres"], 0):
            wait_until(is_at_work)
            yield found[0]
        server.send_signal(signal.SIGQUIT)
        server.wait(PATIENCE_S)
