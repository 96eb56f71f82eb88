# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs as distributions build them, at work without an end: started, and asked nothing."""

import subprocess
from contextlib import contextmanager

from tool import IN_GUEST, wait_until
from processes import cpu_time_s


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
